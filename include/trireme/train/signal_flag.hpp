// Signals that ask a run to stop.
#pragma once

namespace trireme::train {

/// While there is one, SIGUSR1, SIGUSR2, SIGTERM and SIGINT only set a flag. The program makes one before anything
/// else, so that a signal while MPI starts or the deck is read is kept for the first step; further ones are the same
/// flag. The last destructor puts the old handlers back.
class SignalFlag {
 public:
  SignalFlag();
  ~SignalFlag();
  SignalFlag(const SignalFlag&) = delete;
  SignalFlag& operator=(const SignalFlag&) = delete;
  /// The number of the first signal that came, 0 if none.
  [[nodiscard]] static int received();
};

}  // namespace trireme::train
