// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of products of int8 whose kernel makes numbers of 8 bits of the sums.
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/driver_fixture.h"
#include "runtime/cts/requantized_sums.h"

namespace mpc::rt::cts {
namespace {

class Requantize : public DriverTest {
protected:
  mpc_rt_status_t contract(ContractionData &data, void *sums, const ResultKernel &kernel) {
    mpc_rt_contract_t descriptor = data.shape.descriptor(++nextId);
    if (!sums)
      descriptor.flags |= MPC_RT_CONTRACT_CONSUMED;
    mpc_rt_status_t status = driver->begin(WeightUse::constant);
    if (status == MPC_RT_OK)
      status = callContractAndLaunch(*driver, descriptor, data.lhs.data(), data.storedRhs().data(),
                                     nullptr, sums, kernel, 1);
    driver->end();
    return status;
  }
  // With sums that have memory and that have none.
  void check(int64_t m, int64_t n, int64_t k, uint32_t seed) {
    for (bool isPlaced : {false, true}) {
      ContractionCase shape;
      shape.m = m, shape.n = n, shape.k = k;
      shape.lhs = shape.rhs = MPC_RT_INT8, shape.out = MPC_RT_INT32;
      shape.seed = 2 * seed + isPlaced;
      shape.rhsVariable = static_cast<int32_t>(shape.seed);
      ContractionData data(shape);
      RequantizedCase wanted(static_cast<size_t>(m * n), n, shape.seed);
      void *sums = isPlaced ? data.out.data() : nullptr;
      driver->variablesChanged();
      ASSERT_EQ(contract(data, sums, wanted.kernel(sums)), MPC_RT_OK) << mpc_rt_last_error();
      if (!driver->computes())
        continue;
      const std::vector<uint8_t> expected = data.expected();
      ASSERT_EQ(wanted.out, wanted.expected(reinterpret_cast<const int32_t *>(expected.data())))
          << shape.text();
      if (isPlaced)
        ASSERT_EQ(data.out, expected) << shape.text();
    }
  }
  uint32_t nextId = 0;
};
INSTANTIATE_TEST_SUITE_P(Every, Requantize, ::testing::ValuesIn(everyDriver()), driverName);

// Whole and cut tiles, rows and vectors of columns.
TEST_P(Requantize, Products) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "kernels of the host do not run there";
  uint32_t seed = 0;
  for (int64_t n : {1, 7, 8, 10, 16, 20, 24, 32, 40, 48, 56, 64, 65, 80, 96, 136, 320})
    for (int64_t k : {1, 4, 18, 64, 80}) {
      const int64_t m = seed % 3 ? 1 + seed % 29 : 200 + seed % 7;
      check(m, n, k, ++seed);
    }
}

// More weights than stay in a near cache, by rows of several blocks.
TEST_P(Requantize, ProductsOfManyWeights) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "kernels of the host do not run there";
  uint32_t seed = 1000;
  for (int64_t m : {1, 32, 301})
    for (int64_t n : {1040, 1101})
      check(m, n, 129, ++seed);
  check(75, 40, 3301, ++seed);
}

TEST_P(Requantize, RefusesOtherArgumentsAndOperands) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "kernels of the host do not run there";
  ContractionCase shape;
  shape.m = 3, shape.n = 4, shape.k = 5;
  shape.lhs = shape.rhs = MPC_RT_INT8, shape.out = MPC_RT_INT32;
  shape.rhsVariable = 1;
  RequantizedCase wanted(12, 4, 1);
  const auto statusOf = [&](const rules::Requantization &rule) {
    ContractionData data(shape);
    ResultKernel kernel = wanted.kernel(data.out.data());
    kernel.requantization = rule.word();
    return contract(data, data.out.data(), kernel);
  };
  EXPECT_EQ(statusOf(wanted.rule), MPC_RT_OK) << mpc_rt_last_error();
  const int64_t calls = wanted.calls;
  rules::Requantization other = wanted.rule;
  other.scale = 5; // of five arguments
  EXPECT_EQ(statusOf(other), MPC_RT_INVALID_ARGUMENT);
  other = wanted.rule, other.out = 200;
  EXPECT_EQ(statusOf(other), MPC_RT_INVALID_ARGUMENT);
  other = wanted.rule, other.out = 2; // the sums themselves
  EXPECT_EQ(statusOf(other), MPC_RT_INVALID_ARGUMENT);
  other = wanted.rule, other.bias = other.scale;
  EXPECT_EQ(statusOf(other), MPC_RT_INVALID_ARGUMENT);
  other = wanted.rule, other.low = other.high;
  EXPECT_EQ(statusOf(other), MPC_RT_INVALID_ARGUMENT);
  other = wanted.rule, other.high = 0x7FFF;
  EXPECT_EQ(statusOf(other), MPC_RT_INVALID_ARGUMENT);
  shape.lhs = shape.rhs = shape.out = MPC_RT_FLOAT32;
  EXPECT_EQ(statusOf(wanted.rule), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(wanted.calls, calls);
}

} // namespace
} // namespace mpc::rt::cts
