#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "text/tokenizers.hpp"

namespace trireme::text {
namespace {

constexpr std::string_view blanks = " \t\r\n";

/// Reads the whole of `word` as a number; false if it is none.
bool read_number(std::string_view word, std::int64_t& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

class IdsTokenizer final : public Tokenizer {
 public:
  explicit IdsTokenizer(std::string model) : model_(std::move(model)) {
    constexpr std::int64_t most = std::int64_t{1} << 31;
    if (!read_number(model_, vocab_) || vocab_ < 1 || vocab_ > most) {
      throw InputError(fmt::format("the vocabulary of the tokenizer `ids` is `{}` (must be 1 ... {})", model_, most));
    }
  }

  [[nodiscard]] std::string kind() const override { return "ids"; }
  [[nodiscard]] std::int64_t vocab() const override { return vocab_; }

  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    for (std::size_t begin = text.find_first_not_of(blanks); begin != std::string_view::npos;) {
      const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
      ids.push_back(id_of(text.substr(begin, end - begin)));
      begin = text.find_first_not_of(blanks, end);
    }
  }

  [[nodiscard]] std::string decode(const std::vector<std::int32_t>& ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      if (!text.empty()) text += ' ';
      text += std::to_string(id);
    }
    return text;
  }

  [[nodiscard]] const std::string& model() const override { return model_; }
  [[nodiscard]] Cuts cuts() const override { return Cuts::at_documents; }

 private:
  [[nodiscard]] std::int32_t id_of(std::string_view word) const {
    std::int64_t id = -1;
    if (!read_number(word, id) || id < 0 || id >= vocab_) {
      throw InputError(
          fmt::format("`{}` is no token id (this model was trained on ready ids: give numbers from 0 to {}, "
                      "separated by spaces)",
                      word, vocab_ - 1));
    }
    return static_cast<std::int32_t>(id);
  }

  std::string model_;
  std::int64_t vocab_ = 0;
};

}  // namespace

std::unique_ptr<Tokenizer> make_ids_tokenizer(const std::string& model) {
  return std::make_unique<IdsTokenizer>(model);
}

}  // namespace trireme::text
