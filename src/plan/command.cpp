#include <cstdint>
#include <cstdio>
#include <limits>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/config/fit.hpp"
#include "trireme/data/loader.hpp"
#include "trireme/io/file.hpp"
#include "trireme/pipeline/timeline.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/train/train.hpp"

namespace trireme::plan {

namespace {

/// The file's path without an ending that this command adds.
std::string stem_of(const std::string& path) {
  for (const char* const ending : {".svg", ".json"}) {
    if (path.ends_with(ending)) return path.substr(0, path.rfind('.'));
  }
  return path;
}

void write_timeline(const Plan& plan, const std::string& path) {
  const std::vector<pipeline::Event> events = pipeline::timeline(plan.simulation);
  const pipeline::PictureOptions options{
      .title = fmt::format("{}, grid {}: planned", pipeline::name(plan.schedule.kind), plan.grid.text())};
  const std::string stem = stem_of(path);
  io::write_text_atomically(stem + ".svg", pipeline::svg_picture(events, options));
  io::write_text_atomically(stem + ".json", pipeline::chrome_trace(events, options));
  fmt::print("timeline: {0}.svg, and {0}.json for ui.perfetto.dev\n", stem);
}

}  // namespace

int ranks_of(const comm::GridOptions& grid, int asked) {
  if (asked > 0) return asked;
  if (grid.data <= 0 || grid.tensor <= 0 || grid.pipeline <= 0) {
    throw InputError(
        "`--ranks` is missing (an axis of `grid` is 0, so the deck does not tell the number) give `--ranks N`");
  }
  constexpr int most = std::numeric_limits<int>::max();
  // Of two factors up to `most` each, so nothing overflows.
  std::int64_t ranks = std::int64_t{grid.data} * grid.tensor;
  if (ranks <= most) ranks *= grid.pipeline;
  if (ranks <= most) return static_cast<int>(ranks);
  throw InputError(
      fmt::format("grid `{}x{}x{}` (data x tensor x pipeline) has more than {} places (a job has at most as many "
                  "ranks) make an axis of `grid` smaller",
                  grid.data, grid.tensor, grid.pipeline, most));
}

void print_plan(const Request& request) {
  config::Deck deck = config::read_deck(request.deck, request.overrides);
  const comm::GridShape grid = comm::fit_grid(deck.grid, ranks_of(deck.grid, request.ranks));
  config::check_grid(deck, grid);
  deck.batch.micro = config::resolve_micro(deck, grid[comm::Axis::data]);
  if (deck.model.vocab == 0) deck.model.vocab = data::open_dataset(deck.data.train, deck.model.context).vocab();
  const MachineRates rates =
      request.rates.empty() ? MachineRates{} : read_rates(io::read_text(request.rates), request.rates);
  const Plan plan = make_plan(deck, grid, rates, [&](const comm::GridShape& coordinates) {
    return train::planned_memory(deck, grid, coordinates, request.threads);
  });
  fmt::print("{}", describe(plan));
  if (!request.timeline.empty()) write_timeline(plan, request.timeline);
}

}  // namespace trireme::plan
