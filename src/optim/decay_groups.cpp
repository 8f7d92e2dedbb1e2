#include "optim/decay_groups.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "trireme/base/text.hpp"
#include "trireme/base/units.hpp"

namespace trireme::optim {
namespace {

struct Group {
  std::string title;
  int tensors = 0;
  std::uint64_t elements = 0;
  std::vector<std::string> kinds;
};

/// `blocks.3.attention.query.weight` -> `query.weight`: the same in all blocks.
std::string kind_of(const std::string& name) {
  const std::size_t last = name.rfind('.');
  if (last == std::string::npos || last == 0) return name;
  const std::size_t before = name.rfind('.', last - 1);
  return before == std::string::npos ? name : name.substr(before + 1);
}

void add(Group& group, const tensor::Parameter& parameter) {
  ++group.tensors;
  group.elements += static_cast<std::uint64_t>(parameter.global_shape.size());
  const std::string kind = kind_of(parameter.name);
  if (std::find(group.kinds.begin(), group.kinds.end(), kind) == group.kinds.end()) group.kinds.push_back(kind);
}

std::string text_of(const Group& group) {
  if (group.tensors == 0) return group.title + ": none";
  return fmt::format("{}: {} tensor{}, {} parameters ({})", group.title, group.tensors, group.tensors == 1 ? "" : "s",
                     format_count(group.elements), join(group.kinds));
}

}  // namespace

std::string describe_decay_groups(const std::vector<const tensor::Parameter*>& parameters) {
  Group decay{.title = "decay"};
  Group no_decay{.title = "no decay"};
  Group frozen{.title = "frozen"};
  for (const tensor::Parameter* parameter : parameters) {
    add(!parameter->trainable ? frozen : parameter->decays ? decay : no_decay, *parameter);
  }
  std::string text = text_of(decay) + "; " + text_of(no_decay);
  if (frozen.tensors > 0) text += "; " + text_of(frozen);
  return text;
}

}  // namespace trireme::optim
