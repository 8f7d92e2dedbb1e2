#include "optim/decay_groups.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "trireme/base/text.hpp"
#include "trireme/base/units.hpp"
#include "trireme/optim/optimizer.hpp"

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

void add(Group& group, const std::string& name, std::uint64_t elements) {
  ++group.tensors;
  group.elements += elements;
  const std::string kind = kind_of(name);
  if (std::find(group.kinds.begin(), group.kinds.end(), kind) == group.kinds.end()) group.kinds.push_back(kind);
}

std::string text_of(const Group& group) {
  if (group.tensors == 0) return group.title + ": none";
  return fmt::format("{}: {} tensor{}, {} parameters ({})", group.title, group.tensors, group.tensors == 1 ? "" : "s",
                     format_count(group.elements), join(group.kinds));
}

}  // namespace

std::string lines_of(const std::vector<const tensor::Parameter*>& parameters) {
  std::string lines;
  for (const tensor::Parameter* parameter : parameters) {
    const char* const group = !parameter->trainable ? "frozen" : parameter->decays ? "decay" : "no decay";
    lines += fmt::format("{}\t{}\t{}\n", group, parameter->global_shape.size(), parameter->name);
  }
  return lines;
}

std::string describe_decay_groups(const std::vector<std::string>& decay_lines_of_ranks) {
  std::array<Group, 3> groups{{{.title = "decay"}, {.title = "no decay"}, {.title = "frozen"}}};
  std::set<std::string> seen;
  for (const std::string& lines : decay_lines_of_ranks) {
    std::istringstream text(lines);
    std::string title;
    std::string elements;
    std::string name;
    while (std::getline(text, title, '\t') && std::getline(text, elements, '\t') && std::getline(text, name)) {
      if (!seen.insert(name).second) continue;
      for (Group& group : groups) {
        if (group.title == title) add(group, name, std::stoull(elements));
      }
    }
  }
  std::string text = text_of(groups[0]) + "; " + text_of(groups[1]);
  if (groups[2].tensors > 0) text += "; " + text_of(groups[2]);
  return text;
}

}  // namespace trireme::optim
