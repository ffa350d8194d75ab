// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of convolve with a kernel on the result: the sums that the contract asks for, and the
// kernel once on each of them, in whole rows. mpc-interleave-launches does not run for devices with
// memory of their own.
#include "runtime/base/element.h"
#include "runtime/base/philox.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/convolution_case.h"
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"

#include <atomic>

namespace mpc::rt::cts {
namespace {

class ConvolveAndLaunch : public DriverTest {};

INSTANTIATE_TEST_SUITE_P(Every, ConvolveAndLaunch, ::testing::ValuesIn(everyDriver()), driverName);

// Random numbers below a bound, one after the other.
class Draw {
public:
  explicit Draw(uint32_t index) : index(index) {}
  uint32_t operator()(uint32_t bound) {
    return philox({{index, next++, 0, 0}}, 29, 0).word[0] % bound;
  }

private:
  uint32_t index, next = 0;
};

// Small shapes that loops and oneDNN take, full panels of micro-kernels, few samples that threads
// share, filters for each channel, of so many that they are taken in two parts.
ConvolutionCase draw(uint32_t index) {
  Draw next(index);
  ConvolutionCase c;
  c.direction = static_cast<mpc_rt_convolution_direction_t>(next(2)); // none of a filter
  c.batch = 1 + next(6);
  c.channels = 1 + next(7), c.filters = 1 + next(7);
  switch (next(5)) {
  case 0:
    c.channels = c.filters = c.groups = 16 << next(2);
    break;
  case 1:
    c.channels = c.filters = c.groups = 320;
    c.batch = 1 + next(2);
    break;
  case 2:
    c.channels = 32, c.filters = 64;
    break;
  case 3:
    c.groups = 3, c.channels = c.filters = 6;
    break;
  }
  const uint32_t spatial = 1 + next(c.groups > 3 ? 2 : 3);
  for (uint32_t d = 0; d < spatial; ++d) {
    c.kernel.push_back(1 + next(3));
    c.dilations.push_back(next(4) ? 1 : 2);
    c.strides.push_back(1 + next(2));
    const int64_t reach = (c.kernel[d] - 1) * c.dilations[d] + 1;
    c.images.push_back(reach + next(spatial < 3 ? 9 : 4));
    c.low.push_back(next(2) ? next(static_cast<uint32_t>(reach)) : 0);
    c.high.push_back(next(2) ? next(static_cast<uint32_t>(reach)) : 0);
  }
  constexpr mpc_rt_dtype_t dtypes[] = {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16,
                                       MPC_RT_FLOAT64};
  c.lhs = c.rhs = dtypes[next(7) % 4];
  c.out = c.lhs == MPC_RT_FLOAT64 ? MPC_RT_FLOAT64 : dtypes[next(3)];
  c.bias = dtypes[next(3)];
  c.hasBias = next(2);
  c.relu = next(2);
  c.seed = index;
  c.rhsVariable = next(2) ? static_cast<int32_t>(index) : -1;
  return c;
}

WeightUse useOf(const ConvolutionCase &c) {
  return c.rhsVariable < 0 ? WeightUse::updated : WeightUse::constant;
}

int64_t elementsOf(const ConvolutionData &data) {
  return static_cast<int64_t>(data.out.size() / dtypeSize(data.shape.out));
}

int64_t columnsOf(const ConvolutionCase &c) {
  return c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT ? c.channels : c.filters;
}

struct Seen {
  mpc_rt_dtype_t dtype;
  int64_t columns;
  std::vector<double> added, values;
  std::vector<uint8_t> visits;
  std::atomic<int> cutRows{0};

  Seen(const ConvolutionData &data, mpc_rt_dtype_t dtype)
      : dtype(dtype), columns(columnsOf(data.shape)) {
    const auto count = static_cast<size_t>(elementsOf(data));
    for (size_t i = 0; i < count; ++i)
      added.push_back(static_cast<double>(i % 17) - 8);
    values.resize(count);
    visits.resize(count);
  }
  double changed(double value, int64_t i) const {
    return 0.5 * value + added[static_cast<size_t>(i)];
  }
};

// The result is replaced by what comes of it and of another array, as where a residual is added.
void change(void *const *arguments, int64_t begin, int64_t end) {
  auto &seen = *static_cast<Seen *>(arguments[1]);
  seen.cutRows += begin % seen.columns != 0 || end % seen.columns != 0;
  for (int64_t i = begin; i < end; ++i) {
    seen.visits[static_cast<size_t>(i)]++;
    storeElement(seen.dtype, arguments[0], i,
                 seen.changed(loadElement(seen.dtype, arguments[0], i), i));
  }
}

void keep(void *const *arguments, int64_t begin, int64_t end) {
  auto &seen = *static_cast<Seen *>(arguments[0]);
  for (int64_t i = begin; i < end; ++i) {
    seen.visits[static_cast<size_t>(i)]++;
    seen.values[static_cast<size_t>(i)] = loadElement(seen.dtype, arguments[1], i);
  }
}

mpc_rt_status_t callWithKernel(Driver &driver, ConvolutionData &data, uint32_t id, void *out,
                               const ResultKernel &kernel) {
  mpc_rt_status_t status = driver.begin(useOf(data.shape));
  if (status == MPC_RT_OK)
    status = callConvolveAndLaunch(driver, data.shape.descriptor(id), data.lhs.data(),
                                   data.rhs.data(), data.bias.data(), out, kernel, 1);
  driver.end();
  return status;
}

TEST_P(ConvolveAndLaunch, ReplacesEachElementOnce) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "kernels of the host do not run there";
  for (uint32_t i = 0; i < 200; ++i) {
    ConvolutionData data(draw(i));
    const mpc_rt_dtype_t dtype = data.shape.out;
    Seen seen(data, dtype);
    // Rows that threads share need a loop of their own over the result, with this grain.
    void *const arguments[] = {data.out.data(), &seen};
    ASSERT_EQ(callWithKernel(*driver, data, i, data.out.data(),
                             {change, arguments, 2, 0, 8 * seen.columns}),
              MPC_RT_OK)
        << mpc_rt_last_error();
    if (!driver->computes())
      continue;
    const std::vector<uint8_t> sums = data.expected();
    for (int64_t e = 0; e < elementsOf(data); ++e) {
      uint8_t wanted[8] = {};
      storeElement(dtype, wanted, 0, seen.changed(loadElement(dtype, sums.data(), e), e));
      ASSERT_EQ(seen.visits[static_cast<size_t>(e)], 1) << data.shape.text() << ", element " << e;
      ASSERT_EQ(loadElement(dtype, data.out.data(), e), loadElement(dtype, wanted, 0))
          << data.shape.text() << ", element " << e;
    }
    if (driver->threads() == 1)
      EXPECT_EQ(seen.cutRows, 0) << data.shape.text();
  }
}

// The driver has memory for it where it needs some.
TEST_P(ConvolveAndLaunch, HandsOverAResultThatHasNoMemory) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "kernels of the host do not run there";
  for (uint32_t i = 0; i < 200; ++i) {
    ConvolutionData data(draw(1000 + i));
    Seen seen(data, data.shape.out);
    void *const arguments[] = {&seen, nullptr};
    ASSERT_EQ(callWithKernel(*driver, data, i, /*out=*/nullptr, {keep, arguments, 2, 1, 7}),
              MPC_RT_OK)
        << mpc_rt_last_error();
    EXPECT_EQ(data.out, data.initial);
    if (!driver->computes())
      continue;
    const std::vector<uint8_t> sums = data.expected();
    for (int64_t e = 0; e < elementsOf(data); ++e) {
      ASSERT_EQ(seen.visits[static_cast<size_t>(e)], 1) << data.shape.text() << ", element " << e;
      ASSERT_EQ(seen.values[static_cast<size_t>(e)], loadElement(data.shape.out, sums.data(), e))
          << data.shape.text() << ", element " << e;
    }
  }
}

TEST_P(ConvolveAndLaunch, RefusesWhatItCannotRun) {
  ConvolutionData data(draw(0));
  std::atomic<int> calls{0};
  void *const arguments[] = {data.out.data(), &calls};
  ResultKernel kernel{
      [](void *const *given, int64_t, int64_t) { ++*static_cast<std::atomic<int> *>(given[1]); },
      arguments, 2, 0, 1};
  auto call = [&](mpc_rt_convolution_t descriptor, const void *lhs) {
    return callOnDevice(*driver, WeightUse::updated, {&data.rhs, &data.bias, &data.out},
                        [&](void *const *operands) {
                          return callConvolveAndLaunch(*driver, descriptor, lhs, operands[0],
                                                       operands[1], operands[2], kernel, 1);
                        });
  };
  EXPECT_EQ(call(data.shape.descriptor(1), nullptr),
            driver->ownsMemory() ? MPC_RT_FAILED_PRECONDITION : MPC_RT_INVALID_ARGUMENT);
  kernel.result = 2;
  EXPECT_EQ(call(data.shape.descriptor(2), data.lhs.data()), MPC_RT_FAILED_PRECONDITION);
  kernel.result = 0;
  ConvolutionCase gradient = data.shape;
  gradient.direction = MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  gradient.hasBias = gradient.relu = false;
  EXPECT_NE(call(gradient.descriptor(3), data.lhs.data()), MPC_RT_OK);
  EXPECT_EQ(calls, 0);
}

} // namespace
} // namespace mpc::rt::cts
