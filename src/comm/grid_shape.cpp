#include "trireme/comm/grid_shape.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"

namespace trireme::comm {
namespace {

constexpr std::array<Axis, num_axes> all_axes{Axis::tensor, Axis::data, Axis::pipeline};

GridShape wish_of(const GridOptions& options) {
  return {{options.tensor, options.data, options.pipeline}};
}

int agreements(const GridShape& a, const GridShape& b) {
  return static_cast<int>(
      std::count_if(all_axes.begin(), all_axes.end(), [&](Axis axis) { return a[axis] == b[axis]; }));
}

/// Some grids of exactly `num_ranks` places, those nearest to the wish first.
std::string legal_choices(const GridShape& wish, int num_ranks) {
  std::vector<GridShape> choices;
  for (int tensor = 1; tensor <= num_ranks; ++tensor) {
    if (num_ranks % tensor != 0) continue;
    const int rest = num_ranks / tensor;
    for (int pipeline = 1; pipeline <= rest; ++pipeline) {
      if (rest % pipeline == 0) choices.push_back({{tensor, rest / pipeline, pipeline}});
    }
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [&](const GridShape& a, const GridShape& b) { return agreements(a, wish) > agreements(b, wish); });
  constexpr std::size_t shown = 6;
  std::vector<std::string> texts;
  for (const GridShape& choice : choices) texts.push_back(fmt::format("`{}`", choice.text()));
  const bool more = texts.size() > shown;
  if (more) texts.resize(shown);
  return join(texts) + (more ? ", ..." : "");
}

void refuse_negative(const GridShape& wish) {
  for (Axis axis : all_axes) {
    if (wish[axis] >= 0) continue;
    throw InputError(
        fmt::format("`grid.{}` is `{}` (an axis has at least one rank) use a positive number, or 0 on one "
                    "axis to fill it with the ranks that are left",
                    name_of(axis), wish[axis]));
  }
}

void refuse_two_zeros(const GridShape& wish) {
  std::vector<std::string> zeros;
  for (Axis axis : all_axes) {
    if (wish[axis] == 0) zeros.push_back(fmt::format("`grid.{}`", name_of(axis)));
  }
  if (zeros.size() < 2) return;
  throw InputError(
      fmt::format("{} are 0 (only one axis can be filled with the ranks that are left) set all but one "
                  "of them",
                  join(zeros, " and ")));
}

}  // namespace

std::string_view name_of(Axis axis) {
  switch (axis) {
    case Axis::tensor:
      return "tensor";
    case Axis::data:
      return "data";
    case Axis::pipeline:
      return "pipeline";
  }
  return "";
}

int GridShape::size() const {
  return extents[0] * extents[1] * extents[2];
}

GridShape GridShape::coordinates_of(int rank) const {
  GridShape coordinates;
  for (Axis axis : all_axes) {
    coordinates[axis] = rank % (*this)[axis];
    rank /= (*this)[axis];
  }
  return coordinates;
}

int GridShape::rank_of(const GridShape& coordinates) const {
  const GridShape& shape = *this;
  return coordinates[Axis::tensor] +
         shape[Axis::tensor] * (coordinates[Axis::data] + shape[Axis::data] * coordinates[Axis::pipeline]);
}

std::string GridShape::text() const {
  return fmt::format("{}x{}x{}", (*this)[Axis::data], (*this)[Axis::tensor], (*this)[Axis::pipeline]);
}

void check(const GridOptions& options) {
  const GridShape wish = wish_of(options);
  refuse_negative(wish);
  refuse_two_zeros(wish);
}

GridShape fit_grid(const GridOptions& options, int num_ranks) {
  check(options);
  const GridShape wish = wish_of(options);
  // In double: a mistyped extent must not overflow.
  double product = 1;
  for (Axis axis : all_axes) product *= std::max(1, wish[axis]);
  GridShape shape = wish;
  const auto zero = std::find_if(all_axes.begin(), all_axes.end(), [&](Axis axis) { return wish[axis] == 0; });
  if (zero == all_axes.end()) {
    if (product == num_ranks) return shape;
    const std::string count_of_ranks = num_ranks == 1 ? "is 1 rank" : fmt::format("are {} ranks", num_ranks);
    throw InputError(
        fmt::format("grid `{}` (data x tensor x pipeline) has {:.0f} places but there {} (every "
                    "rank has exactly one place) start {:.0f} ranks, or choose one of {}",
                    wish.text(), product, count_of_ranks, product, legal_choices(wish, num_ranks)));
  }
  if (product <= num_ranks && num_ranks % static_cast<int>(product) == 0) {
    shape[*zero] = num_ranks / static_cast<int>(product);
    return shape;
  }
  throw InputError(
      fmt::format("`grid.{}` cannot be filled: the other axes of grid `{}` (data x tensor x pipeline) have "
                  "{:.0f} places, which does not divide the number of ranks, {} (every rank has exactly one place) "
                  "start a multiple of {:.0f} ranks, or choose one of {}",
                  name_of(*zero), wish.text(), product, num_ranks, product, legal_choices(wish, num_ranks)));
}

}  // namespace trireme::comm
