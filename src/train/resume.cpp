#include "train/resume.hpp"

#include <memory>
#include <sstream>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"

namespace trireme::train {
namespace {

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// All checkpoints of the run, newest first.
std::vector<std::string> own_checkpoints(const RunPaths& paths) {
  const std::vector<std::int64_t> steps = checkpoint::list_steps(paths.checkpoints());
  std::vector<std::string> folders;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    folders.push_back(checkpoint::step_folder(paths.checkpoints(), *step));
  }
  return folders;
}

/// True when a run that was told to go on from `origin` wrote the checkpoint.
bool came_from(const std::string& folder, const std::string& origin) {
  const auto self = comm::make_self_communicator();
  try {
    const checkpoint::Reader reader(*self, folder);
    const config::Deck deck = config::parse_deck(reader.metadata().deck, "the checkpoint's deck", {});
    return without_trailing_slashes(deck.run.resume) == without_trailing_slashes(origin);
  } catch (const Error& error) {
    log::warning("passing over a checkpoint that cannot say where it came from: {}", error.what());
    return false;
  }
}

/// What the run has made of `origin` already, newest first, and `origin` itself as the last resort.
std::vector<std::string> origin_and_descendants(const std::string& origin, const RunPaths& paths) {
  std::vector<std::string> folders;
  for (const std::string& folder : own_checkpoints(paths)) {
    if (came_from(folder, origin)) folders.push_back(folder);
  }
  if (folders.empty()) return {checkpoint::find_checkpoint(origin)};
  log::info(
      "this run went on from `{}` before, so its own `{}` is taken (to start from there once more, choose another "
      "`run.output`)",
      origin, folders.front());
  try {
    folders.push_back(checkpoint::find_checkpoint(origin));
  } catch (const InputError&) {
    // It may be gone by now: what came of it is here.
  }
  return folders;
}

std::vector<std::string> candidates_on_root(const std::string& resume, const RunPaths& paths) {
  if (resume != "auto" && resume != "never") return origin_and_descendants(resume, paths);
  std::vector<std::string> own = own_checkpoints(paths);
  if (resume == "never" && !own.empty()) {
    throw InputError(
        fmt::format("`run.output` = `{}` holds checkpoints up to step {} (`run.resume` is `never`) choose another "
                    "folder, or resume with `auto`",
                    paths.folder, checkpoint::list_steps(paths.checkpoints()).back()));
  }
  return own;
}

}  // namespace

std::vector<std::string> resume_candidates(comm::Communicator& world, const config::Deck& deck, const RunPaths& paths) {
  std::string list;
  comm::on_root(world, [&] {
    for (const std::string& folder : candidates_on_root(deck.run.resume, paths)) list += folder + '\n';
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
  bool all_damaged = true;
  const auto works = [&](const std::function<void()>& use) {
    try {
      use();
      return true;
    } catch (const comm::CommunicationError&) {
      throw;
    } catch (const Error& error) {
      if (candidates.size() == 1) throw;
      const bool is_damaged = error.code() == ExitCode::input_error;
      all_damaged = all_damaged && is_damaged;
      last_problem = error.what();
      log::warning("passing over {} checkpoint: {}", is_damaged ? "a damaged" : "an unreadable", last_problem);
      return false;
    }
  };
  for (const std::string& path : candidates) {
    std::unique_ptr<checkpoint::Reader> reader;
    if (!works([&] { reader = std::make_unique<checkpoint::Reader>(world, path); })) continue;
    const checkpoint::Metadata& stored = reader->metadata();
    check_resume(deck, stored);
    data::check_same_tokenizer(
        {.path = path, .tokenizer_kind = stored.tokenizer_kind, .tokenizer_model = stored.tokenizer_model}, training);
    if (works([&] { load(*reader); })) return stored;
  }
  const std::string folder = RunPaths(deck.run.output).checkpoints();
  if (!all_damaged) {
    throw SystemError(fmt::format("no checkpoint in `{}` could be read (the last: {}) see to the disk, then run again",
                                  folder, last_problem));
  }
  throw InputError(
      fmt::format("every checkpoint in `{}` is damaged (the last: {}) restore one, or move the folder away to start "
                  "afresh",
                  folder, last_problem));
}

}  // namespace trireme::train
