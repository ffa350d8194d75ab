// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions that oneDNN is told to compute, whatever the rules say: what it gets wrong
// (docs/decisions/0040) must not reach it. MPC_DRAWS=70000 draws so many of each direction.
#include "runtime/base/status.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/isa.h"
#include "runtime/drivers/driver.h"
#include "test/Unit/runtime/drivers/cpu/convolve/convolution_draws.h"

#include <algorithm>
#include <cstdlib>

namespace mpc::rt {
namespace {

class LibraryConvolutions : public DrawnConvolutions<mpc_rt_convolution_direction_t> {
protected:
  void run(cts::ConvolutionData &data, unsigned threads) const override {
    auto driver = makeCpuDriver({threads, cts::isa()});
    driver->kernels().log.start();
    const std::string choice =
        "convolution 5 " + std::to_string(data.shape.batch) + " changing onednn\n";
    ASSERT_EQ(driver->kernels().setChoices(choice.c_str()), MPC_RT_OK) << mpc_rt_last_error();
    auto descriptor = data.shape.descriptor(5);
    ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
    EXPECT_EQ(cts::callConvolve(*driver, descriptor, data.lhs.data(), data.rhs.data(),
                                data.bias.data(), data.out.data(), data.shape.batch),
              MPC_RT_OK)
        << mpc_rt_last_error();
    driver->end();
    // Kernels named KIND:ISA.
    const std::string line = driver->kernels().log.text();
    byLibrary += line.substr(0, line.find(": ")).find(':') != std::string::npos;
  }

  mutable uint32_t byLibrary = 0; // what oneDNN computed, whose kernels are named KIND:ISA

  // Up to 144 channels or 60 pixels, but few enough of both for the reference.
  cts::ConvolutionCase draw(uint32_t index) const override {
    Draws draws(15, index);
    for (;;) {
      constexpr uint32_t mostChannels[] = {4, 24, 48, 144}, mostPixels[] = {4, 12, 30, 60};
      constexpr int64_t someGroups[] = {1, 1, 1, 1, 2, 3, 16};
      cts::ConvolutionCase c;
      c.direction = GetParam();
      c.batch = 1 + draws.below(3);
      c.groups = someGroups[draws.below(7)];
      for (int64_t *count : {&c.channels, &c.filters}) {
        const uint32_t most = mostChannels[draws.below(4)] / static_cast<uint32_t>(c.groups);
        *count = c.groups * (1 + draws.below(std::max(most, 1u)));
      }
      const uint32_t pixels = mostPixels[draws.below(4)], taps = draws.below(3) ? 3 : 7;
      const bool isOneTap = draws.below(4) == 0;
      for (uint32_t d = 0, rank = 1 + draws.below(3); d < rank; ++d) {
        const int64_t reach = draws.addWindow(c, isOneTap ? 1 : taps);
        c.images.push_back(
            std::max<int64_t>(1 + draws.below(pixels), reach - c.low[d] - c.high[d]));
      }
      c.lhs = c.rhs = draws.below(2) ? MPC_RT_FLOAT32 : MPC_RT_BFLOAT16;
      draws.setResult(c);
      if (c.multiplications() <= 400000)
        return c;
    }
  }
};

TEST_P(LibraryConvolutions, AreExact) {
  const char *draws = std::getenv("MPC_DRAWS");
  const uint32_t count = draws ? static_cast<uint32_t>(std::strtoul(draws, nullptr, 10)) : 200;
  expectExactSums(count);
  EXPECT_GT(byLibrary, count / 2);
}

// In bfloat16, of which each was wrong, or ended the program, on a CPU with AMX: filter gradients
// with dilated rows; forward, windows that skip pixels, and such that meet padding only.
TEST_P(LibraryConvolutions, AreExactWhereTheyWereNot) {
  struct Window {
    int64_t batch, rows, columns, channels, filters;
    std::vector<int64_t> kernel, strides, dilations, low, high;
  };
  const Window windows[] = {
      {2, 4, 11, 39, 13, {1, 1}, {1, 2}, {2, 1}, {0, 0}, {0, 0}},
      {1, 22, 25, 53, 1, {1, 3}, {1, 3}, {2, 1}, {0, 0}, {0, 1}},
      {1, 45, 30, 30, 3, {1, 3}, {3, 3}, {1, 1}, {0, 0}, {0, 2}},
      {3, 18, 26, 130, 4, {1, 1}, {3, 3}, {1, 1}, {0, 1}, {0, 0}},
      {1, 14, 36, 20, 34, {1, 2}, {2, 2}, {1, 1}, {0, 0}, {1, 1}},
  };
  for (const Window &window : windows) {
    cts::ConvolutionCase c;
    c.direction = GetParam();
    c.batch = window.batch;
    c.channels = window.channels, c.filters = window.filters;
    c.images = {window.rows, window.columns};
    c.kernel = window.kernel, c.strides = window.strides, c.dilations = window.dilations;
    c.low = window.low, c.high = window.high;
    c.lhs = c.rhs = c.out = MPC_RT_BFLOAT16;
    cts::ConvolutionData data(c);
    run(data, 3);
    EXPECT_EQ(data.difference(), "");
  }
}

constexpr const char *directions[] = {"forward", "input_gradient", "filter_gradient"};

INSTANTIATE_TEST_SUITE_P(Every, LibraryConvolutions,
                         ::testing::Values(MPC_RT_CONVOLUTION_FORWARD,
                                           MPC_RT_CONVOLUTION_INPUT_GRADIENT,
                                           MPC_RT_CONVOLUTION_FILTER_GRADIENT),
                         [](const auto &info) { return directions[info.param]; });

} // namespace
} // namespace mpc::rt
