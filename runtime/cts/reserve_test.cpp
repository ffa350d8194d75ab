// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of setReserving: a driver that says beforehand what memory it needs takes no more
// when it computes, and has computed nothing before.
#include "runtime/base/element.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/convolution_case.h"
#include "runtime/cts/driver_fixture.h"

#include <functional>

namespace mpc::rt::cts {
namespace {

class Reserve : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    driver->kernels().log.start();
    if (!driver->ownsMemory())
      return;
    EXPECT_FALSE(driver->setReserving(true));
    GTEST_SKIP() << "what a device needs is not known beforehand";
  }
  // `call` reads `out` of `data` as what it was before, unless it is computed.
  template <typename Data>
  void expectSameMemory(Data &data, WeightUse use, const std::function<mpc_rt_status_t()> &call,
                        bool computesOut = true) {
    const std::vector<uint8_t> before = data.out;
    const bool isKnown = driver->setReserving(true);
    if (isKnown) {
      ASSERT_EQ(driver->begin(use), MPC_RT_OK);
      ASSERT_EQ(call(), MPC_RT_OK) << mpc_rt_last_error();
      driver->end();
      EXPECT_EQ(data.out, before) << data.shape.text();
    }
    driver->setReserving(false);
    driver->variablesChanged();
    const std::string named = driver->kernels().log.text();
    const uint64_t reserved = driver->libraryBytes();
    ASSERT_EQ(driver->begin(use), MPC_RT_OK);
    ASSERT_EQ(call(), MPC_RT_OK) << mpc_rt_last_error();
    driver->end();
    if (driver->computes() && computesOut)
      EXPECT_EQ(differenceOf(data), "");
    if (isKnown) {
      EXPECT_EQ(driver->libraryBytes(), reserved) << data.shape.text();
      EXPECT_EQ(driver->kernels().log.text(), named) << data.shape.text();
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Every, Reserve, ::testing::ValuesIn(everyDriver()), driverName);

TEST_P(Reserve, TakesBeforehandWhatContractionsNeed) {
  uint32_t id = 0;
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16, MPC_RT_FLOAT64})
    for (auto [batch, m, n, k] : {std::tuple{1, 2, 70, 33},
                                  {1, 40, 10, 5},
                                  {3, 20, 33, 17},
                                  {1, 300, 520, 64},
                                  {1, 700, 130, 300}})
      for (int operands = 0; operands < 8; ++operands) {
        ContractionCase shape;
        shape.batch = batch, shape.m = m, shape.n = n, shape.k = k;
        shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
        shape.transposeLhs = operands & 1;
        shape.transposeRhs = operands & 2;
        shape.hasBias = shape.relu = batch == 1;
        shape.rhsVariable = operands & 4 ? 0 : -1;
        ContractionData data(shape);
        const mpc_rt_contract_t descriptor = shape.descriptor(++id);
        expectSameMemory(data, operands & 4 ? WeightUse::constant : WeightUse::updated, [&] {
          return callContract(*driver, descriptor, data.lhs.data(), data.storedRhs().data(),
                              data.bias.data(), data.out.data(), /*largest=*/nullptr, 1);
        });
      }
}

void doNothing(void *const * /*arguments*/, int64_t /*begin*/, int64_t /*end*/) {}

void noteRun(void *const *arguments, int64_t /*begin*/, int64_t /*end*/) {
  *static_cast<bool *>(arguments[0]) = true;
}

TEST_P(Reserve, RunsNoKernels) {
  if (!driver->setReserving(true))
    GTEST_SKIP() << "this driver does not reserve";
  bool hasRun = false;
  void *const arguments[] = {&hasRun};
  const mpc_rt_launch_t launches[] = {{noteRun, arguments, 3, 1}, {noteRun, arguments, 5, 2}};
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  driver->parallelFor(noteRun, arguments, 3, 1);
  driver->parallelForAll(launches, 2);
  driver->end();
  EXPECT_FALSE(hasRun);
}

// With and without memory for the result, which a kernel consumes.
TEST_P(Reserve, TakesBeforehandWhatSumsNeed) {
  uint32_t id = 0;
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (auto [m, n, k] : {std::tuple{2, 70, 33}, {40, 10, 5}, {300, 520, 64}, {700, 130, 300}})
      for (bool isVariable : {false, true})
        for (bool isConsumed : {false, true}) {
          ContractionCase shape;
          shape.m = m, shape.n = n, shape.k = k;
          shape.lhs = shape.rhs = shape.out = dtype;
          shape.transposeLhs = true;
          shape.rhsVariable = isVariable ? 0 : -1;
          ContractionData data(shape);
          mpc_rt_contract_t descriptor = shape.descriptor(++id);
          if (isConsumed)
            descriptor.flags |= MPC_RT_CONTRACT_CONSUMED;
          std::vector<float> sums(static_cast<size_t>(n));
          void *const arguments[] = {nullptr};
          const ResultKernel kernel{doNothing, arguments, 1, 0, 100};
          expectSameMemory(
              data, WeightUse::updated,
              [&] {
                return callContractAndSum(
                    *driver, descriptor, data.lhs.data(), data.rhs.data(),
                    isConsumed ? nullptr : data.out.data(),
                    {nullptr, isConsumed ? &kernel : nullptr, {}, sums.data()}, 1);
              },
              /*computesOut=*/!isConsumed);
        }
}

TEST_P(Reserve, TakesBeforehandWhatRoundingNeeds) {
  uint32_t id = 0;
  for (mpc_rt_dtype_t dtype : {MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
    for (auto [m, n, k] : {std::tuple{2, 70, 33}, {40, 10, 5}, {300, 520, 64}, {700, 130, 300}})
      for (bool transposed : {false, true})
        for (bool isVariable : {false, true}) {
          ContractionCase shape;
          shape.m = m, shape.n = n, shape.k = k;
          shape.lhs = shape.rhs = dtype;
          shape.transposeLhs = transposed;
          shape.rhsVariable = isVariable ? 0 : -1;
          ContractionData data(shape);
          std::vector<float> wide(static_cast<size_t>(m * k));
          for (size_t i = 0; i < wide.size(); ++i)
            wide[i] =
                static_cast<float>(loadElement(dtype, data.lhs.data(), static_cast<int64_t>(i)));
          mpc_rt_contract_t descriptor = shape.descriptor(++id);
          descriptor.lhs_dtype = MPC_RT_FLOAT32;
          descriptor.flags |= MPC_RT_CONTRACT_ROUND_LHS;
          expectSameMemory(data, isVariable ? WeightUse::constant : WeightUse::updated, [&] {
            return callContract(*driver, descriptor, wide.data(), data.storedRhs().data(),
                                data.bias.data(), data.out.data(), /*largest=*/nullptr, 1);
          });
        }
}

// Kernels replace the result, or consume one without memory.
TEST_P(Reserve, TakesBeforehandWhatConvolutionsWithKernelsNeed) {
  uint32_t id = 0;
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16, MPC_RT_INT8})
    for (auto [channels, filters, groups] :
         {std::tuple{3, 32, 1}, {32, 32, 1}, {64, 64, 64}, {320, 320, 320}})
      for (int64_t batch : {1, 5})
        for (bool isConsumed : {false, true}) {
          ConvolutionCase shape;
          shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
          if (dtype == MPC_RT_INT8)
            shape.out = shape.bias = MPC_RT_INT32;
          shape.batch = batch, shape.channels = channels, shape.filters = filters;
          shape.groups = groups;
          shape.images = {9, 9}, shape.kernel = {3, 3};
          shape.strides = {1, 1}, shape.dilations = {1, 1};
          shape.low = {1, 1}, shape.high = {1, 1};
          shape.rhsVariable = static_cast<int32_t>(++id);
          ConvolutionData data(shape);
          void *const arguments[] = {nullptr};
          const ResultKernel kernel{doNothing, arguments, 1, 0, 100};
          expectSameMemory(
              data, WeightUse::constant,
              [&] {
                return callConvolveAndLaunch(*driver, shape.descriptor(id), data.lhs.data(),
                                             data.rhs.data(), data.bias.data(),
                                             isConsumed ? nullptr : data.out.data(), kernel, 1);
              },
              /*computesOut=*/!isConsumed && dtype != MPC_RT_INT8);
        }
}

TEST_P(Reserve, TakesBeforehandWhatConvolutionsNeed) {
  uint32_t id = 0;
  for (auto direction : {MPC_RT_CONVOLUTION_FORWARD, MPC_RT_CONVOLUTION_INPUT_GRADIENT,
                         MPC_RT_CONVOLUTION_FILTER_GRADIENT})
    for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
      for (int64_t channels : {3, 32})
        for (bool isVariable : {false, true}) {
          ConvolutionCase shape;
          shape.direction = direction;
          shape.lhs = shape.rhs = shape.out = shape.bias = dtype;
          shape.batch = 5, shape.channels = channels, shape.filters = 32;
          shape.images = {9, 9}, shape.kernel = {3, 3};
          shape.strides = {1, 1}, shape.dilations = {1, 1};
          shape.low = {1, 1}, shape.high = {1, 1};
          const bool hasFilter = direction != MPC_RT_CONVOLUTION_FILTER_GRADIENT;
          shape.rhsVariable = hasFilter && isVariable ? 0 : -1;
          ConvolutionData data(shape);
          const mpc_rt_convolution_t descriptor = shape.descriptor(++id);
          expectSameMemory(data, isVariable ? WeightUse::constant : WeightUse::updated, [&] {
            return callConvolve(*driver, descriptor, data.lhs.data(), data.rhs.data(),
                                data.bias.data(), data.out.data(), 1);
          });
        }
}

} // namespace
} // namespace mpc::rt::cts
