#include "trireme/base/text.hpp"

#include <gtest/gtest.h>

namespace trireme {
namespace {

const std::vector<std::string> keys = {"layers", "width", "heads", "kv_heads", "head_width", "mlp_width"};

TEST(Nearest, FindsTheKeyThatWasMeant) {
  EXPECT_EQ(nearest("layer", keys), "layers");
  EXPECT_EQ(nearest("mlp_widht", keys), "mlp_width");
  EXPECT_EQ(nearest("kvheads", keys), "kv_heads");
  EXPECT_EQ(nearest("heads", keys), "heads");
}

TEST(Nearest, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(nearest("learning_rate", keys), "");
  EXPECT_EQ(nearest("x", {"lr", "ab"}), "");
  EXPECT_EQ(nearest("", keys), "");
  EXPECT_EQ(nearest("layers", {}), "");
}

TEST(Nearest, PrefersTheFirstOfEquallyNearOnes) {
  EXPECT_EQ(nearest("betaX", {"beta1", "beta2"}), "beta1");
}

TEST(Counted, SaysOneThingAndSeveralThings) {
  EXPECT_EQ(counted(0, "file"), "0 files");
  EXPECT_EQ(counted(1, "file"), "1 file");
  EXPECT_EQ(counted(2, "file"), "2 files");
}

TEST(Join, PutsSeparatorsBetweenOnly) {
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(join({"a", "b"}, " or "), "a or b");
}

}  // namespace
}  // namespace trireme
