#include "trireme/data/loader.hpp"

#include <atomic>
#include <cerrno>
#include <map>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/hdf5/file.hpp"
#include "trireme/io/file.hpp"

#include "unit/data/datasets.hpp"
#include "unit/io/temporary_folder.hpp"

namespace trireme::data {
namespace {

using test::counting;
using test::message_of;
using test::write_dataset;
using test::write_samples;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t context = 8;

/// A fault hook for a scope.
struct HookGuard {
  explicit HookGuard(io::FaultHook hook) { io::set_fault_hook(std::move(hook)); }
  ~HookGuard() { io::set_fault_hook({}); }
  HookGuard(const HookGuard&) = delete;
  HookGuard& operator=(const HookGuard&) = delete;
};

class LoaderTest : public testing::Test {
 protected:
  ~LoaderTest() override { EXPECT_EQ(hdf5::open_objects(), 0); }

  Dataset open(const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(folder_ / name);
    return open_dataset(paths, context);
  }

  LoaderOptions options(std::int64_t global, std::int64_t micro) {
    LoaderOptions chosen;
    chosen.context = context;
    chosen.global_batch = global;
    chosen.micro_batch = micro;
    chosen.shuffle_block = 3;
    return chosen;
  }

  test::TemporaryFolder folder_;
};

std::vector<std::int64_t> samples_of(const StepBatch& step) {
  std::vector<std::int64_t> samples;
  for (const Batch& batch : step.micro_batches)
    samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
  return samples;
}

TEST_F(LoaderTest, GivesEachSampleItsTokensAndTheNextOnesAsTargets) {
  write_samples(folder_ / "a.h5", 37, context);
  Loader loader(open({"a.h5"}), options(4, 2));
  const StepBatch& step = loader.load(5);
  ASSERT_EQ(step.micro_batches.size(), 2U);
  for (std::size_t m = 0; m < 2; ++m) {
    const Batch& batch = step.micro_batches[m];
    EXPECT_EQ(batch.sequences, 2);
    EXPECT_EQ(batch.context, context);
    EXPECT_EQ(batch.first_sequence, static_cast<std::int64_t>(2 * m));
    EXPECT_EQ(batch.counted(), 2 * context);
    EXPECT_TRUE(batch.sequence_starts.empty());
    for (std::size_t i = 0; i < 16; ++i) {
      const auto t = static_cast<std::int32_t>(i % context);
      EXPECT_EQ(batch.input[i], batch.samples[i / context] * context + t);
      EXPECT_EQ(batch.targets[i], batch.input[i] + 1);
      EXPECT_EQ(batch.positions[i], t);
    }
  }
}

TEST_F(LoaderTest, UnitesThePartsToTheSameBatchForEveryNumberOfParts) {
  write_samples(folder_ / "a.h5", 37, context);
  const Dataset dataset = open({"a.h5"});
  for (std::int64_t step = 0; step < 12; ++step) {
    const std::vector<std::int64_t> whole = Loader(dataset, options(8, 1)).global_samples(step);
    for (const int num_parts : {1, 2, 4, 8}) {
      std::vector<std::int64_t> united;
      for (int part = 0; part < num_parts; ++part) {
        LoaderOptions chosen = options(8, 1);
        chosen.part = part;
        chosen.num_parts = num_parts;
        Loader loader(dataset, chosen);
        EXPECT_EQ(loader.global_samples(step), whole);
        const std::vector<std::int64_t> share = samples_of(loader.load(step));
        united.insert(united.end(), share.begin(), share.end());
      }
      ASSERT_EQ(united, whole) << num_parts;
    }
  }
}

TEST_F(LoaderTest, ShowsEachRowEquallyOftenAcrossEpochsThatStepsStraddle) {
  for (std::int64_t rows = 1; rows <= 37; ++rows) {
    write_samples(folder_ / "a.h5", rows, context);
    Loader loader(open({"a.h5"}), options(6, 2));
    std::map<std::int64_t, int> seen;
    for (std::int64_t step = 0; step < rows; ++step) {  // 6 epochs
      for (const std::int64_t sample : samples_of(loader.load(step))) ++seen[sample];
    }
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(rows));
    for (const auto& [sample, count] : seen) ASSERT_EQ(count, 6) << sample;
  }
}

TEST_F(LoaderTest, ResumesAnywhereWithTheSameRowsAndTokens) {
  write_samples(folder_ / "a.h5", 20, context);
  const Dataset dataset = open({"a.h5"});
  std::vector<StepBatch> straight;
  Loader loader(dataset, options(4, 2));
  for (std::int64_t step = 0; step < 15; ++step) straight.push_back(loader.load(step));
  for (std::int64_t begin = 0; begin < 15; ++begin) {
    Loader resumed(dataset, options(4, 2));
    for (std::int64_t step = begin; step < 15; ++step) {
      const StepBatch& batch = resumed.load(step);
      const StepBatch& wanted = straight[static_cast<std::size_t>(step)];
      ASSERT_EQ(samples_of(batch), samples_of(wanted));
      for (std::size_t m = 0; m < 2; ++m) ASSERT_EQ(batch.micro_batches[m].input, wanted.micro_batches[m].input);
    }
  }
}

TEST_F(LoaderTest, LoadsStepsInAnyOrder) {
  write_samples(folder_ / "a.h5", 20, context);
  Loader loader(open({"a.h5"}), options(4, 4));
  for (const std::int64_t step : {3, 4, 4, 0, 1, 9, 2})
    EXPECT_EQ(samples_of(loader.load(step)), loader.global_samples(step));
}

TEST_F(LoaderTest, CountsSamplesThroughAllFiles) {
  write_samples(folder_ / "a.h5", 3, context);
  write_samples(folder_ / "b.h5", 4, context, 1000);
  const Dataset dataset = open({"a.h5", "b.h5"});
  EXPECT_EQ(dataset.num_samples(context), 7);
  Loader loader(dataset, options(7, 7));
  const Batch& batch = loader.load(0).micro_batches[0];
  EXPECT_EQ(std::set<std::int64_t>(batch.samples.begin(), batch.samples.end()).size(), 7U);
  for (std::size_t b = 0; b < 7; ++b) {
    const std::int64_t sample = batch.samples[b];
    EXPECT_EQ(batch.input[b * context], sample < 3 ? sample * context : 1000 + (sample - 3) * context);
  }
}

TEST_F(LoaderTest, LeavesOutTheShortTail) {
  write_dataset(folder_ / "a.h5", {.tokens = counting(3 * context)});  // one token short of a third sample
  const Dataset dataset = open({"a.h5"});
  EXPECT_EQ(dataset.num_samples(context), 2);
}

TEST_F(LoaderTest, TakesMaskedTargetsOutOfTheLoss) {
  test::Content content{.tokens = counting(context + 1)};
  content.loss_mask = {0, 1, 0, 0, 1, 1, 1, 1, 0};
  write_dataset(folder_ / "a.h5", content);
  Loader loader(open({"a.h5"}), options(1, 1));
  const Batch& batch = loader.load(0).micro_batches[0];
  EXPECT_THAT(batch.weights, ElementsAre(1, 0, 0, 1, 1, 1, 1, 0));
  EXPECT_EQ(batch.counted(), 5);
}

TEST_F(LoaderTest, StartsPositionsAnewAtDocumentsAndDropsTheTargetThatBeginsOne) {
  write_dataset(folder_ / "a.h5",
                {.tokens = counting(2 * context + 1), .documents = {0, 3, 4, 8, 13, 16}, .sequence_starts = true});
  Loader loader(open({"a.h5"}), options(2, 2));
  const Batch& batch = loader.load(0).micro_batches[0];
  const std::size_t first = batch.samples[0] == 0 ? 0 : context;  // where in the batch sample 0 lies
  const auto row = [](const auto& values, std::size_t begin) {
    return std::vector<int>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                            values.begin() + static_cast<std::ptrdiff_t>(begin + context));
  };
  EXPECT_THAT(row(batch.sequence_starts, first), ElementsAre(0, 0, 0, 3, 4, 4, 4, 4));
  EXPECT_THAT(row(batch.positions, first), ElementsAre(0, 1, 2, 0, 0, 1, 2, 3));
  EXPECT_THAT(row(batch.weights, first), ElementsAre(1, 1, 0, 0, 1, 1, 1, 0));
  EXPECT_THAT(row(batch.sequence_starts, context - first), ElementsAre(0, 0, 0, 0, 0, 5, 5, 5));
  EXPECT_THAT(row(batch.weights, context - first), ElementsAre(1, 1, 1, 1, 0, 1, 1, 0));
}

TEST_F(LoaderTest, ThrowsInLoadWhatTheReadingThreadMet) {
  write_samples(folder_ / "a.h5", 4000, context);
  Loader loader(open({"a.h5"}), options(2, 1));
  const HookGuard hook([main = std::this_thread::get_id()](const char* call, const std::string&, std::size_t*) {
    return std::string(call) == "pread" && std::this_thread::get_id() != main ? EIO : 0;
  });
  EXPECT_EQ(loader.load(0).micro_batches.size(), 2U);  // read here; the next one by the thread
  EXPECT_THAT([&] { (void)loader.load(1); }, testing::Throws<Error>());
  EXPECT_EQ(loader.load(1).micro_batches.size(), 2U);  // read here after all
}

TEST_F(LoaderTest, DiesQuietlyWithAReadUnderWay) {
  write_samples(folder_ / "a.h5", 400, context);
  for (int i = 0; i < 20; ++i) (void)Loader(open({"a.h5"}), options(64, 64)).load(i);
}

TEST_F(LoaderTest, ReadsAtMostThreeTimesTheDataInAShuffledEpoch) {
  constexpr std::int64_t rows = 200000;  // 3.2 MB of tokens, four hash blocks
  write_samples(folder_ / "a.h5", rows, context);
  const Dataset dataset = open({"a.h5"});
  std::atomic<std::size_t> bytes_read = 0;
  {
    const HookGuard hook([&](const char* call, const std::string&, std::size_t* bytes) {
      if (std::string(call) == "pread" && bytes != nullptr) bytes_read += *bytes;
      return 0;
    });
    LoaderOptions chosen = options(1000, 1000);
    chosen.shuffle_block = 1;
    Loader loader(dataset, chosen);
    for (std::int64_t step = 0; step < rows / 1000; ++step) (void)loader.load(step);
  }
  EXPECT_GT(bytes_read.load(), 2U * rows * context);
  EXPECT_LE(bytes_read.load(), 3U * 2U * rows * context);
}

TEST_F(LoaderTest, RefusesFilesThatDoNotFitTogether) {
  write_samples(folder_ / "a.h5", 3, context);
  write_dataset(folder_ / "short.h5", {.tokens = counting(context)});
  EXPECT_THAT(message_of([&] {
                (void)open({"a.h5", "short.h5"});
              }),
              AllOf(HasSubstr("short.h5"), HasSubstr("has 8 tokens (a context of 8 needs at least 9)")));
  TokenFileInfo info;
  info.path = folder_ / "bytes.h5";
  info.num_tokens = 20;
  info.vocab = 256;
  info.num_documents = 1;
  info.tokenizer_kind = "byte";
  DatasetWriter writer(info);
  writer.add_tokens("twenty bytes of text", 20);
  const std::int64_t zero = 0;
  writer.add_documents({&zero, 1});
  writer.finish();
  EXPECT_THAT(message_of([&] {
                (void)open({"a.h5", "bytes.h5"});
              }),
              AllOf(HasSubstr("a.h5"), HasSubstr("bytes.h5"), HasSubstr("different tokenizers")));
  EXPECT_THAT(message_of([] { (void)open_dataset({}, context); }), HasSubstr("no dataset"));
}

TEST(Tokenizers, AreTheSameByKindAndModelButReadyIdsMeanWhatTheirMakerSays) {
  const auto with = [](const char* kind, const char* model) {
    return TokenFileInfo{.path = kind, .tokenizer_kind = kind, .tokenizer_model = model};
  };
  check_same_tokenizer(with("byte", ""), with("byte", ""));
  check_same_tokenizer(with("sentencepiece", "a"), with("sentencepiece", "a"));
  check_same_tokenizer(with("ids", "96"), with("ids", "97"));
  EXPECT_THROW(check_same_tokenizer(with("sentencepiece", "a"), with("sentencepiece", "b")), InputError);
  EXPECT_THROW(check_same_tokenizer(with("byte", ""), with("ids", "")), InputError);
}

}  // namespace
}  // namespace trireme::data
