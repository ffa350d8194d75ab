// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn convolutions by each micro-kernel that this CPU runs.
#ifndef MPC_TEST_UNIT_RUNTIME_DRIVERS_CPU_KERNELS_MICRO_KERNEL_DRAWS_H
#define MPC_TEST_UNIT_RUNTIME_DRIVERS_CPU_KERNELS_MICRO_KERNEL_DRAWS_H

#include "mpc-rt/device.h"
#include "runtime/base/element.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/cpu/convolve/image_product.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "test/Unit/runtime/drivers/cpu/convolve/convolution_draws.h"
#include "test/Unit/runtime/drivers/cpu/kernels/micro_kernels_here.h"

namespace mpc::rt {

class MicroKernelDraws : public DrawnConvolutions<const MicroKernel *> {
protected:
  void SetUp() override {
    if (!runsHere(*GetParam()))
      GTEST_SKIP() << "this CPU does not run the kernel";
  }

  bool takesBFloat16() const { return packedDtype(*GetParam()) == MPC_RT_BFLOAT16; }
  static int isa() { return isaOf(*GetParam()); }

  static Convolution resolve(const cts::ConvolutionData &data) {
    Convolution shape;
    auto descriptor = data.shape.descriptor(1);
    EXPECT_EQ(resolveConvolution(descriptor, data.lhs.data(), data.rhs.data(), data.bias.data(),
                                 data.out.data(), 1, shape),
              MPC_RT_OK);
    return shape;
  }

  static void runProduct(ImageProduct &product, const Convolution &shape,
                         cts::ConvolutionData &data) {
    std::vector<float> bias;
    for (int64_t i = 0; i < shape.outColumns(); ++i)
      bias.push_back(static_cast<float>(loadElement(data.shape.bias, data.bias.data(), i)));
    Buffer filter;
    ASSERT_TRUE(filter.allocate(product.filterBytes()));
    product.packFilter(data.rhs.data(), filter.data());
    product.run(data.lhs.data(), filter.data(), shape.hasBias ? bias.data() : nullptr,
                {shape.out, data.out.data()}, shape.batch);
  }

  // Draws dtypes that the kernel takes; gradients of filters pack lhs, which widens it.
  void setDtypes(cts::ConvolutionCase &c, Draws &draws) const {
    const bool isPacked = c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT;
    c.lhs = c.rhs = takesBFloat16() ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
    if (!takesBFloat16()) {
      c.rhs = draws.below(3);
      c.lhs = isPacked ? draws.below(3) : c.lhs;
    }
    draws.setResult(c);
  }

  // k in pairs, where k is what lies together.
  void makeEven(cts::ConvolutionCase &c) const {
    if (GetParam() != &avx512BFloat16)
      return;
    if (c.direction == MPC_RT_CONVOLUTION_FORWARD)
      c.channels += c.channels % 2;
    if (c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT)
      c.filters += c.filters % 2;
  }
};

inline auto everyMicroKernel() {
  return ::testing::Values(&amxBFloat16, &avx512BFloat16, &avx512Float32, &avx2Float32,
                           &sse4Float32);
}
inline std::string microKernelName(const ::testing::TestParamInfo<const MicroKernel *> &info) {
  return info.param->name;
}

} // namespace mpc::rt

#endif // MPC_TEST_UNIT_RUNTIME_DRIVERS_CPU_KERNELS_MICRO_KERNEL_DRAWS_H
