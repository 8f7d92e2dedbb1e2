#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/text/tokenizer.hpp"

namespace trireme::text {
namespace {

TEST(SentencePiece, IsRefusedByABuildWithoutIt) {
  EXPECT_THROW((void)make_tokenizer("sentencepiece", ""), InputError);
  EXPECT_THROW((void)train_sentencepiece({"text"}, 300), InputError);
}

}  // namespace
}  // namespace trireme::text
