#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "config/given.hpp"
#include "config/toml_node.hpp"

namespace trireme::config {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Bytes before the column (from 1); the library counts characters.
std::size_t bytes_before(const std::string& line, std::size_t column) {
  std::size_t i = 0;
  for (std::size_t character = 1; i < line.size() && character < column; ++character) {
    ++i;
    while (i < line.size() && (static_cast<unsigned char>(line[i]) & 0xc0U) == 0x80U) ++i;
  }
  return i;
}

/// The value as it was written; only the first line of a long one.
std::string source_text(const std::vector<std::string>& lines, const toml::source_region& region) {
  if (region.begin.line == 0 || region.begin.line > lines.size()) return "...";
  const std::string& line = lines[region.begin.line - 1];
  const std::size_t begin = bytes_before(line, region.begin.column);
  if (region.end.line != region.begin.line) return line.substr(begin) + " ...";
  return line.substr(begin, bytes_before(line, region.end.column) - begin);
}

/// A key given a second time, by the library's words and the line it names.
struct Repetition {
  std::string section;
  std::string name;
  std::string text;
  int line = 0;
};

Repetition repetition_at(const std::vector<std::string>& lines, int line) {
  Repetition found;
  found.line = line;
  const std::string& text = lines[static_cast<std::size_t>(line) - 1];
  const std::size_t equals = text.find('=');
  found.name = trimmed(text.substr(0, equals));
  if (equals != std::string::npos) found.text = trimmed(text.substr(equals + 1, text.find('#', equals) - equals - 1));
  for (auto i = static_cast<std::size_t>(line) - 1; i-- > 0;) {
    const std::string header = trimmed(lines[i]);
    if (header.starts_with('[') && header.find(']') != std::string::npos && header.find('=') == std::string::npos) {
      found.section = header.substr(1, header.find(']') - 1);
      break;
    }
  }
  return found;
}

std::string advice(const std::string& words, const std::string& line) {
  if (words.find("redefine existing table") != std::string::npos) return "write each section once";
  if (words.find("could not determine value type") != std::string::npos) return "words need quotes: key = \"word\"";
  if (line.find('=') == std::string::npos) return "write `key = value`";
  return "mend this line";
}

std::size_t index(int line) {
  return static_cast<std::size_t>(line) - 1;
}

int line_of(const toml::parse_error& error, const std::vector<std::string>& lines) {
  const int last = std::max(1, static_cast<int>(lines.size()));
  return std::clamp(static_cast<int>(error.source().begin.line), 1, last);
}

bool is_repetition(const toml::parse_error& error) {
  return words_of(error).starts_with("key-value pair: cannot redefine existing");
}

struct Reader {
  const std::string& name;
  std::vector<std::string> lines;
  Problems& problems;
  std::vector<Given> all = {};
  std::vector<Repetition> repetitions = {};

  [[nodiscard]] std::string where(int line) const { return fmt::format("{}:{}", name, line); }

  void add(const std::string& section, const toml::key& key, const toml::node& node) {
    Given given;
    given.section = section;
    given.name = key.str();
    given.line = static_cast<int>(key.source().begin.line);
    given.where = where(given.line);
    given.text = source_text(lines, node.source());
    take_value(node, given);
    all.push_back(std::move(given));
  }

  void add_empty(const toml::key& section) {
    Given given;
    given.section = section.str();
    given.line = static_cast<int>(section.source().begin.line);
    given.where = where(given.line);
    all.push_back(std::move(given));
  }

  void add_all(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const toml::table* section = node.as_table();
      if (section == nullptr) {
        add("", key, node);
        continue;
      }
      if (section->empty()) add_empty(key);
      for (const auto& [inner_key, inner] : *section) add(std::string(key.str()), inner_key, inner);
    }
    std::sort(all.begin(), all.end(), [](const Given& a, const Given& b) { return a.line < b.line; });
  }

  void report_repetitions() {
    for (const Repetition& again : repetitions) {
      const std::string key = again.section.empty() ? again.name : again.section + "." + again.name;
      const auto first = std::find_if(all.begin(), all.end(), [&](const Given& given) { return given.key() == key; });
      const std::string why =
          first == all.end() ? "it stands above too" : fmt::format("first given on line {}", first->line);
      problems.add({where(again.line), again.line, key + " = " + again.text,
                    fmt::format("repeated key ({}) keep one of them", why)});
      problems.doubt(key);
    }
  }

  void report_syntax(const toml::parse_error& error, int line) {
    // What remains of a repeated value that spans lines is no second problem.
    if (!repetitions.empty() && repetitions.back().line + 1 == line) return;
    const std::string bad = lines.empty() ? "" : lines[index(line)];
    const std::string words = words_of(error);
    problems.add({where(line), line, trimmed(bad), fmt::format("not TOML ({}) {}", words, advice(words, bad))});
  }
};

}  // namespace

Problem Given::problem(std::string what) const {
  constexpr std::size_t longest = 80;
  const std::string shown = text.size() <= longest ? text : text.substr(0, longest) + "...";
  return {where, line, key() + " = " + shown, std::move(what)};
}

std::vector<Given> read_text(const std::string& text, const std::string& name, Problems& problems) {
  Reader reader{name, lines_of(text), problems};
  std::vector<std::string> lines = reader.lines;
  // The library stops at its first error. A repeated key is taken out and the rest read on, so that it does not hide
  // others.
  while (true) {
    try {
      reader.add_all(toml::parse(std::string_view(joined(lines)), std::string_view(name)));
      reader.report_repetitions();
      return reader.all;
    } catch (const toml::parse_error& error) {
      const int line = line_of(error, lines);
      if (is_repetition(error) && !lines[index(line)].empty()) {
        reader.repetitions.push_back(repetition_at(lines, line));
        lines[index(line)].clear();
        continue;
      }
      reader.report_repetitions();
      reader.report_syntax(error, line);
      problems.throw_if_any();
    }
  }
}

}  // namespace trireme::config
