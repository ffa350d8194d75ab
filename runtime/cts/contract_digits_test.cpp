// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of float32 have float32's digits, however a driver multiplies them, and keep what is not
// finite where it is.
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/base/philox.h"
#include "runtime/cts/calls.h"
#include "runtime/cts/contraction_case.h"
#include "runtime/cts/device_call.h"
#include "runtime/cts/driver_fixture.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace mpc::rt::cts {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float largest = std::numeric_limits<float>::max();

// Numbers of a bell curve, uniform in their last digits.
float bell(uint64_t seed, uint32_t index) {
  const PhiloxBlock block = philox({{index, static_cast<uint32_t>(seed), 0, 0}}, 23, 0);
  double sum = -2;
  for (uint32_t word : block.word)
    sum += static_cast<double>(word) * 0x1p-32;
  return static_cast<float>(sum);
}

enum class Numbers {
  bell,
  rectified, // the left ones, as behind relu
  positive,
  scattered, // over 40 powers of two
  cancelling // pairs whose sum is small
};

// The two parts of 11 bits each miss the last bit of these, and the product of the low ones is
// largest; all errors have one sign.
float splitWorst(uint32_t index) {
  const uint32_t units = 0x3f800fffu + (index % 8 << 13);
  float number;
  std::memcpy(&number, &units, sizeof number);
  return number;
}

struct Errors {
  double squares = 0, most = 0; // each by the sum of absolute terms
  void add(double error, double terms) {
    squares += error * error / (terms * terms);
    most = std::max(most, std::fabs(error) / terms);
  }
};

class ContractDigits : public DriverTest {
protected:
  void draw(ContractionData &data, Numbers numbers) const {
    const ContractionCase &c = data.shape;
    for (int64_t i = 0; i < c.m * c.k; ++i)
      storeElement(MPC_RT_FLOAT32, data.lhs.data(), i, number(numbers, 1, i, true));
    for (int64_t i = 0; i < c.k * c.n; ++i)
      storeElement(MPC_RT_FLOAT32, data.rhs.data(), i, number(numbers, 2, i, false));
  }
  static float number(Numbers numbers, uint64_t seed, int64_t at, bool isLeft) {
    const auto index = static_cast<uint32_t>(at);
    const float x = bell(seed, index);
    switch (numbers) {
    case Numbers::bell:
      return x;
    case Numbers::rectified:
      return isLeft ? std::max(0.0f, x) : x;
    case Numbers::positive:
      return std::fabs(x);
    case Numbers::scattered:
      return std::ldexp(x, static_cast<int>(index * 7 % 41) - 20);
    case Numbers::cancelling:
      return isLeft && index % 2 ? -std::nextafter(bell(seed, index - 1), 4.0f) : x;
    }
    return 0;
  }

  // Calls visit(result, exact sum, sum of absolute terms, sum in float32's order) of each element.
  template <typename Visit> void multiply(ContractionData &data, Visit visit) {
    const ContractionCase &c = data.shape;
    const auto descriptor = c.descriptor(nextId++);
    driver->variablesChanged();
    ASSERT_EQ(callOnDevice(*driver, WeightUse::updated,
                           {&data.lhs, &data.rhs, &data.bias, &data.out},
                           [&](void *const *operands) {
                             return callContract(*driver, descriptor, operands[0], operands[1],
                                                 operands[2], operands[3], nullptr, 1);
                           }),
              MPC_RT_OK)
        << mpc_rt_last_error();
    if (!driver->computes())
      return;
    const std::vector<double> left = widened(c.lhs, data.lhs), right = widened(c.rhs, data.rhs);
    for (int64_t m = 0; m < c.m; ++m)
      for (int64_t n = 0; n < c.n; ++n) {
        double sum = 0, terms = 0;
        float inOrder = 0;
        for (int64_t k = 0; k < c.k; ++k) {
          const double a = left[static_cast<size_t>(c.transposeLhs ? k * c.m + m : m * c.k + k)];
          const double b = right[static_cast<size_t>(c.transposeRhs ? n * c.k + k : k * c.n + n)];
          sum += a * b;
          terms += std::fabs(a * b);
          inOrder = std::fma(static_cast<float>(a), static_cast<float>(b), inOrder);
        }
        visit(loadElement(c.out, data.out.data(), m * c.n + n), sum, terms, inOrder);
      }
  }

  ContractionCase shapeOf(int64_t terms, uint32_t transposed) const {
    ContractionCase shape;
    shape.m = 40, shape.n = 36, shape.k = terms;
    shape.transposeLhs = transposed & 1, shape.transposeRhs = transposed & 2;
    return shape;
  }

  // The product of one row and one column.
  float dot(const std::vector<float> &row, const std::vector<float> &column) {
    ContractionCase shape;
    shape.k = static_cast<int64_t>(row.size());
    ContractionData data(shape);
    std::memcpy(data.lhs.data(), row.data(), data.lhs.size());
    std::memcpy(data.rhs.data(), column.data(), data.rhs.size());
    float found = 0;
    multiply(data,
             [&](double result, double, double, float) { found = static_cast<float>(result); });
    return found;
  }

  uint32_t nextId = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, ContractDigits, ::testing::ValuesIn(everyDriver()), driverName);

// Twice the error of float32 sums in order, of random numbers.
TEST_P(ContractDigits, AreThoseOfFloat32) {
  uint32_t transposed = 0;
  for (Numbers numbers : {Numbers::bell, Numbers::rectified, Numbers::positive, Numbers::scattered,
                          Numbers::cancelling})
    for (int64_t terms : {16, 60, 128, 300, 784, 2100}) {
      ContractionData data(shapeOf(terms, transposed++ % 4));
      draw(data, numbers);
      Errors own, ofFloat32;
      multiply(data, [&](double result, double sum, double all, float inOrder) {
        own.add(result - sum, all);
        ofFloat32.add(static_cast<double>(inOrder) - sum, all);
      });
      // Short sums of a few large terms and many small ones may have three times
      // (docs/numerics.md).
      const double factor = numbers == Numbers::scattered && terms < 128 ? 3 : 2;
      EXPECT_LE(std::sqrt(own.squares), factor * std::sqrt(ofFloat32.squares))
          << "numbers " << static_cast<int>(numbers) << ", " << terms << " terms";
      // A few large terms leave no mean: cut sums may lose a unit where float32 loses none.
      const double most = numbers == Numbers::scattered ? static_cast<double>(terms + 1) * 0x1p-24
                                                        : 2 * ofFloat32.most;
      EXPECT_LE(own.most, most) << "numbers " << static_cast<int>(numbers) << ", " << terms
                                << " terms";
    }
}

// The bound of docs/numerics.md, of numbers that are the worst for operands in two parts.
TEST_P(ContractDigits, AreWithinTheBoundOfFloat32) {
  for (int64_t terms : {16, 60, 128, 300, 784, 2100}) {
    ContractionData data(shapeOf(terms, 0));
    for (int64_t i = 0; i < data.shape.m * terms; ++i)
      storeElement(MPC_RT_FLOAT32, data.lhs.data(), i, splitWorst(static_cast<uint32_t>(i)));
    for (int64_t i = 0; i < data.shape.n * terms; ++i)
      storeElement(MPC_RT_FLOAT32, data.rhs.data(), i, splitWorst(static_cast<uint32_t>(i * 3)));
    Errors own;
    multiply(data,
             [&](double result, double sum, double all, float) { own.add(result - sum, all); });
    EXPECT_LE(own.most, static_cast<double>(terms + 1) * 0x1p-24) << terms << " terms";
  }
}

TEST_P(ContractDigits, KeepWhatIsNotFinite) {
  if (!driver->computes())
    return;
  const float exact = 1, inexact = 1.0f / 3, tiny = 0x1p-120f;
  for (float other : {exact, inexact, tiny, largest})
    for (float sign : {1.0f, -1.0f}) {
      EXPECT_EQ(dot({infinity, inexact}, {sign * other, inexact}), sign * infinity) << other;
      EXPECT_EQ(dot({inexact, sign * other}, {inexact, infinity}), sign * infinity) << other;
    }
  EXPECT_TRUE(std::isnan(dot({infinity, inexact}, {0, inexact})));
  EXPECT_TRUE(std::isnan(dot({infinity, infinity}, {exact, -exact})));
  // NaNs whose first bits are those of an infinity, and quiet ones.
  for (uint32_t bits : {0x7f800001u, 0xff801fffu, 0x7fc00000u, 0xffffffffu}) {
    float number;
    std::memcpy(&number, &bits, sizeof number);
    EXPECT_TRUE(std::isnan(dot({number, exact}, {exact, exact}))) << bits;
    EXPECT_TRUE(std::isnan(dot({exact, 0}, {exact, number}))) << bits;
  }
}

TEST_P(ContractDigits, ReachTheEndsOfTheRange) {
  if (!driver->computes())
    return;
  // Their nearest number of 11 bits is infinite.
  for (float number : {largest, std::nextafter(largest, 0.0f), 0x1.fff002p127f})
    for (float factor : {1.0f, -0.5f, 1.0f / 3}) {
      const double wanted = static_cast<double>(number) * factor;
      EXPECT_NEAR(dot({number, 0}, {factor, 0}), wanted, std::fabs(wanted) * 0x1p-20);
      EXPECT_NEAR(dot({0, factor}, {0, number}), wanted, std::fabs(wanted) * 0x1p-20);
    }
  EXPECT_EQ(dot({largest, 0}, {2, 0}), infinity);
  // Below 2^-113 a part of a number is one of TF32's denormals, below 2^-126 the number itself may
  // count as zero.
  for (float number : {0x1.555556p-114f, 0x1.555556p-126f, 0x1.555556p-130f, 0x1p-149f}) {
    const double wanted = static_cast<double>(number) * 0x1p100;
    const double most = number < 0x1p-126f ? wanted : std::ldexp(1.0, -136 + 100);
    EXPECT_NEAR(dot({number, 0}, {0x1p100f, 0}), wanted, most);
  }
}

} // namespace
} // namespace mpc::rt::cts
