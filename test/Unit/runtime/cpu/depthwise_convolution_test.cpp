// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Depthwise convolutions with the loops of each ISA level, drawn small: channels around what
// vectors and groups hold, kernels with more taps than registers. Operands are small integers:
// every order of summation gives the same exact sums.
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/philox.h"
#include "runtime/cts/convolution_case.h"
#include "runtime/drivers/cpu/depthwise_convolution.h"

#include <gtest/gtest.h>

namespace mpc::rt {
namespace {

using cts::ConvolutionCase;
using cts::ConvolutionData;

class DepthwiseConvolutions : public ::testing::TestWithParam<int> {
protected:
  void SetUp() override {
    if (cpu().isa < GetParam())
      GTEST_SKIP() << "this CPU does not run the kernels";
  }

  void run(ConvolutionData &data, unsigned threads = 2) const {
    Convolution shape;
    auto descriptor = data.shape.descriptor(1);
    ASSERT_EQ(resolveConvolution(descriptor, data.lhs.data(), data.rhs.data(), data.bias.data(),
                                 data.out.data(), 1, shape),
              MPC_RT_OK);
    const DepthwiseKernels &kernels = depthwiseKernels(GetParam());
    ASSERT_TRUE(DepthwiseConvolution::multiplies(kernels, shape));
    ThreadTeam team(threads);
    team.begin();
    DepthwiseConvolution convolution(team, kernels, shape);
    // Twice: nothing is left of the first run.
    for (int time = 0; time < 2; ++time)
      convolution.run(data.lhs.data(), data.rhs.data(), data.bias.data(), data.out.data());
    team.end();
  }

  // Every field from a few values each.
  static ConvolutionCase draw(uint32_t index) {
    uint32_t next = 0;
    auto below = [&](uint32_t bound) {
      return philox({{index, next++, 0, 0}}, 14, 0).word[0] % bound;
    };
    constexpr int64_t channels[] = {4, 5, 8, 15, 16, 17, 32, 40, 48, 70, 257, 300};
    ConvolutionCase c;
    c.direction = static_cast<mpc_rt_convolution_direction_t>(below(3));
    c.batch = 1 + below(4);
    c.channels = c.filters = c.groups = channels[below(12)];
    const uint32_t spatial = 1 + below(2);
    for (uint32_t d = 0; d < spatial; ++d) {
      c.kernel.push_back(1 + below(spatial == 1 ? 9 : 5));
      c.dilations.push_back(1 + below(2));
      c.strides.push_back(1 + below(3));
      const int64_t reach = (c.kernel[d] - 1) * c.dilations[d] + 1;
      c.low.push_back(below(2) ? below(static_cast<uint32_t>(reach) + 1) : 0);
      c.high.push_back(below(2) ? below(static_cast<uint32_t>(reach) + 1) : 0);
      // Some taps meet padding only.
      c.images.push_back(std::max<int64_t>(1 + below(9), reach - c.low[d] - c.high[d]));
    }
    c.lhs = below(3);
    c.rhs = below(3);
    c.out = below(3);
    c.bias = below(3);
    if (c.direction != MPC_RT_CONVOLUTION_FILTER_GRADIENT) {
      c.hasBias = below(2);
      c.relu = below(2);
    }
    c.seed = index;
    return c;
  }
};

TEST_P(DepthwiseConvolutions, AreExactOverDirectionsWindowsAndEpilogues) {
  for (uint32_t i = 0; i < 400; ++i) {
    ConvolutionData data(draw(i));
    run(data, 1 + i % 3);
    ASSERT_EQ(data.difference(), "") << data.shape.text();
  }
}

// Also in a filter's gradient: what lies in padding has no product.
TEST_P(DepthwiseConvolutions, KeepAnInfinityInItsPlace) {
  for (uint32_t i = 0; i < 200; ++i) {
    ConvolutionData data(draw(1000 + i));
    data.putInfinity(i % 2, i);
    run(data);
    ASSERT_EQ(data.difference(), "") << data.shape.text();
  }
}

// Sums of fractions, whose order shows in their last bits.
TEST_P(DepthwiseConvolutions, AddUpInAnOrderThatThreadsDoNotChange) {
  for (uint32_t i = 0; i < 60; ++i) {
    ConvolutionData alone(draw(2000 + i));
    alone.fillWithFractions(i);
    ConvolutionData together = alone;
    run(alone, 1);
    run(together, 3);
    ASSERT_EQ(alone.out, together.out) << alone.shape.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Every, DepthwiseConvolutions, ::testing::Values(0, 1, 2),
                         [](const auto &info) { return "v" + std::to_string(info.param + 2); });

} // namespace
} // namespace mpc::rt
