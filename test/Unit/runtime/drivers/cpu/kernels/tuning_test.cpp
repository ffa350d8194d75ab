// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices of kernels: measured, as text, taken over.
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/convolution_case.h"
#include "runtime/cts/isa.h"
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/kernel_choices.h"
#include "runtime/drivers/cpu/kernels/kernel_trials.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/drivers/driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace mpc::rt {
namespace {

constexpr auto contraction = KernelChoices::Operation::contraction;
constexpr auto convolution = KernelChoices::Operation::convolution;

TEST(KernelChoices, AreText) {
  KernelChoices choices;
  EXPECT_EQ(choices.text(), "");
  choices.set({contraction, 12, 8, false}, "onednn");
  choices.set({convolution, 3, 128, false}, "depthwise");
  choices.set({contraction, 3, 128, true}, "amx_bfloat16");
  choices.set({contraction, 3, 128, false}, "onednn");
  const std::string text = "3 128 changing onednn\n3 128 kept amx_bfloat16\n12 8 changing onednn\n"
                           "convolution 3 128 changing depthwise\n";
  EXPECT_EQ(choices.text(), text);
  KernelChoices again;
  ASSERT_TRUE(again.parse(text));
  EXPECT_EQ(again.text(), text);
  EXPECT_EQ(*again.find({contraction, 3, 128, true}), "amx_bfloat16");
  EXPECT_EQ(again.find({contraction, 3, 127, true}), nullptr);
  EXPECT_EQ(again.find({convolution, 3, 128, true}), nullptr);
}

TEST(KernelChoices, RefuseOtherText) {
  KernelChoices choices;
  choices.set({contraction, 1, 2, true}, "onednn");
  for (const char *text :
       {"x", "convolution", "attention 1 2 kept onednn", "1 2 kept", "1 2 often onednn",
        "1 -2 kept onednn", "-1 2 kept a b", "1 2 kept onednn more", "1 2 kept onednn\n\nx"}) {
    EXPECT_FALSE(choices.parse(text)) << text;
    EXPECT_EQ(choices.text(), "1 2 kept onednn\n");
  }
  EXPECT_TRUE(choices.parse(""));
  EXPECT_EQ(choices.text(), "");
}

TEST(KernelChoices, AreMeasuredOnceAndWhereAsked) {
  KernelChoices choices;
  EXPECT_FALSE(choices.toBeMeasured({contraction, 1, 2, true}));
  choices.startMeasuring({});
  EXPECT_TRUE(choices.toBeMeasured({contraction, 1, 2, true}));
  choices.set({contraction, 1, 2, true}, "onednn");
  EXPECT_FALSE(choices.toBeMeasured({contraction, 1, 2, true}));
  EXPECT_TRUE(choices.toBeMeasured({convolution, 1, 2, true}));
}

std::function<void()> taking(std::function<int(int)> milliseconds) {
  return [milliseconds, call = 0]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(call++)));
  };
}

std::optional<size_t> fastest(const std::vector<std::function<void()>> &calls) {
  TrialAllowance unbounded;
  return fastestOf(calls, unbounded);
}

TEST(FastestOf, IsTheOneWhoseLeastTimeIsLeast) {
  EXPECT_EQ(fastest({[] {}}), 0u);
  const auto slow = taking([](int) { return 4; });
  EXPECT_EQ(fastest({slow, taking([](int) { return 0; })}), 1u);
  EXPECT_EQ(fastest({slow, slow, taking([](int) { return 0; })}), 2u);
  // The first calls make plans; others meet what else the machine does.
  EXPECT_EQ(fastest({slow, taking([](int call) { return call == 3 ? 0 : 12; })}), 1u);
}

// Two kernels of 10 and 5 ms, by a clock that only they move, in a training of so many steps.
std::optional<size_t> fastestFor(uint64_t steps, int &calls) {
  TrialAllowance allowance(steps);
  double now = 0;
  const auto taking = [&](double seconds) {
    return [&now, &calls, seconds] {
      ++calls;
      now += seconds;
    };
  };
  return fastestOf({taking(0.010), taking(0.005)}, allowance, [&now] { return now; });
}

TEST(FastestOf, LeavesShortTrainingsAlone) {
  int calls = 0;
  EXPECT_EQ(fastestFor(/*steps=*/149, calls), std::nullopt) << "three times the first one's time";
  EXPECT_EQ(calls, 2);
}

TEST(FastestOf, MeasuresOnceWhereNoMoreIsPaid) {
  int calls = 0;
  EXPECT_EQ(fastestFor(/*steps=*/151, calls), 1u);
  EXPECT_EQ(calls, 2 + 1 + 2);
}

TEST(FastestOf, MeasuresFullyInLongTrainings) {
  int calls = 0;
  EXPECT_EQ(fastestFor(/*steps=*/10000, calls), 1u);
  EXPECT_EQ(calls, 2 + 1 + 3 * 2);
}

TEST(TrialAllowance, IsTwoPerCentOfAllSteps) {
  TrialAllowance allowance(1000);
  EXPECT_FALSE(allowance.covers(1e-9));
  allowance.earn(0.5);
  EXPECT_TRUE(allowance.covers(9.999));
  EXPECT_FALSE(allowance.covers(10.001));
  allowance.spend(4);
  EXPECT_TRUE(allowance.covers(5.999));
  EXPECT_FALSE(allowance.covers(6.001));
  EXPECT_TRUE(TrialAllowance().covers(1e9));
}

TEST(KernelChoices, LeaveToTheRulesWhatNobodyPays) {
  KernelChoices choices;
  choices.startMeasuring(TrialAllowance(1));
  const KernelChoices::Product product = {contraction, 1, 2, false};
  const auto slow = taking([](int) { return 2; });
  choices.measure(product, {"onednn", "avx2_float32"}, {slow, slow});
  EXPECT_EQ(choices.find(product), nullptr);
  EXPECT_FALSE(choices.toBeMeasured(product)) << "not again in each step";
  EXPECT_EQ(choices.text(), "");
}

TEST(FastestOf, CallsLongOnesThreeTimesAfterTheFirstTwo) {
  int calls = 0;
  const std::function<void()> slow = [&calls] {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  fastest({slow});
  EXPECT_EQ(calls, 2 + 3);
}

class Tuning : public ::testing::Test {
protected:
  void SetUp() override {
    product.m = 260, product.n = 530, product.k = 70;
    product.transposeLhs = true;
    product.lhs = product.rhs = MPC_RT_FLOAT16;
    images.batch = 3, images.channels = images.groups = images.filters = 32;
    images.images = {9, 8}, images.kernel = {3, 3}, images.strides = images.dilations = {1, 1};
    images.low = images.high = {1, 1};
    driver = makeDriver();
    driver->kernels().log.start();
  }
  static std::unique_ptr<Driver> makeDriver() { return makeCpuDriver({2, cts::isa()}); }

  // The name of the kernel.
  std::string multiply(WeightUse use = WeightUse::updated) {
    cts::ContractionData data(product);
    auto descriptor = product.descriptor(5);
    EXPECT_EQ(driver->begin(use), MPC_RT_OK);
    EXPECT_EQ(cts::callContract(*driver, descriptor, data.lhs.data(), data.rhs.data(),
                                data.bias.data(), data.out.data(), /*largest=*/nullptr, 9),
              MPC_RT_OK);
    driver->end();
    EXPECT_EQ(data.difference(), "");
    return kernelOf(driver->kernels().log.text());
  }
  std::string convolve(WeightUse use = WeightUse::updated) {
    cts::ConvolutionData data(images);
    auto descriptor = images.descriptor(5);
    EXPECT_EQ(driver->begin(use), MPC_RT_OK);
    EXPECT_EQ(cts::callConvolve(*driver, descriptor, data.lhs.data(), data.rhs.data(),
                                data.bias.data(), data.out.data(), images.batch),
              MPC_RT_OK);
    driver->end();
    EXPECT_EQ(data.difference(), "");
    return kernelOf(driver->kernels().log.text());
  }
  // The kernel in "LAYER SIZES DTYPES KERNEL: REASON".
  static std::string kernelOf(const std::string &line) {
    const std::string named = line.substr(0, std::min(line.find(": "), line.find('\n')));
    const size_t space = named.rfind(' ');
    return space == std::string::npos ? "" : named.substr(space + 1);
  }
  // Null where there is no choice.
  static const char *nameOfOwn() {
    const MicroKernel *own = float32MicroKernel(cts::isa());
    return own ? own->name : nullptr;
  }

  cts::ContractionCase product;
  cts::ConvolutionCase images;
  std::unique_ptr<Driver> driver;
};

TEST_F(Tuning, MeasuresEachProductOnceAndKeepsTheResult) {
  multiply();
  EXPECT_EQ(driver->kernels().choices(), "") << "nothing was asked to be measured";
  driver->kernels().tune(/*steps=*/0);
  for (bool accumulate : {false, true}) { // what is measured leaves the result alone
    product.accumulate = accumulate;
    multiply();
  }
  const std::string choices = driver->kernels().choices();
  const char *own = nameOfOwn();
  if (!own) {
    EXPECT_EQ(choices, "");
    return;
  }
  EXPECT_TRUE(choices == std::string("5 9 changing ") + own + "\n" ||
              choices == "5 9 changing onednn\n")
      << choices;
  auto other = makeDriver();
  ASSERT_EQ(other->kernels().setChoices(choices.c_str()), MPC_RT_OK);
  EXPECT_EQ(other->kernels().choices(), choices);
}

TEST_F(Tuning, MeasuresProductsOfKeptBytes) {
  product.transposeLhs = false;
  product.lhs = product.rhs = MPC_RT_INT8;
  product.out = MPC_RT_INT32;
  product.rhsVariable = 1;
  product.m = 8;
  driver->kernels().tune(/*steps=*/0);
  multiply();
  EXPECT_EQ(driver->kernels().choices(), "") << "a few rows of weights that change have none";
  const std::string measured = multiply(WeightUse::constant), choices = driver->kernels().choices();
  const Int8Kernel *own = int8Kernel(cts::isa());
  if (!own || choices.empty()) // or oneDNN has none
    return;
  const std::string line = "5 9 kept " + std::string(measured == own->name ? measured : "onednn");
  EXPECT_EQ(choices, line + "\n");
  EXPECT_EQ(multiply(WeightUse::constant), measured);
  ASSERT_EQ(driver->kernels().setChoices("5 9 kept onednn\n"), MPC_RT_OK);
  EXPECT_NE(multiply(WeightUse::constant), own->name);
  ASSERT_EQ(driver->kernels().setChoices(("5 9 kept " + std::string(own->name) + "\n").c_str()),
            MPC_RT_OK);
  EXPECT_EQ(multiply(WeightUse::constant), own->name);
}

TEST_F(Tuning, MeasuresConvolutions) {
  convolve();
  EXPECT_EQ(driver->kernels().choices(), "");
  driver->kernels().tune(/*steps=*/0);
  images.rhsVariable = 1;
  images.hasBias = images.relu = true;
  const std::string changing = convolve(), kept = convolve(WeightUse::constant);
  EXPECT_EQ(convolve(WeightUse::constant), kept);
  // Loops and the library, on every CPU.
  auto named = [](const std::string &kernel) {
    return kernel == "depthwise" ? kernel : std::string("onednn");
  };
  EXPECT_EQ(driver->kernels().choices(), "convolution 5 3 changing " + named(changing) +
                                             "\nconvolution 5 3 kept " + named(kept) + "\n");
}

// Our kernel computes those wide windows whose neighbours share sources in registers.
TEST_F(Tuning, LeavesWideDepthwiseWindowsToWhoSharesSources) {
  struct {
    int64_t taps, stride;
    bool isOurs;
  } const cases[] = {{5, 1, true}, {7, 1, true}, {7, 2, false}, {9, 1, false}};
  images.images = {19, 18};
  for (auto [taps, stride, isOurs] : cases) {
    images.kernel = {taps, taps}, images.strides = {stride, stride};
    images.low = images.high = {taps / 2, taps / 2};
    EXPECT_EQ(convolve() == "depthwise", isOurs) << taps << " taps, stride " << stride;
  }
}

// All taps of a few filters at once; more of them fill vectors tap by tap.
TEST_F(Tuning, MultipliesAFewFiltersItself) {
  const char *own = nameOfOwn();
  images.groups = 1;
  for (auto direction : {MPC_RT_CONVOLUTION_FORWARD, MPC_RT_CONVOLUTION_INPUT_GRADIENT,
                         MPC_RT_CONVOLUTION_FILTER_GRADIENT}) {
    const bool toImages = direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT;
    for (int64_t few : {1, 3, 14}) {
      images.direction = direction;
      images.channels = toImages ? few : 32;
      images.filters = toImages ? 32 : few;
      EXPECT_EQ(own && convolve() == own, own && few < 14) << few << ", direction " << direction;
    }
    // One tap has nothing to add up.
    (toImages ? images.channels : images.filters) = 3;
    images.kernel = {1, 1}, images.low = images.high = {0, 0};
    EXPECT_NE(convolve(), own ? own : "") << direction;
    images.kernel = {3, 3}, images.low = images.high = {1, 1};
  }
}

TEST_F(Tuning, FollowsWhatItIsTold) {
  multiply(); // makes a plan by rules
  ASSERT_EQ(driver->kernels().setChoices("5 9 changing onednn\n"), MPC_RT_OK);
  const char *own = nameOfOwn();
  const std::string name = own ? own : "avx512_float32";
  EXPECT_NE(multiply(), name);
  auto status = driver->kernels().setChoices(("5 9 changing " + name + "\n").c_str());
  if (!own) {
    EXPECT_EQ(status, MPC_RT_UNAVAILABLE);
    return;
  }
  ASSERT_EQ(status, MPC_RT_OK);
  EXPECT_EQ(multiply(), name);
}

TEST_F(Tuning, FollowsWhatItIsToldOfConvolutions) {
  // The same numbers by each: sums are exact here.
  for (auto direction : {MPC_RT_CONVOLUTION_FORWARD, MPC_RT_CONVOLUTION_INPUT_GRADIENT,
                         MPC_RT_CONVOLUTION_FILTER_GRADIENT}) {
    images.direction = direction;
    for (int64_t groups : {1, 32}) {
      images.groups = groups;
      ASSERT_EQ(driver->kernels().setChoices("convolution 5 3 changing onednn\n"), MPC_RT_OK);
      const std::string library = convolve();
      EXPECT_NE(library, "depthwise");
      const char *own = groups == 1 ? nameOfOwn() : "depthwise";
      if (!own)
        continue;
      EXPECT_NE(library, own);
      const std::string line = std::string("convolution 5 3 changing ") + own + "\n";
      ASSERT_EQ(driver->kernels().setChoices(line.c_str()), MPC_RT_OK);
      EXPECT_EQ(convolve(), own);
      // The rules decide on a product that the kernel does not compute.
      images.lhs = MPC_RT_FLOAT64;
      EXPECT_EQ(convolve(), "direct");
      images.lhs = MPC_RT_FLOAT32;
    }
  }
}

TEST_F(Tuning, RefusesKernelsThatAreNotHere) {
  for (const char *text : {"5 9 kept abacus\n", "convolution 5 9 kept abacus\n",
                           "5 9 kept depthwise\n"}) { // of a convolution only
    EXPECT_EQ(driver->kernels().setChoices(text), MPC_RT_UNAVAILABLE) << text;
    EXPECT_NE(std::string(mpc_rt_last_error()).find("' does not run on this CPU"),
              std::string::npos);
  }
  EXPECT_EQ(driver->kernels().setChoices("abacus"), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(driver->kernels().choices(), "");
}

} // namespace
} // namespace mpc::rt
