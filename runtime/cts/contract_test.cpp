// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of contract: bit-exact results over dtypes, shapes, transposes, epilogues.
#include "runtime/base/dtype.h"
#include "runtime/base/philox.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"
#include "runtime/cts/elements.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mpc::rt::cts {
namespace {

class Contract : public DriverTest {
protected:
  mpc_rt_status_t contract(ContractionData &data, WeightUse use = WeightUse::updated,
                           void *largest = nullptr) {
    auto descriptor = data.shape.descriptor(nextId);
    auto status = callOnDevice(*driver, use, {&data.lhs, &data.storedRhs(), &data.bias, &data.out},
                               [&](void *const *operands) {
                                 return callContract(*driver, descriptor, operands[0], operands[1],
                                                     operands[2], operands[3], largest, 1);
                               });
    return status;
  }
  void check(const ContractionCase &shape, WeightUse use = WeightUse::updated) {
    ++nextId;
    ContractionData data(shape);
    ASSERT_EQ(contract(data, use), MPC_RT_OK) << mpc_rt_last_error();
    driver->variablesChanged(); // the next case's weights are others
    if (driver->computes())
      EXPECT_EQ(differenceOf(data), "");
    else
      EXPECT_EQ(data.out, data.initial) << "a driver that does not compute wrote results";
  }
  // The same product, with the largest element of what it wrote.
  void checkLargest(const ContractionCase &shape) {
    ++nextId;
    ContractionData data(shape);
    uint64_t largest = 0;
    if (driver->ownsMemory()) {
      // convert-mpc-to-linalg asks no such device for finite tests.
      EXPECT_EQ(contract(data, WeightUse::updated, &largest), MPC_RT_FAILED_PRECONDITION);
      return;
    }
    ASSERT_EQ(contract(data, WeightUse::updated, &largest), MPC_RT_OK) << mpc_rt_last_error();
    if (!driver->computes())
      return;
    EXPECT_EQ(data.difference(), "");
    EXPECT_EQ(largest, data.largest()) << shape.text();
  }
  uint32_t nextId = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, Contract, ::testing::ValuesIn(everyDriver()), driverName);

// Draws every field of a case from a few values each.
ContractionCase draw(uint32_t index) {
  PhiloxBlock a = philox({{index, 0, 0, 0}}, 7, 0), b = philox({{index, 1, 0, 0}}, 7, 0);
  PhiloxBlock c = philox({{index, 2, 0, 0}}, 7, 0), d = philox({{index, 3, 0, 0}}, 7, 0);
  constexpr int64_t rows[] = {1, 2, 5, 17, 33, 130}, columns[] = {1, 3, 10, 16, 64, 70};
  constexpr int64_t depths[] = {1, 2, 7, 16, 65, 96};
  ContractionCase shape;
  shape.batch = a.word[0] % 4 == 0 ? 3 : 1;
  shape.m = rows[a.word[1] % 6];
  shape.n = columns[a.word[2] % 6];
  shape.k = depths[a.word[3] % 6];
  shape.lhs = b.word[0] % 3;
  shape.rhs = b.word[1] % 2 ? shape.lhs : b.word[2] % 3;
  shape.out = b.word[3] % 3;
  shape.bias = c.word[0] % 3;
  shape.hasBias = c.word[1] % 2;
  shape.relu = c.word[2] % 2;
  shape.transposeLhs = c.word[3] % 2;
  shape.transposeRhs = d.word[0] % 2;
  shape.accumulate = d.word[1] % 4 == 0;
  shape.seed = index;
  return shape;
}

TEST_P(Contract, IsExactOverDtypesShapesAndEpilogues) {
  for (uint32_t i = 0; i < 250; ++i)
    check(draw(i));
}

// Products that are worth a micro-kernel, where the driver has them.
TEST_P(Contract, IsExactForLargeProducts) {
  constexpr int64_t extents[] = {70, 150, 390, 530};
  for (uint32_t i = 0; i < 24; ++i) {
    ContractionCase shape = draw(6000 + i);
    PhiloxBlock sizes = philox({{i, 0, 0, 0}}, 17, 0);
    shape.m = extents[sizes.word[0] % 4];
    shape.n = extents[sizes.word[1] % 4];
    shape.k = extents[sizes.word[2] % 4] / 2 + 1;
    shape.lhs = shape.rhs;
    shape.rhsVariable = shape.batch == 1 && i % 2 ? 2 : -1;
    check(shape, i % 4 == 1 ? WeightUse::constant : WeightUse::updated);
  }
}

// Weights that a few rows meet once are not packed: other kernels than those of more rows.
TEST_P(Contract, IsExactForAFewRowsWithWeights) {
  for (uint32_t i = 0; i < 200; ++i) {
    ContractionCase shape = draw(4000 + i);
    shape.m = 1 + i % 5;
    shape.rhsVariable = 2;
    check(shape, WeightUse::constant);
  }
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16}) {
    ContractionCase wide; // several panels of columns, and a rest of rows
    wide.m = 3, wide.n = 5001, wide.k = 21;
    wide.lhs = wide.rhs = wide.out = wide.bias = dtype;
    wide.hasBias = wide.relu = true;
    wide.rhsVariable = 2;
    check(wide, WeightUse::constant);
  }
}

TEST_P(Contract, FindsTheLargestElement) {
  for (uint32_t i = 0; i < 120; ++i)
    checkLargest(draw(2000 + i));
  ContractionCase wide;
  wide.lhs = wide.rhs = wide.out = wide.bias = MPC_RT_FLOAT64;
  checkLargest(wide);
  ContractionCase blocks; // more rows than one block holds
  blocks.m = 2100, blocks.n = 1200, blocks.k = 3;
  checkLargest(blocks);
  ContractionCase empty;
  empty.m = 0;
  checkLargest(empty);
}

// Wherever it stands: in the first, a middle or the last block of rows.
TEST_P(Contract, FindsWhatIsNotFinite) {
  if (!driver->computes() || driver->ownsMemory())
    return;
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16, MPC_RT_FLOAT64})
    for (double value : {std::nan(""), -std::numeric_limits<double>::infinity()})
      for (int64_t row : {0, 1100, 2099}) {
        ++nextId;
        ContractionCase shape;
        shape.m = 2100, shape.n = 1200, shape.k = 1;
        shape.lhs = shape.rhs = shape.out = dtype;
        ContractionData data(shape);
        for (int64_t n = 0; n < shape.n; ++n)
          storeElement(dtype, data.rhs.data(), n, 1.0);
        storeElement(dtype, data.lhs.data(), row, value);
        uint64_t largest = 0;
        ASSERT_EQ(contract(data, WeightUse::updated, &largest), MPC_RT_OK) << mpc_rt_last_error();
        double found = loadElement(dtype, &largest, 0);
        EXPECT_FALSE(std::isfinite(found)) << shape.text() << " row " << row;
      }
}

TEST_P(Contract, ComputesFloat64) {
  for (uint32_t i = 0; i < 60; ++i) {
    ContractionCase shape = draw(1000 + i);
    shape.lhs = shape.out = shape.bias = MPC_RT_FLOAT64;
    shape.rhs = i % 3 ? MPC_RT_FLOAT64 : MPC_RT_FLOAT32;
    check(shape);
  }
}

ContractionCase drawIntegers(uint32_t index) {
  ContractionCase shape = draw(index);
  shape.lhs = shape.rhs = MPC_RT_INT8;
  shape.out = MPC_RT_INT32;
  shape.hasBias = shape.relu = false;
  return shape;
}

// Exactly, with the largest products and sums that no 16 bits hold.
TEST_P(Contract, ComputesIntegers) {
  for (uint32_t i = 0; i < 150; ++i)
    check(drawIntegers(3000 + i));
  for (int empty = 0; empty < 4; ++empty) {
    ContractionCase shape = drawIntegers(3000 + uint32_t(empty));
    (empty == 0 ? shape.batch : empty == 1 ? shape.m : empty == 2 ? shape.n : shape.k) = 0;
    check(shape);
  }
  ContractionCase deep = drawIntegers(3200);
  deep.batch = 1, deep.m = 40, deep.n = 50, deep.k = 3000;
  check(deep);
  ContractionData extreme(deep);
  std::fill(extreme.lhs.begin(), extreme.lhs.end(), uint8_t{0x80}); // -128
  std::fill(extreme.rhs.begin(), extreme.rhs.end(), uint8_t{0x80});
  ++nextId;
  ASSERT_EQ(contract(extreme), MPC_RT_OK) << mpc_rt_last_error();
  if (driver->computes())
    EXPECT_EQ(extreme.difference(), "");
}

// Integer weights, as they are and two per byte, read from tiles (constant) or widened.
TEST_P(Contract, ComputesWithIntegerWeights) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "convert-mpc-to-linalg makes no such product for devices";
  for (uint32_t i = 0; i < 240; ++i) {
    ContractionCase shape = draw(4000 + i);
    shape.rhs = MPC_RT_INT8;
    shape.packedRhs = i % 2;
    if (shape.packedRhs) {
      shape.batch = 1;
      shape.transposeRhs = false;
    }
    shape.rhsVariable = static_cast<int32_t>(i % 3);
    ++nextId;
    ContractionData data(shape);
    driver->variablesChanged();
    ASSERT_EQ(contract(data, i % 5 ? WeightUse::constant : WeightUse::updated), MPC_RT_OK)
        << mpc_rt_last_error();
    if (driver->computes())
      EXPECT_EQ(differenceOf(data), "");
  }
}

// Packed weights with scales and zeros of blocks, against the same weights dequantized.
struct BlockCase {
  ContractionCase shape;
  int64_t blockRows; // 0: rows of all blocks in turn
};

BlockCase drawBlocks(uint32_t index) {
  constexpr int64_t rows[] = {1, 3, 16, 17, 33, 70}, depths[] = {1, 31, 32, 65, 130, 200};
  constexpr int64_t blocks[] = {32, 64, 128, 1, 7, 0};
  BlockCase c{draw(5000 + index), blocks[index % 6]};
  c.shape.batch = 1;
  c.shape.m = rows[index / 6 % 6];
  c.shape.k = depths[index / 7 % 6];
  c.shape.rhs = MPC_RT_INT8;
  c.shape.packedRhs = true;
  c.shape.transposeRhs = c.shape.accumulate = false;
  c.shape.transposeLhs = index % 11 == 10;
  c.shape.rhsVariable = index % 5 == 4 ? -1 : static_cast<int32_t>(index % 3);
  return c;
}

TEST_P(Contract, ComputesWithBlocksOfWeights) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "convert-mpc-to-linalg makes no such product for devices";
  for (uint32_t i = 0; i < 240; ++i) {
    const auto [shape, blockRows] = drawBlocks(i);
    ContractionCase wideShape = shape;
    wideShape.rhs = shape.lhs;
    wideShape.packedRhs = false;
    ContractionData data(shape), wide(wideShape);
    const int64_t n = shape.n, size = blockRows ? blockRows : 3;
    const int64_t blocks = (shape.k + size - 1) / size;
    std::vector<uint8_t> scale(static_cast<size_t>(blocks * n) * dtypeSize(shape.lhs));
    std::vector<uint8_t> zero(static_cast<size_t>(blocks * n));
    std::vector<uint8_t> places(static_cast<size_t>(shape.k) * sizeof(float));
    for (int64_t index = 0; index < blocks * n; ++index) {
      zero[static_cast<size_t>(index)] = static_cast<uint8_t>((index * 5 + i) % 16 - 8);
      // Sums stay exact: powers of two.
      storeElement(shape.lhs, scale.data(), index, std::ldexp(1.0, int((index + i) % 4) - 3));
    }
    for (int64_t k = 0; k < shape.k; ++k) {
      const int64_t block = blockRows ? k / blockRows : k % blocks;
      storeElement(MPC_RT_FLOAT32, places.data(), k, double(block));
      for (int64_t column = 0; column < n; ++column) {
        const auto index = static_cast<size_t>(block * n + column);
        storeElement(shape.lhs, wide.rhs.data(), k * n + column,
                     (loadElement(MPC_RT_INT8, data.rhs.data(), k * n + column) -
                      static_cast<int8_t>(zero[index])) *
                         loadElement(shape.lhs, scale.data(), int64_t(index)));
      }
    }
    ++nextId;
    driver->variablesChanged();
    auto descriptor = shape.descriptor(nextId);
    ASSERT_EQ(
        callOnDevice(*driver, i % 4 ? WeightUse::constant : WeightUse::updated,
                     {&data.lhs, &data.storedRhs(), &data.bias, &scale, &zero, &places, &wide.out},
                     [&](void *const *at) {
                       return callContractBlocks(*driver, descriptor, at[0], at[1],
                                                 {at[3], static_cast<const int8_t *>(at[4]),
                                                  static_cast<const float *>(at[5]), blocks},
                                                 at[2], at[6], 1);
                     }),
        MPC_RT_OK)
        << mpc_rt_last_error();
    if (driver->computes())
      EXPECT_EQ(differenceOf(wide), "") << "blocks of " << blockRows << ", case " << i;
  }
}

TEST_P(Contract, RefusesOtherBlocks) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "convert-mpc-to-linalg makes no such product for devices";
  for (int which = 1; which < 5; ++which) {
    BlockCase c = drawBlocks(0);
    c.shape.packedRhs = which != 1;
    ContractionData data(c.shape);
    std::vector<float> scale(static_cast<size_t>(c.shape.n), 1.0f);
    std::vector<int8_t> zero(static_cast<size_t>(c.shape.n), 0);
    std::vector<float> places(static_cast<size_t>(c.shape.k), 0.0f);
    places[0] = which == 2 ? 1.0f : which == 3 ? std::nanf("") : 0.0f;
    auto descriptor = c.shape.descriptor(++nextId);
    ASSERT_EQ(driver->begin(WeightUse::constant), MPC_RT_OK);
    EXPECT_EQ(
        callContractBlocks(*driver, descriptor, data.lhs.data(), data.storedRhs().data(),
                           {which == 4 ? nullptr : scale.data(), zero.data(), places.data(), 1},
                           data.bias.data(), data.out.data(), 1),
        MPC_RT_INVALID_ARGUMENT)
        << which;
    driver->end();
  }
}

// Numbers that no bfloat16 holds by weights that one does: the sums are those of float32.
TEST_P(Contract, KeepsFloat32ByIntegerWeights) {
  if (!driver->computes() || driver->ownsMemory())
    GTEST_SKIP();
  for (int64_t rows : {1, 5, 20, 40})
    for (bool packed : {false, true}) {
      ContractionCase shape;
      shape.m = rows, shape.n = 40, shape.k = 64;
      shape.rhs = MPC_RT_INT8;
      shape.packedRhs = packed;
      shape.rhsVariable = 1;
      ContractionData data(shape);
      for (int64_t i = 0; i < rows * shape.k; ++i) // 24 significant bits, one per row
        storeElement(MPC_RT_FLOAT32, data.lhs.data(), i,
                     i % shape.k == i / shape.k ? -16777215.0 + double(i) : 0.0);
      ++nextId;
      driver->variablesChanged();
      ASSERT_EQ(contract(data, WeightUse::constant), MPC_RT_OK) << mpc_rt_last_error();
      EXPECT_EQ(data.difference(), "");
      const float infinity = std::numeric_limits<float>::infinity();
      for (double value : {double(infinity), -double(infinity), std::nan("")}) {
        storeElement(MPC_RT_FLOAT32, data.lhs.data(), 0, value);
        ASSERT_EQ(contract(data, WeightUse::constant), MPC_RT_OK);
        EXPECT_EQ(data.difference(), "");
      }
    }
}

// Few rows by a large matrix, which is neither packed nor constant.
TEST_P(Contract, ComputesFewRows) {
  for (mpc_rt_dtype_t out : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16})
    for (int64_t rows : {1, 2, 3})
      for (bool hasBias : {false, true}) {
        ContractionCase shape;
        shape.m = rows, shape.n = 1500, shape.k = 40;
        shape.out = out;
        shape.hasBias = shape.relu = hasBias;
        check(shape);
      }
}

TEST_P(Contract, RefusesOtherPackedOperands) {
  for (int which = 0; which < 3; ++which) {
    ++nextId;
    ContractionCase shape;
    shape.m = 3, shape.n = 4, shape.k = 5;
    shape.rhs = which == 0 ? MPC_RT_FLOAT32 : MPC_RT_INT8;
    shape.transposeRhs = which == 1;
    shape.batch = which == 2 ? 2 : 1;
    shape.packedRhs = true;
    ContractionData data(shape);
    data.rhs.resize(256);
    EXPECT_EQ(contract(data), MPC_RT_INVALID_ARGUMENT);
  }
}

TEST_P(Contract, RefusesAnEpilogueOfIntegers) {
  for (int which = 0; which < 3; ++which) {
    ++nextId;
    ContractionCase shape = drawIntegers(3000);
    shape.hasBias = which == 0;
    shape.relu = which == 1;
    if (which == 2)
      shape.out = MPC_RT_FLOAT32;
    ContractionData data(shape);
    EXPECT_EQ(contract(data), MPC_RT_INVALID_ARGUMENT);
  }
}

TEST_P(Contract, TakesEmptyExtents) {
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16, MPC_RT_FLOAT64})
    for (int empty = 0; empty < 4; ++empty)
      for (int flags = 0; flags < 8; ++flags) {
        ContractionCase shape;
        shape.m = 3, shape.n = 4, shape.k = 5;
        (empty == 0 ? shape.batch : empty == 1 ? shape.m : empty == 2 ? shape.n : shape.k) = 0;
        shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
        shape.hasBias = flags & 1;
        shape.relu = flags & 2;
        shape.accumulate = flags & 4;
        check(shape);
      }
}

// More rows than one block holds, with a remainder.
TEST_P(Contract, WorksInBlocks) {
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16}) {
    ContractionCase shape;
    shape.m = 2100, shape.n = 1200, shape.k = 9;
    shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
    shape.hasBias = shape.relu = true;
    check(shape);
    shape.transposeLhs = shape.transposeRhs = true;
    check(shape);
    shape.batch = 7, shape.m = 500, shape.k = 3;
    check(shape);
  }
}

TEST_P(Contract, KeepsNaNAndInfinityThroughRelu) {
  if (!driver->computes())
    return;
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16, MPC_RT_FLOAT64}) {
    ++nextId;
    ContractionCase shape;
    shape.m = 4, shape.n = 33, shape.k = 2;
    shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
    shape.relu = true;
    ContractionData data(shape);
    double infinity = std::numeric_limits<double>::infinity();
    for (int64_t k = 0; k < 2; ++k)
      for (int64_t n = 0; n < 33; ++n)
        storeElement(dtype, data.rhs.data(), k * 33 + n, 1.0);
    double rows[4] = {std::nan(""), infinity, -infinity, -1.0};
    for (int64_t m = 0; m < 4; ++m) {
      storeElement(dtype, data.lhs.data(), m * 2, rows[m]);
      storeElement(dtype, data.lhs.data(), m * 2 + 1, 0.0);
    }
    ASSERT_EQ(contract(data), MPC_RT_OK) << mpc_rt_last_error();
    for (int64_t n = 0; n < 33; ++n) {
      EXPECT_TRUE(std::isnan(loadElement(dtype, data.out.data(), n)));
      EXPECT_EQ(loadElement(dtype, data.out.data(), 33 + n), infinity);
      EXPECT_EQ(loadElement(dtype, data.out.data(), 66 + n), 0.0);
      EXPECT_EQ(loadElement(dtype, data.out.data(), 99 + n), 0.0);
    }
  }
}

// The same buffer with other values: packed copies of variables must follow.
TEST_P(Contract, SeesChangedWeights) {
  if (!driver->computes())
    return;
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16, MPC_RT_INT8}) {
    ++nextId;
    ContractionCase shape;
    shape.m = 20, shape.n = 40, shape.k = 30;
    shape.lhs = shape.rhs = shape.out = dtype;
    if (dtype == MPC_RT_INT8)
      shape.out = MPC_RT_INT32;
    shape.rhsVariable = static_cast<int32_t>(dtype);
    ContractionData data(shape), other([&] {
      shape.seed = 99;
      return shape;
    }());
    auto same = [&](WeightUse use) {
      ASSERT_EQ(contract(data, use), MPC_RT_OK) << mpc_rt_last_error();
      EXPECT_EQ(data.difference(), "");
    };
    same(WeightUse::constant);
    same(WeightUse::constant);
    std::copy(other.rhs.begin(), other.rhs.end(), data.rhs.begin()); // the same buffer
    driver->variablesChanged();
    same(WeightUse::constant);
    // A run that updates sees the present values, and drops the copies at its end.
    for (int64_t i = 0; i < shape.k * shape.n; ++i)
      storeElement(dtype, data.rhs.data(), i, 2.0);
    driver->variablesChanged();
    same(WeightUse::updated);
    same(WeightUse::constant);
  }
}

// One id with different extents: as a dynamic batch gives.
TEST_P(Contract, TakesADynamicBatch) {
  for (int64_t rows : {1, 64, 3, 200, 0, 64}) {
    ContractionCase shape;
    shape.m = rows, shape.n = 24, shape.k = 40;
    shape.rhsVariable = 3;
    ContractionData data(shape);
    auto descriptor = shape.descriptor(9);
    descriptor.m = {0, 1};
    EXPECT_EQ(callOnDevice(*driver, WeightUse::constant, {&data.lhs, &data.rhs, &data.out},
                           [&](void *const *operands) {
                             return callContract(*driver, descriptor, operands[0], operands[1],
                                                 nullptr, operands[2], nullptr, rows);
                           }),
              MPC_RT_OK);
    driver->variablesChanged();
    if (driver->computes())
      EXPECT_EQ(data.difference(), "");
  }
}

} // namespace
} // namespace mpc::rt::cts
