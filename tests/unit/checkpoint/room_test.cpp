#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/io/file.hpp"

#include "unit/io/temporary_folder.hpp"

namespace trireme::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// What most_added() foretells, seen: saves and removals step by step. One save is under way while all others are
/// there.
std::int64_t most_seen(const CheckpointOptions& options, std::int64_t first, std::int64_t last) {
  trireme::test::TemporaryFolder folder;
  std::size_t most = 0;
  for (std::int64_t step = first + 1; step <= last; ++step) {
    if (step % options.every_steps != 0 && step != last) continue;
    io::make_folders(step_folder(folder.path(), step));
    most = std::max(most, list_steps(folder.path()).size());
    rotate(folder.path(), options, step);
  }
  return static_cast<std::int64_t>(most);
}

TEST(MostAdded, IsWhatLiesThereAtOnce) {
  for (const std::int64_t keep : {1, 2, 5}) {
    for (const std::int64_t last : {1, 7, 20, 40}) {
      const CheckpointOptions options{.every_steps = 4, .keep = keep};
      EXPECT_EQ(most_added(options, 0, 0, last), most_seen(options, 0, last)) << keep << " " << last;
    }
  }
}

TEST(MostAdded, CountsThoseThatAreKeptForGood) {
  const CheckpointOptions options{.every_steps = 4, .keep = 2, .keep_every_steps = 6};
  const std::int64_t seen = most_seen(options, 0, 100);
  EXPECT_GE(most_added(options, 0, 0, 100), seen);
  EXPECT_LE(most_added(options, 0, 0, 100), seen + 2);  // of those for good some are among the newest
}

TEST(MostAdded, KnowsWhatIsThereAlready) {
  const CheckpointOptions options{.every_steps = 1, .keep = 3};
  EXPECT_EQ(most_added(options, 0, 10, 50), 4);
  EXPECT_EQ(most_added(options, 2, 10, 50), 2);
  EXPECT_EQ(most_added(options, 3, 10, 50), 1);
  EXPECT_EQ(most_added(options, 9, 10, 50), 1);
  EXPECT_EQ(most_added({.keep = 3}, 0, 10, 50), 1);  // only the last one is saved
  EXPECT_EQ(most_added({.every_minutes = automatic_minutes, .keep = 3}, 0, 10, 50), 4);
}

TEST(RoomProblem, TellsWhatIsNeededAndFree) {
  trireme::test::TemporaryFolder folder;
  const std::uint64_t free = io::free_bytes(folder.path());
  const CheckpointOptions options{.every_steps = 1, .keep = 3};
  EXPECT_THAT(room_problem(folder.path(), options, 1000, 0, 100), IsEmpty());
  EXPECT_THAT(room_problem(folder.path(), options, free / 2, 0, 1), IsEmpty());
  EXPECT_THAT(room_problem(folder.path(), options, free / 2, 0, 100),
              AllOf(HasSubstr(folder.path()), HasSubstr("up to 4 more"), HasSubstr("`checkpoint.keep = 3`")));
  EXPECT_THAT(room_problem(folder.path(), options, 2 * free, 0, 1),
              AllOf(HasSubstr("no room for a checkpoint"), HasSubstr(std::to_string(2 * free))));
  EXPECT_THAT(room_problem(folder.path(), options, 2 * free, 7, 7), IsEmpty());  // nothing is left to do
}

}  // namespace
}  // namespace trireme::checkpoint
