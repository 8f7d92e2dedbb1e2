#include "comm/mpi/mpi_request.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

namespace trireme::comm {

MpiRequest::MpiRequest(Kind kind, void* data, std::size_t bytes, int peer, int tag, MPI_Comm comm,
                       std::shared_ptr<const MpiSite> site)
    : kind_(kind), peer_(peer), tag_(tag), site_(std::move(site)) {
  const std::size_t limit = site_->max_message_bytes;
  parts_.reserve((bytes + limit - 1) / limit);
  for (std::size_t offset = 0; offset < bytes; offset += limit) {
    Part& part = parts_.emplace_back();
    part.bytes = static_cast<int>(std::min(limit, bytes - offset));
    post(part, static_cast<std::byte*>(data) + offset, comm);
  }
}

MpiRequest::~MpiRequest() {
  // While an error unwinds the stack messages may well be under way: the job is about to end.
  TRIREME_EXPECT(num_done_ == parts_.size() || std::uncaught_exceptions() > 0);
  for (Part& part : parts_) {
    if (part.request != MPI_REQUEST_NULL) MPI_Request_free(&part.request);
  }
}

void MpiRequest::post(Part& part, void* data, MPI_Comm comm) {
  const bool sends = kind_ == Kind::send;
  const int code = sends ? MPI_Isend(data, part.bytes, MPI_BYTE, peer_, tag_, comm, &part.request)
                         : MPI_Irecv(data, part.bytes, MPI_BYTE, peer_, tag_, comm, &part.request);
  check(code, sends ? "MPI_Isend" : "MPI_Irecv", *site_, [&] { return what(part); });
}

bool MpiRequest::test() {
  while (num_done_ < parts_.size()) {
    Part& part = parts_[num_done_];
    int done = 0;
    MPI_Status status;
    check(MPI_Test(&part.request, &done, &status), "MPI_Test", *site_, [&] { return what(part); });
    if (done == 0) return false;
    ++num_done_;
    check_length(part, status);
  }
  return true;
}

void MpiRequest::wait() {
  while (num_done_ < parts_.size()) {
    Part& part = parts_[num_done_];
    MPI_Status status;
    check(MPI_Wait(&part.request, &status), "MPI_Wait", *site_, [&] { return what(part); });
    ++num_done_;
    check_length(part, status);
  }
}

void MpiRequest::check_length(const Part& part, MPI_Status& status) const {
  if (kind_ == Kind::send) return;
  int came = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &came), "MPI_Get_count", *site_, [&] { return what(part); });
  if (came == part.bytes) return;
  throw CommunicationError(
      fmt::format("a message of {} bytes came (another length was agreed on) on rank {}, host `{}`, while {}", came,
                  site_->world_rank, site_->host, what(part)));
}

std::string MpiRequest::what(const Part& part) const {
  return fmt::format("{} {} bytes {} rank {} of the group with tag {}", kind_ == Kind::send ? "sending" : "receiving",
                     part.bytes, kind_ == Kind::send ? "to" : "from", peer_, tag_);
}

}  // namespace trireme::comm
