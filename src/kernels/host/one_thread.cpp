#include "kernels/host/one_thread.hpp"

#include <omp.h>

namespace trireme::kernels::host {

OneThread::OneThread() : former_threads_(omp_get_max_threads()) {
  omp_set_num_threads(1);
}

OneThread::~OneThread() {
  omp_set_num_threads(former_threads_);
}

}  // namespace trireme::kernels::host
