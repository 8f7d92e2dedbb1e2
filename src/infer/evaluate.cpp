#include "trireme/pipeline/evaluate.hpp"

#include <cmath>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/base/text.hpp"
#include "trireme/data/loader.hpp"
#include "trireme/infer/infer.hpp"

#include "infer/loaded_model.hpp"

namespace trireme::infer {

void evaluate(comm::Communicator& world, const device::Device& device, const EvaluateOptions& wanted) {
  constexpr std::int64_t micro_batch = 4;
  const std::vector<std::string>& paths = wanted.data;
  const comm::ProcessGrid grid(world, comm::fit_grid(wanted.grid, world.size()));
  LoadedModel model(grid, device, wanted.checkpoint,
                    [](model::Stage& stage, device::Arena& arena) { stage.allocate_evaluation(arena, micro_batch); });
  const model::ModelOptions& options = model.stage().options();
  data::Dataset dataset;
  comm::on_all(world, [&] { dataset = data::open_dataset(paths, options.context); });
  data::check_same_tokenizer({.path = model.path(),
                              .tokenizer_kind = model.metadata().tokenizer_kind,
                              .tokenizer_model = model.metadata().tokenizer_model},
                             dataset.files.front()->info());
  if (dataset.vocab() > options.vocab) {
    throw InputError(
        fmt::format("`{}` has a vocabulary of {} (the checkpoint's model has {}) use data of the same tokenizer",
                    paths.front(), dataset.vocab(), options.vocab));
  }
  const data::ValidationSet validation(dataset, options.context, micro_batch, grid.coordinate(comm::Axis::data),
                                       grid.size(comm::Axis::data), 0);
  const pipeline::Evaluation result = pipeline::evaluate(model.stage(), validation, grid, nullptr);
  if (result.counted == 0) {
    throw InputError(fmt::format(
        "`{}` has nothing to evaluate (no token counts: the loss mask leaves all out) give data in which some do",
        join(paths, "`, `")));
  }
  log::info("checkpoint {}\ntokens     {}\nloss       {:.6f} nats per token\nperplexity {:.4f}", model.path(),
            result.counted, result.loss, std::exp(result.loss));
}

}  // namespace trireme::infer
