// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of convolve: bit-exact results over directions, dtypes, shapes, windows, epilogues.
#include "runtime/base/philox.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/convolution_case.h"
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"
#include "runtime/cts/elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace mpc::rt::cts {
namespace {

class Convolve : public DriverTest {
protected:
  mpc_rt_status_t convolve(ConvolutionData &data, WeightUse use = WeightUse::updated) {
    auto descriptor = data.shape.descriptor(nextId);
    auto status = callOnDevice(*driver, use, {&data.lhs, &data.rhs, &data.bias, &data.out},
                               [&](void *const *operands) {
                                 return callConvolve(*driver, descriptor, operands[0], operands[1],
                                                     operands[2], operands[3], 1);
                               });
    return status;
  }
  void check(const ConvolutionCase &shape) {
    ++nextId;
    ConvolutionData data(shape);
    ASSERT_EQ(convolve(data), MPC_RT_OK) << mpc_rt_last_error();
    if (driver->computes())
      EXPECT_EQ(differenceOf(data), "") << shape.text();
    else
      EXPECT_EQ(data.out, data.initial) << "a driver that does not compute wrote results";
  }
  uint32_t nextId = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, Convolve, ::testing::ValuesIn(everyDriver()), driverName);

// Random numbers below a bound, one after the other.
class Draw {
public:
  explicit Draw(uint32_t index) : index(index) {}
  uint32_t operator()(uint32_t bound) {
    return philox({{index, next++, 0, 0}}, 11, 0).word[0] % bound;
  }

private:
  uint32_t index, next = 0;
};

ConvolutionCase draw(uint32_t index) {
  Draw next(index);
  ConvolutionCase c;
  c.direction = static_cast<mpc_rt_convolution_direction_t>(next(3));
  c.batch = 1 + next(4);
  constexpr int64_t groups[] = {1, 1, 1, 2, 3, 8};
  c.groups = groups[next(6)];
  c.channels = c.groups * (1 + next(5));
  c.filters = c.groups * (1 + next(5));
  if (next(5) == 0)
    c.channels = c.filters = c.groups = 16; // depthwise
  if (next(5) == 0)
    c.channels = 32, c.filters = 48, c.groups = 1; // what blocked kernels like
  uint32_t spatial = 1 + next(3);
  for (uint32_t d = 0; d < spatial; ++d) {
    c.kernel.push_back(1 + next(4));
    bool dilated = next(3) == 0;
    c.dilations.push_back(dilated ? 2 + next(2) : 1);
    c.strides.push_back(dilated ? 1 : 1 + next(3));
    int64_t reach = (c.kernel[d] - 1) * c.dilations[d] + 1;
    c.images.push_back(reach + next(6));
    c.low.push_back(next(2) ? next(static_cast<uint32_t>(reach)) : 0);
    c.high.push_back(next(2) ? next(static_cast<uint32_t>(reach)) : 0);
  }
  c.lhs = next(3);
  c.rhs = next(2) ? c.lhs : next(3);
  c.out = next(3);
  c.bias = next(3);
  if (c.direction != MPC_RT_CONVOLUTION_FILTER_GRADIENT) {
    c.hasBias = next(2);
    c.relu = next(2);
  }
  c.seed = index;
  return c;
}

// A gradient whose windows are still to be drawn.
ConvolutionCase drawFilterGradient(Draw &next, uint32_t mostChannels, uint32_t mostFilters) {
  ConvolutionCase c;
  c.direction = MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  c.batch = 1 + next(3);
  c.channels = 1 + next(mostChannels);
  c.filters = 1 + next(mostFilters);
  return c;
}

TEST_P(Convolve, IsExactOverDirectionsDtypesWindowsAndEpilogues) {
  for (uint32_t i = 0; i < 200; ++i)
    check(draw(i));
}

bool isFinite(mpc_rt_dtype_t dtype, const std::vector<uint8_t> &data) {
  const std::vector<double> values = widened(dtype, data);
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

// An infinity reaches the sums that its element has a product in, and no others; of a filter's
// gradient, which is lost with one of them, it may reach all if it reaches any.
TEST_P(Convolve, KeepsAnInfinityInItsPlace) {
  if (!driver->computes())
    return;
  for (uint32_t i = 0; i < 200; ++i) {
    ConvolutionCase c = draw(3000 + i);
    if (i % 2)
      c.lhs = c.rhs = MPC_RT_BFLOAT16;
    if (i % 4 == 3) // a product per pixel: libraries have kernels of their own for it
      c.kernel.assign(c.kernel.size(), 1);
    ++nextId;
    ConvolutionData data(c);
    data.putInfinity(/*intoLhs=*/true, i);
    ASSERT_EQ(convolve(data), MPC_RT_OK) << mpc_rt_last_error();
    if (c.direction != MPC_RT_CONVOLUTION_FILTER_GRADIENT || isFinite(c.out, data.expected()))
      EXPECT_EQ(differenceOf(data), "");
    else
      EXPECT_FALSE(isFinite(c.out, data.out)) << c.text();
  }
}

// Short images, so that elements of the kernel meet padding only, and windows reach over both ends.
TEST_P(Convolve, FilterGradientsAreExactWherePaddingIsMostOfIt) {
  for (uint32_t i = 0; i < 600; ++i) {
    Draw next(50000 + i);
    ConvolutionCase c = drawFilterGradient(next, 7, 7);
    if (next(4) == 0)
      c.channels = 16, c.filters = 32;
    uint32_t spatial = 1 + next(3);
    for (uint32_t d = 0; d < spatial; ++d) {
      int64_t kernel = 1 + next(d == 0 ? 7 : 4);
      c.kernel.push_back(kernel);
      c.dilations.push_back(1);
      c.strides.push_back(1 + next(4));
      c.low.push_back(next(static_cast<uint32_t>(kernel)));
      c.high.push_back(next(static_cast<uint32_t>(kernel)));
      c.images.push_back(std::max<int64_t>(1 + next(7), kernel - c.low[d] - c.high[d]));
    }
    c.lhs = c.rhs = c.out = i % 2 ? MPC_RT_FLOAT32 : MPC_RT_BFLOAT16;
    c.seed = i;
    check(c);
  }
}

// Where the strides divide the images, oneDNN 2.6 gathers what the one tap meets, each thread from
// the middle of an image on.
TEST_P(Convolve, FilterGradientsOfOneStridedTapAreExact) {
  for (uint32_t i = 0; i < 120; ++i) {
    Draw next(70000 + i);
    ConvolutionCase c = drawFilterGradient(next, 40, 20);
    uint32_t spatial = 1 + next(2);
    for (uint32_t d = 0; d < spatial; ++d) {
      c.kernel.push_back(1);
      c.dilations.push_back(1);
      c.strides.push_back(2 + next(2));
      c.low.push_back(0);
      c.high.push_back(0);
      c.images.push_back(c.strides[d] * (1 + next(12)));
    }
    c.lhs = c.rhs = c.out = i % 2 ? MPC_RT_FLOAT32 : MPC_RT_BFLOAT16;
    c.seed = i;
    check(c);
  }
}

// oneDNN 2.6 goes too far from row to row of the filter, in rows of more than 28 pixels.
TEST_P(Convolve, FilterGradientsOfDilatedRowsAreExact) {
  for (uint32_t i = 0; i < 120; ++i) {
    Draw next(90000 + i);
    ConvolutionCase c = drawFilterGradient(next, 20, 8);
    c.groups = 1 + next(3);
    c.channels *= c.groups, c.filters *= c.groups;
    c.kernel = {1 + next(3), 1 + next(3)};
    c.dilations = {2 + next(2), 1 + next(2)};
    c.strides = {1, 1};
    c.low = c.high = {next(2), next(2)};
    c.images = {7 + next(4), 24 + next(20)};
    c.lhs = c.rhs = c.out = i % 4 ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
    c.seed = i;
    check(c);
  }
}

TEST_P(Convolve, ComputesFloat64) {
  for (uint32_t i = 0; i < 80; ++i) {
    ConvolutionCase c = draw(1000 + i);
    c.lhs = c.out = c.bias = MPC_RT_FLOAT64;
    c.rhs = i % 3 ? MPC_RT_FLOAT64 : MPC_RT_FLOAT32;
    check(c);
  }
}

TEST_P(Convolve, TakesPaddingBeyondTheKernel) {
  for (int direction = 0; direction < 3; ++direction) {
    ConvolutionCase c;
    c.direction = static_cast<mpc_rt_convolution_direction_t>(direction);
    c.batch = 2, c.channels = 4, c.filters = 8;
    c.images = {5, 5}, c.kernel = {2, 3}, c.strides = {1, 2}, c.dilations = {1, 1};
    c.low = {4, 0}, c.high = {0, 7};
    check(c);
  }
}

TEST_P(Convolve, TakesAnEmptyBatch) {
  for (int direction = 0; direction < 3; ++direction)
    for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_FLOAT16, MPC_RT_FLOAT64}) {
      ConvolutionCase c;
      c.direction = static_cast<mpc_rt_convolution_direction_t>(direction);
      c.batch = 0, c.channels = 3, c.filters = 4;
      c.images = {5}, c.kernel = {2}, c.strides = {1}, c.dilations = {1}, c.low = {0}, c.high = {0};
      c.lhs = c.rhs = c.out = dtype;
      check(c);
    }
}

// More samples than one block holds, with a remainder.
TEST_P(Convolve, WorksInBlocks) {
  for (int direction = 0; direction < 2; ++direction)
    for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16}) {
      ConvolutionCase c;
      c.direction = static_cast<mpc_rt_convolution_direction_t>(direction);
      c.batch = 3, c.channels = 4, c.filters = 24;
      c.images = {200, 300}, c.kernel = {2, 1}, c.strides = {1, 1}, c.dilations = {1, 1};
      c.low = {1, 0}, c.high = {0, 0};
      c.lhs = c.rhs = c.out = c.bias = dtype;
      c.hasBias = c.relu = true;
      check(c);
    }
}

TEST_P(Convolve, KeepsNaNAndInfinityThroughRelu) {
  if (!driver->computes())
    return;
  for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16, MPC_RT_FLOAT64}) {
    ++nextId;
    ConvolutionCase c;
    c.filters = 17;
    c.images = {4}, c.kernel = {1}, c.strides = {1}, c.dilations = {1}, c.low = {0}, c.high = {0};
    c.lhs = c.rhs = c.out = c.bias = dtype;
    c.relu = true;
    ConvolutionData data(c);
    double infinity = std::numeric_limits<double>::infinity();
    double rows[4] = {std::nan(""), infinity, -infinity, -1.0};
    for (int64_t i = 0; i < 4; ++i)
      storeElement(dtype, data.lhs.data(), i, rows[i]);
    for (int64_t f = 0; f < 17; ++f)
      storeElement(dtype, data.rhs.data(), f, 1.0);
    ASSERT_EQ(convolve(data), MPC_RT_OK) << mpc_rt_last_error();
    for (int64_t f = 0; f < 17; ++f) {
      EXPECT_TRUE(std::isnan(loadElement(dtype, data.out.data(), f)));
      EXPECT_EQ(loadElement(dtype, data.out.data(), 17 + f), infinity);
      EXPECT_EQ(loadElement(dtype, data.out.data(), 34 + f), 0.0);
      EXPECT_EQ(loadElement(dtype, data.out.data(), 51 + f), 0.0);
    }
  }
}

// The same buffer with other values: packed copies of variables must follow.
TEST_P(Convolve, SeesChangedWeights) {
  if (!driver->computes())
    return;
  for (int direction = 0; direction < 2; ++direction)
    for (mpc_rt_dtype_t dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16}) {
      ++nextId;
      ConvolutionCase c;
      c.direction = static_cast<mpc_rt_convolution_direction_t>(direction);
      c.batch = 2, c.channels = 9, c.filters = 20;
      c.images = {6, 6}, c.kernel = {3, 3}, c.strides = {1, 1}, c.dilations = {1, 1};
      c.low = {1, 1}, c.high = {1, 1};
      c.lhs = c.rhs = c.out = dtype;
      c.rhsVariable = static_cast<int32_t>(dtype);
      ConvolutionData data(c);
      auto same = [&](WeightUse use) {
        ASSERT_EQ(convolve(data, use), MPC_RT_OK) << mpc_rt_last_error();
        EXPECT_EQ(data.difference(), "");
      };
      auto change = [&](double value) {
        for (int64_t i = 0; i < 9 * 9 * 20; ++i)
          storeElement(dtype, data.rhs.data(), i, (i % 3 ? 1.0 : 2.0) * value);
      };
      same(WeightUse::constant);
      same(WeightUse::constant);
      change(1.0);
      driver->variablesChanged();
      same(WeightUse::constant);
      // A run that updates sees the present values, and drops the copies at its end.
      change(-1.0);
      same(WeightUse::updated);
      same(WeightUse::constant);
      driver->variablesChanged();
    }
}

// One id with different batches: as a dynamic batch gives.
TEST_P(Convolve, TakesADynamicBatch) {
  for (int64_t batch : {1, 6, 3, 20, 0, 6}) {
    ConvolutionCase c;
    c.batch = batch, c.channels = 8, c.filters = 16;
    c.images = {12}, c.kernel = {3}, c.strides = {2}, c.dilations = {1}, c.low = {0}, c.high = {1};
    c.rhsVariable = 3;
    ConvolutionData data(c);
    auto descriptor = c.descriptor(9);
    descriptor.batch = {0, 1};
    EXPECT_EQ(callOnDevice(*driver, WeightUse::constant, {&data.lhs, &data.rhs, &data.out},
                           [&](void *const *operands) {
                             return callConvolve(*driver, descriptor, operands[0], operands[1],
                                                 nullptr, operands[2], batch);
                           }),
              MPC_RT_OK);
    driver->variablesChanged();
    if (driver->computes())
      EXPECT_EQ(data.difference(), "");
  }
}

TEST_P(Convolve, RefusesDescriptorsThatNobodyCouldRun) {
  ConvolutionCase c;
  c.channels = c.filters = 2;
  c.images = {4}, c.kernel = {2}, c.strides = {1}, c.dilations = {1}, c.low = {0}, c.high = {0};
  ConvolutionData data(c);
  ASSERT_EQ(driver->begin(WeightUse::updated), MPC_RT_OK);
  auto refused = [&](auto change, mpc_rt_status_code_t code, const char *word) {
    auto descriptor = c.descriptor(1);
    change(descriptor);
    auto before = data.out;
    EXPECT_EQ(callConvolve(*driver, descriptor, data.lhs.data(), data.rhs.data(), nullptr,
                           data.out.data(), 3),
              code)
        << word;
    EXPECT_NE(std::strstr(mpc_rt_last_error(), word), nullptr) << mpc_rt_last_error();
    EXPECT_NE(std::strstr(mpc_rt_last_error(), "test/layer"), nullptr) << mpc_rt_last_error();
    EXPECT_EQ(before, data.out);
  };
  using D = mpc_rt_convolution_t;
  refused([](D &d) { d.struct_size = 8; }, MPC_RT_FAILED_PRECONDITION, "descriptor of 8 bytes");
  refused([](D &d) { d.direction = 3; }, MPC_RT_FAILED_PRECONDITION, "newer");
  refused([](D &d) { d.activation = 9; }, MPC_RT_FAILED_PRECONDITION, "newer");
  refused([](D &d) { d.spatial_rank = 0; }, MPC_RT_INVALID_ARGUMENT, "spatial");
  refused([](D &d) { d.spatial_rank = 4; }, MPC_RT_INVALID_ARGUMENT, "spatial");
  refused([](D &d) { d.lhs_dtype = MPC_RT_INT32; }, MPC_RT_INVALID_ARGUMENT, "int32");
  refused([](D &d) { d.groups = 0; }, MPC_RT_INVALID_ARGUMENT, "groups");
  refused([](D &d) { d.channels = 3, d.groups = 2; }, MPC_RT_INVALID_ARGUMENT, "groups");
  refused([](D &d) { d.outputs[0] = 4; }, MPC_RT_INVALID_ARGUMENT, "window");
  refused([](D &d) { d.kernel[0] = 5; }, MPC_RT_INVALID_ARGUMENT, "window");
  refused([](D &d) { d.strides[0] = 0; }, MPC_RT_INVALID_ARGUMENT, "positive");
  refused([](D &d) { d.padding_low[0] = -1; }, MPC_RT_INVALID_ARGUMENT, "positive");
  refused([](D &d) { d.images[0] = INT64_MAX; }, MPC_RT_INVALID_ARGUMENT, "large");
  refused([](D &d) { d.batch = {0, INT64_MAX}; }, MPC_RT_INVALID_ARGUMENT, "overflow");
  refused([](D &d) { d.batch = {-1, 0}; }, MPC_RT_INVALID_ARGUMENT, "negative");
  refused([](D &d) { d.has_bias = 1; }, MPC_RT_INVALID_ARGUMENT, "null operand");
  refused([](D &d) { d.direction = 2, d.activation = 1; }, MPC_RT_INVALID_ARGUMENT, "filter");
  driver->end();
}

} // namespace
} // namespace mpc::rt::cts
