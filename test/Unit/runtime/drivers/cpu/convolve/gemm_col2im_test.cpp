// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions whose products are added where windows want them, drawn small: results a pixel
// around what a vector holds, images around what is multiplied and added up at a time.
#include "runtime/drivers/cpu/convolve/gemm_col2im.h"
#include "runtime/drivers/cpu/convolve/im2col_filter_gradient.h"
#include "test/Unit/runtime/drivers/cpu/kernels/micro_kernel_draws.h"

namespace mpc::rt {
namespace {

using cts::ConvolutionCase;
using cts::ConvolutionData;

class GemmCol2ims : public MicroKernelDraws {
protected:
  void run(ConvolutionData &data, unsigned threads) const override {
    const Convolution shape = resolve(data);
    ASSERT_TRUE(GemmCol2im::multiplies(*GetParam(), shape));
    ThreadTeam team(threads);
    team.begin();
    GemmCol2im product(team, vectorKernels(isa()), *GetParam(), shape);
    runProduct(product, shape, data);
    team.end();
  }

  ConvolutionCase draw(uint32_t index) const override {
    Draws draws(14, index);
    constexpr int64_t few[] = {1, 2, 3, 4, 5, 8, 9, 16}, many[] = {1, 6, 16, 31, 33, 70};
    ConvolutionCase c;
    const bool toImages = draws.below(2);
    c.direction = toImages ? MPC_RT_CONVOLUTION_INPUT_GRADIENT : MPC_RT_CONVOLUTION_FORWARD;
    c.batch = 1 + draws.below(4);
    (toImages ? c.channels : c.filters) = few[draws.below(8)];
    (toImages ? c.filters : c.channels) = many[draws.below(6)];
    makeEven(c);
    const uint32_t spatial = 1 + draws.below(3);
    for (uint32_t d = 0; d < spatial; ++d) {
      const int64_t reach = draws.addWindow(c, /*taps=*/4);
      if (!toImages)
        c.strides.back() = 1;
      // More than a chunk of pixels, by rows and within one.
      c.images.push_back(reach + draws.below(spatial == 3 ? 5 : spatial == 2 ? 20 : 300));
    }
    setDtypes(c, draws);
    return c;
  }
};

TEST_P(GemmCol2ims, AreExactOverDirectionsWindowsAndEpilogues) { expectExactSums(300); }

TEST_P(GemmCol2ims, KeepAnInfinityInItsPlace) { expectInfinityInItsPlace(200); }

TEST_P(GemmCol2ims, AddUpInAnOrderThatThreadsDoNotChange) { expectOrderOfOneThread(60); }

// Sums of one sample that are cut for the caches: [700, 600, 3] of them.
TEST_P(GemmCol2ims, AreExactInBands) {
  ConvolutionCase c;
  c.direction = MPC_RT_CONVOLUTION_FORWARD;
  c.channels = 2;
  c.filters = 3;
  c.images = {700, 600};
  c.kernel = {3, 5};
  c.low = c.high = {1, 2};
  c.strides = c.dilations = {1, 1};
  c.lhs = c.rhs = c.out = takesBFloat16() ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
  ConvolutionData data(c);
  run(data, 2);
  EXPECT_EQ(data.difference(), "");
}

class Im2colFilterGradients : public MicroKernelDraws {
protected:
  void SetUp() override {
    MicroKernelDraws::SetUp();
    if (GetParam() == &amxBFloat16)
      GTEST_SKIP() << "tiles hold more than a pair of k";
  }

  void run(ConvolutionData &data, unsigned threads) const override {
    const Convolution shape = resolve(data);
    ASSERT_TRUE(Im2colFilterGradient::multiplies(*GetParam(), shape));
    ThreadTeam team(threads);
    team.begin();
    Im2colFilterGradient(team, vectorKernels(isa()), *GetParam(), shape)
        .run(data.lhs.data(), data.rhs.data(), data.out.data());
    team.end();
  }

  ConvolutionCase draw(uint32_t index) const override {
    Draws draws(15, index);
    constexpr int64_t few[] = {1, 2, 3, 4, 5, 8}, many[] = {9, 16, 31, 33, 70};
    ConvolutionCase c;
    c.direction = MPC_RT_CONVOLUTION_FILTER_GRADIENT;
    c.batch = 1 + draws.below(4);
    c.filters = few[draws.below(6)];
    c.channels = many[draws.below(5)];
    const uint32_t spatial = 1 + draws.below(3);
    for (uint32_t d = 0; d < spatial; ++d) {
      const int64_t reach = draws.addWindow(c, /*taps=*/4);
      c.strides.back() = 1;
      // More pixels along a row than are packed at a time.
      c.images.push_back(reach + draws.below(spatial == 3 ? 5 : spatial == 2 ? 20 : 600));
    }
    if (takesBFloat16()) // in pairs
      c.images.back() += c.images.back() % 2;
    setDtypes(c, draws);
    return c;
  }
};

TEST_P(Im2colFilterGradients, AreExactOverWindowsAndDtypes) { expectExactSums(300); }

TEST_P(Im2colFilterGradients, KeepAnInfinityInItsPlace) { expectInfinityInItsPlace(200); }

TEST_P(Im2colFilterGradients, AddUpInAnOrderThatThreadsDoNotChange) { expectOrderOfOneThread(60); }

INSTANTIATE_TEST_SUITE_P(Every, GemmCol2ims, everyMicroKernel(), microKernelName);
INSTANTIATE_TEST_SUITE_P(Every, Im2colFilterGradients, everyMicroKernel(), microKernelName);

} // namespace
} // namespace mpc::rt
