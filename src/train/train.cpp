#include "trireme/train/train.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include <fmt/core.h>

#include "trireme/base/build.hpp"
#include "trireme/base/log.hpp"
#include "trireme/base/units.hpp"
#include "trireme/comm/host_load.hpp"
#include "trireme/config/fit.hpp"
#include "trireme/model/counts.hpp"

#include "train/allocation.hpp"
#include "train/attempts.hpp"
#include "train/metrics.hpp"
#include "train/progress.hpp"
#include "train/report.hpp"
#include "train/resume.hpp"
#include "train/run_folder.hpp"
#include "train/save_interval.hpp"
#include "train/stop.hpp"
#include "train/trace.hpp"
#include "train/trainer.hpp"

namespace trireme::train {

using comm::Axis;

namespace {

/// Rank 0 reads the deck, every rank gets the same resolved text.
config::Deck read_shared_deck(comm::Communicator& world, const std::string& path,
                              const std::vector<std::string>& overrides) {
  std::string text;
  comm::on_root(world, [&] { text = config::to_toml(config::read_deck(path, overrides)); });
  world.broadcast_text(text, 0);
  return config::parse_deck(text, path, {});
}

data::Dataset open_shared_dataset(comm::Communicator& world, const std::vector<std::string>& paths,
                                  std::int64_t context) {
  data::Dataset dataset;
  comm::on_all(world, [&] { dataset = data::open_dataset(paths, context); });
  return dataset;
}

/// model.vocab above the data's is legal, below is not; 0 takes the data's.
void settle_vocab(config::Deck& deck, const data::Dataset& dataset) {
  if (deck.model.vocab == 0) deck.model.vocab = dataset.vocab();
  if (deck.model.vocab < dataset.vocab()) {
    throw InputError(
        fmt::format("`model.vocab` = `{}` is below the vocabulary of `{}`, which is {} (ids would have no row) "
                    "set it to at least that",
                    deck.model.vocab, dataset.files.front()->info().path, dataset.vocab()));
  }
}

device::Isa choose_isa(comm::Communicator& world, const std::string& wanted) {
  const auto lowest_of = [&](device::Isa mine) {
    return static_cast<device::Isa>(-static_cast<int>(world.all_reduce_max(-static_cast<double>(mine))));
  };
  if (wanted == "auto") return lowest_of(device::preferred_isa());
  const device::Isa lowest = lowest_of(device::detect_isa());
  for (const device::Isa isa : device::all_isas) {
    if (device::name_of(isa) != wanted) continue;
    if (isa > lowest) {
      throw InputError(
          fmt::format("`numerics.isa` = `{}` is more than a processor of this run has ({}) lower it or use `auto`",
                      wanted, device::name_of(lowest)));
    }
    return isa;
  }
  throw InputError(
      fmt::format("`numerics.isa` = `{}` is unknown (generic, avx2, avx512, avx512_bf16, amx, auto) choose "
                  "one",
                  wanted));
}

void tell(const std::string& news) {
  if (!news.empty()) log::info("{}", news);
}

/// Steps that may be skipped as not finite one after the other: weights that give no finite step never come back.
constexpr std::int64_t most_nonfinite_in_a_row = 100;

/// A run from its start to its end.
class Run {
 public:
  Run(comm::Communicator& world, config::Deck deck, data::Dataset training, data::Dataset validation);
  ExitCode go();

 private:
  void resume_or_start();
  void write_start();
  /// A save that is `required` ends the run when it fails; another one is tried again when the next is due.
  void save(std::int64_t step, bool required);
  void tidy_after_save(std::int64_t step);
  [[nodiscard]] bool save_due(std::int64_t step) const;
  [[nodiscard]] bool evaluation_due(std::int64_t step) const;
  void record(std::int64_t step, const StepResult& result, double seconds);
  void begin_attempt();
  void foretell_times();
  void foretell_room(double tensor_bytes) const;
  void remove_save_request();
  [[nodiscard]] StopReason agree_to_stop(std::int64_t step);
  [[nodiscard]] checkpoint::Metadata metadata(std::int64_t step) const;
  void write_end(std::int64_t step, StopReason reason) const;
  void act_on(const StepResult& result, std::int64_t step) const;
  [[noreturn]] void refuse_short_allocation() const;

  comm::Communicator& world_;
  config::Deck deck_;
  data::Dataset training_data_;
  data::Dataset validation_data_;
  comm::ProcessGrid grid_;
  device::Device device_;
  RunFolder folder_;
  SignalFlag signals_;
  Walltime walltime_;
  device::Arena arena_;
  std::optional<Trainer> trainer_;
  std::optional<data::Loader> loader_;
  std::optional<data::ValidationSet> validation_;
  std::unique_ptr<MetricsFile> metrics_;  ///< on rank 0, like the next two
  std::unique_ptr<Attempts> attempts_;
  std::optional<SaveInterval> save_interval_;
  std::optional<Progress> progress_;
  std::optional<Trace> trace_;
  Timer since_save_;
  Timer since_start_;
  std::int64_t first_step_ = 0;
  std::int64_t saved_step_ = -1;
  std::int64_t tokens_ = 0;
  std::optional<double> validation_loss_;
  double job_gemm_rate_ = 0;
  double job_memory_bytes_ = 0;
  double flop_at_start_ = 0;
  bool save_asked_ = false;     ///< by file
  bool save_by_clock_ = false;  ///< since_save_ is as long as an interval
  bool save_answered_ = false;  ///< rank 0: the file that asked could not be answered or removed, and asks no more
};

device::DeviceOptions device_options(const comm::ProcessGrid& grid, const config::Deck& deck) {
  return {.num_threads = comm::default_num_threads(*grid.world().split_by_host()),
          .isa = choose_isa(grid.world(), deck.numerics.isa)};
}

Run::Run(comm::Communicator& world, config::Deck deck, data::Dataset training, data::Dataset validation)
    : world_(world),
      deck_(std::move(deck)),
      training_data_(std::move(training)),
      validation_data_(std::move(validation)),
      grid_(world, comm::fit_grid(deck_.grid, world.size())),
      device_(device_options(grid_, deck_)),
      folder_(world, deck_),
      walltime_(deck_.walltime) {
  const int data_rank = grid_.coordinate(Axis::data);
  const int data_size = grid_.size(Axis::data);
  device::Arena plan;
  static_cast<void>(Trainer(device_, grid_, deck_, plan));
  write_start();
  log::info("{}", describe_memory(world_, plan));
  comm::on_all(world_, [&] { arena_ = device::Arena(plan.used_bytes()); });
  trainer_.emplace(device_, grid_, deck_, arena_);
  log::info("{}", trainer_->describe_groups());

  loader_.emplace(training_data_, data::LoaderOptions{.context = deck_.model.context,
                                                      .global_batch = deck_.batch.global,
                                                      .micro_batch = deck_.batch.micro,
                                                      .part = data_rank,
                                                      .num_parts = data_size,
                                                      .seed = deck_.run.seed,
                                                      .shuffle_block = deck_.data.shuffle_block,
                                                      .weights = deck_.data.weights});
  if (!validation_data_.files.empty()) {
    validation_.emplace(validation_data_, deck_.model.context, deck_.batch.micro, data_rank, data_size,
                        deck_.evaluation.sequences);
  }
  resume_or_start();
  write_grid_table(grid_, trainer_->layers_text(), trainer_->owned_elements(), folder_.paths().grid());
  comm::on_root(world_, [&] {
    io::write_text_atomically(folder_.paths().deck(), config::to_toml(deck_));
    metrics_ = std::make_unique<MetricsFile>(folder_.paths().metrics(), first_step_);
    begin_attempt();
  });
  const Dtype compute = deck_.precision.compute_type();
  std::array rate{measure_gemm_rate(device_, trainer_->gemm(), compute)};
  rate[0] = -world_.all_reduce_max(-rate[0]);
  job_gemm_rate_ = rate[0] * world_.size();
  flop_at_start_ = trainer_->flop();
  foretell_times();
  log::info("GEMM rate in {}: {:.0f} GFLOP/s on the slowest rank; `mfu` counts {}", name_of(compute), rate[0] * 1e-9,
            model::flop_formula);
}

void Run::begin_attempt() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  attempts_ = std::make_unique<Attempts>(
      folder_.paths().attempts(), Attempt{.number = metrics_->attempt(),
                                          .begun_unix_s = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                                          .hosts = grid_.num_hosts(),
                                          .first_step = first_step_,
                                          .last_step = first_step_});
  save_interval_.emplace(deck_.checkpoint, failure_rate(attempts_->earlier(), grid_.num_hosts()));
}

/// When the allocation ends, and what the rules of time count with before they have seen an evaluation and a save.
void Run::foretell_times() {
  std::optional<TimeLeft> left;
  if (world_.rank() == 0) left = ask_time_left(deck_.walltime);  // only rank 0 looks at the clock
  if (left) {
    walltime_.ends_in(left->seconds);
    log::info("walltime: the job ends in {} ({})", format_seconds(left->seconds), left->source);
  }
  if (validation_) {
    const double sequences =
        static_cast<double>(validation_->num_rounds() * deck_.batch.micro * grid_.size(Axis::data));
    walltime_.expect_evaluation(sequences / static_cast<double>(deck_.batch.global));
  }
  // Weights and two moments of the whole model, fp32.
  const double bytes = 3 * sizeof(float) * static_cast<double>(model::parameter_count(deck_.model));
  const double seconds = assumed_save_seconds(bytes, world_.size());
  comm::on_root(world_, [&] { foretell_room(bytes); });
  walltime_.expect_save(seconds);
  if (save_interval_) {
    save_interval_->expect_save(seconds);
    tell(save_interval_->news());
  }
  if (deck_.walltime.limit_minutes > 0 || left) {
    log::info("walltime: {} are kept free for a save of {} until the first one was timed", format_seconds(seconds),
              format_bytes(static_cast<std::uint64_t>(bytes)));
  }
}

/// A save that does not fit is told at once; training goes on, since there may be room by then.
void Run::foretell_room(double tensor_bytes) const {
  const checkpoint::CheckpointOptions& options = deck_.checkpoint;
  const std::int64_t shards = options.ranks_per_file == checkpoint::ranks_of_a_node
                                  ? grid_.num_hosts()
                                  : (world_.size() + options.ranks_per_file - 1) / options.ranks_per_file;
  const std::string problem = checkpoint::room_problem(
      folder_.paths().checkpoints(), options, checkpoint::save_bytes(static_cast<std::uint64_t>(tensor_bytes), shards),
      first_step_, deck_.run.steps);
  if (!problem.empty()) log::warning("{}", problem);
}

void Run::write_start() {
  log::info("Trireme {}; {}", build_description(), device_.description());
  log::info("{}", grid_.description());
  log::info("{}", describe_model(deck_.model));
  const comm::HostLoad load =
      comm::heaviest_load(world_, comm::host_load(*world_.split_by_host(), device_.num_threads()));
  if (load.threads > load.cores) {
    log::warning("{} threads of {} ranks on {} cores of a host (`OMP_NUM_THREADS`) use at most one thread a core",
                 load.threads, load.ranks, load.cores);
  }
}

void Run::resume_or_start() {
  const std::vector<std::string> candidates = resume_candidates(world_, deck_, folder_.paths());
  if (candidates.empty()) {
    log::info("a fresh start: `{}` holds no checkpoint", folder_.paths().checkpoints());
    trainer_->start_fresh();
    return;
  }
  const checkpoint::Metadata stored = resume(world_, deck_, training_data_.files.front()->info(), candidates,
                                             [&](checkpoint::Reader& reader) { trainer_->load(reader); });
  first_step_ = saved_step_ = stored.step;
  tokens_ = stored.tokens;
  log::info("going on from step {}", stored.step);
  const std::string isa(device::name_of(device_.isa()));
  if (stored.isa != isa) {
    log::warning("the instruction set is {} and was {} (sums may round otherwise than before)", isa, stored.isa);
  }
}

ExitCode Run::go() {
  progress_.emplace(first_step_, deck_.run.steps);
  trace_.emplace(grid_, deck_.run.output, deck_.metrics.trace_steps);
  StopReason reason = StopReason::none;
  std::int64_t step = first_step_;
  for (; step < deck_.run.steps;) {
    reason = agree_to_stop(step);
    if (reason == StopReason::walltime && step == first_step_) refuse_short_allocation();
    if (reason != StopReason::none) break;
    const Timer timer;
    const StepResult result = trainer_->step(step, loader_->load(step), trace_->begin_step(), trace_->clock());
    trace_->end_step();
    ++step;
    if (deck_.numerics.trace) {
      const std::vector<Fingerprint> lines = trainer_->fingerprints(result);
      comm::on_root(world_, [&] { write_fingerprints(folder_.paths().fingerprints(), step, lines); });
    }
    act_on(result, step);
    tokens_ += result.counted;
    const double seconds = timer.seconds();
    walltime_.step_took(seconds);
    validation_loss_.reset();
    if (evaluation_due(step)) {
      const Timer evaluation;
      validation_loss_ = trainer_->evaluate(*validation_).loss;
      walltime_.evaluation_took(evaluation.seconds());
    }
    record(step, result, seconds);
    const std::int64_t audit_steps = deck_.numerics.audit_steps;
    if (save_due(step)) {
      save(step, step == deck_.run.steps);
    } else if (audit_steps > 0 && step % audit_steps == 0) {
      trainer_->audit(step, true, false);
    }
  }
  if (saved_step_ != step) save(step, true);
  trace_->finish();
  progress_->pause();
  if (attempts_) attempts_->ended(reason == StopReason::none ? "finished" : describe(reason));
  write_end(step, reason);
  return reason == StopReason::none ? ExitCode::finished : ExitCode::stopped_early;
}

/// Left with code 75, the job would be started again and again and never make a step.
void Run::refuse_short_allocation() const {
  throw InputError(fmt::format(
      "the walltime has no room for a single step (`walltime.margin_seconds` is {}, and a save is kept free) "
      "ask for a longer job, or lower the margin",
      deck_.walltime.margin_seconds));
}

/// Stops the run where a step that was not updated is no matter of course.
void Run::act_on(const StepResult& result, std::int64_t step) const {
  const std::string culprit = result.culprit.empty() ? "" : "; " + result.culprit;
  if (result.outcome == StepOutcome::overflow && trainer_->loss_scale().exhausted()) {
    throw NumericalError(
        fmt::format("step {}: gradients overflow at every loss scale down to {} ({} updates in a row were skipped{}) "
                    "lower the learning rate, or compute in bf16 (`precision.compute`)",
                    step, result.loss_scale, trainer_->loss_scale().skipped_in_a_row(), culprit));
  }
  if (result.outcome != StepOutcome::nonfinite) return;
  if (deck_.numerics.on_nonfinite == "skip") {
    const std::int64_t in_a_row = trainer_->nonfinite_in_a_row();
    if (in_a_row > most_nonfinite_in_a_row) {
      throw NumericalError(
          fmt::format("step {}: {} steps in a row were not finite and were skipped (loss {}, gradient "
                      "norm {}{}) lower the learning rate and go on from an earlier checkpoint",
                      step, in_a_row, result.loss, result.gradient_norm, culprit));
    }
    log::warning("step {} was skipped: loss {}, gradient norm {} (not finite{})", step, result.loss,
                 result.gradient_norm, culprit);
    return;
  }
  throw NumericalError(fmt::format(
      "step {}: loss {}, gradient norm {} (not finite{}; `numerics.on_nonfinite` is `stop`; the weights were "
      "not updated) look at the learning rate and the data of this step, or set `skip`",
      step, result.loss, result.gradient_norm, culprit));
}

StopReason Run::agree_to_stop(std::int64_t step) {
  StopReason mine = StopReason::none;
  bool save_file = false;
  bool by_clock = false;
  if (world_.rank() == 0) {
    by_clock = since_save_.seconds() >= save_interval_->seconds();
    if (io::exists(folder_.paths().stop_file())) mine = StopReason::stop_file;
    if (walltime_.due(evaluation_due(step + 1))) mine = StopReason::walltime;
    const bool asked = io::exists(folder_.paths().save_file());
    save_answered_ = save_answered_ && asked;
    save_file = asked && !save_answered_;
  }
  if (SignalFlag::received() != 0) mine = StopReason::signal;
  std::array values{static_cast<double>(mine), save_file ? 1.0 : 0.0, by_clock ? 1.0 : 0.0,
                    static_cast<double>(peak_memory_bytes())};
  world_.all_reduce_max(values);
  save_asked_ = values[1] > 0;
  save_by_clock_ = values[2] > 0;
  job_memory_bytes_ = values[3];
  return static_cast<StopReason>(static_cast<int>(values[0]));
}

bool Run::evaluation_due(std::int64_t step) const {
  return validation_ && deck_.evaluation.every_steps > 0 &&
         (step % deck_.evaluation.every_steps == 0 || step == deck_.run.steps);
}

bool Run::save_due(std::int64_t step) const {
  const std::int64_t every_steps = deck_.checkpoint.every_steps;
  return save_asked_ || save_by_clock_ || step == deck_.run.steps || (every_steps > 0 && step % every_steps == 0);
}

checkpoint::Metadata Run::metadata(std::int64_t step) const {
  const data::TokenFileInfo& data = training_data_.files.front()->info();
  return {.step = step,
          .samples = step * deck_.batch.global,
          .tokens = tokens_,
          .skipped = trainer_->skipped(),
          .loss_scale = trainer_->loss_scale().scale(),
          .loss_scale_good_steps = trainer_->loss_scale().good_steps(),
          .deck = config::to_toml(deck_),
          .tokenizer_kind = data.tokenizer_kind,
          .tokenizer_model = data.tokenizer_model,
          .build = build_description(),
          .isa = std::string(device::name_of(device_.isa())),
          .precision = deck_.precision.compute,
          .grid = grid_.shape().text()};
}

void Run::save(std::int64_t step, bool required) {
  const Timer with_audit;
  trainer_->audit(step, deck_.numerics.audit_steps > 0, true);
  const Timer timer;
  const std::string& folder = folder_.paths().checkpoints();
  const std::vector<checkpoint::Piece> pieces = trainer_->pieces();
  progress_->pause();
  try {
    const std::uint64_t bytes =
        checkpoint::save(world_, folder, metadata(step), pieces, deck_.checkpoint, [&] { folder_.check_lock(); });
    saved_step_ = step;
    walltime_.save_took(with_audit.seconds());
    if (save_interval_) save_interval_->save_took(with_audit.seconds(), with_audit.seconds());
    log::info("saved step {}: {} in {}", step, format_bytes(bytes), format_seconds(timer.seconds()));
  } catch (const SystemError& error) {
    // A folder that another run has taken over is no longer ours to write to.
    comm::on_root(world_, [&] { folder_.check_lock(); });
    // The disk may have room again at the next save; only a save that had to be is worth ending the run for.
    if (required) throw;
    log::warning("step {} was not saved ({}); training goes on, the next save that is due tries again", step,
                 error.what());
    save_answered_ = save_answered_ || save_asked_;
  }
  if (saved_step_ == step) tidy_after_save(step);
  since_save_.restart();
}

void Run::tidy_after_save(std::int64_t step) {
  if (world_.rank() != 0) return;
  attempts_->saved(step);
  tell(save_interval_->news());
  if (save_asked_ || save_answered_) remove_save_request();
  try {
    checkpoint::rotate(folder_.paths().checkpoints(), deck_.checkpoint, step);
  } catch (const SystemError& error) {
    log::warning("step {} is saved, but older checkpoints could not be removed ({})", step, error.what());
  }
}

void Run::remove_save_request() {
  try {
    io::remove_file(folder_.paths().save_file());
  } catch (const SystemError& error) {
    save_answered_ = true;
    log::warning("the request to save is answered, but could not be removed ({}) it is passed over until it is gone",
                 error.what());
  }
}

void Run::record(std::int64_t step, const StepResult& result, double seconds) {
  if (world_.rank() != 0) return;
  const double tokens = static_cast<double>(deck_.batch.global * deck_.model.context);
  StepMetrics metrics{.step = step,
                      .loss = result.loss,
                      .grad_norm = result.gradient_norm,
                      .learning_rate = result.learning_rate,
                      .loss_scale = result.loss_scale,
                      .skipped = trainer_->skipped(),
                      .tokens = tokens_,
                      .step_time_s = seconds,
                      .tokens_per_s = tokens / seconds,
                      .mfu = tokens / seconds * model::flop_per_token(deck_.model) / job_gemm_rate_,
                      .memory_bytes = static_cast<std::int64_t>(job_memory_bytes_),
                      .validation_loss = validation_loss_};
  if (deck_.metrics.rows) metrics.rows = loader_->global_samples(step - 1);
  if (step % deck_.metrics.every_steps == 0 || step == deck_.run.steps) metrics_->write(metrics);
  progress_->show(metrics);
}

void Run::write_end(std::int64_t step, StopReason reason) const {
  const double seconds = since_start_.seconds();
  if (reason != StopReason::none) {
    log::info("stopped by {} at step {} of {}, saved; run again to go on", describe(reason), step, deck_.run.steps);
  }
  const double tokens = static_cast<double>((step - first_step_) * deck_.batch.global * deck_.model.context);
  log::info(
      "{} steps in {} ({} tokens/s with everything); planned memory {} a rank, peak of the largest process {}",
      step - first_step_, format_seconds(seconds), format_count(static_cast<std::uint64_t>(tokens / seconds)),
      format_bytes(arena_.used_bytes()),
      format_bytes(static_cast<std::uint64_t>(std::max(job_memory_bytes_, static_cast<double>(peak_memory_bytes())))));
  log::info("{}", describe_flop(world_, trainer_->flop() - flop_at_start_));
  if (const std::string traffic = trainer_->describe_traffic(); !traffic.empty()) log::debug("{}", traffic);
  if (validation_loss_) log::info("validation loss {:.4f} nats a token", *validation_loss_);
  log::info("checkpoint: {}", checkpoint::step_folder(folder_.paths().checkpoints(), saved_step_));
}

}  // namespace

ExitCode train(comm::Communicator& world, const std::string& deck_path, const std::vector<std::string>& overrides) {
  config::Deck deck = read_shared_deck(world, deck_path, overrides);
  const comm::GridShape grid = comm::fit_grid(deck.grid, world.size());
  deck.batch.micro = config::resolve_micro(deck, grid[Axis::data]);
  config::check_grid(deck, grid);
  data::Dataset training = open_shared_dataset(world, deck.data.train, deck.model.context);
  data::Dataset validation;
  if (!deck.data.validation.empty()) {
    validation = open_shared_dataset(world, deck.data.validation, deck.model.context);
  }
  settle_vocab(deck, training);
  if (!validation.files.empty()) {
    data::check_same_tokenizer(training.files.front()->info(), validation.files.front()->info());
    settle_vocab(deck, validation);
  }
  return Run(world, std::move(deck), std::move(training), std::move(validation)).go();
}

}  // namespace trireme::train
