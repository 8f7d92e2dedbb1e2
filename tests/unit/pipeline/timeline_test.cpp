#include "trireme/pipeline/timeline.hpp"

#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace trireme::pipeline {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<Event> planned(ScheduleKind kind, int chunks = 1) {
  const Schedule schedule = make_schedule(kind, 3, 4, chunks);
  return timeline(simulate(schedule, uniform_timing(schedule, {1e-3, 1e-3, 1e-3}, 1e-4)));
}

std::size_t count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator()));
}

TEST(Timeline, HasTheComputeActionsOfAllStages) {
  EXPECT_EQ(planned(ScheduleKind::gpipe).size(), 3U * 4 * 2);
  EXPECT_EQ(planned(ScheduleKind::zero_bubble).size(), 3U * 4 * 3);
  EXPECT_EQ(planned(ScheduleKind::interleaved, 2).size(), 3U * 4 * 2 * 2);
  const Event first = planned(ScheduleKind::gpipe).front();
  EXPECT_EQ(first.row, 0);
  EXPECT_EQ(first.name, "forward");
  EXPECT_EQ(first.micro_batch, 0);
  EXPECT_DOUBLE_EQ(first.end_s, 1e-3);
}

TEST(SvgPicture, HasABoxForEachEventAndARowForEachStage) {
  const std::string svg = svg_picture(planned(ScheduleKind::zero_bubble), {"zero_bubble", "stage"});
  EXPECT_EQ(svg.rfind("<svg ", 0), 0U);
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_EQ(count(svg, "<g><title>"), 3U * 4 * 3);
  for (const char* row : {">stage 0<", ">stage 1<", ">stage 2<"}) EXPECT_THAT(svg, HasSubstr(row));
  EXPECT_THAT(svg, Not(HasSubstr(">stage 3<")));
  for (const char* entry : {">forward<", ">backward_input<", ">backward_weight<"}) EXPECT_THAT(svg, HasSubstr(entry));
  EXPECT_THAT(svg, Not(HasSubstr(">backward<")));
  EXPECT_THAT(svg, HasSubstr("time in ms"));
}

TEST(SvgPicture, PlacesBoxesByTheirTimes) {
  const std::vector<Event> events{{0, "forward", 7, 0, 10.0, 13.0}, {1, "forward", 7, 0, 13.0, 20.0}};
  const std::string svg = svg_picture(events, {"two", "rank"});
  // 900 pixels for 10 s from pixel 84 on; a hair of 0.8 pixels is left between boxes.
  EXPECT_THAT(svg, HasSubstr("<rect x=\"84.00\" y=\"74.0\" width=\"269.20\""));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"354.00\" y=\"110.0\" width=\"629.20\""));
  EXPECT_THAT(svg, HasSubstr("forward, micro-batch 7, chunk 0: 3 to 10 s"));
}

TEST(SvgPicture, WritesNumbersOnlyWhereThereIsRoom) {
  const std::vector<Event> events{{0, "forward", 0, 0, 0, 1.0}, {0, "backward", 12345, 0, 1.0, 1.01}};
  const std::string svg = svg_picture(events, {"", "rank"});
  EXPECT_EQ(count(svg, "font-size=\"11\"[^>]*>0</text>"), 1U);
  EXPECT_THAT(svg, Not(HasSubstr(">12345<")));
}

TEST(SvgPicture, EscapesWhatItIsGiven) {
  const std::string svg = svg_picture({{0, "a<b & \"c\"", -1, 0, 0, 1}}, {"<script>", "rank"});
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(svg, HasSubstr("a&lt;b &amp; &quot;c&quot;"));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
}

TEST(SvgPicture, DrawsInnerEventsOnTopOfOuterOnes) {
  const std::string svg = svg_picture({{0, "inner", -1, 0, 0.5, 0.75}, {0, "outer", -1, 0, 0, 1}}, {"", "rank"});
  EXPECT_LT(svg.find("<title>outer"), svg.find("<title>inner"));
}

TEST(SvgPicture, OfNothingIsStillAPicture) {
  for (const std::vector<Event>& events : {std::vector<Event>{}, std::vector<Event>{{0, "forward", 0, 0, 1, 1}}}) {
    const std::string svg = svg_picture(events, {"nothing", "stage"});
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(ChromeTrace, HoldsEveryEventInMicroseconds) {
  std::vector<Event> events = planned(ScheduleKind::interleaved, 2);
  events.push_back({2, "optimizer", -1, 0, 1.5, 1.75});
  const nlohmann::json trace = nlohmann::json::parse(chrome_trace(events, {"a \"plan\"", "stage"}));
  EXPECT_EQ(trace["otherData"]["title"], "a \"plan\"");
  std::vector<nlohmann::json> complete;
  std::size_t row_names = 0;
  for (const auto& entry : trace["traceEvents"]) {
    if (entry["ph"] == "X") complete.push_back(entry);
    if (entry["name"] == "process_name") {
      EXPECT_EQ(entry["args"]["name"], "stage " + std::to_string(row_names++));
    }
  }
  EXPECT_EQ(row_names, 3U);
  ASSERT_EQ(complete.size(), events.size());
  EXPECT_EQ(complete[1]["name"], "forward 1");
  EXPECT_EQ(complete[1]["cat"], "forward");
  EXPECT_EQ(complete[1]["args"]["micro_batch"], 1);
  EXPECT_NEAR(complete[1]["ts"].get<double>(), 1000, 1e-6);
  EXPECT_NEAR(complete[1]["dur"].get<double>(), 1000, 1e-6);
  const nlohmann::json& last = complete.back();
  EXPECT_EQ(last["name"], "optimizer");
  EXPECT_EQ(last["pid"], 2);
  EXPECT_EQ(last["tid"], 2);
  EXPECT_NEAR(last["dur"].get<double>(), 250000, 1e-6);
  EXPECT_FALSE(last.contains("args"));
}

}  // namespace
}  // namespace trireme::pipeline
