// Stands in for sentencepiece.cpp in a build without the library.
#include "trireme/base/error.hpp"

#include "text/tokenizers.hpp"

namespace trireme::text {
namespace {

[[noreturn]] void refuse() {
  throw InputError(
      "the tokenizer `sentencepiece` is not in this build (configured with TRIREME_SENTENCEPIECE=OFF) build with "
      "TRIREME_SENTENCEPIECE=ON, or use the tokenizer `byte`");
}

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const std::string& /*model*/) {
  refuse();
}

std::string train_sentencepiece(const std::vector<std::string>& /*lines*/, std::int64_t /*vocab*/) {
  refuse();
}

}  // namespace trireme::text
