// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance of convolutions of int8: sums are equal, whatever the shape and the border.
#include "runtime/base/philox.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/convolution_case.h"
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"
#include "runtime/cts/requantized_sums.h"

#include <cstring>

namespace mpc::rt::cts {
namespace {

// Random numbers below a bound, one after the other.
class Draw {
public:
  explicit Draw(uint32_t index) : index(index) {}
  uint32_t operator()(uint32_t bound) {
    return philox({{index, next++, 0, 0}}, 17, 0).word[0] % bound;
  }

private:
  uint32_t index, next = 0;
};

ConvolutionCase draw(Draw &next) {
  ConvolutionCase c;
  c.lhs = c.rhs = MPC_RT_INT8;
  c.out = c.bias = MPC_RT_INT32;
  c.batch = 1 + next(5);
  c.channels = next(3) ? 1 + next(9) : 32 + next(40);
  c.filters = next(3) ? 1 + next(20) : 60 + next(80);
  const uint32_t spatial = 1 + next(3);
  for (uint32_t d = 0; d < spatial; ++d) {
    c.kernel.push_back(1 + next(4));
    c.dilations.push_back(next(3) ? 1 : 1 + next(3));
    c.strides.push_back(1 + next(3));
    const int64_t reach = (c.kernel[d] - 1) * c.dilations[d] + 1;
    c.images.push_back(reach + next(6));
    c.low.push_back(next(2) ? next(static_cast<uint32_t>(reach) + 2) : 0);
    c.high.push_back(next(2) ? next(static_cast<uint32_t>(reach) + 2) : 0);
  }
  if (spatial < 3 && next(3) == 0)
    c.groups = c.filters = c.channels; // a filter for each
  return c;
}

// The number of images at a place, or the border.
int8_t at(const ConvolutionCase &c, const std::vector<uint8_t> &images, int64_t sample,
          const std::vector<int64_t> &place, int64_t channel, int8_t border) {
  int64_t index = sample;
  for (size_t d = 0; d < place.size(); ++d) {
    if (place[d] < 0 || place[d] >= c.images[d])
      return border;
    index = index * c.images[d] + place[d];
  }
  return static_cast<int8_t>(images[static_cast<size_t>(index * c.channels + channel)]);
}

// The place with this number in a box, which counts from its last dimension on.
std::vector<int64_t> placeOf(int64_t number, const std::vector<int64_t> &box) {
  std::vector<int64_t> place(box.size());
  for (size_t d = box.size(); d-- > 0; number /= box[d])
    place[d] = number % box[d];
  return place;
}

int64_t sizeOf(const std::vector<int64_t> &box) {
  int64_t size = 1;
  for (int64_t extent : box)
    size *= extent;
  return size;
}

std::vector<int32_t> expected(const ConvolutionCase &c, const std::vector<uint8_t> &images,
                              const std::vector<uint8_t> &filter, int8_t border) {
  const int64_t channels = c.channels / c.groups; // that a filter sees
  const std::vector<int64_t> outputs = c.outputs();
  std::vector<int32_t> result;
  for (int64_t sample = 0; sample < c.batch; ++sample)
    for (int64_t o = 0; o < sizeOf(outputs); ++o) {
      const std::vector<int64_t> place = placeOf(o, outputs);
      std::vector<uint32_t> sums(static_cast<size_t>(c.filters));
      for (int64_t k = 0; k < sizeOf(c.kernel); ++k) {
        std::vector<int64_t> from = placeOf(k, c.kernel);
        for (size_t d = 0; d < from.size(); ++d)
          from[d] = place[d] * c.strides[d] - c.low[d] + from[d] * c.dilations[d];
        for (int64_t i = 0; i < channels; ++i)
          for (int64_t f = 0; f < c.filters; ++f)
            sums[static_cast<size_t>(f)] += static_cast<uint32_t>(
                at(c, images, sample, from, f / (c.filters / c.groups) * channels + i, border) *
                static_cast<int8_t>(
                    filter[static_cast<size_t>((k * channels + i) * c.filters + f)]));
      }
      for (uint32_t sum : sums)
        result.push_back(static_cast<int32_t>(sum));
    }
  return result;
}

class ConvolveIntegers : public DriverTest {
protected:
  static std::vector<uint8_t> bytes(int64_t count, Draw &next) {
    std::vector<uint8_t> data(static_cast<size_t>(count));
    for (uint8_t &byte : data)
      byte = static_cast<uint8_t>(next(256));
    return data;
  }

  struct Product {
    ConvolutionCase c;
    std::vector<uint8_t> images, filter;
    std::vector<int32_t> sums;
    mpc_rt_convolution_t descriptor;
  };

  static Product drawProduct(uint32_t seed, uint32_t number) {
    Draw next(seed);
    Product product = {};
    ConvolutionCase &c = product.c = draw(next);
    if (next(8) == 0 && c.kernel.size() < 3)
      c.groups = c.filters = c.channels = 320; // which threads take in parts
    c.rhsVariable = next(2) ? static_cast<int32_t>(number) : -1;
    const auto border = static_cast<int8_t>(next(256));
    product.images = bytes(c.batch * sizeOf(c.images) * c.channels, next);
    product.filter = bytes(sizeOf(c.kernel) * (c.channels / c.groups) * c.filters, next);
    product.sums = expected(c, product.images, product.filter, border);
    product.descriptor = c.descriptor(number);
    product.descriptor.border = border;
    return product;
  }
};

INSTANTIATE_TEST_SUITE_P(Every, ConvolveIntegers, ::testing::ValuesIn(everyDriver()), driverName);

TEST_P(ConvolveIntegers, IsExactOverWindowsAndBorders) {
  for (uint32_t i = 0; i < 150; ++i) {
    Draw next(i);
    ConvolutionCase c = draw(next);
    c.rhsVariable = next(2) ? static_cast<int32_t>(i) : -1; // with a packed copy of its own
    const auto border = static_cast<int8_t>(next(256));
    std::vector<uint8_t> images = bytes(c.batch * sizeOf(c.images) * c.channels, next);
    std::vector<uint8_t> filter =
        bytes(sizeOf(c.kernel) * (c.channels / c.groups) * c.filters, next);
    const std::vector<int32_t> sums = expected(c, images, filter, border);
    std::vector<uint8_t> none, out(sums.size() * sizeof(int32_t), 7);
    const std::vector<uint8_t> initial = out;
    mpc_rt_convolution_t descriptor = c.descriptor(i);
    descriptor.border = border;
    const auto status =
        callOnDevice(*driver, c.rhsVariable < 0 ? WeightUse::updated : WeightUse::constant,
                     {&images, &filter, &none, &out}, [&](void *const *operands) {
                       return callConvolve(*driver, descriptor, operands[0], operands[1], nullptr,
                                           operands[3], 1);
                     });
    if (driver->ownsMemory()) { // the compiler makes products of them for GPUs
      EXPECT_EQ(status, MPC_RT_FAILED_PRECONDITION);
      return;
    }
    ASSERT_EQ(status, MPC_RT_OK) << mpc_rt_last_error();
    if (!driver->computes())
      EXPECT_EQ(out, initial) << "a driver that does not compute wrote results";
    else
      EXPECT_EQ(std::memcmp(out.data(), sums.data(), out.size()), 0) << c.text();
  }
}

// Odd and even elements count differently, so that a kernel that gets one twice shows.
void addUp(void *const *arguments, int64_t begin, int64_t end) {
  auto *to = static_cast<int32_t *>(arguments[0]);
  const auto *sums = static_cast<const int32_t *>(arguments[1]);
  for (int64_t i = begin; i < end; ++i)
    to[i] = static_cast<int32_t>(static_cast<uint32_t>(to[i]) + static_cast<uint32_t>(sums[i]) +
                                 (i % 2 ? 3 : 5));
}

// Requantization goes through sums that have memory, and through those that have none.
TEST_P(ConvolveIntegers, HandSumsToAKernelOnce) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "kernels of the host do not run there";
  for (uint32_t i = 0; i < 150; ++i) {
    const auto [c, images, filter, sums, descriptor] = drawProduct(2000 + i, i);
    for (bool isPlaced : {false, true}) {
      std::vector<int32_t> out(sums.size()), added(sums.size());
      void *result = isPlaced ? out.data() : nullptr;
      void *const arguments[] = {added.data(), result};
      ASSERT_EQ(driver->begin(c.rhsVariable < 0 ? WeightUse::updated : WeightUse::constant),
                MPC_RT_OK);
      const auto status =
          callConvolveAndLaunch(*driver, descriptor, images.data(), filter.data(),
                                /*bias=*/nullptr, result, {addUp, arguments, 2, 1, 9}, 1);
      driver->end();
      ASSERT_EQ(status, MPC_RT_OK) << mpc_rt_last_error();
      if (!driver->computes())
        continue;
      std::vector<int32_t> wanted(sums.size());
      void *const expectedArguments[] = {wanted.data(), const_cast<int32_t *>(sums.data())};
      addUp(expectedArguments, 0, static_cast<int64_t>(sums.size()));
      EXPECT_EQ(added, wanted) << c.text();
      if (isPlaced)
        EXPECT_EQ(out, sums) << c.text();
    }
  }
}

TEST_P(ConvolveIntegers, RequantizeSums) {
  if (driver->ownsMemory())
    GTEST_SKIP() << "kernels of the host do not run there";
  for (uint32_t i = 0; i < 150; ++i) {
    const auto [c, images, filter, sums, descriptor] = drawProduct(4000 + i, i);
    for (bool isPlaced : {false, true}) {
      std::vector<int32_t> out(sums.size());
      void *result = isPlaced ? out.data() : nullptr;
      RequantizedCase wanted(sums.size(), c.filters, i);
      ASSERT_EQ(driver->begin(c.rhsVariable < 0 ? WeightUse::updated : WeightUse::constant),
                MPC_RT_OK);
      const auto status = callConvolveAndLaunch(*driver, descriptor, images.data(), filter.data(),
                                                /*bias=*/nullptr, result, wanted.kernel(result), 1);
      driver->end();
      ASSERT_EQ(status, MPC_RT_OK) << mpc_rt_last_error();
      if (!driver->computes())
        continue;
      ASSERT_EQ(wanted.out, wanted.expected(sums.data())) << c.text();
      if (isPlaced)
        ASSERT_EQ(out, sums) << c.text();
    }
  }
}

TEST_P(ConvolveIntegers, RefusesWhatIntegersHaveNot) {
  Draw next(1000);
  ConvolutionCase plain = draw(next);
  const auto statusOf = [&](const std::function<void(mpc_rt_convolution_t &)> &change) {
    mpc_rt_convolution_t descriptor = plain.descriptor(1);
    change(descriptor);
    return callConvolve(*driver, descriptor, &plain, &plain, &plain, &plain, 1);
  };
  for (const std::function<void(mpc_rt_convolution_t &)> &change :
       std::vector<std::function<void(mpc_rt_convolution_t &)>>{
           [](mpc_rt_convolution_t &d) { d.border = 128; },
           [](mpc_rt_convolution_t &d) { d.border = -129; },
           [](mpc_rt_convolution_t &d) { d.has_bias = 1; },
           [](mpc_rt_convolution_t &d) { d.activation = MPC_RT_ACTIVATION_RELU; },
           [](mpc_rt_convolution_t &d) { d.direction = MPC_RT_CONVOLUTION_INPUT_GRADIENT; },
           [](mpc_rt_convolution_t &d) { d.out_dtype = MPC_RT_FLOAT32; },
           [](mpc_rt_convolution_t &d) { d.groups = d.channels = 2, d.filters = 4; },
           [](mpc_rt_convolution_t &d) { d.rhs_dtype = MPC_RT_FLOAT32; }})
    if (driver->computes())
      EXPECT_EQ(statusOf(change), MPC_RT_INVALID_ARGUMENT);
}

} // namespace
} // namespace mpc::rt::cts
