#include "train/save_interval.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme::train {
namespace {

using checkpoint::automatic_minutes;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double day_s = 86400;

/// The share of the time that is lost when a save of `save_s` is made every `interval_s`: the save itself, and on the
/// average half an interval of work at each failure.
double lost_share(double interval_s, double save_s, double between_failures_s) {
  return save_s / interval_s + interval_s / 2 / between_failures_s;
}

TEST(YoungInterval, LosesLessThanAnyOther) {
  for (const double save_s : {0.5, 30.0, 600.0}) {
    for (const double between_failures_s : {3600.0, day_s, 300 * day_s}) {
      const double best = young_interval_s(save_s, between_failures_s);
      const double least = lost_share(best, save_s, between_failures_s);
      for (const double other : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) {
        EXPECT_LT(least, lost_share(other * best, save_s, between_failures_s));
      }
    }
  }
}

TEST(SaveInterval, OfNoMinutesNeverEnds) {
  EXPECT_TRUE(std::isinf(SaveInterval({}, {.per_day = 5, .source = ""}).seconds()));
}

TEST(SaveInterval, OfFixedMinutesIsWhateverSavesCost) {
  SaveInterval interval({.every_minutes = 2.5}, {.per_day = 5, .source = ""});
  interval.save_took(1000, 1000);
  EXPECT_DOUBLE_EQ(interval.seconds(), 150);
  EXPECT_THAT(interval.news(), IsEmpty());
}

TEST(SaveInterval, FollowsWhatSavesCostOnTheAverage) {
  SaveInterval interval({.every_minutes = automatic_minutes}, {.per_day = 2, .source = "a guess"});
  interval.expect_save(8);
  EXPECT_DOUBLE_EQ(interval.seconds(), std::sqrt(2 * 8 * day_s / 2));
  interval.save_took(30, 30);
  interval.save_took(50, 50);
  EXPECT_DOUBLE_EQ(interval.seconds(), std::sqrt(2 * 40 * day_s / 2));
}

TEST(SaveInterval, TakesTheRateOfTheDeckBeforeAnyOther) {
  const SaveInterval interval({.every_minutes = automatic_minutes, .failures_per_day = 8},
                              {.per_day = 2, .source = ""});
  SaveInterval same = interval;
  same.expect_save(9);
  EXPECT_DOUBLE_EQ(same.seconds(), std::sqrt(2 * 9 * day_s / 8));
  EXPECT_THAT(same.news(), HasSubstr("failures: `checkpoint.failures_per_day`"));
}

TEST(SaveInterval, IsNoShorterThanASaveThatIsWrittenWhileTrainingGoesOn) {
  SaveInterval interval({.every_minutes = automatic_minutes}, {.per_day = 24, .source = ""});
  interval.save_took(0.001, 100);
  EXPECT_DOUBLE_EQ(interval.seconds(), 100);
}

TEST(SaveInterval, IsToldAtFirstAndWhenItHasChanged) {
  SaveInterval interval({.every_minutes = automatic_minutes}, {.per_day = 1, .source = "a guess"});
  interval.expect_save(3);
  EXPECT_THAT(interval.news(), testing::AllOf(HasSubstr("12 min"), HasSubstr("a save (assumed)"),
                                              HasSubstr("Young 1974"), HasSubstr("failures: a guess")));
  EXPECT_THAT(interval.news(), IsEmpty());
  interval.save_took(3.5, 3.5);
  EXPECT_THAT(interval.news(), IsEmpty());  // less than a tenth
  interval.save_took(4.5, 4.5);
  EXPECT_THAT(interval.news(), testing::Not(HasSubstr("assumed")));
}

}  // namespace
}  // namespace trireme::train
