#include "checkpoint/index.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"

#include "checkpoint/table.hpp"

namespace trireme::checkpoint {
namespace {

using testing::HasSubstr;

const Tables good{"weights/a\tfp32\t4 6\nweights/b\tfp32\t3\n",
                  "0\t0\t0\t0 0\t4 3\t2 3\n1\t0\t0\t0\t3\t3\n0\t1\t0\t0 3\t4 3\t4 3\n",
                  "4096\t00000000000000010000000000000002\tffffffffffffffff0000000000000000\t3\n"
                  "2048\t00000000000000010000000000000002\tffffffffffffffff0000000000000000\t1\n"};

std::string problem_of(const Tables& tables) {
  try {
    Index index;
    parse_tables(tables, index);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(Index, TablesComeBackAsTheyWent) {
  Index index;
  parse_tables(good, index);
  const Tables again = tables_of(index);
  EXPECT_EQ(again.tensors, good.tensors);
  EXPECT_EQ(again.pieces, good.pieces);
  EXPECT_EQ(again.shards, good.shards);
  EXPECT_EQ(index.shards[1].metadata_hash, (io::Hash128{.low = 2, .high = 1}));
  EXPECT_EQ(index.pieces[1].first_tile, 2);
  EXPECT_EQ(dataset_of(index.tensor_of(index.pieces[2]), index.pieces[2]), "/weights/a/0");
}

TEST(Index, AHashIsWrittenAsTheHashItselfDoes) {
  const io::Hash128 hash = io::hash128("abc", 3);
  EXPECT_EQ(column_of(hash), hash.text());
  EXPECT_EQ(to_hash(hash.text()), hash);
}

TEST(Index, RefusesEveryImpossibleNumber) {
  struct Case {
    std::string Tables::*table;
    std::string from;
    std::string to;
    const char* message;
  };
  const std::vector<Case> cases{
      {&Tables::tensors, "4 6", "4 x", "not a number"},
      {&Tables::tensors, "4 6", "4 99999999999999999999", "not a number"},
      {&Tables::tensors, "4 6", "4294967296 4294967296", "impossible shape"},
      {&Tables::tensors, "4 6", "-4 6", "impossible shape"},
      {&Tables::tensors, "4 6", "1 1 1 1 1", "dimensions"},
      {&Tables::tensors, "4 6", "4 7", "not whole"},
      {&Tables::tensors, "fp32\t3", "fp31\t3", "element type"},
      {&Tables::tensors, "weights/a", "weights/../a", "name"},
      {&Tables::tensors, "weights/b", "weights/a", "twice"},
      {&Tables::tensors, "\t3\n", "\t3", "cut"},
      {&Tables::pieces, "0 0\t4 3", "0 1\t4 3", "overlap"},
      {&Tables::pieces, "0 3\t4 3", "0 4\t4 3", "no part"},
      {&Tables::pieces, "0 3\t4 3", "-1 3\t4 3", "no part"},
      {&Tables::pieces, "0 3\t4 3", "9223372036854775807 3\t4 3", "no part"},
      {&Tables::pieces, "0 3\t4 3", "0 3\t0 3", "no part"},
      {&Tables::pieces, "\t2 3\n", "\t0 3\n", "no tile"},
      {&Tables::pieces, "\t2 3\n", "\t2 7\n", "no tile"},
      {&Tables::pieces, "\t2 3\n", "\t1 3\n", "should have 5 tiles"},
      {&Tables::pieces, "0\t1\t0\t", "0\t2\t0\t", "no such"},
      {&Tables::pieces, "0\t1\t0\t", "7\t1\t0\t", "no such"},
      {&Tables::pieces, "0\t1\t0\t", "0\t1\t1\t", "wrong order"},
      {&Tables::pieces, "0\t1\t0\t", "0\t1\t", "columns"},
      {&Tables::shards, "\t3\n", "\t300\n", "do not fit"},
      {&Tables::shards, "\t3\n", "\t-1\n", "do not fit"},
      {&Tables::shards, "\t3\n", "\t4\n", "should have 3 tiles"},
      {&Tables::shards, "ffffffffffffffff0", "fffffffffffffffg0", "not a number"},
      {&Tables::shards, "ffffffffffffffff0", "fffffffffffffff0", "not a hash"},
  };
  for (const Case& one : cases) {
    Tables tables = good;
    std::string& table = tables.*one.table;
    const std::size_t at = table.find(one.from);
    ASSERT_NE(at, std::string::npos) << one.from;
    table.replace(at, one.from.size(), one.to);
    EXPECT_THAT(problem_of(tables), HasSubstr(one.message)) << one.from << " -> " << one.to;
  }
}

}  // namespace
}  // namespace trireme::checkpoint
