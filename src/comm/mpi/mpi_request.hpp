#pragma once

#include <memory>
#include <vector>

#include "trireme/comm/communicator.hpp"

#include "comm/mpi/mpi_check.hpp"

namespace trireme::comm {

/// One message of any length: parts of at most MpiSite::max_message_bytes, all posted at once, matched in order because
/// messages of one source and tag do not overtake each other.
class MpiRequest : public Request {
 public:
  enum class Kind { send, receive };

  /// Posts the whole message. `peer` and `tag` are those of communicator `comm`.
  MpiRequest(Kind kind, void* data, std::size_t bytes, int peer, int tag, MPI_Comm comm,
             std::shared_ptr<const MpiSite> site);
  ~MpiRequest() override;
  MpiRequest(const MpiRequest&) = delete;
  MpiRequest& operator=(const MpiRequest&) = delete;

  bool test() override;
  void wait() override;

 private:
  struct Part {
    MPI_Request request = MPI_REQUEST_NULL;
    int bytes = 0;
  };
  void post(Part& part, void* data, MPI_Comm comm);
  void check_length(const Part& part, MPI_Status& status) const;
  [[nodiscard]] std::string what(const Part& part) const;

  Kind kind_;
  int peer_;
  int tag_;
  std::shared_ptr<const MpiSite> site_;
  std::vector<Part> parts_;
  std::size_t num_done_ = 0;  // parts complete from the front
};

}  // namespace trireme::comm
