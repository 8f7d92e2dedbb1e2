#include "trireme/comm/communicator.hpp"

#include <array>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/comm/tree.hpp"

namespace trireme::comm {
namespace {

TEST(SelfCommunicator, LeavesTheDataOfOneRankAsTheyAre) {
  const auto self = make_self_communicator();
  EXPECT_EQ(self->rank(), 0);
  EXPECT_EQ(self->size(), 1);
  self->barrier();
  EXPECT_EQ(self->all_reduce_sum(7), 7);
  EXPECT_EQ(self->all_reduce_max(-2.5), -2.5);
  EXPECT_TRUE(self->any(true));
  EXPECT_FALSE(self->any(false));
  EXPECT_TRUE(self->all_arrive(0));
  EXPECT_THAT(self->all_gather_text("alone"), testing::ElementsAre("alone"));
  EXPECT_THAT(self->all_gather_text(""), testing::ElementsAre(""));
  EXPECT_EQ(self->split([](int) { return 3; })->size(), 1);
  EXPECT_EQ(self->split_by_host()->size(), 1);
}

TEST(SelfCommunicator, RefusesMessages) {
  const auto self = make_self_communicator();
  int number = 1;
  EXPECT_THROW((void)self->send(&number, sizeof(number), 0, 1), CommunicationError);
}

TEST(SelfCommunicator, NeedsNoMessagesForTreesOfOneRank) {
  const auto self = make_self_communicator();
  const device::Device device({});
  std::array<float, 3> data{1, 2, 3};
  TreeReduceScatter reduce(*self, device, {0, 3}, 1);
  EXPECT_EQ(reduce.scratch_elements(), 0);
  EXPECT_TRUE(reduce.poll()) << "not started";
  reduce.start(data.data(), nullptr);
  EXPECT_TRUE(reduce.poll());
  reduce.finish();
  PieceAllGather gather(*self, {0, 3}, 2);
  gather.start(data.data());
  gather.finish();
  EXPECT_THAT(data, testing::ElementsAre(1, 2, 3));
}

TEST(OnRoot, ThrowsTheSameErrorAgain) {
  const auto self = make_self_communicator();
  EXPECT_NO_THROW(on_root(*self, [] {}));
  EXPECT_THROW(on_root(*self, [] { throw InputError("deck"); }), InputError);
  EXPECT_THROW(on_all(*self, [] { throw NumericalError("nan"); }), NumericalError);
  try {
    on_all(*self, [] { throw std::runtime_error("words of a library"); });
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(), "words of a library");
  }
}

}  // namespace
}  // namespace trireme::comm
