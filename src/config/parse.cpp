#include <algorithm>
#include <map>

#include "trireme/base/error.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/config/fit.hpp"
#include "trireme/io/file.hpp"

#include "config/accept.hpp"
#include "config/rules.hpp"

namespace trireme::config {
namespace {

/// Overrides replace what the file says of the same key.
std::vector<Given> merged(std::vector<Given> file, const std::vector<Given>& overrides) {
  std::erase_if(file, [&](const Given& given) {
    return std::any_of(overrides.begin(), overrides.end(), [&](const Given& o) { return o.key() == given.key(); });
  });
  file.insert(file.end(), overrides.begin(), overrides.end());
  return file;
}

}  // namespace

Deck parse_deck(const std::string& text, const std::string& name, const std::vector<std::string>& overrides) {
  Problems problems;
  const std::vector<Given> from_file = read_text(text, name, problems);
  const std::vector<Given> given = merged(from_file, read_overrides(overrides, problems));
  if (from_file.empty()) {
    problems.add({name, 0, "", "the deck is empty (no option stands in it) see inputs/REFERENCE.md"});
  }
  Deck deck;
  std::set<std::string> keys;
  std::map<std::string, Origin> origins;
  for (const Given& option : given) {
    accept(option, deck, problems);
    keys.insert(option.key());
    origins[option.key()] = {option.where, option.line};
  }
  require(keys, name, problems);
  const auto origin_of = [&](const std::string& key) {
    const auto found = origins.find(key);
    return found == origins.end() ? Origin{name, missing_order} : found->second;
  };
  check_rules(deck, origin_of, problems);
  problems.throw_if_any();
  deck.model = model::resolved(deck.model);
  if (deck.grid.data != 0) deck.batch.micro = resolve_micro(deck, deck.grid.data);
  return deck;
}

Deck read_deck(const std::string& path, const std::vector<std::string>& overrides) {
  if (!io::exists(path)) throw InputError("`" + path + "`: no such deck (nothing stands at this path) check the path");
  if (io::is_folder(path)) throw InputError("`" + path + "`: no deck (it is a folder) give the deck's file");
  return parse_deck(io::read_text(path), path, overrides);
}

}  // namespace trireme::config
