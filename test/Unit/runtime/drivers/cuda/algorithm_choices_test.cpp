// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices of cuBLASLt's algorithms as text, which comes from files of others.
#include "runtime/drivers/cuda/algorithm_choices.h"
#include "runtime/drivers/cuda/algorithm_text.h"

#include <gtest/gtest.h>

namespace {

using namespace mpc::rt;
using namespace mpc::rt::cuda;

constexpr char library[] = "cublaslt-13.1.0-sm_90-132-NVIDIA H200";

AlgorithmChoices opened() {
  AlgorithmChoices choices;
  choices.open(library);
  return choices;
}

AlgorithmChoice choiceOf(uint64_t number) {
  return {{{number, ~uint64_t{0}, 0, 1, 2, 3, 4, 5}}, static_cast<unsigned>(number)};
}

TEST(AlgorithmChoices, TextIsTakenOver) {
  AlgorithmChoices choices = opened(), others = opened();
  choices.set("1,16,8", choiceOf(3));
  choices.set("1,16,9", choiceOf(1));
  const std::string text = choices.choices();
  EXPECT_EQ(text.find("cublaslt cublaslt-13.1.0-sm_90-132-NVIDIA_H200 1,16,8 algorithm_3/"), 0u);
  const unsigned before = others.version();
  ASSERT_EQ(others.setChoices(text.c_str()), MPC_RT_OK);
  EXPECT_NE(others.version(), before); // plans that were made are no longer right
  EXPECT_EQ(others.choices(), text);
  ASSERT_TRUE(others.find("1,16,8"));
  EXPECT_EQ(others.find("1,16,8")->rank, 3u);
  EXPECT_EQ(hexOf(others.find("1,16,8")->algorithm), hexOf(choiceOf(3).algorithm));
  EXPECT_FALSE(others.find("1,16"));
  ASSERT_EQ(others.setChoices(""), MPC_RT_OK);
  EXPECT_EQ(others.choices(), "");
}

TEST(AlgorithmChoices, WhateverElseIsRefusedAndChangesNothing) {
  AlgorithmChoices choices = opened();
  choices.set("1,16,8", choiceOf(3));
  const std::string text = choices.choices();
  for (size_t place = 0; place + 1 < text.size(); ++place) {
    std::string damaged = text;
    damaged[place] = damaged[place] == '7' ? '8' : '7';
    const mpc_rt_status_t status = choices.setChoices(damaged.c_str());
    EXPECT_TRUE(status == MPC_RT_INVALID_ARGUMENT) << damaged;
    EXPECT_EQ(choices.choices(), text);
  }
  for (std::string wrong : {"1 16 kept avx2_float32\n", "cublaslt\n", "\n", "cublaslt a b c\n"})
    EXPECT_EQ(choices.setChoices(wrong.c_str()), MPC_RT_INVALID_ARGUMENT) << wrong;
  EXPECT_EQ(choices.setChoices((text + text.substr(0, 40)).c_str()), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(choices.choices(), text);
}

TEST(AlgorithmChoices, OtherLibrariesAndDevicesAreUnavailable) {
  AlgorithmChoices choices = opened(), others;
  others.open("cublaslt-13.2.0-sm_90-132-NVIDIA H200");
  choices.set("1,16,8", choiceOf(3));
  EXPECT_EQ(others.setChoices(choices.choices().c_str()), MPC_RT_UNAVAILABLE);
  EXPECT_EQ(others.choices(), "");
}

TEST(AlgorithmChoices, MeasuresWhatHasNoChoiceWithinAShareOfTheTraining) {
  AlgorithmChoices choices = opened();
  EXPECT_FALSE(choices.toBeMeasured("1"));
  choices.tune(0);
  EXPECT_TRUE(choices.toBeMeasured("1"));
  EXPECT_TRUE(choices.isWorthRuns(1000000));
  choices.set("1", choiceOf(1));
  EXPECT_FALSE(choices.toBeMeasured("1"));
  choices.leave("2");
  EXPECT_FALSE(choices.toBeMeasured("2"));
  choices.tune(5000);
  EXPECT_TRUE(choices.toBeMeasured("2"));
  EXPECT_TRUE(choices.isWorthRuns(100));
  EXPECT_FALSE(choices.isWorthRuns(101));
}

TEST(AlgorithmChoices, ARefusedOneEndsEveryCallUntilOthersCome) {
  AlgorithmChoices choices = opened();
  EXPECT_EQ(choices.checkRefused("dense"), MPC_RT_OK);
  choices.refuse("1,16,8");
  EXPECT_EQ(choices.checkRefused("dense"), MPC_RT_FAILED_PRECONDITION);
  ASSERT_EQ(choices.setChoices(""), MPC_RT_OK);
  EXPECT_EQ(choices.checkRefused("dense"), MPC_RT_OK);
}

} // namespace
