#include "trireme/comm/mpi_runtime.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "comm/launcher.hpp"
#include "comm/mpi/mpi_communicator.hpp"

namespace trireme::comm {
namespace {

constexpr std::size_t largest_message_bytes = std::size_t{1} << 30;

/// The limit of one library call: 1 GiB, or less by TRIREME_MAX_MESSAGE_BYTES (so that tests reach the splitting).
std::size_t max_message_bytes() {
  const char* const text = std::getenv("TRIREME_MAX_MESSAGE_BYTES");
  if (text == nullptr) return largest_message_bytes;
  std::size_t bytes = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, bytes);
  if (error != std::errc{} || stop != end || bytes < 1 || bytes > largest_message_bytes) {
    throw InputError(fmt::format("`TRIREME_MAX_MESSAGE_BYTES={}` (a whole number from 1 to {}) unset it", text,
                                 largest_message_bytes));
  }
  return bytes;
}

/// One voice: all N processes come here, and only the launcher's rank 0 has something to say. The others let it speak
/// first, since some launchers kill all ranks as soon as one has failed.
[[noreturn]] void refuse_unconnected(const Launcher& launcher) {
  if (launcher.rank == 0) throw SystemError(unconnected_message(launcher));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  throw SystemError("");
}

std::string processor_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
  int length = 0;
  if (MPI_Get_processor_name(name.data(), &length) != MPI_SUCCESS) return "unknown";
  return name.data();
}

/// MPI_Init_thread; the communicator over a duplicate of MPI_COMM_WORLD.
std::unique_ptr<Communicator> start_mpi(int& argc, char**& argv) {
  auto site = std::make_shared<MpiSite>();
  site->max_message_bytes = max_message_bytes();
  const auto what = [] { return "starting MPI"; };
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread", *site, what);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check(MPI_Comm_rank(MPI_COMM_WORLD, &site->world_rank), "MPI_Comm_rank", *site, what);
  site->host = processor_name();
  if (provided < MPI_THREAD_FUNNELED) {
    MPI_Finalize();
    throw SystemError("MPI offers no threads (MPI_THREAD_FUNNELED is needed) use an MPI library built with them");
  }
  check(MPI_Comm_dup(MPI_COMM_WORLD, &site->world), "MPI_Comm_dup", *site, what);
  return std::make_unique<MpiCommunicator>(site->world, site);
}

}  // namespace

MpiRuntime::MpiRuntime(int& argc, char**& argv) : exceptions_at_start_(std::uncaught_exceptions()) {
  const auto launcher = find_launcher([](const char* name) { return std::getenv(name); });
  if (!launcher) {
    world_ = make_self_communicator();
    return;
  }
  const bool must_connect = launcher->num_ranks > 1;
  // Open MPI would abort inside MPI_Init, once per rank, with words that help nobody.
  if (must_connect && !launcher->connects && mpi_version().starts_with("Open MPI")) refuse_unconnected(*launcher);
  world_ = start_mpi(argc, argv);
  started_ = true;
  if (must_connect && world_->size() == 1) {
    world_.reset();
    MPI_Finalize();
    refuse_unconnected(*launcher);
  }
}

MpiRuntime::~MpiRuntime() {
  if (!started_) return;
  if (std::uncaught_exceptions() > exceptions_at_start_) world_->abort(static_cast<int>(ExitCode::system_error));
  world_.reset();
  MPI_Finalize();
}

Communicator& MpiRuntime::world() {
  return *world_;
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "unknown";
  const std::string_view whole = text.data();
  return std::string(whole.substr(0, whole.find('\n')));
}

}  // namespace trireme::comm
