// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of weights in groups as gptq and awq store them. Each row of lhs picks one row of the
// weights, so that results are these weights themselves, with every rounding on the way.
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/base/philox.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"
#include "runtime/cts/elements.h"

#include <algorithm>
#include <cmath>

namespace mpc::rt::cts {
namespace {

struct Groups {
  mpc_rt_dtype_t dtype = MPC_RT_FLOAT32;
  int64_t m = 1, n = 1, k = 1, size = 1;
  bool isOrdered = true, isDivided = false, isPacked = true;
  std::vector<uint8_t> lhs, rhs, scale, zero, places, divisors, out;

  int64_t count() const { return (k + size - 1) / size; }

  explicit Groups(uint32_t index) {
    constexpr mpc_rt_dtype_t dtypes[] = {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16};
    constexpr int64_t rows[] = {1, 5, 16, 40}, depths[] = {1, 32, 65, 130};
    constexpr int64_t columns[] = {2, 5, 64, 67, 130}, sizes[] = {32, 3, 128, 64, 1};
    dtype = dtypes[index % 3];
    m = rows[index / 3 % 4], k = depths[index / 5 % 4], n = columns[index / 2 % 5];
    size = sizes[index / 7 % 5];
    isOrdered = index % 2, isDivided = index / 4 % 2;
    const auto bytes = [&](int64_t elements) {
      return static_cast<size_t>(elements) * dtypeSize(dtype);
    };
    lhs.resize(bytes(m * k));
    out.resize(bytes(m * n));
    scale.resize(bytes(n * count()));
    divisors.resize(static_cast<size_t>(k) * sizeof(float));
    zero.resize(static_cast<size_t>(n * count()));
    places.resize(static_cast<size_t>(k) * sizeof(float));
    isPacked = index % 8 < 5;
    rhs.resize(static_cast<size_t>((isPacked ? (n + 1) / 2 : n) * k));
    auto draw = [&, next = uint32_t{0}]() mutable {
      return philox({{index, next++, 0, 0}}, 77, 0).word[0];
    };
    for (int64_t row = 0; row < m; ++row)
      storeElement(dtype, lhs.data(), row * k + pickedBy(row), 1.0);
    // gptq has numbers of 2, 3 or 8 bits in a byte each.
    const uint32_t most = isPacked || index % 8 == 7 ? 256 : 8;
    for (uint8_t &byte : rhs)
      byte = static_cast<uint8_t>(draw() % most);
    for (int64_t i = 0; i < n * count(); ++i) {
      // Some are so large that their products with more than the numbers are infinite.
      const double large = index % 13 == 5 && dtype != MPC_RT_FLOAT16 && i % 3 == 0 ? 0x1p115 : 1;
      storeElement(dtype, scale.data(), i, large * (0.01 + double(draw() % 1000) / 997));
      // Mostly what 4 bits hold, as Keras's; the byte may have any value.
      zero[static_cast<size_t>(i)] = static_cast<uint8_t>(i % 5 ? draw() % 16 : draw());
    }
    for (int64_t i = 0; i < k; ++i) {
      const int64_t group = isOrdered ? i / size : draw() % count();
      storeElement(MPC_RT_FLOAT32, places.data(), i, double(group));
      // Some have no reciprocal to multiply with instead.
      const double huge = index % 11 == 3 && dtype != MPC_RT_FLOAT16 && i == 0 ? 0x1p70 : 1;
      storeElement(MPC_RT_FLOAT32, divisors.data(), i,
                   roundElement(dtype, huge * (0.25 + double(draw() % 1000) / 331)));
    }
  }

  int64_t pickedBy(int64_t row) const { return row * 7 % k; }

  mpc_rt_contract_t descriptor(uint32_t id, int32_t variable) const {
    ContractionCase c;
    c.m = m, c.n = n, c.k = k;
    c.lhs = c.out = dtype;
    c.rhs = MPC_RT_INT8;
    c.packedRhs = isPacked;
    c.transposeRhs = true;
    c.rhsVariable = variable;
    return c.descriptor(id);
  }

  mpc_rt_status_t multiply(Driver &driver, WeightUse use, uint32_t id, int32_t variable) {
    return callOnDevice(
        driver, use, {&lhs, &rhs, &scale, &zero, &places, &divisors, &out}, [&](void *const *at) {
          return callContractBlocks(driver, descriptor(id, variable), at[0], at[1],
                                    {at[2], at[3], static_cast<const float *>(at[4]), count(),
                                     /*areGroups=*/true,
                                     isDivided ? static_cast<const float *>(at[5]) : nullptr},
                                    /*bias=*/nullptr, at[6], 1);
        });
  }

  // keras/src/quantizers/quantizers.py, dequantize_with_sz_map, then awq's division.
  double weight(int64_t row, int64_t column) const {
    const int byte = rhs[static_cast<size_t>((isPacked ? column / 2 : column) * k + row)];
    const int number = !isPacked ? byte : column % 2 ? byte >> 4 : byte & 15;
    const auto group = static_cast<int64_t>(loadElement(MPC_RT_FLOAT32, places.data(), row));
    const int64_t index = column * count() + group;
    const double shifted = number - zero[static_cast<size_t>(index)];
    const double scaled = roundElement(dtype, shifted * loadElement(dtype, scale.data(), index));
    return isDivided
               ? roundElement(dtype, scaled / loadElement(MPC_RT_FLOAT32, divisors.data(), row))
               : scaled;
  }
};

class ContractGroups : public DriverTest {};
INSTANTIATE_TEST_SUITE_P(Every, ContractGroups, ::testing::ValuesIn(everyDriver()), driverName);

TEST_P(ContractGroups, MultipliesTheWeightsThatKerasHas) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "convert-mpc-to-linalg makes no such product for devices";
  for (uint32_t index = 0; index < 240; ++index) {
    Groups groups(index);
    driver->variablesChanged();
    // The second call finds what the first one kept.
    for (int call = 0; call < 2; ++call)
      ASSERT_EQ(groups.multiply(*driver, index % 6 ? WeightUse::constant : WeightUse::updated,
                                index + 1, index % 7 ? 0 : -1),
                MPC_RT_OK)
          << mpc_rt_last_error();
    if (!driver->computes())
      continue;
    for (int64_t row = 0; row < groups.m; ++row)
      for (int64_t column = 0; column < groups.n; ++column)
        ASSERT_EQ(loadElement(groups.dtype, groups.out.data(), row * groups.n + column),
                  groups.weight(groups.pickedBy(row), column))
            << "case " << index << ", " << dtypeName(groups.dtype) << ", row " << row << ", column "
            << column;
  }
}

// Scales are so large that whatever is not a number of the weights would be infinite: rows that
// fill up a vector or a tile have none of them.
TEST_P(ContractGroups, MultipliesNothingElse) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "convert-mpc-to-linalg makes no such product for devices";
  for (uint32_t index = 0; index < 48; ++index) {
    Groups groups(index);
    const double large = groups.dtype == MPC_RT_FLOAT16 ? 60000 : 0x1p126;
    for (int64_t i = 0; i < groups.m * groups.k; ++i)
      storeElement(groups.dtype, groups.lhs.data(), i, 1.0);
    for (int64_t i = 0; i < groups.n * groups.count(); ++i)
      storeElement(groups.dtype, groups.scale.data(), i, large);
    for (int64_t i = 0; i < groups.k; ++i)
      storeElement(MPC_RT_FLOAT32, groups.divisors.data(), i, 1.0);
    std::fill(groups.zero.begin(), groups.zero.end(), uint8_t{15});
    std::fill(groups.rhs.begin(), groups.rhs.end(), groups.isPacked ? uint8_t{255} : uint8_t{15});
    driver->variablesChanged();
    ASSERT_EQ(groups.multiply(*driver, WeightUse::constant, index + 1, 0), MPC_RT_OK)
        << mpc_rt_last_error();
    if (!driver->computes())
      continue;
    for (int64_t i = 0; i < groups.m * groups.n; ++i)
      ASSERT_EQ(loadElement(groups.dtype, groups.out.data(), i), 0.0)
          << "case " << index << ", " << dtypeName(groups.dtype) << ", element " << i;
  }
}

TEST_P(ContractGroups, RefusesOtherOperands) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "convert-mpc-to-linalg makes no such product for devices";
  for (int which = 1; which < 4; ++which) {
    Groups groups(1);
    auto descriptor = groups.descriptor(1000, 0);
    if (which == 1)
      descriptor.flags &=
          ~static_cast<uint32_t>(MPC_RT_CONTRACT_PACKED_RHS | MPC_RT_CONTRACT_TRANSPOSE_RHS);
    if (which == 2)
      storeElement(MPC_RT_FLOAT32, groups.places.data(), 0, double(groups.count()));
    ASSERT_EQ(driver->begin(WeightUse::constant), MPC_RT_OK);
    EXPECT_EQ(callContractBlocks(*driver, descriptor, groups.lhs.data(), groups.rhs.data(),
                                 {groups.scale.data(), which == 3 ? nullptr : groups.zero.data(),
                                  reinterpret_cast<const float *>(groups.places.data()),
                                  groups.count(), /*areGroups=*/true, nullptr},
                                 /*bias=*/nullptr, groups.out.data(), 1),
              MPC_RT_INVALID_ARGUMENT)
        << which;
    driver->end();
  }
}

} // namespace
} // namespace mpc::rt::cts
