// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of contract with operands of float8: exact sums in float32.
#include "runtime/base/philox.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"

#include <algorithm>

namespace mpc::rt::cts {
namespace {

class ContractFloat8 : public DriverTest {
protected:
  mpc_rt_status_t contract(ContractionData &data) {
    auto descriptor = data.shape.descriptor(++nextId);
    return callOnDevice(*driver, WeightUse::updated, {&data.lhs, &data.rhs, &data.bias, &data.out},
                        [&](void *const *operands) {
                          return callContract(*driver, descriptor, operands[0], operands[1],
                                              operands[2], operands[3], nullptr, 1);
                        });
  }
  void check(const ContractionCase &shape) {
    ContractionData data(shape);
    ASSERT_EQ(contract(data), MPC_RT_OK) << mpc_rt_last_error();
    if (driver->computes())
      EXPECT_EQ(data.difference(), "");
    else
      EXPECT_EQ(data.out, data.initial) << "a driver that does not compute wrote results";
  }
  uint32_t nextId = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, ContractFloat8, ::testing::ValuesIn(everyDriver()), driverName);

// Operands have one format or both, every number of rows, columns and terms, and are stored in
// every order.
TEST_P(ContractFloat8, IsExact) {
  constexpr int64_t extents[] = {1, 3, 16, 17, 32, 48, 80};
  for (uint32_t i = 0; i < 150; ++i) {
    PhiloxBlock sizes = philox({{i, 0, 0, 0}}, 19, 0);
    ContractionCase shape;
    shape.seed = i;
    shape.batch = i % 4 ? 1 : 3;
    shape.transposeLhs = sizes.word[3] % 2;
    shape.transposeRhs = sizes.word[3] / 2 % 2;
    shape.m = extents[sizes.word[0] % 7];
    shape.n = extents[sizes.word[1] % 7];
    shape.k = extents[sizes.word[2] % 7];
    shape.lhs = i % 3 == 1 ? MPC_RT_FLOAT8_E5M2 : MPC_RT_FLOAT8_E4M3FN;
    shape.rhs = i % 3 == 2 ? MPC_RT_FLOAT8_E5M2 : MPC_RT_FLOAT8_E4M3FN;
    check(shape);
  }
  for (int empty = 0; empty < 4; ++empty) {
    ContractionCase shape;
    shape.lhs = shape.rhs = MPC_RT_FLOAT8_E4M3FN;
    shape.m = shape.n = shape.k = 16;
    (empty == 0 ? shape.batch : empty == 1 ? shape.m : empty == 2 ? shape.n : shape.k) = 0;
    check(shape);
  }
}

// Each number of both formats, NaN and infinities included, on either side.
TEST_P(ContractFloat8, ReadsEveryNumber) {
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT8_E4M3FN, MPC_RT_FLOAT8_E5M2})
    for (bool onLeft : {true, false})
      for (bool transposed : {true, false}) {
        ContractionCase shape;
        shape.m = onLeft ? 256 : 16, shape.n = onLeft ? 16 : 256, shape.k = 16;
        shape.lhs = onLeft ? dtype : MPC_RT_FLOAT8_E4M3FN;
        shape.rhs = onLeft ? MPC_RT_FLOAT8_E4M3FN : dtype;
        shape.transposeLhs = transposed, shape.transposeRhs = !transposed;
        ContractionData data(shape);
        std::fill(data.lhs.begin(), data.lhs.end(), uint8_t{0});
        std::fill(data.rhs.begin(), data.rhs.end(), uint8_t{0});
        for (size_t i = 0; i < 256; ++i)
          (onLeft ? data.lhs : data.rhs)[transposed ? i : i * 16] = static_cast<uint8_t>(i);
        for (size_t i = 0; i < 16; ++i)
          (onLeft ? data.rhs : data.lhs)[transposed ? i : i * 16] = 0x38; // 1
        ASSERT_EQ(contract(data), MPC_RT_OK) << mpc_rt_last_error();
        if (driver->computes())
          EXPECT_EQ(data.difference(), "");
      }
}

TEST_P(ContractFloat8, RefusesOthers) {
  for (int which = 0; which < 6; ++which) {
    ContractionCase shape;
    shape.m = shape.n = shape.k = 16;
    shape.lhs = which == 0 ? MPC_RT_FLOAT8_E5M2 : MPC_RT_FLOAT8_E4M3FN;
    shape.rhs = which == 0   ? MPC_RT_FLOAT8_E5M2
                : which == 1 ? MPC_RT_BFLOAT16
                             : MPC_RT_FLOAT8_E4M3FN;
    shape.out = which == 2 ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
    shape.hasBias = which == 3;
    shape.relu = which == 4;
    shape.accumulate = which == 5;
    ContractionData data(shape);
    EXPECT_EQ(contract(data), MPC_RT_INVALID_ARGUMENT) << which;
  }
}

} // namespace
} // namespace mpc::rt::cts
