#include "trireme/text/tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"

namespace trireme::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::int32_t> encode(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> ids;
  tokenizer.encode(text, ids);
  return ids;
}

TEST(ByteTokenizer, HasExactlyOneIdForEachByte) {
  const auto tokenizer = make_tokenizer("byte", "");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const auto ids = encode(*tokenizer, all);
  EXPECT_EQ(tokenizer->vocab(), 256);
  ASSERT_EQ(ids.size(), 256U);
  for (int byte = 0; byte < 256; ++byte) EXPECT_EQ(ids[static_cast<std::size_t>(byte)], byte);
  EXPECT_EQ(tokenizer->decode(ids), all);
  EXPECT_EQ(tokenizer->model(), "");
}

TEST(ByteTokenizer, AppendsToTheIdsThatAreThere) {
  std::vector<std::int32_t> ids{7};
  make_tokenizer("byte", "")->encode("ab", ids);
  EXPECT_THAT(ids, ElementsAre(7, 97, 98));
}

TEST(ByteTokenizer, DecodesIdsOutsideOfItsVocabularyToTheReplacementCharacter) {
  EXPECT_EQ(make_tokenizer("byte", "")->decode({97, 256, -1, 98}),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
}

TEST(IdsTokenizer, ReadsAndWritesDecimalNumbers) {
  const auto tokenizer = make_tokenizer("ids", "50257");
  EXPECT_EQ(tokenizer->vocab(), 50257);
  EXPECT_EQ(tokenizer->model(), "50257");
  EXPECT_THAT(encode(*tokenizer, "  3 50256\n0\t"), ElementsAre(3, 50256, 0));
  EXPECT_TRUE(encode(*tokenizer, " ").empty());
  EXPECT_EQ(tokenizer->decode({3, 50256, 0}), "3 50256 0");
}

TEST(IdsTokenizer, RefusesWordsAndIdsOutsideOfTheVocabulary) {
  const auto tokenizer = make_tokenizer("ids", "10");
  for (const std::string text : {"10", "-1", "3x", "word", "99999999999999999999"}) {
    EXPECT_THAT(message_of([&] { (void)encode(*tokenizer, "1 " + text); }), HasSubstr("`" + text + "` is no token id"));
  }
}

TEST(IdsTokenizer, RefusesAVocabularyThatIsNoNumber) {
  for (const std::string model : {"", "0", "-5", "many", "2147483649"}) {
    EXPECT_THAT(message_of([&] { (void)make_tokenizer("ids", model); }), HasSubstr("`" + model + "`"));
  }
}

TEST(MakeTokenizer, NamesTheKindThatWasMeant) {
  EXPECT_THAT(message_of([] { (void)make_tokenizer("sentencepeice", ""); }),
              HasSubstr("did you mean `sentencepiece`?"));
  EXPECT_THAT(message_of([] { (void)make_tokenizer("words", ""); }), HasSubstr("unknown tokenizer `words`"));
}

}  // namespace
}  // namespace trireme::text
