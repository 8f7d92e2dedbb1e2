#include <cmath>
#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/io/file.hpp"

#include "unit/checkpoint/sample.hpp"
#include "unit/io/temporary_folder.hpp"

namespace trireme::checkpoint::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// What a print function says; its exit code goes to `code`.
template <class Print>
std::string output_of(int& code, Print&& print) {
  testing::internal::CaptureStdout();
  code = print();
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

class Printed : public testing::Test {
 protected:
  trireme::test::TemporaryFolder folder_;
  std::string checkpoints_ = folder_ / "checkpoints";
  std::unique_ptr<comm::Communicator> self_ = comm::make_self_communicator();
  int code_ = -1;
};

TEST_F(Printed, TheListNamesStepsSizesAndWhatIsIncomplete) {
  save_sample(checkpoints_, 9);
  save_sample(checkpoints_, 10);
  const std::string half = save_sample(checkpoints_, 11);
  io::File(half + "/shard_00000.h5", io::File::Mode::read_write).truncate(1000);
  io::remove_file(save_sample(checkpoints_, 12) + "/index.h5");
  const std::string text = output_of(code_, [&] { return print_list(folder_.path()); });
  EXPECT_EQ(code_, 0);
  EXPECT_THAT(text, ContainsRegex(" 9  2x1x1 .*MiB .* yes\n.* 10  2x1x1 .* yes\n"));
  EXPECT_THAT(text, HasSubstr("no: `shard_00000.h5` has 1000 bytes"));
  EXPECT_THAT(text, HasSubstr("index.h5` is missing"));
}

TEST_F(Printed, ShowTellsMetadataTreeStatisticsAndDeck) {
  Holding holding;
  holding.add_empty({"weights/a", {2, 3}, Dtype::f32}, {{0, 0}, {2, 3}});
  holding.add_empty({"moments/first/a.b", {1}, Dtype::f32}, {{0}, {1}});
  const float numbers[6] = {1, 2, 3, -4, NAN, INFINITY};
  std::memcpy(holding.pieces()[0].data, numbers, sizeof numbers);
  save(*self_, checkpoints_, sample_metadata(5), holding.pieces(), {});
  const std::string text = output_of(code_, [&] { return print_show(checkpoints_, true); });
  EXPECT_EQ(code_, 0);
  EXPECT_THAT(text, AllOf(HasSubstr("step 5, samples 160"), HasSubstr("name = \"sample\""), HasSubstr("2x1x1")));
  EXPECT_THAT(text, HasSubstr("\nmoments/first/  1 tensor, 1 elements\n  a.b "));
  EXPECT_THAT(text, ContainsRegex("\nweights/  1 tensor, 6 elements\n  a +fp32 +\\[2, 3\\] +-4 +3 +0.5 +2.7386 +2\n"));
}

TEST_F(Printed, ShowWithoutStatisticsReadsNoShard) {
  const std::string path = save_sample(checkpoints_, 5);
  io::remove_file(path + "/shard_00000.h5");
  const std::string text = output_of(code_, [&] { return print_show(path, false); });
  EXPECT_THAT(text, ContainsRegex("\n  embedding.weight +fp32 +\\[1021, 769\\] *\n"));
  EXPECT_THROW((void)print_show(path, true), InputError);
}

TEST_F(Printed, VerifyReturnsTwoOnDamage) {
  const std::string path = save_sample(checkpoints_, 5);
  EXPECT_THAT(output_of(code_, [&] { return print_verify(path); }), HasSubstr("sound"));
  EXPECT_EQ(code_, 0);
  io::remove_file(path + "/shard_00000.h5");
  EXPECT_THAT(output_of(code_, [&] { return print_verify(path); }), HasSubstr("shard_00000.h5"));
  EXPECT_EQ(code_, 2);
}

TEST_F(Printed, DiffIsEqualWhateverThePieces) {
  save_sample(folder_ / "a", 5);
  Holding pieces;
  for (int part = 0; part < 3; ++part) {
    for (const TensorInfo& tensor : sample_tensors()) pieces.add(tensor, cut_along(tensor.shape, 0, part, 3));
  }
  save(*self_, folder_ / "b", sample_metadata(5), pieces.pieces(), {});
  const std::string text = output_of(code_, [&] { return print_diff(folder_ / "a", folder_ / "b"); });
  EXPECT_EQ(code_, 0) << text;
  EXPECT_THAT(text, HasSubstr("weights/embedding.weight: equal\n"));
}

TEST_F(Printed, DiffTellsTheLargestDifferences) {
  save_sample(folder_ / "a", 5);
  Holding changed = everything();
  auto* const row = static_cast<float*>(changed.pieces()[3].data);
  row[299999] += 0.5F;
  row[7] += 0.25F;
  Metadata metadata = sample_metadata(5);
  metadata.tokens += 1;
  save(*self_, folder_ / "b", metadata, changed.pieces(), {});
  const std::string text = output_of(code_, [&] { return print_diff(folder_ / "a", folder_ / "b"); });
  EXPECT_EQ(code_, 1);
  EXPECT_THAT(text, AllOf(HasSubstr("weights/row: 2 of 300007 elements differ, by at most 0.5 absolute"),
                          HasSubstr("tokens: 1099511627781 and 1099511627782"), HasSubstr("weights/one: equal")));
}

TEST_F(Printed, DiffSeesSignsOfZeroAndMissingTensors) {
  Holding a;
  a.add_empty({"weights/z", {3}, Dtype::f32}, {{0}, {3}});
  Holding b;
  b.add_empty({"weights/z", {3}, Dtype::f32}, {{0}, {3}});
  b.add_empty({"weights/more", {1}, Dtype::f32}, {{0}, {1}});
  static_cast<float*>(b.pieces()[0].data)[1] = -0.0F;
  save(*self_, folder_ / "a", sample_metadata(1), a.pieces(), {});
  save(*self_, folder_ / "b", sample_metadata(1), b.pieces(), {});
  const std::string text = output_of(code_, [&] { return print_diff(folder_ / "a", folder_ / "b"); });
  EXPECT_EQ(code_, 1);
  EXPECT_THAT(text, AllOf(HasSubstr("weights/z: 1 of 3 elements differ, by at most 0 absolute, 0 relative"),
                          HasSubstr("weights/more: only in the second")));
}

}  // namespace
}  // namespace trireme::checkpoint::test
