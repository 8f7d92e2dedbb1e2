#include "train/run_folder.hpp"

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/checkpoint/checkpoint.hpp"
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
  if (lock_) lock_->release();
}

void RunFolder::check_lock() const {
  if (lock_) lock_->check();
}

}  // namespace trireme::train
