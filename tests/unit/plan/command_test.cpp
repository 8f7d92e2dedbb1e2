#include <string>

#include <gmock/gmock.h>

#include "trireme/base/error.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::plan {
namespace {

using testing::HasSubstr;

std::string refusal(const comm::GridOptions& grid) {
  try {
    static_cast<void>(ranks_of(grid, 0));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(RanksOf, AreThoseAskedForElseThePlacesOfTheGrid) {
  EXPECT_EQ(ranks_of({.data = 2, .tensor = 3, .pipeline = 5}, 0), 30);
  EXPECT_EQ(ranks_of({.data = 0, .tensor = 3, .pipeline = 5}, 45), 45);
  EXPECT_EQ(ranks_of({.data = 1 << 15, .tensor = 1 << 10, .pipeline = 63}, 0), 63 << 25);
}

TEST(RanksOf, RefusesAGridThatDoesNotTellThem) {
  EXPECT_THAT(refusal({.data = 0, .tensor = 3, .pipeline = 5}), HasSubstr("`--ranks` is missing"));
}

TEST(RanksOf, RefusesMorePlacesThanCanBeCounted) {
  constexpr int most = 2147483647;
  for (const comm::GridOptions& grid : {comm::GridOptions{.data = 65536, .tensor = 65536, .pipeline = 1},
                                        {.data = 1 << 11, .tensor = 1 << 10, .pipeline = 1 << 10},
                                        {.data = most, .tensor = 1, .pipeline = 2},
                                        {.data = most, .tensor = most, .pipeline = most}}) {
    EXPECT_THAT(refusal(grid), HasSubstr("has more than 2147483647 places"));
  }
  EXPECT_EQ(ranks_of({.data = most, .tensor = 1, .pipeline = 1}, 0), most);
}

}  // namespace
}  // namespace trireme::plan
