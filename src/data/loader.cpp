#include "trireme/data/loader.hpp"

#include <future>
#include <utility>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/data/sample_order.hpp"

#include "data/samples.hpp"

namespace trireme::data {
namespace {

std::vector<std::int64_t> samples_per_file(const Dataset& dataset, std::int64_t context) {
  std::vector<std::int64_t> samples;
  for (const auto& file : dataset.files) samples.push_back(num_file_samples(file->info(), context));
  return samples;
}

/// Number of the first sample of each file when the samples of all files are counted through.
std::vector<std::int64_t> first_samples(const Dataset& dataset, std::int64_t context) {
  std::vector<std::int64_t> firsts;
  std::int64_t sum = 0;
  for (const std::int64_t samples : samples_per_file(dataset, context)) {
    firsts.push_back(sum);
    sum += samples;
  }
  return firsts;
}

}  // namespace

/// Reads steps, one ahead. The order of the samples is a pure function, so a step needs no state of the one before.
class Loader::Prefetch {
 public:
  Prefetch(Dataset dataset, const LoaderOptions& options)
      : dataset_(std::move(dataset)),
        options_(options),
        firsts_(first_samples(dataset_, options.context)),
        order_(samples_per_file(dataset_, options.context), options.weights, options.shuffle_block, options.seed) {
    TRIREME_EXPECT(options.micro_batch > 0 && options.part >= 0 && options.part < options.num_parts);
    TRIREME_EXPECT(options.global_batch % (options.num_parts * options.micro_batch) == 0);
  }

  const StepBatch& load(std::int64_t step) {
    const bool ready = next_.valid() && next_step_ == step;
    if (next_.valid() && !ready) next_.wait();
    current_ = ready ? next_.get() : read(step);
    next_step_ = step + 1;
    next_ = std::async(std::launch::async, [this, wanted = next_step_] { return read(wanted); });
    return current_;
  }

  [[nodiscard]] std::vector<std::int64_t> global_samples(std::int64_t step) const {
    std::vector<std::int64_t> samples;
    for (std::int64_t i = 0; i < options_.global_batch; ++i) {
      samples.push_back(number_of(order_.at(step * options_.global_batch + i)));
    }
    return samples;
  }

 private:
  [[nodiscard]] std::int64_t number_of(SampleId id) const {
    return firsts_[static_cast<std::size_t>(id.file)] + id.sample;
  }

  /// Runs on the reading thread: plain reads only, neither HDF5 nor MPI.
  [[nodiscard]] StepBatch read(std::int64_t step) const {
    const std::int64_t share = options_.global_batch / options_.num_parts;
    StepBatch batches;
    for (std::int64_t first = options_.part * share; first < (options_.part + 1) * share;
         first += options_.micro_batch) {
      Batch batch = make_empty_batch(dataset_, options_.micro_batch, options_.context, first);
      for (std::int64_t b = 0; b < options_.micro_batch; ++b) {
        const SampleId id = order_.at(step * options_.global_batch + first + b);
        fill_sequence(dataset_, id, number_of(id), b, batch);
      }
      batches.micro_batches.push_back(std::move(batch));
    }
    return batches;
  }

  Dataset dataset_;
  LoaderOptions options_;
  std::vector<std::int64_t> firsts_;
  SampleOrder order_;
  StepBatch current_;
  std::int64_t next_step_ = 0;
  std::future<StepBatch> next_;  // last: its destructor waits for the thread that reads the members above
};

Loader::Loader(Dataset dataset, const LoaderOptions& options)
    : prefetch_(std::make_unique<Prefetch>(std::move(dataset), options)) {}
Loader::~Loader() = default;

const StepBatch& Loader::load(std::int64_t step) {
  return prefetch_->load(step);
}

std::vector<std::int64_t> Loader::global_samples(std::int64_t step) const {
  return prefetch_->global_samples(step);
}

}  // namespace trireme::data
