#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include "trireme/base/error.hpp"
#include "trireme/text/tokenizer.hpp"

namespace trireme::text {
namespace {

using testing::HasSubstr;

std::vector<std::string> corpus() {
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) {
    lines.push_back("In the beginning God created the heaven and the earth " + std::to_string(i));
    lines.push_back("    and the  earth was without form,\tand void; caf\xC3\xA9");
  }
  return lines;
}

const Tokenizer& trained() {
  static const auto tokenizer = make_tokenizer("sentencepiece", train_sentencepiece(corpus(), 400));
  return *tokenizer;
}

std::vector<std::int32_t> encode(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> ids;
  tokenizer.encode(text, ids);
  return ids;
}

std::string round_trip(const std::string& text) {
  return trained().decode(encode(trained(), text));
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SentencePiece, HasTheVocabularyThatWasAskedFor) {
  EXPECT_EQ(trained().vocab(), 400);
  EXPECT_EQ(trained().kind(), "sentencepiece");
  EXPECT_EQ(trained().cuts(), Cuts::after_newlines);
}

TEST(SentencePiece, LosesNoSpaceNewlineOrSpecialWord) {
  const std::string zero("a\0b", 3);
  for (const std::string& text : std::vector<std::string>{"",
                                                          " ",
                                                          "\n",
                                                          "\n\n\n",
                                                          "  leading",
                                                          "trailing  ",
                                                          "two  spaces   three",
                                                          "a\r\nb\tc",
                                                          "\t",
                                                          zero,
                                                          "<unk>",
                                                          "<s></s>",
                                                          "<0x41>",
                                                          "\xE2\x96\x81",
                                                          "a\xE2\x96\x81 b",
                                                          "\xE2\x96\x85",
                                                          "\xEF\xAC\x81",
                                                          "e\xCC\x81",
                                                          "\xC2\xA0\xE3\x80\x80",
                                                          "\xF0\x9F\x98\x80 \xE6\xBC\xA2\xE5\xAD\x97",
                                                          "\xEF\xBB\xBF"
                                                          "bom",
                                                          "\xFF\xFE broken \xC3",
                                                          "\xED\xA0\x80"}) {
    EXPECT_EQ(round_trip(text), text);
  }
}

TEST(SentencePiece, LosesNothingOfRandomBytesAndCharacters) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      const auto kind = random() % 4;
      if (kind == 0) text += static_cast<char>(random());
      if (kind == 1) text += " \n\t\r"[random() % 4];
      if (kind == 2) text += "the and God"[random() % 11];
      if (kind == 3)
        text += {static_cast<char>(0xE0 | (random() % 16)), static_cast<char>(0x80 | (random() % 64)),
                 static_cast<char>(0x80 | (random() % 64))};
    }
    ASSERT_EQ(round_trip(text), text);
  }
}

TEST(SentencePiece, GivesThePartsTheIdsOfTheWholeWhenCutAfterNewlines) {
  const std::string text = "the earth\n\n  and the heaven\nGod\n";
  const auto whole = encode(trained(), text);
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    if (text[cut - 1] != '\n') continue;
    std::vector<std::int32_t> parts = encode(trained(), text.substr(0, cut));
    trained().encode(text.substr(cut), parts);
    EXPECT_EQ(parts, whole) << cut;
  }
}

TEST(SentencePiece, MergesWordsOfItsCorpus) {
  EXPECT_LE(encode(trained(), "the beginning").size(), 3U);
}

TEST(SentencePiece, TrainsTheSameModelTwice) {
  EXPECT_EQ(train_sentencepiece(corpus(), 400), trained().model());
}

TEST(SentencePiece, IsBuiltAgainFromItsModel) {
  const auto again = make_tokenizer("sentencepiece", trained().model());
  EXPECT_EQ(encode(*again, "In the earth"), encode(trained(), "In the earth"));
}

TEST(SentencePiece, DecodesAnyId) {
  EXPECT_EQ(trained().decode({-1}), "\xEF\xBF\xBD");
  EXPECT_EQ(trained().decode({400}), "\xEF\xBF\xBD");
  for (std::int32_t id = 0; id < 400; ++id) EXPECT_FALSE(trained().decode({id}).empty());
}

TEST(SentencePiece, SaysWhichVocabulariesAreLegal) {
  EXPECT_THAT(message_of([] { (void)train_sentencepiece(corpus(), 257); }), HasSubstr("outside of 258 ..."));
  EXPECT_THAT(message_of([] { (void)train_sentencepiece(corpus(), 260); }), HasSubstr("choose `--vocab` of at least "));
  EXPECT_THAT(message_of([] { (void)train_sentencepiece(corpus(), 100000); }),
              HasSubstr("choose `--vocab` of at most "));
  EXPECT_THAT(message_of([] { (void)train_sentencepiece({}, 300); }), HasSubstr("cannot be made from this text"));
}

TEST(SentencePiece, RefusesADamagedModel) {
  const std::string& model = trained().model();
  EXPECT_THAT(message_of([] { (void)make_tokenizer("sentencepiece", ""); }), HasSubstr("cannot be used"));
  EXPECT_THAT(message_of([] { (void)make_tokenizer("sentencepiece", "not a model"); }), HasSubstr("cannot be used"));
  EXPECT_THAT(message_of([&] { (void)make_tokenizer("sentencepiece", model.substr(0, model.size() / 2)); }),
              HasSubstr("cannot be used"));
}

TEST(SentencePiece, TakesForeignModelsAsTheyAreAndCutsThemAtDocumentsOnly) {
  std::string model;
  class Lines final : public sentencepiece::SentenceIterator {
   public:
    bool done() const override { return next_ == lines_.size(); }
    void Next() override { ++next_; }
    const std::string& value() const override { return lines_[next_]; }
    sentencepiece::util::Status status() const override { return {}; }

   private:
    std::vector<std::string> lines_ = corpus();
    std::size_t next_ = 0;
  } lines;
  ASSERT_TRUE(sentencepiece::SentencePieceTrainer::Train(
                  {{"vocab_size", "100"}, {"model_type", "bpe"}, {"minloglevel", "3"}}, &lines, &model)
                  .ok());
  const auto foreign = make_tokenizer("sentencepiece", model);
  EXPECT_EQ(foreign->cuts(), Cuts::at_documents);
  EXPECT_EQ(foreign->decode(encode(*foreign, "the  heaven and")), "the heaven and");
}

}  // namespace
}  // namespace trireme::text
