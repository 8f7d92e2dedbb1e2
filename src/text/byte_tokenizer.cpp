#include "text/tokenizers.hpp"

namespace trireme::text {
namespace {

constexpr std::int32_t num_bytes = 256;

class ByteTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] std::string kind() const override { return "byte"; }
  [[nodiscard]] std::int64_t vocab() const override { return num_bytes; }

  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  }

  [[nodiscard]] std::string decode(const std::vector<std::int32_t>& ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      if (id >= 0 && id < num_bytes) {
        text += static_cast<char>(id);
      } else {
        text += replacement_character;
      }
    }
    return text;
  }

  [[nodiscard]] const std::string& model() const override { return model_; }
  [[nodiscard]] Cuts cuts() const override { return Cuts::at_characters; }

 private:
  std::string model_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
  return std::make_unique<ByteTokenizer>();
}

}  // namespace trireme::text
