#include "comm/halving.hpp"

namespace trireme::comm {

int owned_piece(int rank, int num_ranks) {
  if (!is_power_of_two(num_ranks)) return rank;
  int piece = 0;
  for (int bit = 1; bit < num_ranks; bit *= 2) {
    piece = 2 * piece + (rank & 1);
    rank /= 2;
  }
  return piece;
}

HalvingStep halving_step(const Cuts& cuts, int rank, int step) {
  std::size_t first = 0;
  std::size_t count = cuts.size() - 1;
  HalvingStep result;
  for (int s = 0; s <= step; ++s) {
    count /= 2;
    const bool upper = ((rank >> s) & 1) != 0;
    const std::size_t kept = upper ? first + count : first;
    const std::size_t given = upper ? first : first + count;
    result = {rank ^ (1 << s), {cuts[kept], cuts[kept + count]}, {cuts[given], cuts[given + count]}};
    first = kept;
  }
  return result;
}

}  // namespace trireme::comm
