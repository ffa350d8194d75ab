// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between element types: all 16-bit values, ties, and single rounding.
#include "runtime/data/convert.h"
#include "runtime/data/half.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mpc::data;

TEST(Half, EveryFloat16SurvivesTheWayThroughFloat32) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Float16 value{static_cast<uint16_t>(bits)};
    float wide = toFloat(value);
    uint16_t back = fromFloat<Float16>(wide).bits;
    if (std::isnan(wide))
      EXPECT_TRUE((back & 0x7c00) == 0x7c00 && (back & 0x3ff)) << bits;
    else
      EXPECT_EQ(back, bits);
#ifdef __FLT16_MAX__
    _Float16 native;
    std::memcpy(&native, &value, 2);
    if (!std::isnan(wide))
      EXPECT_EQ(static_cast<float>(native), wide) << bits;
#endif
  }
}

TEST(Half, EveryBFloat16SurvivesTheWayThroughFloat32) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float wide = toFloat(BFloat16{static_cast<uint16_t>(bits)});
    uint16_t back = fromFloat<BFloat16>(wide).bits;
    if (std::isnan(wide))
      EXPECT_TRUE((back & 0x7f80) == 0x7f80 && (back & 0x7f)) << bits;
    else
      EXPECT_EQ(back, bits);
  }
}

/// The midpoint of neighbours goes to the even one, anything beyond it to the nearer one.
TEST(Half, Float16TiesGoToEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    double low = toFloat(Float16{static_cast<uint16_t>(bits)});
    double high = toFloat(Float16{static_cast<uint16_t>(bits + 1)});
    float middle = static_cast<float>((low + high) / 2);
    uint16_t even = static_cast<uint16_t>(bits & 1 ? bits + 1 : bits);
    ASSERT_EQ(fromFloat<Float16>(middle).bits, even) << bits;
    ASSERT_EQ(fromFloat<Float16>(std::nextafter(middle, 1e9f)).bits, bits + 1);
    ASSERT_EQ(fromFloat<Float16>(std::nextafter(middle, -1e9f)).bits, bits);
  }
  EXPECT_EQ(fromFloat<Float16>(65519.996f).bits, 0x7bff);
  EXPECT_EQ(fromFloat<Float16>(65520.0f).bits, 0x7c00);
  EXPECT_EQ(fromFloat<Float16>(-INFINITY).bits, 0xfc00);
}

TEST(Half, BFloat16TiesGoToEven) {
  for (uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    float middle = mpc::rt::floatOf(bits << 16 | 0x8000);
    ASSERT_EQ(fromFloat<BFloat16>(middle).bits, bits & 1 ? bits + 1 : bits);
    ASSERT_EQ(fromFloat<BFloat16>(mpc::rt::floatOf(bits << 16 | 0x8001)).bits, bits + 1);
    ASSERT_EQ(fromFloat<BFloat16>(mpc::rt::floatOf(bits << 16 | 0x7fff)).bits, bits);
  }
}

/// A double just beyond a midpoint that float32 would round onto the midpoint.
TEST(Half, DoublesAreRoundedOnce) {
  for (uint32_t bits = 0x0400; bits < 0x7bff; bits += 7) {
    double low = toFloat(Float16{static_cast<uint16_t>(bits)});
    double high = toFloat(Float16{static_cast<uint16_t>(bits + 1)});
    double middle = (low + high) / 2;
    EXPECT_EQ(fromFloat<Float16>(toFloatOdd(std::nextafter(middle, 1e9))).bits, bits + 1);
    EXPECT_EQ(fromFloat<Float16>(toFloatOdd(std::nextafter(middle, -1e9))).bits, bits);
  }
  EXPECT_EQ(fromFloat<BFloat16>(toFloatOdd(1 + 0x1p-8 + 0x1p-50)).bits, 0x3f81);
  EXPECT_EQ(fromFloat<BFloat16>(toFloatOdd(1 + 0x1p-8)).bits, 0x3f80);
  EXPECT_TRUE(std::isinf(toFloat(fromFloat<BFloat16>(toFloatOdd(1e300)))));
  EXPECT_EQ(fromFloat<Float16>(toFloatOdd(-1e-300)).bits, 0x8000);
}

#ifdef __FLT16_MAX__
TEST(Half, RandomDoublesAgreeWithTheCompiler) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    double value = std::ldexp(1 + std::ldexp(static_cast<double>(random() >> 12), -52),
                              static_cast<int>(random() % 48) - 30);
    _Float16 native = static_cast<_Float16>(value);
    uint16_t bits;
    std::memcpy(&bits, &native, 2);
    ASSERT_EQ(fromFloat<Float16>(toFloatOdd(value)).bits, bits) << value;
  }
}
#endif

static Array arrayOf(std::vector<double> values) {
  return Array::copyOf(MPC_RT_FLOAT64, {static_cast<int64_t>(values.size())}, values.data());
}

TEST(Convert, KerasRoundsToFloat32First) {
  // Above the midpoint of bfloat16 1 and 1.0078125, but float32 does not see it.
  Array value = arrayOf({1 + 0x1p-8 + 0x1p-50});
  Result<Array> direct = convertArray(value, MPC_RT_BFLOAT16, Conversion::Direct);
  Result<Array> keras = convertArray(value, MPC_RT_BFLOAT16, Conversion::ThroughFloat32);
  EXPECT_EQ(*direct->as<uint16_t>(), 0x3f81);
  EXPECT_EQ(*keras->as<uint16_t>(), 0x3f80);
  Result<Array> wide = convertArray(arrayOf({0.1}), MPC_RT_FLOAT64, Conversion::ThroughFloat32);
  EXPECT_EQ(*wide->as<double>(), static_cast<double>(0.1f));
}

TEST(Convert, IntegersStayExactOrFail) {
  int64_t values[] = {-129, 0, 127};
  Array array = Array::copyOf(MPC_RT_INT64, {3}, values);
  EXPECT_EQ(firstMisfit(array, MPC_RT_INT8), 0);
  EXPECT_EQ(firstMisfit(array, MPC_RT_INT16), -1);
  EXPECT_EQ(firstMisfit(array, MPC_RT_UINT64), 0);
  EXPECT_FALSE(convertArray(array, MPC_RT_INT8, Conversion::Direct));
  EXPECT_EQ(firstOutside(array, 0, 127), 0);
  EXPECT_EQ(firstOutside(array, -129, 126), 2);
  uint64_t huge = UINT64_MAX;
  EXPECT_EQ(firstMisfit(Array::copyOf(MPC_RT_UINT64, {1}, &huge), MPC_RT_INT64), 0);
}

TEST(Convert, FloatsNeverBecomeIntegers) {
  EXPECT_FALSE(convertible(MPC_RT_FLOAT32, MPC_RT_INT32));
  EXPECT_FALSE(convertible(MPC_RT_FLOAT16, MPC_RT_BOOL));
  EXPECT_TRUE(convertible(MPC_RT_INT64, MPC_RT_FLOAT16));
  EXPECT_TRUE(convertible(MPC_RT_BOOL, MPC_RT_FLOAT32));
  EXPECT_TRUE(convertible(MPC_RT_UINT8, MPC_RT_BOOL));
}

TEST(Convert, NonFiniteValuesStay) {
  Result<Array> half =
      convertArray(arrayOf({NAN, INFINITY, -INFINITY}), MPC_RT_FLOAT16, Conversion::Direct);
  EXPECT_TRUE(std::isnan(elementAsDouble(*half, 0)));
  EXPECT_EQ(elementAsDouble(*half, 1), INFINITY);
  EXPECT_EQ(elementAsDouble(*half, 2), -INFINITY);
}
