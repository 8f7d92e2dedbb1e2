// A group of ranks that talk to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"

namespace trireme::comm {

/// A call of the library failed on this rank. The others may wait in it for ever, so nobody who catches this may enter
/// another collective: the job must end. No SystemError, which ranks have agreed on or can still agree on.
class CommunicationError : public Error {
 public:
  explicit CommunicationError(const std::string& message) : Error(ExitCode::system_error, message) {}
};

/// A message under way. Destroying a request that is not complete is a contract failure.
class Request {
 public:
  virtual ~Request() = default;
  /// True once the message is complete; never blocks.
  virtual bool test() = 0;
  virtual void wait() = 0;
};

/// A communicator. Every call but the point-to-point ones is collective: all its ranks call it in the same order, with
/// equal sizes and root. Errors throw CommunicationError quoting the library's words, rank and host.
/// Messages above the limit of one library call are split.
class Communicator {
 public:
  virtual ~Communicator() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void barrier() = 0;
  virtual void broadcast(void* data, std::size_t bytes, int root) = 0;
  /// Concatenates every rank's `bytes` bytes in rank order into all (size() * bytes) on every rank.
  virtual void all_gather(const void* mine, std::size_t bytes, void* all) = 0;
  /// Element-wise integer sum: exact, in any order.
  virtual void all_reduce_sum(std::span<std::int64_t> values) = 0;
  virtual void all_reduce_max(std::span<double> values) = 0;
  /// Messages of one source and tag arrive in the order of sending. Nothing is sent for 0 bytes. The data of a send
  /// must stay as they are until the request is complete.
  virtual std::unique_ptr<Request> send(const void* data, std::size_t bytes, int destination, int tag) = 0;
  virtual std::unique_ptr<Request> receive(void* data, std::size_t bytes, int source, int tag) = 0;
  /// Ranks of equal colour (not negative) make a new communicator, in the order of their ranks. The colour is a pure
  /// function of the rank, so every rank knows every group.
  using ColorOf = std::function<int(int rank)>;
  virtual std::unique_ptr<Communicator> split(const ColorOf& color_of) = 0;
  /// The ranks of this communicator on this host (shared memory), ordered by rank.
  virtual std::unique_ptr<Communicator> split_by_host() = 0;
  /// True when every rank made this call within `patience_s` seconds: how ranks that failed find out whether all did.
  [[nodiscard]] virtual bool all_arrive(double patience_s) = 0;
  /// Ends all ranks of the job with this code.
  [[noreturn]] virtual void abort(int code) = 0;

  /// Every rank's text, in rank order, on every rank.
  [[nodiscard]] std::vector<std::string> all_gather_text(const std::string& mine);
  /// The same on `root` only; empty elsewhere. What other ranks send and hold is their own text.
  [[nodiscard]] std::vector<std::string> gather_text(const std::string& mine, int root);
  /// The text of `texts`, which `root` gives for each rank, that is this rank's.
  [[nodiscard]] std::string scatter_text(const std::vector<std::string>& texts, int root);
  void broadcast_text(std::string& text, int root);
  [[nodiscard]] std::int64_t all_reduce_sum(std::int64_t value);
  [[nodiscard]] double all_reduce_max(double value);
  /// True if true on any rank.
  [[nodiscard]] bool any(bool value);
};

/// The communicator of one rank: no library behind it, works without MPI_Init.
[[nodiscard]] std::unique_ptr<Communicator> make_self_communicator();

/// Rank `rank` of `size` that are not there: groups can be made and asked for their sizes, so that a run can be laid
/// out (over a measuring arena) for any grid by one process. Any message is a contract failure.
[[nodiscard]] std::unique_ptr<Communicator> make_planned_communicator(int rank, int size);

/// Runs `work` on rank 0 only; an Error it throws is thrown again on every rank, with the same code and text, so that
/// all ranks return the same way; a CommunicationError goes on from where it was thrown. Collective.
void on_root(Communicator& communicator, const std::function<void()>& work);

/// Runs `work` on every rank; if it throws an Error on some, all ranks throw that of the lowest such rank. Collective.
void on_all(Communicator& communicator, const std::function<void()>& work);

}  // namespace trireme::comm
