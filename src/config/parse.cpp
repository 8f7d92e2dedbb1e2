#include <algorithm>
#include <map>

#include "trireme/base/error.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/io/file.hpp"

#include "config/accept.hpp"
#include "config/rules.hpp"

namespace trireme::config {
namespace {

/// The micro-batch of a deck that gives none: a multiple of 8 of them, so that grids and lanes have something to
/// divide.
std::int64_t chosen_micro(std::int64_t global, std::int64_t data_ranks) {
  constexpr std::int64_t largest = 8;
  for (std::int64_t micro = largest; micro > 1; --micro) {
    if (global % micro != 0) continue;
    const std::int64_t count = global / micro;
    if (count % 8 == 0 && (data_ranks == 0 || count % data_ranks == 0)) return micro;
  }
  return 1;
}

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
  if (deck.batch.micro == 0) deck.batch.micro = chosen_micro(deck.batch.global, deck.grid.data);
  check_rules(deck, origin_of, problems);
  problems.throw_if_any();
  deck.model = model::resolved(deck.model);
  return deck;
}

Deck read_deck(const std::string& path, const std::vector<std::string>& overrides) {
  if (!io::exists(path)) throw InputError("`" + path + "`: no such deck (nothing stands at this path) check the path");
  if (io::is_folder(path)) throw InputError("`" + path + "`: no deck (it is a folder) give the deck's file");
  return parse_deck(io::read_text(path), path, overrides);
}

}  // namespace trireme::config
