#include "bench/messages.hpp"

#include <algorithm>
#include <cstddef>

#include "trireme/base/timer.hpp"

namespace trireme::bench {

namespace {

constexpr std::size_t least_bytes = 8;
constexpr std::size_t most_bytes = std::size_t{16} << 20U;
constexpr std::size_t factor = 8;
constexpr int tag = 1;

/// Enough for a steady median, and never long: large messages have steady times.
int repeats_of(std::size_t bytes) {
  constexpr std::size_t bytes_a_size = std::size_t{64} << 20U;
  return static_cast<int>(std::clamp<std::size_t>(bytes_a_size / bytes, 7, 300));
}

/// This rank's side of its pair.
class PingPong {
 public:
  PingPong(comm::Communicator& world, int partner)
      : world_(world), partner_(partner), sent_(most_bytes, std::byte{1}), received_(most_bytes, std::byte{2}) {}

  Timing measure(std::size_t bytes) {
    std::vector<double> times_s;
    there_and_back(bytes);
    for (int i = 0; i < repeats_of(bytes); ++i) {
      const Timer timer;
      there_and_back(bytes);
      times_s.push_back(timer.seconds() / 2);
    }
    return summarize(std::move(times_s));
  }

 private:
  void there_and_back(std::size_t bytes) {
    const auto send = [&] { world_.send(sent_.data(), bytes, partner_, tag)->wait(); };
    const auto receive = [&] { world_.receive(received_.data(), bytes, partner_, tag)->wait(); };
    if (world_.rank() < partner_) {
      send();
      receive();
    } else {
      receive();
      send();
    }
  }

  comm::Communicator& world_;
  int partner_;
  std::vector<std::byte> sent_, received_;
};

}  // namespace

std::vector<OverRanks> measure_messages(comm::Communicator& world, const Partners& partners, const std::string& what) {
  const bool nobody = std::all_of(partners.begin(), partners.end(), [](int partner) { return partner < 0; });
  if (nobody) return {};
  PingPong pair(world, partners[static_cast<std::size_t>(world.rank())]);
  const bool alone = partners[static_cast<std::size_t>(world.rank())] < 0;
  std::vector<OverRanks> lines;
  for (std::size_t bytes = least_bytes; bytes <= most_bytes; bytes *= factor) {
    world.barrier();
    const Timing mine = alone ? Timing{} : pair.measure(bytes);
    lines.push_back(gather(world, what, static_cast<double>(bytes), mine));
  }
  return lines;
}

}  // namespace trireme::bench
