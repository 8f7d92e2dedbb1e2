#include "train/first_text.hpp"

namespace trireme::train {

std::string first_text(comm::Communicator& world, const std::string& mine) {
  const int rank = mine.empty() ? world.size() : world.rank();
  const int lowest = -static_cast<int>(world.all_reduce_max(-static_cast<double>(rank)));
  if (lowest == world.size()) return {};
  std::string text = mine;
  world.broadcast_text(text, lowest);
  return text;
}

}  // namespace trireme::train
