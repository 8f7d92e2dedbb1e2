// Generation: token by token with the cache gives what the whole sequence gives at once.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/compare.hpp"
#include "unit/layers/cases.hpp"

namespace trireme {
namespace {

using test::BlockCase;

/// Outputs of a sequence handed over in parts of these lengths.
std::vector<float> outputs(const BlockCase& of, std::int64_t slices, const std::vector<std::int64_t>& parts) {
  const auto self = comm::make_self_communicator();
  test::Rig rig(*self, {.slices = slices, .kv_heads = of.kv_heads, .head_width = of.head_width, .width = of.width},
                of.rows());
  const layers::Block block(rig.parameters(), of.options(), rig.axis());
  rig.lay_out();
  const layers::Context unsized = rig.context();
  rig.allocate_scratch(block.scratch_bytes(unsized, 1, of.tokens));
  layers::BlockActivations activations = block.allocate(rig.arena(), rig.axis(), 1, of.tokens, nullptr);
  layers::KeyValueCache cache = block.allocate_cache(rig.arena(), rig.axis(), of.tokens);
  const tensor::Tensor table =
      tensor::allocate(rig.arena(), {of.tokens, of.head_width}, Dtype::f32, device::MemoryClass::buffers);
  kernels::rotary_table(10000, table);

  std::vector<float> x = test::normals("x", of.tokens * of.width);
  std::vector<float> branch(x.size());
  std::vector<float> all;
  std::int64_t begin = 0;
  for (const std::int64_t count : parts) {
    std::vector<std::int32_t> positions;
    for (std::int64_t n = begin; n < begin + count; ++n) positions.push_back(static_cast<std::int32_t>(n));
    const layers::Sequences sequences{.batch = 1, .tokens = count, .positions = test::view(positions, {count})};
    const tensor::Tensor rows = test::view(x, {of.tokens, of.width}).rows(begin, count);
    block.forward(rig.context(), sequences, table, rows, activations,
                  test::view(branch, {of.tokens, of.width}).rows(0, count), &cache);
    const auto* output = activations.output.as<float>();
    all.insert(all.end(), output, output + count * of.width);
    begin += count;
  }
  EXPECT_EQ(cache.length, of.tokens);
  return all;
}

TEST(Cache, TokensInPartsGiveWhatTheyGiveAtOnce) {
  for (const std::int64_t kv_heads : {1, 2, 8}) {
    for (const std::int64_t slices : {1, 4}) {
      const BlockCase of{.batch = 1, .tokens = 9, .kv_heads = kv_heads};
      const std::vector<float> at_once = outputs(of, slices, {9});
      const std::vector<double> expected(at_once.begin(), at_once.end());
      EXPECT_TRUE(test::all_near(outputs(of, slices, {4, 1, 1, 3}), expected, 1e-5))
          << kv_heads << " key/value heads, " << slices << " slices";
    }
  }
}

}  // namespace
}  // namespace trireme
