// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of contract with bits of relu: the product that contract computes, and a bit per
// element.
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

constexpr mpc_rt_dtype_t floatingDtypes[] = {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16,
                                             MPC_RT_FLOAT64};

class ContractWithBits : public DriverTest {
protected:
  static size_t rowBytes(const ContractionCase &c) {
    return static_cast<size_t>((c.n + 127) / 128 * 16);
  }
  static bool bitOf(const ContractionCase &c, const std::vector<uint8_t> &bits, int64_t row,
                    int64_t i) {
    return bits[static_cast<size_t>(row) * rowBytes(c) + static_cast<size_t>(i / 8)] >> i % 8 & 1;
  }
  mpc_rt_status_t contract(ContractionData &data, std::vector<uint8_t> &bits, bool reads) {
    auto descriptor = data.shape.descriptor(++nextId);
    driver->variablesChanged(); // the next case's weights are others
    return callOnDevice(
        *driver, WeightUse::updated, {&data.lhs, &data.rhs, &data.bias, &data.out, &bits},
        [&](void *const *operands) {
          auto *at = static_cast<uint8_t *>(operands[4]);
          return callContractWithBits(*driver, descriptor, operands[0], operands[1],
                                      data.shape.hasBias ? operands[2] : nullptr,
                                      {reads ? at : nullptr, reads ? nullptr : at}, operands[3], 1);
        });
  }
  void checkMade(const ContractionCase &shape) {
    ContractionData data(shape);
    std::vector<uint8_t> bits(static_cast<size_t>(shape.m) * rowBytes(shape));
    ASSERT_EQ(contract(data, bits, /*reads=*/false), MPC_RT_OK) << mpc_rt_last_error();
    if (!driver->computes())
      return;
    EXPECT_EQ(differenceOf(data), "");
    for (int64_t row = 0; row < shape.m; ++row)
      for (int64_t i = 0; i < shape.n; ++i)
        ASSERT_EQ(bitOf(shape, bits, row, i),
                  loadElement(shape.out, data.out.data(), row * shape.n + i) > 0)
            << shape.text() << " at " << row << ", " << i;
  }
  void checkRead(const ContractionCase &shape) {
    ContractionData data(shape);
    std::vector<uint8_t> bits(static_cast<size_t>(shape.m) * rowBytes(shape));
    for (size_t i = 0; i < bits.size(); ++i)
      bits[i] = static_cast<uint8_t>(i * 37 + i / 11);
    const std::vector<uint8_t> given = bits, whole = data.expected();
    ASSERT_EQ(contract(data, bits, /*reads=*/true), MPC_RT_OK) << mpc_rt_last_error();
    EXPECT_EQ(bits, given);
    if (!driver->computes()) {
      EXPECT_EQ(data.out, data.initial);
      return;
    }
    for (int64_t row = 0; row < shape.m; ++row)
      for (int64_t i = 0; i < shape.n; ++i) {
        const int64_t index = row * shape.n + i;
        ASSERT_EQ(loadElement(shape.out, data.out.data(), index),
                  bitOf(shape, bits, row, i) ? loadElement(shape.out, whole.data(), index) : 0)
            << shape.text() << " at " << row << ", " << i;
      }
  }
  uint32_t nextId = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, ContractWithBits, ::testing::ValuesIn(everyDriver()), driverName);

// Rows that end within a byte, at one, at 128 bits and behind; with and without a bias.
TEST_P(ContractWithBits, MakesTheBitsOfRelu) {
  for (mpc_rt_dtype_t dtype : floatingDtypes)
    for (int64_t columns : {1, 7, 8, 16, 100, 128, 136, 300})
      for (bool hasBias : {false, true}) {
        ContractionCase shape;
        shape.m = 1 + columns % 9, shape.n = columns, shape.k = 5;
        shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
        shape.relu = true;
        shape.hasBias = hasBias;
        shape.transposeRhs = columns % 3 == 0;
        shape.seed = static_cast<uint64_t>(columns);
        checkMade(shape);
      }
  // Dtypes that no library multiplies, and nothing to sum.
  ContractionCase mixed;
  mixed.m = 6, mixed.n = 20, mixed.k = 3;
  mixed.lhs = MPC_RT_BFLOAT16;
  mixed.relu = mixed.hasBias = true;
  checkMade(mixed);
  mixed.lhs = mixed.rhs = mixed.out = mixed.bias = MPC_RT_FLOAT16;
  mixed.k = 0;
  checkMade(mixed);
  mixed.hasBias = false;
  checkMade(mixed);
}

TEST_P(ContractWithBits, WritesWhatTheBitsLeave) {
  for (mpc_rt_dtype_t dtype : floatingDtypes)
    for (int64_t columns : {1, 7, 8, 16, 100, 128, 136, 300}) {
      ContractionCase shape;
      shape.m = 1 + columns % 9, shape.n = columns, shape.k = 5;
      shape.lhs = shape.rhs = shape.out = dtype;
      shape.transposeRhs = true;
      shape.seed = static_cast<uint64_t>(columns);
      checkRead(shape);
      shape.k = 0;
      checkRead(shape);
    }
}

// Products that are worth a kernel of the driver's own, which has an epilogue of its own.
TEST_P(ContractWithBits, OfLargeProducts) {
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (bool isLong : {false, true}) {
      ContractionCase shape;
      shape.m = isLong ? 40 : 260, shape.n = 277, shape.k = isLong ? 2100 : 70;
      shape.lhs = shape.rhs = shape.out = shape.bias = static_cast<mpc_rt_dtype_t>(dtype);
      shape.transposeRhs = isLong;
      checkRead(shape);
      shape.relu = shape.hasBias = true;
      checkMade(shape);
    }
}

// relu keeps NaN, whose bit is not set; what the bits take away is 0, also of NaN and infinity.
TEST_P(ContractWithBits, TreatsNaNAndInfinity) {
  if (!driver->computes())
    return;
  const double infinity = std::numeric_limits<double>::infinity();
  const double rows[] = {std::nan(""), infinity, -infinity, -0.0};
  for (mpc_rt_dtype_t dtype : floatingDtypes)
    for (bool reads : {false, true}) {
      ContractionCase shape;
      shape.m = 4, shape.n = 40, shape.k = 1;
      shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
      shape.relu = !reads;
      ContractionData data(shape);
      for (int64_t i = 0; i < shape.n; ++i)
        storeElement(dtype, data.rhs.data(), i, 1.0);
      for (int64_t row = 0; row < 4; ++row)
        storeElement(dtype, data.lhs.data(), row, rows[row]);
      std::vector<uint8_t> bits(static_cast<size_t>(shape.m) * rowBytes(shape), uint8_t{0x55});
      ASSERT_EQ(contract(data, bits, reads), MPC_RT_OK) << mpc_rt_last_error();
      for (int64_t row = 0; row < 4; ++row)
        for (int64_t i = 0; i < shape.n; ++i) {
          const double value = loadElement(dtype, data.out.data(), row * shape.n + i);
          if (!reads) {
            EXPECT_EQ(bitOf(shape, bits, row, i), rows[row] > 0);
          }
          const double kept = reads ? (i % 2 ? 0 : rows[row]) : rows[row] < 0 ? 0 : rows[row];
          EXPECT_TRUE(std::isnan(kept) ? std::isnan(value) : value == kept)
              << shape.text() << " at " << row << ", " << i << ": " << value;
        }
    }
}

TEST_P(ContractWithBits, RefusesWhatNoLibraryHas) {
  for (int which = 0; which < 4; ++which) {
    ContractionCase shape;
    shape.m = 3, shape.n = 4, shape.k = 5;
    shape.relu = which != 0;
    shape.accumulate = which == 1;
    shape.batch = which == 2 ? 2 : 1;
    if (which == 3) {
      shape.lhs = shape.rhs = MPC_RT_INT8;
      shape.out = MPC_RT_INT32;
      shape.relu = false;
    }
    ContractionData data(shape);
    std::vector<uint8_t> bits(static_cast<size_t>(2 * shape.m) * rowBytes(shape));
    // Bits without relu; the others as `shape` is.
    EXPECT_EQ(contract(data, bits, /*reads=*/which == 3), MPC_RT_INVALID_ARGUMENT) << which;
  }
  ContractionCase shape;
  ContractionData data(shape);
  uint8_t bits[16] = {};
  mpc_rt_contract_call_t call =
      contractCall(data.lhs.data(), data.rhs.data(), nullptr, data.out.data(), 1);
  auto refuses = [&](uint32_t activation, const uint8_t *where, uint8_t *mask) {
    auto descriptor = shape.descriptor(1);
    descriptor.activation = activation;
    call.where = where, call.mask = mask;
    EXPECT_EQ(driver->contract(descriptor, call), MPC_RT_INVALID_ARGUMENT) << activation;
  };
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  refuses(MPC_RT_ACTIVATION_RELU, bits, bits);
  refuses(MPC_RT_ACTIVATION_RELU, bits, nullptr);
  refuses(MPC_RT_ACTIVATION_GELU, nullptr, bits);
  refuses(MPC_RT_ACTIVATION_RELU_GRADIENT, nullptr, nullptr);
  refuses(MPC_RT_ACTIVATION_RELU_GRADIENT, bits, bits);
  driver->end();
}

} // namespace
} // namespace mpc::rt::cts
