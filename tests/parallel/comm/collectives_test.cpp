#include <cstdlib>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/comm/communicator.hpp"

#include "parallel/parallel.hpp"
#include "parallel/pmpi_shim.hpp"

namespace trireme::comm {
namespace {

using testing::world;

TEST(Collectives, BroadcastFromEveryRoot) {
  for (std::size_t bytes : {0U, 1U, 999U, 1000U, 1001U, 50021U}) {
    for (int root = 0; root < world().size(); ++root) {
      const auto mark = static_cast<unsigned char>(root + 3);
      std::vector<unsigned char> data(bytes, world().rank() == root ? mark : 0);
      world().broadcast(data.data(), bytes, root);
      EXPECT_THAT(data, ::testing::Each(mark));
    }
  }
}

TEST(Collectives, GatherInRankOrder) {
  for (std::size_t elements : {0U, 1U, 3U, 200U, 3001U}) {
    const std::vector<std::int32_t> mine(elements, world().rank());
    std::vector<std::int32_t> all(elements * static_cast<std::size_t>(world().size()), -1);
    world().all_gather(mine.data(), elements * sizeof(std::int32_t), all.data());
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int>(i / elements));
  }
}

TEST(Collectives, SumIntegersExactlyAndFindLargestNumbers) {
  std::vector<std::int64_t> values(777);
  std::iota(values.begin(), values.end(), std::int64_t{1} << 60U);
  for (auto& value : values) value = world().rank() % 2 == 0 ? value : -value + 1;
  world().all_reduce_sum(std::span<std::int64_t>(values));
  const std::int64_t pairs = world().size() / 2;
  const bool odd = world().size() % 2 != 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t alone = odd ? (std::int64_t{1} << 60U) + static_cast<std::int64_t>(i) : 0;
    ASSERT_EQ(values[i], pairs + alone);
  }
  EXPECT_EQ(world().all_reduce_max(-1.0 - world().rank()), -1.0);
  EXPECT_TRUE(world().any(world().rank() == world().size() - 1));
  EXPECT_FALSE(world().any(false));
}

TEST(Collectives, GatherAndBroadcastTexts) {
  const std::string mine(static_cast<std::size_t>(world().rank() * 300), static_cast<char>('a' + world().rank()));
  const std::vector<std::string> all = world().all_gather_text(mine);
  ASSERT_EQ(static_cast<int>(all.size()), world().size());
  for (int rank = 0; rank < world().size(); ++rank) {
    EXPECT_EQ(all[static_cast<std::size_t>(rank)],
              std::string(static_cast<std::size_t>(rank * 300), static_cast<char>('a' + rank)));
  }
  const int root = world().size() - 1;
  const std::vector<std::string> gathered = world().gather_text(mine, root);
  EXPECT_EQ(gathered, world().rank() == root ? all : std::vector<std::string>{});
  EXPECT_EQ(world().scatter_text(gathered, root), mine);
  std::string text = world().rank() == 0 ? "the deck" : "something longer than that";
  world().broadcast_text(text, 0);
  EXPECT_EQ(text, "the deck");
}

TEST(Messages, OfAnyLengthGoRoundTheRing) {
  if (world().size() == 1) GTEST_SKIP() << "one rank";
  const int left = (world().rank() + world().size() - 1) % world().size();
  const int right = (world().rank() + 1) % world().size();
  for (std::size_t elements : {0U, 1U, 750U, 1250U, 65536U}) {
    std::vector<std::int32_t> out(elements);
    std::iota(out.begin(), out.end(), world().rank());
    std::vector<std::int32_t> in(elements);
    const auto receive = world().receive(in.data(), elements * sizeof(std::int32_t), left, 11);
    const auto send = world().send(out.data(), elements * sizeof(std::int32_t), right, 11);
    while (!receive->test()) {
    }
    send->wait();
    for (std::size_t i = 0; i < elements; ++i) ASSERT_EQ(in[i], left + static_cast<int>(i));
  }
}

TEST(Messages, NeverExceedTheLimitOfOneCall) {
  const char* const limit = std::getenv("TRIREME_MAX_MESSAGE_BYTES");
  if (limit == nullptr) GTEST_SKIP() << "no limit set";
  EXPECT_LE(testing::largest_call_bytes(), std::atol(limit));
  EXPECT_GT(testing::largest_call_bytes(), 0);
}

TEST(Messages, AreSynchronousWhenTheTestSaysSo) {
  if (std::getenv("TRIREME_TEST_SYNCHRONOUS") == nullptr || world().size() == 1) GTEST_SKIP() << "buffering allowed";
  EXPECT_GT(testing::synchronous_sends(), 0);
}

}  // namespace
}  // namespace trireme::comm
