// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices of kernels: measured, as text, taken over.
#include "runtime/base/cpu.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/drivers/cpu/contractor.h"

#include <gtest/gtest.h>

#include <string>

namespace mpc::rt {
namespace {

TEST(KernelChoices, AreText) {
  KernelChoices choices;
  EXPECT_EQ(choices.text(), "");
  choices.set({12, 8, false}, "onednn");
  choices.set({3, 128, true}, "amx_bfloat16");
  choices.set({3, 128, false}, "onednn");
  const std::string text = "3 128 changing onednn\n3 128 kept amx_bfloat16\n12 8 changing onednn\n";
  EXPECT_EQ(choices.text(), text);
  KernelChoices again;
  ASSERT_TRUE(again.parse(text));
  EXPECT_EQ(again.text(), text);
  EXPECT_EQ(*again.find({3, 128, true}), "amx_bfloat16");
  EXPECT_EQ(again.find({3, 127, true}), nullptr);
}

TEST(KernelChoices, RefuseOtherText) {
  KernelChoices choices;
  choices.set({1, 2, true}, "onednn");
  for (const char *text : {"x", "1 2 kept", "1 2 often onednn", "1 -2 kept onednn", "-1 2 kept a b",
                           "1 2 kept onednn more", "1 2 kept onednn\n\nx"}) {
    EXPECT_FALSE(choices.parse(text)) << text;
    EXPECT_EQ(choices.text(), "1 2 kept onednn\n");
  }
  EXPECT_TRUE(choices.parse(""));
  EXPECT_EQ(choices.text(), "");
}

class Tuning : public ::testing::Test {
protected:
  void SetUp() override {
    shape.m = 260, shape.n = 530, shape.k = 70;
    shape.transposeLhs = true;
    shape.lhs = shape.rhs = MPC_RT_FLOAT16;
  }
  void multiply(Contractor &contractor) {
    cts::ContractionData data(shape);
    auto descriptor = shape.descriptor(5);
    team.begin();
    ASSERT_EQ(contractor.contract(descriptor, data.lhs.data(), data.rhs.data(), data.bias.data(),
                                  data.out.data(), {}, 9),
              MPC_RT_OK);
    team.end();
    EXPECT_EQ(data.difference(), "");
    kernel = contractor.kernelOf(descriptor, 9);
  }
  bool hasChoice() const { return float32MicroKernel(cpu().isa) != nullptr; }

  ThreadTeam team{2};
  cts::ContractionCase shape;
  std::string kernel;
};

TEST_F(Tuning, MeasuresEachProductOnceAndKeepsTheResult) {
  Contractor contractor(team, cpu().isa);
  multiply(contractor);
  EXPECT_EQ(contractor.kernelChoices(), "") << "nothing was asked to be measured";
  contractor.tune();
  for (bool accumulate : {false, true}) { // what is measured leaves the result alone
    shape.accumulate = accumulate;
    multiply(contractor);
  }
  const std::string choices = contractor.kernelChoices();
  if (!hasChoice()) {
    EXPECT_EQ(choices, "");
    return;
  }
  EXPECT_TRUE(choices == "5 9 changing avx512_float32\n" || choices == "5 9 changing onednn\n")
      << choices;
  Contractor other(team, cpu().isa);
  ASSERT_EQ(other.setKernelChoices(choices.c_str()), MPC_RT_OK);
  EXPECT_EQ(other.kernelChoices(), choices);
}

TEST_F(Tuning, FollowsWhatItIsTold) {
  Contractor contractor(team, cpu().isa);
  multiply(contractor); // makes a plan by rules
  ASSERT_EQ(contractor.setKernelChoices("5 9 changing onednn\n"), MPC_RT_OK);
  multiply(contractor);
  EXPECT_EQ(kernel.find("avx512_float32"), std::string::npos) << kernel;
  auto status = contractor.setKernelChoices("5 9 changing avx512_float32\n");
  if (!hasChoice()) {
    EXPECT_EQ(status, MPC_RT_UNAVAILABLE);
    return;
  }
  ASSERT_EQ(status, MPC_RT_OK);
  multiply(contractor);
  EXPECT_EQ(kernel, "avx512_float32");
}

TEST_F(Tuning, RefusesKernelsThatAreNotHere) {
  Contractor contractor(team, cpu().isa);
  EXPECT_EQ(contractor.setKernelChoices("5 9 kept abacus\n"), MPC_RT_UNAVAILABLE);
  EXPECT_NE(std::string(mpc_rt_last_error()).find("'abacus' does not run on this CPU"),
            std::string::npos);
  EXPECT_EQ(contractor.setKernelChoices("abacus"), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(contractor.kernelChoices(), "");
}

} // namespace
} // namespace mpc::rt
