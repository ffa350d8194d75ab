// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions by micro-kernels, drawn small: channels and filters around what a vector, a tile and
// a panel hold.
#include "runtime/drivers/cpu/convolve/windowed_filter_gradient.h"
#include "runtime/drivers/cpu/convolve/windowed_product.h"
#include "test/Unit/runtime/drivers/cpu/kernels/micro_kernel_draws.h"

#include <algorithm>

namespace mpc::rt {
namespace {

using cts::ConvolutionCase;
using cts::ConvolutionData;

class WindowedProducts : public MicroKernelDraws {
protected:
  void run(ConvolutionData &data, unsigned threads) const override {
    const Convolution shape = resolve(data);
    const VectorKernels &vectors = vectorKernels(isa());
    ThreadTeam team(threads);
    team.begin();
    if (shape.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT) {
      ASSERT_TRUE(WindowedFilterGradient::multiplies(*GetParam(), shape));
      WindowedFilterGradient(team, vectors, *GetParam(), shape)
          .run(data.lhs.data(), data.rhs.data(), data.out.data());
    } else {
      ASSERT_TRUE(WindowedProduct::multiplies(*GetParam(), shape));
      WindowedProduct product(team, vectors, *GetParam(), shape);
      runProduct(product, shape, data);
    }
    team.end();
  }

  ConvolutionCase draw(uint32_t index) const override {
    Draws draws(12, index);
    constexpr int64_t lanes[] = {1, 3, 6, 12, 16, 31, 32, 33, 64, 70, 97, 130};
    ConvolutionCase c;
    c.direction = static_cast<mpc_rt_convolution_direction_t>(draws.below(3));
    c.batch = 1 + draws.below(5);
    c.channels = lanes[draws.below(12)];
    c.filters = lanes[draws.below(12)];
    makeEven(c);
    const uint32_t spatial = 1 + draws.below(3);
    for (uint32_t d = 0; d < spatial; ++d) {
      const int64_t reach = draws.addWindow(c, /*taps=*/3);
      c.images.push_back(reach + draws.below(spatial == 3 ? 3 : 8));
    }
    setDtypes(c, draws);
    return c;
  }
};

TEST_P(WindowedProducts, AreExactOverDirectionsWindowsAndEpilogues) { expectExactSums(300); }

TEST_P(WindowedProducts, KeepAnInfinityInItsPlace) { expectInfinityInItsPlace(200); }

TEST_P(WindowedProducts, AddUpInAnOrderThatThreadsDoNotChange) { expectOrderOfOneThread(60); }

// Where lanes start is found once for the same images, and anew for others.
TEST_P(WindowedProducts, GoFromImagesToOthers) {
  ConvolutionCase c;
  c.batch = 3;
  c.channels = 4, c.filters = 6;
  c.images = {7, 9}, c.kernel = {3, 3};
  c.low = c.high = c.strides = c.dilations = {1, 1};
  c.lhs = c.rhs = c.out = takesBFloat16() ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
  ConvolutionData before(c), data(c);
  const Convolution shape = resolve(data);
  ThreadTeam team(2);
  team.begin();
  WindowedProduct product(team, vectorKernels(isa()), *GetParam(), shape);
  for (int turn = 0; turn < 2; ++turn)
    runProduct(product, shape, before);
  EXPECT_EQ(before.difference(), "");
  std::fill(before.lhs.begin(), before.lhs.end(), uint8_t{0});
  runProduct(product, shape, data);
  EXPECT_EQ(data.difference(), "");
  team.end();
}

// Filter gradients whose sample is packed in bands, along rows or along planes.
TEST_P(WindowedProducts, AreExactInBands) {
  for (const std::vector<int64_t> &images :
       {std::vector<int64_t>{301, 300}, std::vector<int64_t>{30, 61, 40}}) {
    for (int64_t stride : {1, 2}) {
      ConvolutionCase c;
      c.direction = MPC_RT_CONVOLUTION_FILTER_GRADIENT;
      c.batch = 2;
      c.channels = 12, c.filters = 6;
      c.images = images;
      c.kernel.assign(images.size(), 3);
      c.low.assign(images.size(), 1);
      c.high = c.dilations = c.low;
      c.strides.assign(images.size(), stride);
      c.lhs = c.rhs = c.out = takesBFloat16() ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
      ConvolutionData data(c);
      run(data, 2);
      EXPECT_EQ(data.difference(), "") << c.text();
    }
  }
}

// Filter gradients whose rows are shorter than a tile: groups of four samples by 8 pixels, of which
// some taps meet 7, in several blocks; the last group is not whole.
TEST_P(WindowedProducts, AreExactInGroupsOfSamples) {
  for (int64_t batch : {126, 3}) {
    ConvolutionCase c;
    c.direction = MPC_RT_CONVOLUTION_FILTER_GRADIENT;
    c.batch = batch;
    c.channels = 32, c.filters = 48;
    c.images = {16, 16};
    c.kernel = {3, 3};
    c.strides = {2, 2};
    c.dilations = {1, 1};
    c.low = {0, 0}, c.high = {1, 1};
    c.lhs = c.rhs = takesBFloat16() ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
    ConvolutionData data(c);
    run(data, 2);
    EXPECT_EQ(data.difference(), "") << c.text();
  }
}

// Filter gradients whose taps read the same packed rows from different pixels on, which may be
// padding for some: a row alone, and rows with others between their ends.
TEST_P(WindowedProducts, AreExactWhereTapsShareLongRows) {
  uint32_t seed = 0;
  for (int64_t height : {1, 5})
    for (int64_t stride : {1, 2, 3})
      for (int64_t dilation : {1, 2})
        for (int64_t taps : {2, 3, 5}) {
          ConvolutionCase c;
          c.direction = MPC_RT_CONVOLUTION_FILTER_GRADIENT;
          c.batch = 3;
          c.channels = 12, c.filters = 70;
          c.images = {height, 50 * stride + static_cast<int64_t>(seed % 3)};
          c.kernel = {height > 1 ? 3 : 1, taps};
          c.strides = {1, stride};
          c.dilations = {1, dilation};
          const int64_t reach = (taps - 1) * dilation;
          c.low = {0, reach / 2}, c.high = {height > 1 ? 1 : 0, reach - reach / 2};
          c.lhs = c.rhs = c.out = takesBFloat16() ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
          c.seed = seed++;
          ConvolutionData data(c);
          data.putInfinity(seed % 2, seed);
          run(data, 2);
          EXPECT_EQ(data.difference(), "") << c.text();
        }
}

TEST_P(WindowedProducts, PackLongRowsOnceForAllTaps) {
  if (GetParam()->depth != 1)
    GTEST_SKIP() << "a step has several pixels";
  ConvolutionCase c;
  c.direction = MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  c.batch = 1;
  c.channels = c.filters = 64;
  c.images = {4000};
  c.strides = c.dilations = {1};
  c.lhs = c.rhs = c.out = MPC_RT_FLOAT32;
  const auto bytesFor = [&](int64_t taps) {
    c.kernel = {taps};
    c.low = {taps / 2}, c.high = {taps / 2};
    ConvolutionData data(c);
    const Convolution shape = resolve(data);
    ThreadTeam team(1);
    const uint64_t sums = static_cast<uint64_t>(taps * c.channels * c.filters) * sizeof(float);
    return WindowedFilterGradient(team, vectorKernels(isa()), *GetParam(), shape).bytes() - sums;
  };
  EXPECT_LE(bytesFor(9), bytesFor(1) + (64 << 10)); // both round to pages
}

INSTANTIATE_TEST_SUITE_P(Every, WindowedProducts, everyMicroKernel(), microKernelName);

} // namespace
} // namespace mpc::rt
