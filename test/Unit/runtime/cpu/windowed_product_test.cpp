// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions by micro-kernels, drawn small: channels and filters around what a vector, a tile and
// a panel hold. Operands are small integers: every order of summation gives the same exact sums.
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/element.h"
#include "runtime/base/philox.h"
#include "runtime/cts/convolution_case.h"
#include "runtime/drivers/cpu/windowed_filter_gradient.h"
#include "runtime/drivers/cpu/windowed_product.h"

#include <gtest/gtest.h>

namespace mpc::rt {
namespace {

using cts::ConvolutionCase;
using cts::ConvolutionData;

class WindowedProducts : public ::testing::TestWithParam<const MicroKernel *> {
protected:
  void SetUp() override {
    const uint64_t needs = GetParam() == &avx512Float32 ? 0
                           : GetParam() == &amxBFloat16 ? MPC_RT_FEATURE_AMX_BF16
                                                        : MPC_RT_FEATURE_AVX512_BF16;
    // Asking for the kernel asks Linux for tiles.
    const bool runs =
        (cpu().features & needs) == needs &&
        (GetParam() != &amxBFloat16 || bfloat16MicroKernel(MPC_RT_ISA_X86_64_V4) == &amxBFloat16);
    if (cpu().isa < MPC_RT_ISA_X86_64_V4 || !runs)
      GTEST_SKIP() << "this CPU does not run the kernel";
  }

  bool takesBFloat16() const { return GetParam() != &avx512Float32; }

  void run(ConvolutionData &data, unsigned threads = 2) const {
    Convolution shape;
    auto descriptor = data.shape.descriptor(1);
    ASSERT_EQ(resolveConvolution(descriptor, data.lhs.data(), data.rhs.data(), data.bias.data(),
                                 data.out.data(), 1, shape),
              MPC_RT_OK);
    const VectorKernels &vectors = vectorKernels(MPC_RT_ISA_X86_64_V4);
    ThreadTeam team(threads);
    team.begin();
    if (shape.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT) {
      ASSERT_TRUE(WindowedFilterGradient::multiplies(*GetParam(), shape));
      WindowedFilterGradient(team, vectors, *GetParam(), shape)
          .run(data.lhs.data(), data.rhs.data(), data.out.data());
    } else {
      ASSERT_TRUE(WindowedProduct::multiplies(*GetParam(), shape));
      std::vector<float> bias;
      for (int64_t i = 0; i < shape.outColumns(); ++i)
        bias.push_back(static_cast<float>(loadElement(data.shape.bias, data.bias.data(), i)));
      WindowedProduct product(team, vectors, *GetParam(), shape);
      Buffer filter;
      ASSERT_TRUE(filter.allocate(product.filterBytes()));
      product.packFilter(data.rhs.data(), filter.data());
      product.run(data.lhs.data(), filter.data(), shape.hasBias ? bias.data() : nullptr,
                  data.out.data(), shape.batch);
    }
    team.end();
  }

  // Every field from a few values each.
  ConvolutionCase draw(uint32_t index) const {
    uint32_t next = 0;
    auto below = [&](uint32_t bound) {
      return philox({{index, next++, 0, 0}}, 12, 0).word[0] % bound;
    };
    constexpr int64_t lanes[] = {1, 3, 6, 12, 16, 31, 32, 33, 64, 70, 97, 130};
    ConvolutionCase c;
    c.direction = static_cast<mpc_rt_convolution_direction_t>(below(3));
    c.batch = 1 + below(5);
    c.channels = lanes[below(12)];
    c.filters = lanes[below(12)];
    if (GetParam() == &avx512BFloat16) { // pairs along k, where k is what lies together
      if (c.direction == MPC_RT_CONVOLUTION_FORWARD)
        c.channels += c.channels % 2;
      if (c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT)
        c.filters += c.filters % 2;
    }
    const uint32_t spatial = 1 + below(3);
    for (uint32_t d = 0; d < spatial; ++d) {
      c.kernel.push_back(1 + below(3));
      c.dilations.push_back(1 + below(2));
      c.strides.push_back(1 + below(3));
      const int64_t reach = (c.kernel[d] - 1) * c.dilations[d] + 1;
      c.images.push_back(reach + below(spatial == 3 ? 3 : 8));
      c.low.push_back(below(2) ? below(static_cast<uint32_t>(reach) + 1) : 0);
      c.high.push_back(below(2) ? below(static_cast<uint32_t>(reach) + 1) : 0);
    }
    c.lhs = takesBFloat16() ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
    c.rhs = takesBFloat16() ? MPC_RT_BFLOAT16 : below(3);
    if (!takesBFloat16() && c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT)
      c.lhs = below(3); // packed, which widens
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

TEST_P(WindowedProducts, AreExactOverDirectionsWindowsAndEpilogues) {
  for (uint32_t i = 0; i < 300; ++i) {
    ConvolutionData data(draw(i));
    run(data, 1 + i % 3);
    ASSERT_EQ(data.difference(), "") << data.shape.text();
  }
}

// Also in a filter's gradient: what lies in padding has no product.
TEST_P(WindowedProducts, KeepAnInfinityInItsPlace) {
  for (uint32_t i = 0; i < 200; ++i) {
    ConvolutionData data(draw(1000 + i));
    data.putInfinity(i % 2, i);
    run(data);
    ASSERT_EQ(data.difference(), "") << data.shape.text();
  }
}

// Sums of fractions, whose order shows in their last bits.
TEST_P(WindowedProducts, AddUpInAnOrderThatThreadsDoNotChange) {
  for (uint32_t i = 0; i < 60; ++i) {
    ConvolutionData alone(draw(2000 + i));
    alone.fillWithFractions(i);
    ConvolutionData together = alone;
    run(alone, 1);
    run(together, 3);
    ASSERT_EQ(alone.out, together.out) << alone.shape.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Every, WindowedProducts,
                         ::testing::Values(&amxBFloat16, &avx512BFloat16, &avx512Float32),
                         [](const auto &info) { return std::string(info.param->name); });

} // namespace
} // namespace mpc::rt
