// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/combine.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace mpc::rt;

namespace {

template <typename T>
std::vector<T> combined(mpc_rt_dtype_t dtype, mpc_rt_reduction_t reduction, std::vector<T> a,
                        const std::vector<T> &b) {
  combine(dtype, reduction, a.data(), b.data(), a.size());
  return a;
}

TEST(Combine, Integers) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> a = {1, most, -5}, b = {2, 1, 3};
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(combined(MPC_RT_INT64, MPC_RT_REDUCTION_SUM, a, b), (Numbers{3, -most - 1, -2}));
  EXPECT_EQ(combined(MPC_RT_INT64, MPC_RT_REDUCTION_MAX, a, b), (Numbers{2, most, 3}));
  EXPECT_EQ(combined(MPC_RT_INT64, MPC_RT_REDUCTION_MIN, a, b), (Numbers{1, 1, -5}));
  EXPECT_EQ(combined<int32_t>(MPC_RT_INT32, MPC_RT_REDUCTION_SUM, {7}, {8}),
            (std::vector<int32_t>{15}));
}

// Both orders of the operands give the same bits: two ranks that exchange data agree.
TEST(Combine, FloatsAreSymmetric) {
  const float special[] = {0.f,      -0.f,      1.f,    -1.f,           3e38f,
                           INFINITY, -INFINITY, 1e-45f, std::nanf("1"), -std::nanf("77")};
  for (mpc_rt_reduction_t reduction :
       {MPC_RT_REDUCTION_SUM, MPC_RT_REDUCTION_MAX, MPC_RT_REDUCTION_MIN})
    for (float a : special)
      for (float b : special) {
        const float one = combined<float>(MPC_RT_FLOAT32, reduction, {a}, {b})[0];
        const float two = combined<float>(MPC_RT_FLOAT32, reduction, {b}, {a})[0];
        EXPECT_EQ(std::memcmp(&one, &two, sizeof one), 0) << a << " " << b;
        EXPECT_EQ(std::isnan(one), reduction == MPC_RT_REDUCTION_SUM
                                       ? std::isnan(a + b)
                                       : std::isnan(a) || std::isnan(b));
      }
  EXPECT_EQ(combined<double>(MPC_RT_FLOAT64, MPC_RT_REDUCTION_SUM, {1e300}, {1.5})[0], 1e300);
  EXPECT_FALSE(
      std::signbit(combined<float>(MPC_RT_FLOAT32, MPC_RT_REDUCTION_MAX, {-0.f}, {0.f})[0]));
  EXPECT_TRUE(
      std::signbit(combined<float>(MPC_RT_FLOAT32, MPC_RT_REDUCTION_MIN, {0.f}, {-0.f})[0]));
}

template <typename T> void expectNeutral(mpc_rt_dtype_t dtype, std::vector<T> numbers) {
  for (mpc_rt_reduction_t reduction :
       {MPC_RT_REDUCTION_SUM, MPC_RT_REDUCTION_MAX, MPC_RT_REDUCTION_MIN}) {
    std::vector<T> neutral(numbers.size(), T(77));
    fillNeutral(dtype, reduction, neutral.data(), neutral.size());
    EXPECT_EQ(combined<T>(dtype, reduction, neutral, numbers), numbers);
  }
}

// A rank without rows adds these.
TEST(Combine, NeutralElementsChangeNothing) {
  expectNeutral<float>(MPC_RT_FLOAT32, {1.5f, -3e38f, INFINITY, -INFINITY, 0});
  expectNeutral<double>(MPC_RT_FLOAT64, {1.5, -1e308, INFINITY, -INFINITY});
  expectNeutral<int32_t>(MPC_RT_INT32, {0, 7, std::numeric_limits<int32_t>::min()});
  expectNeutral<int64_t>(MPC_RT_INT64, {-7, std::numeric_limits<int64_t>::max()});
}

// A sum is that of float32, rounded: 256 + 1 is halfway between two bfloat16, and 258.5 is not.
TEST(Combine, BFloat16IsAddedInFloat32) {
  const std::vector<float> a = {256, 256, 1, -1, INFINITY, INFINITY, 3e38f},
                           b = {1, 2.5f, 0x1p-20f, 1, -INFINITY, 1, 3e38f},
                           sums = {256, 258, 1, 0, NAN, INFINITY, INFINITY};
  std::vector<uint16_t> narrow(a.size()), other(a.size());
  roundToBFloat16(a.data(), narrow.data(), a.size());
  roundToBFloat16(b.data(), other.data(), b.size());
  std::vector<uint16_t> reversed = other;
  combine(MPC_RT_BFLOAT16, MPC_RT_REDUCTION_SUM, reversed.data(), narrow.data(), a.size());
  combine(MPC_RT_BFLOAT16, MPC_RT_REDUCTION_SUM, narrow.data(), other.data(), a.size());
  EXPECT_EQ(narrow, reversed);
  std::vector<float> found(a.size());
  widenBFloat16(narrow.data(), found.data(), found.size());
  for (size_t i = 0; i != a.size(); ++i)
    EXPECT_TRUE(found[i] == sums[i] || (std::isnan(found[i]) && std::isnan(sums[i])))
        << a[i] << " + " << b[i] << " is " << found[i];
}

TEST(Combine, SaysWhatBFloat16Changes) {
  std::vector<float> numbers = {1, 1 + 0x1p-8f, -3, 1e-30f, 0};
  const double error = errorOfBFloat16(numbers.data(), numbers.size());
  EXPECT_NEAR(error, 0x1p-8 / std::sqrt(11.0), 1e-5); // to even: 1
  keepBFloat16(numbers.data(), numbers.size());
  EXPECT_EQ(numbers[1], 1);
  EXPECT_EQ(numbers[2], -3);
  EXPECT_EQ(errorOfBFloat16(numbers.data(), numbers.size()), 0);
  const float infinite[] = {INFINITY, 1.001f};
  EXPECT_EQ(errorOfBFloat16(infinite, 2), 0);
  EXPECT_EQ(errorOfBFloat16(infinite, 0), 0);
}

TEST(Combine, KnowsItsDtypes) {
  EXPECT_TRUE(canCombine(MPC_RT_FLOAT32));
  EXPECT_FALSE(canCombine(MPC_RT_FLOAT16));
  EXPECT_FALSE(canCombine(MPC_RT_BFLOAT16));
}

} // namespace
