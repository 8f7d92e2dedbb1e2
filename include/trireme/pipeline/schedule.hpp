// A pipeline schedule is data: for each stage, the list of its actions.
//
// Letters: p stages, s this stage, m micro-batches, v chunks of a stage. Chunk c of stage s is virtual stage c p + s:
// its input comes from the virtual stage before, its gradient from the one after; the ends have neither.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace trireme::pipeline {

/// What a stage does next. Transfers cost no time of their own here: a receive is posted and a send is started, both go
/// on by themselves. A compute action waits for what it needs; an action that takes an activation slot (slots.hpp)
/// waits until the sends of the slot's last holder are complete. So nothing relies on a message being buffered.
enum class ActionKind : std::uint8_t {
  receive_input,     ///< posts the receive of the chunk's input
  receive_gradient,  ///< posts the receive of the gradient of the chunk's output
  forward,           ///< waits for its input; the head's loss with it
  backward_input,    ///< waits for its gradient; the gradient of the chunk's input
  backward_weight,   ///< gradients of the chunk's parameters
  backward,          ///< backward_input and backward_weight in one, block by block
  send_output,       ///< starts the send of what forward made
  send_gradient      ///< starts the send of what backward_input or backward made
};

struct Action {
  ActionKind kind = ActionKind::forward;
  std::int64_t micro_batch = 0;
  int chunk = 0;
  bool operator==(const Action&) const = default;
};

using ActionList = std::vector<Action>;

enum class ScheduleKind : std::uint8_t {
  naive,                     ///< one micro-batch in flight: plain serial model parallelism
  gpipe,                     ///< all forwards, then all backwards (Huang et al. 2019, arXiv 1811.06965)
  one_forward_one_backward,  ///< PipeDream-flush (Narayanan et al. 2021, arXiv 2006.09503 and 2104.04473)
  interleaved,               ///< the same over several chunks a stage (Narayanan et al. 2021, arXiv 2104.04473)
  zero_bubble,               ///< ZB-H1: the memory of 1F1B (Qi et al. 2023, arXiv 2401.10241)
  zero_bubble_h2             ///< ZB-H2: twice the warm-up
};

/// What decides a schedule.
struct ScheduleShape {
  ScheduleKind kind = ScheduleKind::one_forward_one_backward;
  int stages = 1;
  int chunks = 1;
  std::int64_t micro_batches = 1;
};

struct Schedule : ScheduleShape {
  std::vector<ActionList> actions;  ///< by stage
};

/// The list of one stage, at the cost of that one. Forwards, input passes and weight passes of a chunk run in ascending
/// order of their micro-batches. Any number of micro-batches from 1; several chunks are for interleaved on two or more
/// stages only. Throws InputError else.
[[nodiscard]] ActionList make_stage_actions(const ScheduleShape& shape, int stage);

/// The lists of all stages.
[[nodiscard]] Schedule make_schedule(const ScheduleShape& shape);
[[nodiscard]] Schedule make_schedule(ScheduleKind kind, int stages, std::int64_t micro_batches, int chunks = 1);

/// The most activations that stage `stage` holds at a time, in units of one chunk's activations of one micro-batch, as
/// published: naive 1; gpipe m; 1f1b p - s; interleaved 2 (p - s - 1) + (v - 1) p + 1 (of one chunk: 1f1b); ZB-H1 p;
/// ZB-H2 2 p - 1; never more than m v.
[[nodiscard]] std::int64_t live_bound(ScheduleKind kind, int stages, std::int64_t micro_batches, int chunks, int stage);

/// Where a chunk's messages come from and go to.
struct Neighbour {
  int stage = 0;
  int chunk = 0;
  bool operator==(const Neighbour&) const = default;
};
/// Whom the input comes from, and the gradient of it goes to; none for the first virtual stage.
[[nodiscard]] std::optional<Neighbour> before(int stages, int stage, int chunk);
/// Whom the output goes to, and the gradient of it comes from; none for the last virtual stage.
[[nodiscard]] std::optional<Neighbour> after(int stages, int chunks, int stage, int chunk);

/// Whether the action computes; the others start a transfer.
[[nodiscard]] bool is_compute(ActionKind kind);

/// `forward`, `receive_input`, ...
[[nodiscard]] std::string_view name(ActionKind kind);
/// As in the deck: `naive`, `gpipe`, `1f1b`, `interleaved`, `zero_bubble`, `zero_bubble_h2`.
[[nodiscard]] std::string_view name(ScheduleKind kind);
/// The schedule of that name; none when there is no such one.
[[nodiscard]] std::optional<ScheduleKind> schedule_kind(std::string_view name);

}  // namespace trireme::pipeline
