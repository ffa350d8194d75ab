// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Depthwise convolutions with the loops of each ISA level, drawn small: channels around what
// vectors and groups hold, kernels with more taps than registers.
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/drivers/cpu/convolve/depthwise_convolution.h"
#include "test/Unit/runtime/drivers/cpu/convolve/convolution_draws.h"

namespace mpc::rt {
namespace {

using cts::ConvolutionCase;
using cts::ConvolutionData;

class DepthwiseConvolutions : public DrawnConvolutions<int> {
protected:
  void SetUp() override {
    if (cpu().isa < GetParam())
      GTEST_SKIP() << "this CPU does not run the kernels";
  }

  void run(ConvolutionData &data, unsigned threads) const override {
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
      convolution.run(data.lhs.data(), data.rhs.data(), data.bias.data(),
                      {shape.out, data.out.data()});
    team.end();
  }

  ConvolutionCase draw(uint32_t index) const override {
    Draws draws(14, index);
    constexpr int64_t channels[] = {4, 5, 8, 15, 16, 17, 32, 40, 48, 70, 257, 300};
    ConvolutionCase c;
    c.direction = static_cast<mpc_rt_convolution_direction_t>(draws.below(3));
    c.batch = 1 + draws.below(4);
    c.channels = c.filters = c.groups = channels[draws.below(12)];
    const uint32_t spatial = 1 + draws.below(2);
    for (uint32_t d = 0; d < spatial; ++d) {
      const int64_t reach = draws.addWindow(c, /*taps=*/spatial == 1 ? 9 : 7);
      // Some taps meet padding only.
      c.images.push_back(std::max<int64_t>(1 + draws.below(9), reach - c.low[d] - c.high[d]));
    }
    if (index % 2) // rows in which several pixels have neighbours
      c.images.back() += draws.below(30);
    c.lhs = draws.below(3);
    c.rhs = draws.below(3);
    draws.setResult(c);
    return c;
  }
};

TEST_P(DepthwiseConvolutions, AreExactOverDirectionsWindowsAndEpilogues) { expectExactSums(400); }

// Images of 8 MiB and more, whose next row is fetched meanwhile.
TEST_P(DepthwiseConvolutions, AreExactInLargeImages) {
  for (int64_t stride : {1, 2}) {
    ConvolutionCase c;
    c.direction = stride == 1 ? MPC_RT_CONVOLUTION_INPUT_GRADIENT : MPC_RT_CONVOLUTION_FORWARD;
    c.batch = 4;
    c.channels = c.filters = c.groups = 64;
    c.images = {96, 96};
    c.kernel = {3, 3};
    c.strides = {stride, stride};
    c.dilations = c.low = c.high = {1, 1};
    ConvolutionData data(c);
    run(data, 2);
    EXPECT_EQ(data.difference(), "") << c.text();
  }
}

TEST_P(DepthwiseConvolutions, KeepAnInfinityInItsPlace) { expectInfinityInItsPlace(200); }

TEST_P(DepthwiseConvolutions, AddUpInAnOrderThatThreadsDoNotChange) { expectOrderOfOneThread(60); }

INSTANTIATE_TEST_SUITE_P(Every, DepthwiseConvolutions, ::testing::Values(0, 1, 2),
                         [](const auto &info) { return "v" + std::to_string(info.param + 2); });

} // namespace
} // namespace mpc::rt
