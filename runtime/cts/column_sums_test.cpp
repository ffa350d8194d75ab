// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of contract with sums in any order of the sums, as devices with memory of their own
// have it, and with sums that are rounded.
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"

#include <cmath>
#include <limits>

namespace mpc::rt::cts {
namespace {

constexpr mpc_rt_dtype_t dtypes[] = {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16};

class ColumnSums : public DriverTest {
protected:
  mpc_rt_status_t contract(ContractionData &data, bool isRounded, std::vector<uint8_t> &sums) {
    auto descriptor = data.shape.descriptor(++nextId);
    descriptor.flags |= isRounded ? MPC_RT_CONTRACT_ROUND_SUMS : 0u;
    driver->variablesChanged(); // the next case's weights are others
    return callOnDevice(*driver, WeightUse::updated, {&data.lhs, &data.rhs, &data.out, &sums},
                        [&](void *const *operands) {
                          ContractionExtras extras;
                          extras.rhsSums = operands[3];
                          return callContractAndSum(*driver, descriptor, operands[0], operands[1],
                                                    operands[2], extras, 1);
                        });
  }
  static ContractionCase caseOf(mpc_rt_dtype_t dtype, int64_t m, int64_t n, int64_t k) {
    ContractionCase shape;
    shape.m = m, shape.n = n, shape.k = k;
    shape.lhs = shape.rhs = shape.out = dtype;
    shape.transposeLhs = true;
    return shape;
  }
  static double sumOf(const ContractionData &data, int64_t column) {
    double sum = 0;
    for (int64_t k = 0; k < data.shape.k; ++k)
      sum += loadElement(data.shape.rhs, data.rhs.data(), k * data.shape.n + column);
    return sum;
  }
  uint32_t nextId = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, ColumnSums, ::testing::ValuesIn(everyDriver()), driverName);

// Whole numbers, whose sums float32 has exactly and 16 bits do not; shapes that libraries take, and
// others, without rows and without results, too.
TEST_P(ColumnSums, AreRoundedOnce) {
  for (mpc_rt_dtype_t dtype : dtypes)
    for (auto [m, n, k] : {std::tuple{16, 72, 33},
                           {5, 3, 40},
                           {1, 1, 700},
                           {8, 16, 1100},
                           {64, 136, 300},
                           {24, 265, 77},
                           {4, 5, 0},
                           {0, 40, 9}})
      for (bool isRounded : {false, true}) {
        if (isRounded && dtype == MPC_RT_FLOAT32)
          continue;
        ContractionData data(caseOf(dtype, m, n, k));
        for (int64_t i = 0; i < k * n; ++i)
          storeElement(dtype, data.rhs.data(), i, static_cast<double>(i * 5 % 13));
        const mpc_rt_dtype_t type = isRounded ? dtype : mpc_rt_dtype_t{MPC_RT_FLOAT32};
        std::vector<uint8_t> sums(static_cast<size_t>(n) * dtypeSize(type), 0xFF);
        ASSERT_EQ(contract(data, isRounded, sums), MPC_RT_OK) << mpc_rt_last_error();
        if (!driver->computes())
          continue;
        EXPECT_EQ(data.difference(), "");
        for (int64_t i = 0; i < n && !HasFailure(); ++i)
          EXPECT_EQ(loadElement(type, sums.data(), i), roundElement(type, sumOf(data, i)))
              << data.shape.text() << " column " << i;
      }
}

// Each in its own column.
TEST_P(ColumnSums, KeepWhatIsNotFinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (mpc_rt_dtype_t dtype : dtypes) {
    ContractionData data(caseOf(dtype, 16, 40, 70));
    const bool isRounded = dtype != MPC_RT_FLOAT32;
    storeElement(dtype, data.rhs.data(), 7 * 40 + 3, std::nan(""));
    storeElement(dtype, data.rhs.data(), 69 * 40 + 39, -infinity);
    storeElement(dtype, data.rhs.data(), 0 * 40 + 20, infinity);
    storeElement(dtype, data.rhs.data(), 41 * 40 + 20, -infinity);
    std::vector<uint8_t> sums(40 * dtypeSize(dtype));
    ASSERT_EQ(contract(data, isRounded, sums), MPC_RT_OK) << mpc_rt_last_error();
    if (!driver->computes())
      return;
    for (int64_t i = 0; i < 40; ++i) {
      const double sum = loadElement(dtype, sums.data(), i);
      EXPECT_EQ(std::isnan(sum), i == 3 || i == 20) << i;
      EXPECT_EQ(std::isinf(sum) && sum < 0, i == 39) << i;
    }
  }
}

// Numbers whose sums depend on the order: equal calls give equal bytes, near the sums.
TEST_P(ColumnSums, AreTheSameAgain) {
  for (mpc_rt_dtype_t dtype : dtypes)
    for (bool isRounded : {false, true}) {
      if (isRounded && dtype == MPC_RT_FLOAT32)
        continue;
      ContractionData data(caseOf(dtype, 16, 48, 900));
      double terms = 0;
      for (int64_t i = 0; i < 900 * 48; ++i) {
        const double value = std::sin(static_cast<double>(i)) + 0.25;
        storeElement(dtype, data.rhs.data(), i, value);
        terms += std::fabs(value) / 48;
      }
      const mpc_rt_dtype_t type = isRounded ? dtype : mpc_rt_dtype_t{MPC_RT_FLOAT32};
      std::vector<uint8_t> sums(48 * dtypeSize(type)), again = sums;
      ASSERT_EQ(contract(data, isRounded, sums), MPC_RT_OK) << mpc_rt_last_error();
      ASSERT_EQ(contract(data, isRounded, again), MPC_RT_OK);
      EXPECT_EQ(sums, again);
      if (!driver->computes())
        continue;
      const double unit = type == MPC_RT_BFLOAT16 ? 0x1p-8 : type == MPC_RT_FLOAT16 ? 0x1p-11 : 0;
      for (int64_t i = 0; i < 48; ++i) {
        const double wanted = sumOf(data, i);
        // Each of 900 additions in float32 may lose half a unit, and the rounding one.
        EXPECT_NEAR(loadElement(type, sums.data(), i), wanted,
                    900 * 0x1p-24 * terms + unit * std::fabs(wanted));
      }
    }
}

TEST_P(ColumnSums, AreNotRoundedToFloat32) {
  ContractionData data(caseOf(MPC_RT_FLOAT32, 3, 4, 5));
  std::vector<uint8_t> sums(4 * sizeof(float));
  EXPECT_EQ(contract(data, /*isRounded=*/true, sums), MPC_RT_INVALID_ARGUMENT);
}

} // namespace
} // namespace mpc::rt::cts
