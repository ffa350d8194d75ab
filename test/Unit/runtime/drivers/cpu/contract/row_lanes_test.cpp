// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of products that are read where they lie, or made ready for all panels: widened, or copied.
#include "runtime/base/element.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/drivers/cpu/contract/blocked_product.h"
#include "test/Unit/runtime/drivers/cpu/kernels/micro_kernels_here.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace mpc::rt {
namespace {

using cts::ContractionCase;
using cts::ContractionData;

class RowLanes : public ::testing::TestWithParam<const MicroKernel *> {
protected:
  void SetUp() override {
    if (!runsHere(*GetParam()))
      GTEST_SKIP() << "this CPU does not run the kernel";
  }
};

struct Product {
  explicit Product(const ContractionCase &shape) : data(shape) {
    for (int64_t i = 0; i < shape.m * shape.k; ++i)
      storeElement(shape.lhs, data.lhs.data(), i, std::sin(static_cast<double>(i)));
    EXPECT_EQ(resolveContraction(shape.descriptor(1), data.lhs.data(), data.rhs.data(),
                                 data.bias.data(), data.out.data(), 1, resolved),
              MPC_RT_OK);
    for (int64_t i = 0; i < shape.n; ++i)
      bias.push_back(static_cast<float>(loadElement(shape.bias, data.bias.data(), i)));
  }

  ContractionData data;
  Contraction resolved;
  std::vector<float> bias;
};

// Threads of a loop over time have 33 rows each.
std::vector<uint8_t> multiplyByRows(BlockedProduct &blocked, const Product &product,
                                    const void *packed) {
  const Contraction &c = product.resolved;
  std::vector<uint8_t> out(product.data.out.size());
  for (int64_t row = 0; row < c.m; row += 33)
    blocked.runRows(c, product.data.lhs.data(), packed, product.bias.data(), out.data(), row,
                    std::min<int64_t>(row + 33, c.m));
  return out;
}

TEST_P(RowLanes, HaveTheBytesOfWholeProducts) {
  ThreadTeam team(2);
  BlockedProduct blocked(team, vectorKernels(isaOf(*GetParam())), *GetParam(),
                         packsColumnsOnce(*GetParam()));
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16}) {
    int count = 0;
    for (int64_t m : {1, 5, 70})
      for (int64_t n : {3, 31, 200})
        for (int64_t k : {1, 63, 130, 800}) {
          ContractionCase shape;
          shape.lhs = shape.rhs = dtype;
          shape.m = m, shape.n = n, shape.k = k;
          shape.hasBias = shape.relu = k % 2;
          Product product(shape);
          if (!blocked.runsByRows(product.resolved))
            continue;
          ++count;
          Buffer packed;
          ASSERT_TRUE(packed.allocate(blocked.packedBytes(product.resolved)));
          team.begin();
          blocked.packRhs(product.resolved, product.data.rhs.data(), packed.data());
          const std::vector<uint8_t> byRows = multiplyByRows(blocked, product, packed.data());
          blocked.run(product.resolved, product.data.lhs.data(), /*rhs=*/nullptr, packed.data(),
                      product.bias.data(), {product.data.out.data()});
          team.end();
          EXPECT_EQ(product.data.out, byRows) << shape.text();
        }
    // Kernels take all rows that they prepare.
    EXPECT_EQ(count, GetParam()->prepareLanes[dtype] || dtype == MPC_RT_FLOAT32 ? 36 : 0)
        << static_cast<int>(dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, RowLanes,
                         ::testing::Values(&avx512Float32, &avx512Float32Ahead, &avx2Float32,
                                           &sse4Float32),
                         [](const auto &kernel) { return testNameOf(*kernel.param); });

} // namespace
} // namespace mpc::rt
