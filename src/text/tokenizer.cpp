#include "trireme/text/tokenizer.hpp"

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"

#include "text/tokenizers.hpp"

namespace trireme::text {

std::unique_ptr<Tokenizer> make_tokenizer(const std::string& kind, const std::string& model) {
  if (kind == "byte") return make_byte_tokenizer();
  if (kind == "sentencepiece") return make_sentencepiece_tokenizer(model);
  if (kind == "ids") return make_ids_tokenizer(model);
  const std::string meant = nearest(kind, {"byte", "sentencepiece", "ids"});
  throw InputError(fmt::format("unknown tokenizer `{}` (there are `byte`, `sentencepiece` and `ids`){}", kind,
                               meant.empty() ? "" : fmt::format(" did you mean `{}`?", meant)));
}

}  // namespace trireme::text
