#include "trireme/tensor/parameter.hpp"

#include <gtest/gtest.h>

namespace trireme::tensor {
namespace {

Parameter named(const std::string& name, int bucket) {
  Parameter parameter;
  parameter.name = name;
  parameter.bucket = bucket;
  return parameter;
}

TEST(Shard, OfTheWholeStartsAtZero) {
  const Shard shard = whole({5, 7});
  EXPECT_EQ(shard.offset, (Shape{0, 0}));
  EXPECT_EQ(shard.extent, (Shape{5, 7}));
}

TEST(ParameterStore, KeepsAddressesAndOrder) {
  ParameterStore store;
  Parameter& first = store.add(named("first", 0));
  for (int i = 0; i < 1000; ++i) store.add(named(std::to_string(i), 1));
  EXPECT_EQ(store.find("first"), &first);
  EXPECT_EQ(store.find("999"), &store.all().back());
  EXPECT_EQ(store.find("absent"), nullptr);
}

TEST(ParameterStore, ListsABucketInOrder) {
  ParameterStore store;
  EXPECT_EQ(store.num_buckets(), 0);
  store.add(named("a", 0));
  store.add(named("b", 2));
  store.add(named("c", 0));
  EXPECT_EQ(store.num_buckets(), 3);
  const auto members = store.bucket(0);
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0]->name, "a");
  EXPECT_EQ(members[1]->name, "c");
  EXPECT_TRUE(store.bucket(1).empty());
}

}  // namespace
}  // namespace trireme::tensor
