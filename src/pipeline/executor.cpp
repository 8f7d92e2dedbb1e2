#include "trireme/pipeline/executor.hpp"

#include <thread>

#include "trireme/base/error.hpp"

#include "pipeline/tags.hpp"

namespace trireme::pipeline {

namespace {

using RequestPointer = std::unique_ptr<comm::Request>;

/// The messages of one activation slot.
struct SlotMessages {
  RequestPointer receive_input;
  RequestPointer receive_gradient;
  RequestPointer send_output;
  RequestPointer send_gradient;
};

/// Notes what takes time, if anybody wants to know.
class Recorder {
 public:
  Recorder(std::vector<Event>* events, const Timer& clock, int row) : events_(events), clock_(clock), row_(row) {}
  template <class Work>
  void operator()(std::string_view name, const Action& action, Work&& work) {
    const double begin = events_ != nullptr ? clock_.seconds() : 0;
    work();
    if (events_ == nullptr) return;
    events_->push_back({.row = row_,
                        .name = std::string(name),
                        .micro_batch = action.micro_batch,
                        .chunk = action.chunk,
                        .begin_s = begin,
                        .end_s = clock_.seconds()});
  }

 private:
  std::vector<Event>* events_;
  const Timer& clock_;
  int row_;
};

}  // namespace

struct Executor::Messages {
  std::vector<SlotMessages> slots;
};

Executor::Executor(const ScheduleShape& shape, comm::Communicator& pipeline_axis)
    : shape_(shape),
      axis_(pipeline_axis),
      actions_(make_stage_actions(shape, pipeline_axis.rank())),
      slots_(assign_slots(actions_)),
      messages_(std::make_unique<Messages>()) {
  TRIREME_EXPECT(shape_.stages == pipeline_axis.size());
  messages_->slots.resize(static_cast<std::size_t>(slots_.peak_live));
  for (const Action& action : actions_) {
    fused_ = fused_ && action.kind != ActionKind::backward_weight;
  }
}

model::StageSlots Executor::stage_slots() const {
  return {.activations = static_cast<int>(slots_.peak_live), .gradients = fused_ ? 0 : slots_.num_gradients};
}

Executor::~Executor() = default;

void Executor::run(model::Stage& stage, const data::StepBatch& batch, const model::TrainingStep& step,
                   std::vector<Event>* events, const Timer& clock) {
  const int here = axis_.rank();
  Recorder record(events, clock, here);
  const auto progress = [&] {
    step.gradients.poll();
    step.weights.poll();
  };
  const auto wait = [&](RequestPointer& request) {
    if (!request) return;
    while (!request->test()) {
      progress();
      std::this_thread::yield();
    }
    request.reset();
  };

  for (const Action& action : actions_) {
    const auto chunk = static_cast<std::size_t>(action.chunk);
    const auto number = static_cast<std::size_t>(action.micro_batch);
    const data::Batch& micro_batch = batch.micro_batches[number];
    const std::int64_t rows = micro_batch.sequences * micro_batch.context;
    const int slot = slots_.activation[chunk][number];
    const int gradient_slot = slots_.gradient[chunk][number];
    SlotMessages& messages = messages_->slots[static_cast<std::size_t>(slot)];
    const auto take_slot = [&] {
      wait(messages.send_output);
      wait(messages.send_gradient);
    };
    const auto compute = [&](RequestPointer& needed, auto&& work) {
      if (needed) record("wait", action, [&] { wait(needed); });
      record(name(action.kind), action, work);
    };

    const auto look = [&](bool backward) {
      if (watch_ == nullptr) return;
      watch_->look(backward, action.chunk, action.micro_batch,
                   backward ? stage.gradient(action.chunk, slot, rows) : stage.output(action.chunk, slot, rows));
    };

    switch (action.kind) {
      case ActionKind::receive_input: {
        take_slot();
        const tensor::Tensor target = stage.input(action.chunk, slot, rows);
        messages.receive_input = axis_.receive(
            target.data, target.bytes(), before(shape_.stages, here, action.chunk)->stage, input_tag(action.chunk));
        break;
      }
      case ActionKind::receive_gradient: {
        const tensor::Tensor target = stage.gradient(action.chunk, slot, rows);
        messages.receive_gradient =
            axis_.receive(target.data, target.bytes(), after(shape_.stages, shape_.chunks, here, action.chunk)->stage,
                          gradient_tag(action.chunk));
        break;
      }
      case ActionKind::forward:
        if (!messages.receive_input) take_slot();
        compute(messages.receive_input, [&] { stage.forward(action.chunk, slot, micro_batch, step); });
        look(false);
        break;
      case ActionKind::backward:
        compute(messages.receive_gradient, [&] { stage.backward(action.chunk, slot, micro_batch, step); });
        look(true);
        break;
      case ActionKind::backward_input:
        compute(messages.receive_gradient,
                [&] { stage.backward_input(action.chunk, slot, gradient_slot, micro_batch, step); });
        look(true);
        break;
      case ActionKind::backward_weight:
        record(name(action.kind), action,
               [&] { stage.backward_weight(action.chunk, slot, gradient_slot, micro_batch, step); });
        break;
      case ActionKind::send_output: {
        const Neighbour to = *after(shape_.stages, shape_.chunks, here, action.chunk);
        const tensor::Tensor source = stage.output(action.chunk, slot, rows);
        messages.send_output = axis_.send(source.data, source.bytes(), to.stage, input_tag(to.chunk));
        break;
      }
      case ActionKind::send_gradient: {
        const Neighbour to = *before(shape_.stages, here, action.chunk);
        const tensor::Tensor source = stage.gradient(action.chunk, slot, rows);
        messages.send_gradient = axis_.send(source.data, source.bytes(), to.stage, gradient_tag(to.chunk));
        break;
      }
    }
    progress();
  }
  for (SlotMessages& messages : messages_->slots) {
    wait(messages.send_output);
    wait(messages.send_gradient);
  }
}

}  // namespace trireme::pipeline
