// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of contract with sums: the product that contract computes, and the columns of its rhs
// row by row; and of a lhs that is rounded. mpcc compiles neither for devices with memory of their
// own: their sums have an order of their own (column_sums_test.cpp).
#include "runtime/base/element.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/driver_fixture.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace mpc::rt::cts {
namespace {

class ContractAndSum : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    if (driver && driver->ownsMemory())
      GTEST_SKIP() << "mpcc does not compile this for a device with memory of its own";
  }
  // In float32, row by row.
  static std::vector<float> sumsOf(const ContractionData &data) {
    const ContractionCase &c = data.shape;
    std::vector<float> sums(static_cast<size_t>(c.n));
    for (int64_t k = 0; k < c.k; ++k)
      for (int64_t n = 0; n < c.n; ++n)
        sums[static_cast<size_t>(n)] +=
            static_cast<float>(loadElement(c.rhs, data.rhs.data(), k * c.n + n));
    return sums;
  }
  static bool areSame(const std::vector<float> &a, const std::vector<float> &b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }
  mpc_rt_status_t contract(ContractionData &data, const ContractionExtras &extras) {
    auto descriptor = data.shape.descriptor(++nextId);
    driver->variablesChanged(); // the next case's weights are others
    if (auto status = driver->begin(WeightUse::updated))
      return status;
    auto status = callContractAndSum(*driver, descriptor, data.lhs.data(), data.rhs.data(),
                                     data.out.data(), extras, 1);
    driver->end();
    return status;
  }
  uint32_t nextId = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, ContractAndSum, ::testing::ValuesIn(everyDriver()), driverName);

// Micro-kernels and libraries take these, with few and many rows and columns; the sums of the
// numbers depend on their order.
TEST_P(ContractAndSum, SumsRowByRow) {
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (auto [m, n, k] : {std::tuple{1, 70, 33},
                           {40, 10, 5},
                           {3, 1, 40},
                           {300, 520, 64},
                           {64, 777, 1100},
                           {700, 264, 300},
                           {4, 5, 0}})
      for (bool withLargest : {false, true}) {
        ContractionCase shape;
        shape.m = m, shape.n = n, shape.k = k;
        shape.lhs = shape.rhs = shape.out = dtype;
        shape.transposeLhs = m > 1;
        ContractionData data(shape);
        std::vector<float> sums(static_cast<size_t>(n), -1.0f);
        uint32_t largest = 0;
        ASSERT_EQ(contract(data, {withLargest ? &largest : nullptr, nullptr, {}, sums.data()}),
                  MPC_RT_OK)
            << mpc_rt_last_error();
        if (!driver->computes())
          continue;
        EXPECT_EQ(data.difference(), "");
        if (withLargest)
          EXPECT_EQ(largest, data.largest()) << shape.text();
        EXPECT_TRUE(areSame(sums, sumsOf(data))) << shape.text();
        for (int64_t i = 0; i < shape.k * shape.n; ++i)
          storeElement(dtype, data.rhs.data(), i, std::sin(static_cast<double>(i)));
        ASSERT_EQ(contract(data, {nullptr, nullptr, {}, sums.data()}), MPC_RT_OK);
        EXPECT_TRUE(areSame(sums, sumsOf(data))) << shape.text();
      }
}

TEST_P(ContractAndSum, KeepsWhatIsNotFiniteInItsColumn) {
  if (!driver->computes())
    return;
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (int64_t m : {2, 300}) {
      ContractionCase shape;
      shape.m = m, shape.n = 130, shape.k = 70;
      shape.lhs = shape.rhs = shape.out = dtype;
      ContractionData data(shape);
      storeElement(dtype, data.rhs.data(), 7 * shape.n + 3, std::nan(""));
      storeElement(dtype, data.rhs.data(), 9 * shape.n + 129,
                   -std::numeric_limits<double>::infinity());
      std::vector<float> sums(static_cast<size_t>(shape.n));
      ASSERT_EQ(contract(data, {nullptr, nullptr, {}, sums.data()}), MPC_RT_OK);
      for (int64_t n = 0; n < shape.n; ++n) {
        const float sum = sums[static_cast<size_t>(n)];
        EXPECT_EQ(std::isnan(sum), n == 3) << n;
        EXPECT_EQ(std::isinf(sum), n == 129) << n;
      }
    }
}

void countElements(void *const *arguments, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<uint8_t *>(arguments[1])[i]++;
}

TEST_P(ContractAndSum, RunsAKernel) {
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16}) {
    ContractionCase shape;
    shape.m = 300, shape.n = 520, shape.k = 64;
    shape.lhs = shape.rhs = shape.out = dtype;
    shape.transposeLhs = true;
    ContractionData data(shape);
    std::vector<float> sums(static_cast<size_t>(shape.n));
    std::vector<uint8_t> visits(static_cast<size_t>(shape.m * shape.n));
    void *const arguments[] = {data.out.data(), visits.data()};
    const ResultKernel kernel{countElements, arguments, 2, 0, 7};
    ASSERT_EQ(contract(data, {nullptr, &kernel, {}, sums.data()}), MPC_RT_OK);
    if (!driver->computes())
      return;
    EXPECT_EQ(visits, std::vector<uint8_t>(visits.size(), 1));
    EXPECT_TRUE(areSame(sums, sumsOf(data)));
  }
}

// Copies elements of the result's dtype to where they may stay.
template <typename T> void copyElements(void *const *arguments, int64_t begin, int64_t end) {
  std::copy_n(static_cast<const T *>(arguments[0]) + begin, end - begin,
              static_cast<T *>(arguments[1]) + begin);
}

// The kernel consumes a result that has no memory.
TEST_P(ContractAndSum, NeedsNoMemoryForAConsumedResult) {
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (auto [m, n] : {std::pair{300, 520}, {7, 5}}) {
      ContractionCase shape;
      shape.m = m, shape.n = n, shape.k = 64;
      shape.lhs = shape.rhs = shape.out = dtype;
      shape.transposeLhs = true;
      ContractionData data(shape);
      std::vector<float> sums(static_cast<size_t>(shape.n));
      void *const arguments[] = {nullptr, data.out.data()};
      const auto copy = dtype == MPC_RT_FLOAT32 ? copyElements<uint32_t> : copyElements<uint16_t>;
      const ResultKernel kernel{copy, arguments, 2, 0, 7};
      auto descriptor = shape.descriptor(++nextId);
      descriptor.flags |= MPC_RT_CONTRACT_CONSUMED;
      driver->variablesChanged();
      ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
      ASSERT_EQ(callContractAndSum(*driver, descriptor, data.lhs.data(), data.rhs.data(),
                                   /*out=*/nullptr, {nullptr, &kernel, {}, sums.data()}, 1),
                MPC_RT_OK)
          << mpc_rt_last_error();
      driver->end();
      if (!driver->computes())
        continue;
      EXPECT_EQ(data.difference(), "");
      EXPECT_TRUE(areSame(sums, sumsOf(data))) << shape.text();
    }
}

TEST_P(ContractAndSum, RefusesOtherRightOperands) {
  for (int which = 0; which < 3; ++which) {
    ContractionCase shape;
    shape.m = 3, shape.n = 4, shape.k = 5;
    shape.transposeRhs = which == 0;
    shape.batch = which == 1 ? 2 : 1;
    if (which == 2)
      shape.lhs = shape.rhs = shape.out = MPC_RT_FLOAT64;
    ContractionData data(shape);
    float sums[4] = {};
    EXPECT_EQ(contract(data, {nullptr, nullptr, {}, sums}), MPC_RT_INVALID_ARGUMENT) << which;
  }
}

// Numbers a little beside those that both 16-bit dtypes hold: a product of them as they are is not
// the one of the rounded ones, which is exact.
TEST_P(ContractAndSum, RoundsTheLhs) {
  for (mpc_rt_dtype_t dtype : {MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (auto [batch, m, n, k] : {std::tuple{1, 1, 70, 33},
                                  {1, 40, 10, 5},
                                  {3, 20, 33, 17},
                                  {1, 300, 520, 64},
                                  {1, 129, 200, 785},
                                  {5, 70, 90, 1300},
                                  {1, 4, 4, 0}})
      for (bool transposed : {false, true})
        for (bool constant : {false, true}) {
          ContractionCase shape;
          shape.batch = batch, shape.m = m, shape.n = n, shape.k = k;
          shape.lhs = shape.rhs = dtype;
          shape.transposeLhs = transposed;
          shape.rhsVariable = constant && batch == 1 ? 0 : -1;
          ContractionData data(shape);
          std::vector<float> wide(static_cast<size_t>(batch * m * k));
          for (size_t i = 0; i < wide.size(); ++i)
            wide[i] = static_cast<float>(
                loadElement(dtype, data.lhs.data(), static_cast<int64_t>(i)) * (1 + 0x1p-13));
          auto descriptor = shape.descriptor(++nextId);
          descriptor.lhs_dtype = MPC_RT_FLOAT32;
          descriptor.flags |= MPC_RT_CONTRACT_ROUND_LHS;
          driver->variablesChanged();
          ASSERT_EQ(driver->begin(constant ? WeightUse::constant : WeightUse::updated), MPC_RT_OK);
          EXPECT_EQ(callContract(*driver, descriptor, wide.data(), data.rhs.data(), nullptr,
                                 data.out.data(), nullptr, 1),
                    MPC_RT_OK)
              << mpc_rt_last_error();
          driver->end();
          if (driver->computes())
            EXPECT_EQ(data.difference(), "") << shape.text();
        }
}

TEST_P(ContractAndSum, RoundsNothingElse) {
  for (auto [lhs, rhs] : {std::pair{MPC_RT_FLOAT32, MPC_RT_FLOAT32},
                          {MPC_RT_BFLOAT16, MPC_RT_BFLOAT16},
                          {MPC_RT_FLOAT32, MPC_RT_INT8}}) {
    ContractionCase shape;
    shape.lhs = static_cast<mpc_rt_dtype_t>(lhs), shape.rhs = static_cast<mpc_rt_dtype_t>(rhs);
    ContractionData data(shape);
    auto descriptor = shape.descriptor(++nextId);
    descriptor.flags |= MPC_RT_CONTRACT_ROUND_LHS;
    ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
    EXPECT_EQ(callContract(*driver, descriptor, data.lhs.data(), data.rhs.data(), nullptr,
                           data.out.data(), nullptr, 1),
              MPC_RT_INVALID_ARGUMENT);
    driver->end();
  }
}

} // namespace
} // namespace mpc::rt::cts
