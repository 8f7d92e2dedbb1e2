#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/hdf5/file.hpp"
#include "trireme/io/file.hpp"

#include "unit/checkpoint/sample.hpp"
#include "unit/io/temporary_folder.hpp"

namespace trireme::checkpoint::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using trireme::test::TemporaryFolder;

class RoundTrip : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string checkpoints_ = folder_ / "checkpoints";
  std::unique_ptr<comm::Communicator> self_ = comm::make_self_communicator();
};

TEST_F(RoundTrip, GivesEveryElementAndCounterBack) {
  const std::string path = save_sample(checkpoints_, 100);
  EXPECT_EQ(path, checkpoints_ + "/step_00000100");
  EXPECT_THAT(load_problem(path), IsEmpty());
  const Reader reader(*self_, folder_.path());
  const Metadata expected = sample_metadata(100);
  const Metadata& found = reader.metadata();
  EXPECT_EQ(found.step, 100);
  EXPECT_EQ(found.samples, expected.samples);
  EXPECT_EQ(found.tokens, expected.tokens);
  EXPECT_EQ(found.skipped, expected.skipped);
  EXPECT_EQ(found.loss_scale, expected.loss_scale);
  EXPECT_EQ(found.loss_scale_good_steps, expected.loss_scale_good_steps);
  EXPECT_EQ(found.deck, expected.deck);
  EXPECT_EQ(found.tokenizer_kind, expected.tokenizer_kind);
  EXPECT_EQ(found.tokenizer_model, expected.tokenizer_model);
  EXPECT_EQ(found.build, expected.build);
  EXPECT_EQ(found.isa, expected.isa);
  EXPECT_EQ(found.precision, expected.precision);
  EXPECT_EQ(found.grid, expected.grid);
  EXPECT_EQ(reader.tensors().size(), sample_tensors().size());
}

TEST_F(RoundTrip, EmptyTextsAndNoTensorsAreFine) {
  EXPECT_GT(save(*self_, checkpoints_, Metadata{}, {}, {}), 0U);
  Reader reader(*self_, checkpoints_);
  EXPECT_THAT(reader.metadata().deck, IsEmpty());
  EXPECT_THAT(reader.metadata().grid, IsEmpty());
  reader.read({});
  EXPECT_THAT(verify(checkpoints_), IsEmpty());
}

TEST_F(RoundTrip, AnyRectanglesCanBeAskedFor) {
  save_sample(checkpoints_, 7);
  Reader reader(*self_, checkpoints_);
  for (const int num_ranks : {2, 3, 7}) {
    for (int rank = 0; rank < num_ranks; ++rank) {
      Holding columns = empty_columns(rank, num_ranks);
      reader.read(columns.pieces());
      EXPECT_THAT(columns.first_wrong(), IsEmpty()) << rank << " of " << num_ranks;
    }
  }
  const TensorInfo tensor = sample_tensors().front();
  Holding overlapping;
  overlapping.add_empty(tensor, {{100, 100}, {600, 600}});
  overlapping.add_empty(tensor, {{650, 0}, {1, 769}});
  overlapping.add_empty(tensor, {{0, 768}, {1021, 1}});
  overlapping.add_empty(tensor, {{3, 3}, {0, 4}});
  reader.read(overlapping.pieces());
  EXPECT_THAT(overlapping.first_wrong(), IsEmpty());
}

TEST_F(RoundTrip, PiecesOfOneRankJoinOnDisk) {
  Holding holding;
  const TensorInfo tensor = sample_tensors().front();
  for (const Shard& part : cut_flat(tensor.shape, 0, 400000)) holding.add(tensor, part);
  for (const Shard& part : cut_flat(tensor.shape, 400000, tensor.shape.size())) holding.add(tensor, part);
  save(*self_, checkpoints_, sample_metadata(1), holding.pieces(), {});
  const hdf5::Reader shard(checkpoints_ + "/step_00000001/shard_00000.h5");
  EXPECT_EQ(shard.list("/weights/embedding.weight").size(), 1U);
  Holding again;
  again.add_empty(tensor, tensor::whole(tensor.shape));
  Reader(*self_, checkpoints_).read(again.pieces());
  EXPECT_THAT(again.first_wrong(), IsEmpty());
}

TEST_F(RoundTrip, WrongRequestsAreListedTogether) {
  save_sample(checkpoints_, 3);
  Holding wrong;
  wrong.add_empty({"weights/nowhere", {3}, Dtype::f32}, {{0}, {3}});
  wrong.add_empty({"weights/one", {2}, Dtype::f32}, {{0}, {2}});
  wrong.add_empty({"weights/half", {37, 41}, Dtype::f32}, {{0, 0}, {37, 41}});
  Reader reader(*self_, checkpoints_);
  try {
    reader.read(wrong.pieces());
    FAIL() << "was not refused";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("`weights/nowhere` is not in it"), HasSubstr("`weights/one` has shape [1], wanted [2]"),
                      HasSubstr("`weights/half` is bf16, wanted fp32")));
  }
}

TEST_F(RoundTrip, AStepSavedAgainIsPutAsideNeverDeleted) {
  save_sample(checkpoints_, 5);
  const std::string before = contents(checkpoints_ + "/step_00000005");
  save_sample(checkpoints_, 5);
  EXPECT_THAT(load_problem(checkpoints_), IsEmpty());
  std::string aside;
  for (const std::string& name : io::list_folder(checkpoints_)) {
    if (name.starts_with("damaged_step_00000005.")) aside = name;
  }
  ASSERT_THAT(aside, Not(IsEmpty()));
  EXPECT_EQ(contents(checkpoints_ + "/" + aside), before);
  EXPECT_EQ(list_steps(checkpoints_), std::vector<std::int64_t>{5});
}

TEST_F(RoundTrip, NothingIsCommittedWhenTheCommitIsForbidden) {
  const Holding holding = everything();
  const auto forbid = [] { throw SystemError("the lock is lost"); };
  try {
    save(*self_, checkpoints_, sample_metadata(9), holding.pieces(), {}, forbid);
    FAIL() << "was committed";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the lock is lost"));
  }
  EXPECT_THAT(io::list_folder(checkpoints_), IsEmpty());
}

TEST_F(RoundTrip, FindsTheNewestByNumber) {
  const Holding nothing;
  for (const std::int64_t step : {9, 10, 100000000, 99999999}) {
    save(*self_, checkpoints_, sample_metadata(step), nothing.pieces(), {});
  }
  EXPECT_EQ(find_checkpoint(folder_.path()), checkpoints_ + "/step_100000000");
  EXPECT_EQ(find_checkpoint(checkpoints_ + "/"), checkpoints_ + "/step_100000000");
  EXPECT_EQ(find_checkpoint(checkpoints_ + "/step_00000009/"), checkpoints_ + "/step_00000009");
  EXPECT_THROW(static_cast<void>(find_checkpoint(folder_ / "nowhere")), InputError);
  io::make_folder(folder_ / "empty");
  EXPECT_THROW(static_cast<void>(find_checkpoint(folder_ / "empty")), InputError);
}

TEST_F(RoundTrip, ImpossibleOptionsAreRefused) {
  CheckpointOptions options;
  options.ranks_per_file = 0;
  EXPECT_THROW(save(*self_, checkpoints_, {}, {}, options), InputError);
  options = {};
  options.asynchronous = true;
  EXPECT_THROW(save(*self_, checkpoints_, {}, {}, options), InputError);
  EXPECT_FALSE(io::exists(checkpoints_));
}

}  // namespace
}  // namespace trireme::checkpoint::test
