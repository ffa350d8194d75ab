// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of loops over rows: each row is computed once per step, its products are those of
// contract. mpc-parallelize-rows does not run for devices with memory of their own.
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/driver_fixture.h"

#include <atomic>

namespace mpc::rt::cts {
namespace {

class RowLoops : public DriverTest {};

INSTANTIATE_TEST_SUITE_P(Every, RowLoops, ::testing::ValuesIn(everyDriver()), driverName);

constexpr int steps = 3;
constexpr int64_t iterationsPerRow = 7;

// The state that the body below works on.
struct Loop {
  Driver *driver;
  std::vector<ContractionData> products;
  std::vector<std::atomic<int>> visits; // of the kernel's iterations
  std::atomic<int64_t> rows{0};
  std::atomic<int> failures{0};

  explicit Loop(Driver *driver, int64_t rows)
      : driver(driver), visits(static_cast<size_t>(rows * iterationsPerRow)) {}
};

void visit(void *const *arguments, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<Loop *>(arguments[0])->visits[static_cast<size_t>(i)]++;
}

int32_t runSteps(const mpc_rt_call_t *call, int64_t begin, int64_t end) {
  auto &loop = *static_cast<Loop *>(call->context);
  loop.rows += end - begin;
  void *const arguments[] = {&loop};
  for (int step = 0; step < steps; ++step) {
    for (uint32_t i = 0; i < loop.products.size(); ++i)
      if (loop.driver->contractRows(i, loop.products[i].lhs.data(), loop.products[i].out.data(),
                                    begin, end))
        loop.failures++;
    loop.driver->launchRows(visit, arguments, begin * iterationsPerRow, end * iterationsPerRow, 1);
  }
  return loop.failures ? MPC_RT_INTERNAL : MPC_RT_OK;
}

// Rows of all numbers; products of one variable in two ways, and of what is none.
TEST_P(RowLoops, ComputeEachRowOncePerStep) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "loops of the host do not run there";
  uint32_t id = 0;
  for (WeightUse use : {WeightUse::updated, WeightUse::constant})
    for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16, MPC_RT_FLOAT64})
      for (int64_t rows : {0, 1, 3, 16, 64, 101, 1000}) {
        Loop loop(driver.get(), rows);
        for (bool transposed : {false, true})
          for (int32_t variable : {2, -1}) {
            ContractionCase shape;
            shape.m = rows, shape.n = transposed ? 128 : 200, shape.k = transposed ? 200 : 128;
            shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
            shape.transposeRhs = transposed;
            shape.hasBias = shape.relu = variable < 0;
            shape.rhsVariable = variable;
            loop.products.emplace_back(shape);
          }
        std::vector<mpc_rt_contract_t> descriptors;
        for (ContractionData &data : loop.products)
          descriptors.push_back(data.shape.descriptor(++id));
        std::vector<mpc_rt_rows_product_t> products;
        for (size_t i = 0; i < loop.products.size(); ++i)
          products.push_back(
              {&descriptors[i], loop.products[i].storedRhs().data(), loop.products[i].bias.data()});
        mpc_rt_call_t call = {};
        call.context = &loop;
        ASSERT_EQ(driver->begin(use), MPC_RT_OK);
        auto status = driver->runRows(
            {&call, runSteps, rows, products.data(), static_cast<uint32_t>(products.size()), 1});
        driver->end();
        driver->variablesChanged(); // the next one has another
        ASSERT_EQ(status, MPC_RT_OK) << mpc_rt_last_error();
        EXPECT_EQ(loop.rows, rows);
        if (!driver->computes())
          continue;
        for (ContractionData &data : loop.products)
          EXPECT_EQ(data.difference(), "") << data.shape.text();
        for (auto &visits : loop.visits)
          ASSERT_EQ(visits, steps) << rows << " rows";
      }
}

TEST_P(RowLoops, ReportWhatTheBodyReports) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "loops of the host do not run there";
  mpc_rt_call_t call = {};
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  auto status =
      driver->runRows({&call,
                       [](const mpc_rt_call_t *, int64_t, int64_t end) {
                         return static_cast<int32_t>(end == 100 ? MPC_RT_DATA_LOSS : MPC_RT_OK);
                       },
                       100, nullptr, 0, 1});
  driver->end();
  EXPECT_EQ(status, MPC_RT_DATA_LOSS);
}

} // namespace
} // namespace mpc::rt::cts
