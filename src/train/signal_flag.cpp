#include "trireme/train/signal_flag.hpp"

#include <array>
#include <csignal>
#include <cstddef>

namespace trireme::train {
namespace {

constexpr std::array signals{SIGUSR1, SIGUSR2, SIGTERM, SIGINT};
volatile std::sig_atomic_t first_signal = 0;
std::array<struct sigaction, signals.size()> old_actions;
int num_flags = 0;

void note_signal(int number) {
  if (first_signal == 0) first_signal = number;
}

}  // namespace

SignalFlag::SignalFlag() {
  if (num_flags++ > 0) return;
  first_signal = 0;
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &action, &old_actions[i]);
}

SignalFlag::~SignalFlag() {
  if (--num_flags > 0) return;
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &old_actions[i], nullptr);
}

int SignalFlag::received() {
  return first_signal;
}

}  // namespace trireme::train
