// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions by micro-kernels, drawn small: channels and filters around what a vector, a tile and
// a panel hold.
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/element.h"
#include "runtime/cpu/convolution_draws.h"
#include "runtime/drivers/cpu/windowed_filter_gradient.h"
#include "runtime/drivers/cpu/windowed_product.h"

namespace mpc::rt {
namespace {

using cts::ConvolutionCase;
using cts::ConvolutionData;

class WindowedProducts : public DrawnConvolutions<const MicroKernel *> {
protected:
  void SetUp() override {
    const uint64_t needs = !takesBFloat16()             ? 0
                           : GetParam() == &amxBFloat16 ? MPC_RT_FEATURE_AMX_BF16
                                                        : MPC_RT_FEATURE_AVX512_BF16;
    // Asking for the kernel asks Linux for tiles.
    const bool runs =
        (cpu().features & needs) == needs &&
        (GetParam() != &amxBFloat16 || bfloat16MicroKernel(MPC_RT_ISA_X86_64_V4) == &amxBFloat16);
    if (cpu().isa < isa() || !runs)
      GTEST_SKIP() << "this CPU does not run the kernel";
  }

  bool takesBFloat16() const { return GetParam() != &avx512Float32 && GetParam() != &avx2Float32; }
  static int isa() {
    return GetParam() == &avx2Float32 ? MPC_RT_ISA_X86_64_V3 : MPC_RT_ISA_X86_64_V4;
  }

  void run(ConvolutionData &data, unsigned threads) const override {
    Convolution shape;
    auto descriptor = data.shape.descriptor(1);
    ASSERT_EQ(resolveConvolution(descriptor, data.lhs.data(), data.rhs.data(), data.bias.data(),
                                 data.out.data(), 1, shape),
              MPC_RT_OK);
    const VectorKernels &vectors = vectorKernels(isa());
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

  ConvolutionCase draw(uint32_t index) const override {
    Draws draws(12, index);
    constexpr int64_t lanes[] = {1, 3, 6, 12, 16, 31, 32, 33, 64, 70, 97, 130};
    ConvolutionCase c;
    c.direction = static_cast<mpc_rt_convolution_direction_t>(draws.below(3));
    c.batch = 1 + draws.below(5);
    c.channels = lanes[draws.below(12)];
    c.filters = lanes[draws.below(12)];
    if (GetParam() == &avx512BFloat16) { // pairs along k, where k is what lies together
      if (c.direction == MPC_RT_CONVOLUTION_FORWARD)
        c.channels += c.channels % 2;
      if (c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT)
        c.filters += c.filters % 2;
    }
    const uint32_t spatial = 1 + draws.below(3);
    for (uint32_t d = 0; d < spatial; ++d) {
      const int64_t reach = draws.addWindow(c, /*taps=*/3);
      c.images.push_back(reach + draws.below(spatial == 3 ? 3 : 8));
    }
    c.lhs = takesBFloat16() ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
    c.rhs = takesBFloat16() ? MPC_RT_BFLOAT16 : draws.below(3);
    if (!takesBFloat16() && c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT)
      c.lhs = draws.below(3); // packed, which widens
    draws.setResult(c);
    return c;
  }
};

TEST_P(WindowedProducts, AreExactOverDirectionsWindowsAndEpilogues) { expectExactSums(300); }

TEST_P(WindowedProducts, KeepAnInfinityInItsPlace) { expectInfinityInItsPlace(200); }

TEST_P(WindowedProducts, AddUpInAnOrderThatThreadsDoNotChange) { expectOrderOfOneThread(60); }

INSTANTIATE_TEST_SUITE_P(Every, WindowedProducts,
                         ::testing::Values(&amxBFloat16, &avx512BFloat16, &avx512Float32,
                                           &avx2Float32),
                         [](const auto &info) { return std::string(info.param->name); });

} // namespace
} // namespace mpc::rt
