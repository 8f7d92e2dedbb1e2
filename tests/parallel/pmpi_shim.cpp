// These functions stand before those of the MPI library (its profiling interface): they count what is made and freed.
// With TRIREME_TEST_SYNCHRONOUS every send is synchronous: it completes only once its receive was posted, as on a
// machine that has no room to buffer. A program that relies on buffering then hangs, and the test's timeout tells.
#include "parallel/pmpi_shim.hpp"

#include <algorithm>
#include <cstdlib>

#include <mpi.h>

namespace {

int communicators = 0;
int requests = 0;
int synchronous = 0;
long largest_bytes = 0;

bool is_synchronous() {
  static const bool value = std::getenv("TRIREME_TEST_SYNCHRONOUS") != nullptr;
  return value;
}

void note_bytes(int count, MPI_Datatype type) {
  int element_bytes = 0;
  PMPI_Type_size(type, &element_bytes);
  largest_bytes = std::max(largest_bytes, static_cast<long>(count) * element_bytes);
}

int made(int code, int& counter) {
  if (code == MPI_SUCCESS) ++counter;
  return code;
}

}  // namespace

namespace trireme::testing {
int live_communicators() {
  return communicators;
}
int live_requests() {
  return requests;
}
int synchronous_sends() {
  return synchronous;
}
long largest_call_bytes() {
  return largest_bytes;
}
}  // namespace trireme::testing

extern "C" {

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
  return made(PMPI_Comm_dup(comm, copy), communicators);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part) {
  return made(PMPI_Comm_split(comm, color, key, part), communicators);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* part) {
  return made(PMPI_Comm_split_type(comm, type, key, info, part), communicators);
}

int MPI_Comm_free(MPI_Comm* comm) {
  --communicators;
  return PMPI_Comm_free(comm);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  note_bytes(count, type);
  if (!is_synchronous()) return made(PMPI_Isend(data, count, type, peer, tag, comm, request), requests);
  ++synchronous;
  return made(PMPI_Issend(data, count, type, peer, tag, comm, request), requests);
}

int MPI_Send(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  note_bytes(count, type);
  if (!is_synchronous()) return PMPI_Send(data, count, type, peer, tag, comm);
  ++synchronous;
  return PMPI_Ssend(data, count, type, peer, tag, comm);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  note_bytes(count, type);
  return made(PMPI_Irecv(data, count, type, peer, tag, comm, request), requests);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return made(PMPI_Ibarrier(comm, request), requests);
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const bool live = *request != MPI_REQUEST_NULL;
  const int code = PMPI_Test(request, done, status);
  if (live && *request == MPI_REQUEST_NULL) --requests;
  return code;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const bool live = *request != MPI_REQUEST_NULL;
  const int code = PMPI_Wait(request, status);
  if (live && *request == MPI_REQUEST_NULL) --requests;
  return code;
}

int MPI_Request_free(MPI_Request* request) {
  --requests;
  return PMPI_Request_free(request);
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  note_bytes(count, type);
  return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Allgather(const void* mine, int count, MPI_Datatype type, void* all, int all_count, MPI_Datatype all_type,
                  MPI_Comm comm) {
  int ranks = 1;
  PMPI_Comm_size(comm, &ranks);
  note_bytes(count * ranks, type);
  return PMPI_Allgather(mine, count, type, all, all_count, all_type, comm);
}

int MPI_Allreduce(const void* source, void* target, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm) {
  note_bytes(count, type);
  return PMPI_Allreduce(source, target, count, type, operation, comm);
}

}  // extern "C"
