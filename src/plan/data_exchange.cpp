#include "plan/data_exchange.hpp"

#include <algorithm>

namespace trireme::plan {
namespace {

Exchange exchange(double bytes, int ranks, double rounds, const DataShape& shape) {
  const Sent sent{.messages = rounds * messages_of_exchange(ranks) * shape.buckets,
                  .bytes = rounds * share_of_exchange(ranks) * bytes};
  return {.sent = sent, .time_s = transfer_s(sent, shape.link)};
}

}  // namespace

double transfer_s(const Sent& sent, const Link& link) {
  return sent.messages * link.latency_s + sent.bytes / link.bytes_per_s;
}

Exchange reduce_inside(double bytes, const DataShape& shape) {
  return exchange(bytes, shape.group, 1, shape);
}

Exchange reduce_across(double bytes, const DataShape& shape) {
  return exchange(bytes / shape.group, shape.ranks / shape.group, 2, shape);
}

Exchange gather_inside(double bytes, const DataShape& shape) {
  return exchange(bytes, shape.group, 1, shape);
}

double exposed_s(double time_s, double cover_s, double buckets) {
  return std::max(time_s / buckets, time_s - cover_s);
}

}  // namespace trireme::plan
