// From where a run goes on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/data/token_file.hpp"

#include "train/run_folder.hpp"

namespace trireme::train {

/// The folders of checkpoints that run.resume allows, best first; empty for a fresh start.
/// `auto`: all of the run, newest first. `never`: a folder with checkpoints is refused. A path: the run's own
/// checkpoints that came from it (their deck has the same run.resume), newest first, then that one; so a job that is
/// started again and again with one path goes on. Collective.
[[nodiscard]] std::vector<std::string> resume_candidates(comm::Communicator& world, const config::Deck& deck,
                                                         const RunPaths& paths);

/// Refuses a deck that is another model than the checkpoint's, every difference named; lists what else changed.
void check_resume(const config::Deck& deck, const checkpoint::Metadata& stored);

/// Opens the first candidate that is sound and can be read, and hands it to `load`; others are named and passed over. A
/// single candidate's error is thrown as it is. Damage to all is an InputError, and SystemError when some only could
/// not be read: a run never silently starts again from step 0. Another model, or training data of another tokenizer, is
/// an InputError too. Collective.
checkpoint::Metadata resume(comm::Communicator& world, const config::Deck& deck, const data::TokenFileInfo& training,
                            const std::vector<std::string>& candidates,
                            const std::function<void(checkpoint::Reader&)>& load);

}  // namespace trireme::train
