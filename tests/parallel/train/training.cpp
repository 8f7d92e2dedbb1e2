#include "parallel/train/training.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trireme/checkpoint/checkpoint.hpp"

namespace trireme::testing {

using comm::Axis;

namespace {

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
std::string first_difference(const std::string& name, const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return fmt::format("{}: {} and {} numbers", name, a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i])) return fmt::format("{}[{}]: {} and {}", name, i, a[i], b[i]);
  }
  return {};
}

data::LoaderOptions loader_options(const config::Deck& deck, const comm::ProcessGrid& grid) {
  return {.context = deck.model.context,
          .global_batch = deck.batch.global,
          .micro_batch = deck.batch.micro,
          .part = grid.coordinate(Axis::data),
          .num_parts = grid.size(Axis::data),
          .seed = deck.run.seed,
          .shuffle_block = deck.data.shuffle_block,
          .weights = deck.data.weights};
}

// A rank's pieces as one text, for the way to rank 0.

void put(std::string& text, const void* data, std::size_t bytes) {
  text.append(static_cast<const char*>(data), bytes);
}

void put(std::string& text, const tensor::Shape& shape) {
  for (int dim = 0; dim < tensor::Shape::max_dims; ++dim) {
    const std::int64_t extent = dim < shape.num_dims() ? shape[dim] : -1;
    put(text, &extent, sizeof(extent));
  }
}

std::string packed(const std::vector<checkpoint::Piece>& pieces) {
  std::string text;
  for (const checkpoint::Piece& piece : pieces) {
    const auto length = static_cast<std::int64_t>(piece.name.size());
    put(text, &length, sizeof(length));
    put(text, piece.name.data(), piece.name.size());
    put(text, piece.global_shape);
    put(text, piece.rectangle.offset);
    put(text, piece.rectangle.extent);
    put(text, piece.data, static_cast<std::size_t>(piece.rectangle.extent.size()) * sizeof(float));
  }
  return text;
}

class Unpacker {
 public:
  explicit Unpacker(const std::string& text) : text_(text) {}
  [[nodiscard]] bool done() const { return at_ == text_.size(); }
  void take(void* data, std::size_t bytes) {
    std::memcpy(data, text_.data() + at_, bytes);
    at_ += bytes;
  }
  std::string take_name() {
    std::int64_t length = 0;
    take(&length, sizeof(length));
    std::string name(static_cast<std::size_t>(length), ' ');
    take(name.data(), name.size());
    return name;
  }
  /// One or two dimensions: all that a model has; as rows and columns.
  std::array<std::int64_t, 2> take_shape(std::int64_t missing) {
    std::array<std::int64_t, tensor::Shape::max_dims> extents{};
    take(extents.data(), sizeof(extents));
    EXPECT_EQ(extents[2], -1);
    if (extents[1] == -1) return {missing, extents[0]};
    return {extents[0], extents[1]};
  }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

/// Puts a rank's pieces where they belong, and counts how often each element came.
void unpack(const std::string& text, State& state, std::map<std::string, std::vector<int>>& times) {
  Unpacker from(text);
  while (!from.done()) {
    const std::string name = from.take_name();
    const auto whole = from.take_shape(1);
    const auto offset = from.take_shape(0);
    const auto extent = from.take_shape(1);
    const auto size = static_cast<std::size_t>(whole[0] * whole[1]);
    std::vector<float>& values = state[name];
    values.resize(size);
    times[name].resize(size);
    for (std::int64_t row = 0; row < extent[0]; ++row) {
      const auto first = static_cast<std::size_t>((offset[0] + row) * whole[1] + offset[1]);
      from.take(&values.at(first), static_cast<std::size_t>(extent[1]) * sizeof(float));
      for (std::size_t i = 0; i < static_cast<std::size_t>(extent[1]); ++i) ++times[name].at(first + i);
    }
  }
}

}  // namespace

std::string difference(const State& a, const State& b) {
  if (a.size() != b.size()) return fmt::format("{} and {} tensors", a.size(), b.size());
  for (const auto& [name, values] : a) {
    if (!b.contains(name)) return name + " is missing";
    if (std::string text = first_difference(name, values, b.at(name)); !text.empty()) return text;
  }
  return {};
}

std::string difference(const Outcome& a, const Outcome& b) {
  std::string text = first_difference("loss", a.losses, b.losses);
  if (text.empty()) text = first_difference("norm", a.norms, b.norms);
  if (text.empty()) text = first_difference("loss scale", a.loss_scales, b.loss_scales);
  if (text.empty()) text = difference(a.state, b.state);
  if (text.empty() && !same_bits(a.evaluation.loss, b.evaluation.loss)) {
    text = fmt::format("evaluation: {} and {}", a.evaluation.loss, b.evaluation.loss);
  }
  if (a.evaluation.counted != b.evaluation.counted) text += " evaluated tokens";
  return text;
}

std::string distance(const Outcome& a, const Outcome& b, double tolerance) {
  const auto is_far = [&](double x, double y) { return !(std::abs(x - y) <= tolerance * std::abs(y)); };
  for (std::size_t step = 0; step < b.losses.size(); ++step) {
    if (is_far(a.losses.at(step), b.losses[step])) {
      return fmt::format("loss[{}]: {} and {}", step, a.losses[step], b.losses[step]);
    }
    if (is_far(a.norms.at(step), b.norms[step])) {
      return fmt::format("norm[{}]: {} and {}", step, a.norms[step], b.norms[step]);
    }
  }
  if (is_far(a.evaluation.loss, b.evaluation.loss)) {
    return fmt::format("evaluation: {} and {}", a.evaluation.loss, b.evaluation.loss);
  }
  return a.evaluation.counted == b.evaluation.counted ? "" : "evaluated tokens";
}

Training::Training(comm::Communicator& group, const Case& what, const std::string& data_folder)
    : group_(group),
      laid_(lay(what, data_folder)),
      grid_(group, laid_.grid),
      device_({.num_threads = 1, .isa = device::detect_isa()}),
      dataset_(data::open_dataset(laid_.deck.data.train, laid_.deck.model.context)),
      loader_(dataset_, loader_options(laid_.deck, grid_)),
      validation_(dataset_, laid_.deck.model.context, laid_.deck.batch.micro, grid_.coordinate(Axis::data),
                  grid_.size(Axis::data), laid_.deck.evaluation.sequences) {
  device::Arena plan;
  static_cast<void>(train::Trainer(device_, grid_, laid_.deck, plan));
  arena_ = device::Arena(plan.used_bytes());
  trainer_ = std::make_unique<train::Trainer>(device_, grid_, laid_.deck, arena_);
  EXPECT_EQ(arena_.used_bytes(), plan.used_bytes());
  trainer_->start_fresh();
}

void Training::load(const std::string& checkpoint) {
  checkpoint::Reader reader(group_, checkpoint);
  steps_ = reader.metadata().step;
  trainer_->load(reader);
}

void Training::save(const std::string& folder) {
  const std::vector<checkpoint::Piece> pieces = trainer_->pieces();
  const checkpoint::Metadata metadata{.step = steps_,
                                      .skipped = trainer_->skipped(),
                                      .loss_scale = trainer_->loss_scale().scale(),
                                      .loss_scale_good_steps = trainer_->loss_scale().good_steps(),
                                      .deck = config::to_toml(laid_.deck),
                                      .precision = laid_.deck.precision.compute,
                                      .grid = laid_.grid.text()};
  checkpoint::save(group_, folder, metadata, pieces, laid_.deck.checkpoint);
}

void Training::run(int num_steps) {
  for (int i = 0; i < num_steps; ++i) {
    const train::StepResult result = trainer_->step(steps_, loader_.load(steps_));
    EXPECT_EQ(result.outcome, train::StepOutcome::updated);
    ++steps_;
    outcome_.losses.push_back(result.loss);
    outcome_.norms.push_back(result.gradient_norm);
    outcome_.loss_scales.push_back(result.loss_scale);
  }
}

Outcome Training::outcome() {
  trainer_->audit(steps_, true, true);
  outcome_.evaluation = evaluate();
  outcome_.state = gather();
  return outcome_;
}

State Training::gather() {
  const std::vector<std::string> texts = group_.all_gather_text(packed(trainer_->pieces()));
  State state;
  std::map<std::string, std::vector<int>> times;
  if (group_.rank() != 0) return state;
  for (const std::string& text : texts) unpack(text, state, times);
  for (const auto& [name, counts] : times) {
    for (const int count : counts) {
      if (count != 1) ADD_FAILURE() << name << ": an element stands on " << count << " ranks";
      if (count != 1) break;
    }
  }
  return state;
}

}  // namespace trireme::testing
