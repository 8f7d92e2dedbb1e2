#include "comm/mpi/mpi_communicator.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/base/timer.hpp"

#include "comm/mpi/mpi_request.hpp"

namespace trireme::comm {

MpiCommunicator::MpiCommunicator(MPI_Comm comm, std::shared_ptr<const MpiSite> site)
    : comm_(comm), site_(std::move(site)) {
  const auto what = [] { return "setting up a communicator"; };
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", *site_, what);
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank", *site_, what);
  check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size", *site_, what);
}

// Only an error could come back, and a destructor has nobody to tell it to.
MpiCommunicator::~MpiCommunicator() {
  MPI_Comm_free(&comm_);
}

void MpiCommunicator::barrier() {
  check(MPI_Barrier(comm_), "MPI_Barrier", *site_, [&] { return fmt::format("waiting for {} ranks", size_); });
}

void MpiCommunicator::broadcast(void* data, std::size_t bytes, int root) {
  const std::size_t limit = site_->max_message_bytes;
  for (std::size_t offset = 0; offset < bytes; offset += limit) {
    const int part = static_cast<int>(std::min(limit, bytes - offset));
    check(MPI_Bcast(static_cast<std::byte*>(data) + offset, part, MPI_BYTE, root, comm_), "MPI_Bcast", *site_,
          [&] { return fmt::format("broadcasting {} of {} bytes from rank {} of the group", part, bytes, root); });
  }
}

void MpiCommunicator::all_gather(const void* mine, std::size_t bytes, void* all) {
  if (bytes == 0) return;
  const auto ranks = static_cast<std::size_t>(size_);
  if (bytes <= site_->max_message_bytes / ranks) {
    const int count = static_cast<int>(bytes);
    check(MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm_), "MPI_Allgather", *site_,
          [&] { return fmt::format("gathering {} bytes of each of {} ranks", bytes, size_); });
    return;
  }
  std::byte* const places = static_cast<std::byte*>(all);
  std::memmove(places + static_cast<std::size_t>(rank_) * bytes, mine, bytes);
  for (std::size_t root = 0; root < ranks; ++root) broadcast(places + root * bytes, bytes, static_cast<int>(root));
}

template <class T>
void MpiCommunicator::all_reduce(std::span<T> values, MPI_Datatype type, MPI_Op operation) {
  const std::size_t limit = std::max<std::size_t>(1, site_->max_message_bytes / sizeof(T));
  for (std::size_t offset = 0; offset < values.size(); offset += limit) {
    const int part = static_cast<int>(std::min(limit, values.size() - offset));
    check(MPI_Allreduce(MPI_IN_PLACE, values.data() + offset, part, type, operation, comm_), "MPI_Allreduce", *site_,
          [&] { return fmt::format("reducing {} of {} numbers over {} ranks", part, values.size(), size_); });
  }
}

void MpiCommunicator::all_reduce_sum(std::span<std::int64_t> values) {
  all_reduce(values, MPI_INT64_T, MPI_SUM);
}

void MpiCommunicator::all_reduce_max(std::span<double> values) {
  all_reduce(values, MPI_DOUBLE, MPI_MAX);
}

std::unique_ptr<Request> MpiCommunicator::send(const void* data, std::size_t bytes, int destination, int tag) {
  // MPI_Isend only reads the buffer; one class serves both directions.
  return std::make_unique<MpiRequest>(MpiRequest::Kind::send, const_cast<void*>(data), bytes, destination, tag, comm_,
                                      site_);
}

std::unique_ptr<Request> MpiCommunicator::receive(void* data, std::size_t bytes, int source, int tag) {
  return std::make_unique<MpiRequest>(MpiRequest::Kind::receive, data, bytes, source, tag, comm_, site_);
}

std::unique_ptr<Communicator> MpiCommunicator::split(const ColorOf& color_of) {
  const int color = color_of(rank_);
  TRIREME_EXPECT(color >= 0);
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(comm_, color, rank_, &part), "MPI_Comm_split", *site_,
        [&] { return fmt::format("making the group of colour {}", color); });
  return std::make_unique<MpiCommunicator>(part, site_);
}

std::unique_ptr<Communicator> MpiCommunicator::split_by_host() {
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part), "MPI_Comm_split_type", *site_,
        [] { return "grouping the ranks by host"; });
  return std::make_unique<MpiCommunicator>(part, site_);
}

bool MpiCommunicator::all_arrive(double patience_s) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(comm_, &request) != MPI_SUCCESS) return false;
  int arrived = 0;
  for (const Timer timer; arrived == 0 && timer.seconds() < patience_s;) {
    if (MPI_Test(&request, &arrived, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (arrived == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // A barrier that nobody joins cannot be withdrawn; the caller ends the job.
  return arrived != 0;
}

void MpiCommunicator::abort(int code) {
  std::fflush(nullptr);
  MPI_Abort(site_->world, code);
  std::_Exit(code);
}

}  // namespace trireme::comm
