#include "trireme/base/error.hpp"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(Error, EveryKindCarriesTheExitCodeThatJobScriptsBranchOn) {
  EXPECT_EQ(static_cast<int>(InputError("a").code()), 2);
  EXPECT_EQ(static_cast<int>(SystemError("a").code()), 3);
  EXPECT_EQ(static_cast<int>(NumericalError("a").code()), 4);
  EXPECT_STREQ(InputError("the words").what(), "the words");
}

TEST(ContractDeathTest, ABrokenContractNamesConditionAndPlace) {
  EXPECT_DEATH(contract_failed("a < b", "file.cpp", 7), "broken contract `a < b` at file.cpp:7");
}

}  // namespace
}  // namespace trireme
