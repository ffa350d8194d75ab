// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of contract with a kernel on the result: the product that contract computes, and the
// kernel once on each of its elements. mpc-interleave-launches does not run for devices with memory
// of their own.
#include "runtime/base/element.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/driver_fixture.h"

#include <atomic>

namespace mpc::rt::cts {
namespace {

class ContractAndLaunch : public DriverTest {};

INSTANTIATE_TEST_SUITE_P(Every, ContractAndLaunch, ::testing::ValuesIn(everyDriver()), driverName);

struct Seen {
  mpc_rt_dtype_t dtype;
  std::vector<double> doubled;
  std::vector<uint8_t> visits;
};

void doubleElements(void *const *arguments, int64_t begin, int64_t end) {
  auto &seen = *static_cast<Seen *>(arguments[1]);
  for (int64_t i = begin; i < end; ++i) {
    seen.doubled[static_cast<size_t>(i)] = 2 * loadElement(seen.dtype, arguments[0], i);
    seen.visits[static_cast<size_t>(i)]++;
  }
}

// Small products, those of a few rows, and those that micro-kernels and oneDNN take.
TEST_P(ContractAndLaunch, VisitsEachElementOnceWithItsValue) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "kernels of the host do not run there";
  uint32_t id = 0;
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16, MPC_RT_FLOAT64})
    for (auto [batch, m, n, k] : {std::tuple{1, 1, 70, 33},
                                  {1, 40, 10, 5},
                                  {3, 20, 33, 17},
                                  {1, 300, 520, 64},
                                  {1, 4, 4, 0}})
      // The last: consumed, and the driver has memory for it where it needs some.
      for (auto [consumed, isPlaced] : {std::pair{false, true}, {true, true}, {true, false}}) {
        ContractionCase shape;
        shape.batch = batch, shape.m = m, shape.n = n, shape.k = k;
        shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
        shape.transposeLhs = m > 1;
        ContractionData data(shape);
        const auto elements = static_cast<size_t>(batch * m * n);
        Seen seen{dtype, std::vector<double>(elements), std::vector<uint8_t>(elements)};
        auto descriptor = shape.descriptor(++id);
        descriptor.flags |= consumed ? MPC_RT_CONTRACT_CONSUMED : 0u;
        void *out = isPlaced ? data.out.data() : nullptr;
        void *const arguments[] = {out, &seen};
        ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
        auto status =
            callContractAndLaunch(*driver, descriptor, data.lhs.data(), data.rhs.data(),
                                  data.bias.data(), out, {doubleElements, arguments, 2, 0, 7}, 1);
        driver->end();
        ASSERT_EQ(status, MPC_RT_OK) << mpc_rt_last_error();
        if (!driver->computes())
          continue;
        ContractionData plain(shape);
        ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
        ASSERT_EQ(callContract(*driver, shape.descriptor(++id), plain.lhs.data(), plain.rhs.data(),
                               plain.bias.data(), plain.out.data(), nullptr, 1),
                  MPC_RT_OK);
        driver->end();
        EXPECT_EQ(plain.difference(), "");
        if (!consumed)
          EXPECT_EQ(data.out, plain.out) << shape.text();
        for (size_t i = 0; i < elements; ++i) {
          ASSERT_EQ(seen.visits[i], 1) << shape.text() << ", element " << i;
          ASSERT_EQ(seen.doubled[i],
                    2 * loadElement(dtype, plain.out.data(), static_cast<int64_t>(i)))
              << shape.text() << ", element " << i;
        }
      }
}

void halveElements(void *const *arguments, int64_t begin, int64_t end) {
  const mpc_rt_dtype_t dtype = *static_cast<const mpc_rt_dtype_t *>(arguments[0]);
  for (int64_t i = begin; i < end; ++i)
    storeElement(dtype, arguments[1], i, 0.5 * loadElement(dtype, arguments[1], i));
}

// The kernel does what an activation does. The last shapes have few rows and a weight, or are
// stored around the caches.
TEST_P(ContractAndLaunch, StoresWhatTheKernelMakesOfTheResult) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "kernels of the host do not run there";
  uint32_t id = 0;
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16, MPC_RT_FLOAT64})
    for (auto [batch, m, n, k] : {std::tuple{1, 1, 70, 33},
                                  {1, 40, 10, 5},
                                  {3, 20, 33, 17},
                                  {1, 300, 520, 64},
                                  {1, 4, 4, 0},
                                  {1, 3, 2100, 40},
                                  {1, 2100, 1024, 16}})
      for (WeightUse use : {WeightUse::updated, WeightUse::constant}) {
        ContractionCase shape;
        shape.batch = batch, shape.m = m, shape.n = n, shape.k = k;
        shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
        shape.hasBias = true;
        ContractionData data(shape), plain(shape);
        auto descriptor = shape.descriptor(++id);
        descriptor.rhs_variable = batch == 1 ? static_cast<int32_t>(id) : -1;
        mpc_rt_dtype_t own = dtype;
        void *const arguments[] = {&own, data.out.data()};
        ASSERT_EQ(driver->begin(use), MPC_RT_OK);
        EXPECT_EQ(callContract(*driver, descriptor, plain.lhs.data(), plain.rhs.data(),
                               plain.bias.data(), plain.out.data(), nullptr, 1),
                  MPC_RT_OK);
        auto status = callContractAndLaunch(*driver, descriptor, data.lhs.data(), data.rhs.data(),
                                            data.bias.data(), data.out.data(),
                                            {halveElements, arguments, 2, 1, 7}, 1);
        driver->end();
        ASSERT_EQ(status, MPC_RT_OK) << mpc_rt_last_error();
        if (!driver->computes())
          continue;
        void *const expected[] = {&own, plain.out.data()};
        halveElements(expected, 0, int64_t{batch} * m * n);
        EXPECT_EQ(data.out, plain.out) << shape.text();
      }
}

TEST_P(ContractAndLaunch, ReportsWhatContractReports) {
  ContractionCase shape;
  ContractionData data(shape);
  auto descriptor = shape.descriptor(1);
  std::atomic<int> calls{0};
  void *const arguments[] = {data.out.data(), &calls};
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  auto status = callContractAndLaunch(*driver, descriptor, nullptr, data.rhs.data(),
                                      data.bias.data(), data.out.data(),
                                      {[](void *const *arguments, int64_t, int64_t) {
                                         ++*static_cast<std::atomic<int> *>(arguments[1]);
                                       },
                                       arguments, 2, 0, 1},
                                      1);
  driver->end();
  EXPECT_EQ(status, MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(calls, 0);
}

} // namespace
} // namespace mpc::rt::cts
