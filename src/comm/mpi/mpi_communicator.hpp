#pragma once

#include <memory>

#include "trireme/comm/communicator.hpp"

#include "comm/mpi/mpi_check.hpp"

namespace trireme::comm {

/// A communicator over an MPI communicator of its own, which it frees.
class MpiCommunicator : public Communicator {
 public:
  /// Takes ownership of `comm` and lets its errors come back as return codes.
  MpiCommunicator(MPI_Comm comm, std::shared_ptr<const MpiSite> site);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void barrier() override;
  void broadcast(void* data, std::size_t bytes, int root) override;
  void all_gather(const void* mine, std::size_t bytes, void* all) override;
  void all_reduce_sum(std::span<std::int64_t> values) override;
  void all_reduce_max(std::span<double> values) override;
  std::unique_ptr<Request> send(const void* data, std::size_t bytes, int destination, int tag) override;
  std::unique_ptr<Request> receive(void* data, std::size_t bytes, int source, int tag) override;
  std::unique_ptr<Communicator> split(const ColorOf& color_of) override;
  std::unique_ptr<Communicator> split_by_host() override;
  [[nodiscard]] bool all_arrive(double patience_s) override;
  [[noreturn]] void abort(int code) override;

 private:
  template <class T>
  void all_reduce(std::span<T> values, MPI_Datatype type, MPI_Op operation);

  MPI_Comm comm_;
  std::shared_ptr<const MpiSite> site_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace trireme::comm
