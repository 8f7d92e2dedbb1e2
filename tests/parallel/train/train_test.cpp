#include "parallel/train/train_test.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "trireme/io/file.hpp"

#include "parallel/parallel.hpp"

namespace trireme::testing {
namespace {

/// Of losses and norms of other orders of summation after six steps. In half precision a sum that is another in its
/// last bit may be rounded to the next number: of the rounding that many elements bring, a few of them have it. (On one
/// rank in fp16, other numbers of lanes alone move the norm by up to 1.2e-3 within twelve steps.)
double tolerance_of(Dtype compute) {
  return compute == Dtype::f32 ? 1e-5 : compute == Dtype::bf16 ? 0x1p-8 : 0x1p-9;
}

constexpr unsigned patience_s = 100;
std::string watched;

void report_hang(int) {
  static_cast<void>(!::write(STDERR_FILENO, watched.data(), watched.size()));
  ::_exit(3);
}

}  // namespace

Watchdog::Watchdog(const std::string& what) {
  watched = "no end of: " + what + "\n";
  static const bool verbose = std::getenv("TRIREME_TEST_VERBOSE") != nullptr;
  if (verbose && world().rank() == 0) fmt::print(stderr, "{}\n", what);
  std::signal(SIGALRM, report_hang);
  ::alarm(patience_s);
}

Watchdog::~Watchdog() {
  ::alarm(0);
}

TrainTest::TrainTest() {
  folder_ = fmt::format("{}/trireme_train_{}", std::filesystem::temp_directory_path().string(), ::getpid());
  world().broadcast_text(folder_, 0);
  comm::on_root(world(), [&] {
    io::remove_tree(folder_);
    std::filesystem::create_directory(folder_);
    write_datasets(folder_);
  });
}

TrainTest::~TrainTest() {
  world().barrier();
  if (world().rank() == 0) io::remove_tree(folder_);
}

void TrainTest::on_first_ranks(const Case& what, const std::function<void(comm::Communicator& group)>& work) const {
  const Watchdog watchdog(what.text());
  const int size = lay(what, folder_).grid.size();
  const auto group = world().split([&](int rank) { return rank < size ? 0 : 1; });
  if (world().rank() < size) work(*group);
  world().barrier();
}

Outcome TrainTest::train(const Case& what) const {
  Outcome outcome;
  on_first_ranks(what, [&](comm::Communicator& group) {
    Training training(group, what, folder_);
    training.run(6);
    outcome = training.outcome();
  });
  return outcome;
}

const Outcome& TrainTest::reference(const Case& what) {
  const Case alone = what.on_one_rank();
  const auto [place, is_new] = references_.try_emplace(alone.text());
  if (is_new) place->second = train(alone);
  return place->second;
}

std::string TrainTest::check(const Case& what) {
  const Outcome& expected = reference(what);
  const Outcome outcome = train(what);
  if (world().rank() != 0) return {};
  const Laid laid = lay(what, folder_);
  if (is_promised(laid)) return difference(outcome, expected);
  return distance(outcome, expected, tolerance_of(laid.deck.precision.compute_type()));
}

}  // namespace trireme::testing
