#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "trireme/base/error.hpp"
#include "trireme/base/host.hpp"
#include "trireme/base/timer.hpp"
#include "trireme/io/file.hpp"

#include "bench/operands.hpp"
#include "bench/partners.hpp"
#include "bench/subjects.hpp"
#include "bench/together.hpp"

namespace trireme::bench {

namespace {

constexpr std::uint64_t mebi = std::uint64_t{1} << 20U;
constexpr std::uint64_t chunk_bytes = 8 * mebi;  // moved by one call
constexpr std::size_t max_repeats = 5;
constexpr double budget_s = 3;

/// A file of this process alone, there for the life of the object.
class OwnFile {
 public:
  OwnFile(const std::string& folder, std::uint64_t bytes)
      : path_(fmt::format("{}/trireme_bench_{}_{}", folder, host_name(), ::getpid())),
        bytes_(bytes),
        chunk_(random_bytes(chunk_bytes)) {}
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  ~OwnFile() {
    try {
      io::remove_file(path_);
    } catch (const Error&) {  // a destructor has nobody to tell it to, and an error may be under way
    }
  }

  /// A file that was not there before: a checkpoint writes no other.
  void write() {
    io::remove_file(path_);
    io::File file(path_, io::File::Mode::create);
    for_each_chunk([&](std::uint64_t offset, std::size_t count) { file.write_at(offset, chunk_.data(), count); });
    file.sync();
    file.close();
  }

  void read() {
    const io::File file(path_, io::File::Mode::read);
    for_each_chunk([&](std::uint64_t offset, std::size_t count) { file.read_at(offset, chunk_.data(), count); });
  }

 private:
  template <class Work>
  void for_each_chunk(const Work& work) const {
    for (std::uint64_t offset = 0; offset < bytes_; offset += chunk_bytes) {
      work(offset, std::min(chunk_bytes, bytes_ - offset));
    }
  }

  std::string path_;
  std::uint64_t bytes_;
  std::vector<std::byte> chunk_;
};

struct Times {
  Timing write, read;
};

/// A file a rank of the group, all at once. A rank's error is that of all: each removes its file.
Times measure(comm::Communicator& group, const Options& options) {
  OwnFile file(options.folder, static_cast<std::uint64_t>(options.mib) * mebi);
  std::vector<double> write_s, read_s;
  const auto timed = [&group](std::vector<double>& times_s, const std::function<void()>& work) {
    group.barrier();
    comm::on_all(group, [&] {
      const Timer timer;
      work();
      times_s.push_back(timer.seconds());
    });
  };
  const Timer total;
  do {
    timed(write_s, [&file] { file.write(); });
    timed(read_s, [&file] { file.read(); });
  } while (write_s.size() < max_repeats && group.all_reduce_max(total.seconds()) < budget_s);
  return {.write = summarize(std::move(write_s)), .read = summarize(std::move(read_s))};
}

void check_folder(const std::string& folder) {
  if (!io::is_folder(folder)) {
    throw InputError(fmt::format("`{}` is no folder (--folder) name one on the file system to be measured", folder));
  }
}

}  // namespace

void run_io(comm::Communicator& world, const Options& options) {
  comm::on_all(world, [&] { check_folder(options.folder); });
  Times alone;
  comm::on_root(world, [&] { alone = measure(*comm::make_self_communicator(), options); });
  const Times together = measure(world, options);

  const auto bytes = static_cast<double>(options.mib) * mebi;
  const std::vector<OverRanks> lines = {gather(world, "write and fsync, one rank", bytes, alone.write),
                                        gather(world, "read, one rank", bytes, alone.read),
                                        gather(world, "write and fsync, all", bytes, together.write),
                                        gather(world, "read, all", bytes, together.read)};
  const std::vector<int> hosts = host_numbers(world);
  const std::vector<std::string> host_names = world.gather_text(host_name(), 0);
  if (world.rank() != 0) return;
  if (options.json) {
    const nlohmann::ordered_json object = {{"ranks", world.size()},
                                           {"hosts", num_hosts(hosts)},
                                           {"folder", options.folder},
                                           {"files", json_of_bytes(lines)}};
    fmt::print("{}\n", object.dump(2));
  } else {
    fmt::print("{}, `{}`; what is read may still be in the host's memory\n\n{}", job_text(hosts), options.folder,
               table_of_bytes(lines, host_names));
  }
}

}  // namespace trireme::bench
