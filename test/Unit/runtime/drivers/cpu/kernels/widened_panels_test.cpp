// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every number of 16 bits as a panel of float32 holds it.
#include "mpc-rt/dtype.h"
#include "runtime/base/element.h"
#include "test/Unit/runtime/drivers/cpu/kernels/micro_kernels_here.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace mpc::rt {
namespace {

class WidenedPanels : public ::testing::TestWithParam<const MicroKernel *> {
protected:
  void SetUp() override {
    if (!runsHere(*GetParam()))
      GTEST_SKIP() << "this CPU does not run the kernel";
  }
};

// The last panel lacks lanes, which are zeros.
void expectEveryNumber(const MicroKernel &kernel, mpc_rt_dtype_t dtype, bool isAlongK) {
  constexpr int64_t count = 1 << 16;
  std::vector<uint16_t> numbers(count);
  for (int64_t i = 0; i < count; ++i)
    numbers[static_cast<size_t>(i)] = static_cast<uint16_t>(i);
  const int64_t lanes = isAlongK ? kernel.columns + 1 : count, steps = isAlongK ? 64 : 1;
  const int64_t panels = (lanes + kernel.columns - 1) / kernel.columns;
  for (int64_t first = 0; first < count; first += lanes * steps) {
    std::vector<float> packed(static_cast<size_t>(panels * steps * kernel.columns) + 16, -1);
    const int64_t existing = std::min(lanes, (count - first) / steps);
    kernel.packRhs[dtype][isAlongK]({&numbers[static_cast<size_t>(first)], steps, existing, steps},
                                    panels, steps, packed.data());
    for (int64_t lane = 0; lane < existing; ++lane)
      for (int64_t step = 0; step < steps; ++step) {
        const int64_t place = first + lane * steps + step;
        const auto wanted = static_cast<float>(loadElement(dtype, numbers.data(), place));
        const int64_t panel = lane / kernel.columns, column = lane % kernel.columns;
        const float found =
            packed[static_cast<size_t>((panel * steps + step) * kernel.columns + column)];
        if (std::isnan(wanted))
          ASSERT_TRUE(std::isnan(found)) << place;
        else
          ASSERT_EQ(std::memcmp(&found, &wanted, sizeof found), 0) << place << " is " << found;
      }
  }
}

TEST_P(WidenedPanels, HoldEveryNumber) {
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT16, MPC_RT_BFLOAT16})
    for (bool isAlongK : {false, true})
      if (GetParam()->packRhs[dtype][isAlongK])
        expectEveryNumber(*GetParam(), dtype, isAlongK);
}

INSTANTIATE_TEST_SUITE_P(Every, WidenedPanels,
                         ::testing::Values(&avx512Float32, &avx2Float32, &sse4Float32),
                         [](const auto &kernel) { return testNameOf(*kernel.param); });

} // namespace
} // namespace mpc::rt
