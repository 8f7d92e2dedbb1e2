#include "train/run_folder.hpp"

#include <sstream>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/io/file.hpp"

namespace trireme::train {

RunFolder::RunFolder(comm::Communicator& world, const config::Deck& deck) : paths_(deck.run.output) {
  comm::on_root(world, [&] {
    if (io::exists(paths_.folder) && !io::is_folder(paths_.folder)) {
      throw InputError(
          fmt::format("`run.output` = `{}` is a file (a run has a folder) choose another path", paths_.folder));
    }
    io::make_folders(paths_.folder);
    lock_ = std::make_unique<checkpoint::RunLock>(paths_.folder);
    io::make_folders(paths_.checkpoints());
    checkpoint::clean_staging(paths_.checkpoints());
    log::add_file(paths_.log());
  });
}

RunFolder::~RunFolder() {
  if (lock_) {
    log::close_file();
    lock_->release();
  }
}

void RunFolder::check_lock() const {
  if (lock_) lock_->check();
}

std::vector<std::string> resume_candidates(comm::Communicator& world, const config::Deck& deck, const RunPaths& paths) {
  const std::string& resume = deck.run.resume;
  std::string list;
  comm::on_root(world, [&] {
    if (resume != "auto" && resume != "never") {
      list = checkpoint::find_checkpoint(resume) + '\n';
      return;
    }
    const std::vector<std::int64_t> steps = checkpoint::list_steps(paths.checkpoints());
    if (resume == "never" && !steps.empty()) {
      throw InputError(
          fmt::format("`run.output` = `{}` holds checkpoints up to step {} (`run.resume` is `never`) choose another "
                      "folder, or resume "
                      "with `auto`",
                      paths.folder, steps.back()));
    }
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      list += checkpoint::step_folder(paths.checkpoints(), *step) + '\n';
    }
  });
  world.broadcast_text(list, 0);
  std::vector<std::string> candidates;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) candidates.push_back(line);
  return candidates;
}

void check_resume(const config::Deck& deck, const checkpoint::Metadata& stored) {
  const config::Deck old = config::parse_deck(stored.deck, "the checkpoint's deck", {});
  std::string refused;
  for (const config::Difference& difference : config::compare_for_resume(old, deck)) {
    const std::string line =
        fmt::format("`{}` was `{}` and is now `{}`", difference.key, difference.stored, difference.given);
    if (difference.refused) {
      refused += "\n  " + line;
    } else {
      log::info("changed since the checkpoint: {}", line);
    }
  }
  if (!refused.empty()) {
    throw InputError(
        fmt::format("the deck describes another model than the checkpoint of step {}:{}\n(weights cannot be taken "
                    "over) put the values "
                    "back, or choose another `run.output`",
                    stored.step, refused));
  }
}

checkpoint::Metadata resume(comm::Communicator& world, const config::Deck& deck, const data::TokenFileInfo& training,
                            const std::vector<std::string>& candidates,
                            const std::function<void(checkpoint::Reader&)>& load) {
  std::string last_problem;
  for (const std::string& path : candidates) {
    std::unique_ptr<checkpoint::Reader> reader;
    try {
      reader = std::make_unique<checkpoint::Reader>(world, path);
    } catch (const InputError& error) {
      last_problem = error.what();
      if (candidates.size() == 1) throw;
      log::warning("passing over a damaged checkpoint: {}", last_problem);
      continue;
    }
    const checkpoint::Metadata& stored = reader->metadata();
    check_resume(deck, stored);
    data::check_same_tokenizer(
        {.path = path, .tokenizer_kind = stored.tokenizer_kind, .tokenizer_model = stored.tokenizer_model}, training);
    try {
      load(*reader);
      return reader->metadata();
    } catch (const InputError& error) {
      last_problem = error.what();
      if (candidates.size() == 1) throw;
      log::warning("passing over a damaged checkpoint: {}", last_problem);
    }
  }
  throw InputError(fmt::format(
      "every checkpoint in `{}` is damaged (the last: {}) restore one, or move the folder away to start afresh",
      RunPaths(deck.run.output).checkpoints(), last_problem));
}

}  // namespace trireme::train
