// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statistics of traced values, on every level of instructions that this CPU has.
#include "runtime/base/cpu.h"
#include "runtime/base/rounding.h"
#include "runtime/numerics/trace_record.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <tuple>

using namespace mpc::rt;

namespace {

const float infinity = std::numeric_limits<float>::infinity();

mpc_rt_trace_t describe(uint32_t slot, mpc_rt_dtype_t dtype, int64_t fixed, int64_t perSample) {
  mpc_rt_trace_t trace = {};
  trace.struct_size = sizeof trace;
  trace.slot = slot;
  trace.dtype = trace.before_dtype = dtype;
  trace.count = {fixed, perSample};
  trace.flags = perSample ? MPC_RT_TRACE_ROWS : 0;
  return trace;
}

mpc_rt_trace_call_t callOf(const void *value, int64_t batch = 1, const void *before = nullptr) {
  return {sizeof(mpc_rt_trace_call_t), 0, batch, value, before};
}

class Statistics : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    if (cpu().isa < GetParam())
      GTEST_SKIP() << "the CPU has no such level";
  }
};

} // namespace

TEST_P(Statistics, ClassesOfFloat32) {
  const float smallest = std::numeric_limits<float>::denorm_min();
  const std::vector<float> values{0,         -0.0F,    1,        -2,
                                  infinity,  NAN,      smallest, -std::numeric_limits<float>::max(),
                                  -infinity, 1.5F * 4, 0x1p-126F};
  TraceRecord record(GetParam());
  record.setMode(MPC_RT_TRACE_STATISTICS);
  const auto trace = describe(0, MPC_RT_FLOAT32, static_cast<int64_t>(values.size()), 0);
  ASSERT_EQ(record.report(trace, callOf(values.data())), MPC_RT_OK);
  const mpc_rt_traced_value_t value = record.value(0);
  EXPECT_EQ(value.count, values.size());
  EXPECT_EQ(value.zero, 2U);
  EXPECT_EQ(value.infinite, 2U);
  EXPECT_EQ(value.nan, 1U);
  EXPECT_EQ(value.subnormal, 1U);
  EXPECT_EQ(value.saturated, 1U);
  EXPECT_EQ(value.min_magnitude, static_cast<double>(smallest));
  EXPECT_EQ(value.max_magnitude, static_cast<double>(std::numeric_limits<float>::max()));
  const auto countOf = [&](int exponent) {
    return value.exponents[exponent - MPC_RT_FIRST_EXPONENT];
  };
  EXPECT_EQ(countOf(-149), 1U);
  EXPECT_EQ(countOf(-126), 1U);
  EXPECT_EQ(countOf(0), 1U);
  EXPECT_EQ(countOf(1), 1U);
  EXPECT_EQ(countOf(2), 1U);
  EXPECT_EQ(countOf(127), 1U);
}

/// Numbers whose exponents lie between two, some zeros, and what `others` are among them.
static std::vector<float> numbersOf(size_t count, uint32_t first, uint32_t last,
                                    const std::vector<float> &others) {
  std::vector<float> values(count);
  uint32_t state = 7;
  auto draw = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (float &value : values) {
    const uint32_t exponent = first + draw() % (last - first + 1);
    value = floatOf((draw() & 1) << 31 | exponent << 23 | (draw() & 0x7fffff));
    if (draw() % 8 == 0)
      value = 0;
    else if (!others.empty() && draw() % 16 == 0)
      value = others[draw() % others.size()];
  }
  return values;
}

TEST_P(Statistics, ExponentsOfAnyRange) {
  const std::vector<float> notFinite{infinity, -infinity, NAN}, subnormal{0x1p-149F, -0x1.8p-130F};
  for (auto [first, last] : {std::pair(1u, 254u), std::pair(120u, 127u), std::pair(100u, 130u),
                             std::pair(247u, 254u), std::pair(254u, 254u), std::pair(1u, 9u)})
    for (const std::vector<float> &others : {std::vector<float>(), notFinite, subnormal})
      for (size_t count : {size_t(1), size_t(7), size_t(32), size_t(33), size_t(97),
                           statisticsBlock, 3 * statisticsBlock + 65, 40 * statisticsBlock}) {
        const std::vector<float> values = numbersOf(count, first, last, others);
        std::vector<uint64_t> exponents(MPC_RT_EXPONENT_COUNT);
        uint64_t zero = 0, broken = 0, tiny = 0;
        for (float value : values) {
          zero += value == 0;
          broken += !std::isfinite(value);
          tiny += std::fpclassify(value) == FP_SUBNORMAL;
          if (value != 0 && std::isfinite(value))
            ++exponents[static_cast<size_t>(std::ilogb(value) - MPC_RT_FIRST_EXPONENT)];
        }
        TraceRecord record(GetParam());
        record.setMode(MPC_RT_TRACE_STATISTICS);
        const auto trace = describe(0, MPC_RT_FLOAT32, static_cast<int64_t>(count), 0);
        ASSERT_EQ(record.report(trace, callOf(values.data())), MPC_RT_OK);
        const mpc_rt_traced_value_t value = record.value(0);
        EXPECT_EQ(value.zero, zero) << first << " " << count;
        EXPECT_EQ(value.infinite + value.nan, broken) << first << " " << count;
        EXPECT_EQ(value.subnormal, tiny) << first << " " << count;
        for (size_t i = 0; i < exponents.size(); ++i)
          EXPECT_EQ(value.exponents[i], exponents[i])
              << first << " " << last << " " << count << " " << i;
      }
}

TEST_P(Statistics, BFloat16AsItLies) {
  const std::vector<float> notFinite{infinity, -infinity, NAN, 0x1.fep127F},
      subnormal{0x1p-133F, -0x1.8p-130F};
  for (auto [first, last] : {std::pair(1u, 254u), std::pair(100u, 130u), std::pair(127u, 130u),
                             std::pair(1u, 20u), std::pair(240u, 254u)})
    for (const std::vector<float> &others : {std::vector<float>(), notFinite, subnormal})
      for (size_t count : {size_t(1), size_t(31), size_t(64), size_t(65), statisticsBlock,
                           3 * statisticsBlock + 33}) {
        std::vector<uint16_t> narrow(count);
        std::vector<float> wide = numbersOf(count, first, last, others);
        for (size_t i = 0; i < count; ++i) {
          narrow[i] = static_cast<uint16_t>(bitsOf(wide[i]) >> 16);
          wide[i] = floatOf(uint32_t{narrow[i]} << 16);
        }
        TraceRecord record(GetParam()), reference(GetParam());
        record.setMode(MPC_RT_TRACE_STATISTICS);
        reference.setMode(MPC_RT_TRACE_STATISTICS | MPC_RT_TRACE_KEEP); // widened first
        const auto trace = describe(0, MPC_RT_BFLOAT16, static_cast<int64_t>(count), 0);
        ASSERT_EQ(record.report(trace, callOf(narrow.data())), MPC_RT_OK);
        ASSERT_EQ(reference.report(trace, callOf(narrow.data())), MPC_RT_OK);
        const mpc_rt_traced_value_t value = record.value(0), expected = reference.value(0);
        for (auto counted : {&mpc_rt_traced_value_t::count, &mpc_rt_traced_value_t::zero,
                             &mpc_rt_traced_value_t::subnormal, &mpc_rt_traced_value_t::infinite,
                             &mpc_rt_traced_value_t::nan, &mpc_rt_traced_value_t::saturated})
          EXPECT_EQ(value.*counted, expected.*counted) << first << " " << last << " " << count;
        EXPECT_EQ(value.min_magnitude, expected.min_magnitude);
        EXPECT_EQ(value.max_magnitude, expected.max_magnitude);
        const double squares = expected.sum_of_squares;
        EXPECT_NEAR(value.sum_of_squares, squares, 1e-7 * squares);
        EXPECT_NEAR(value.sum, expected.sum,
                    1e-7 * std::sqrt(squares * static_cast<double>(count)));
        for (size_t i = 0; i < MPC_RT_EXPONENT_COUNT; ++i)
          EXPECT_EQ(value.exponents[i], expected.exponents[i]) << first << " " << count << " " << i;
      }
}

TEST_P(Statistics, SumsOfLongValues) {
  constexpr size_t count = 3 * statisticsBlock + 5;
  std::vector<uint16_t> values(count);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; ++i) {
    const float value = std::sin(static_cast<float>(i)) * 100;
    values[i] = roundToFloat16(value);
    const auto stored = static_cast<double>(widenFloat16(values[i]));
    sum += stored;
    squares += stored * stored;
  }
  TraceRecord record(GetParam());
  record.setMode(MPC_RT_TRACE_STATISTICS);
  const auto trace = describe(4, MPC_RT_FLOAT16, static_cast<int64_t>(count), 0);
  ASSERT_EQ(record.report(trace, callOf(values.data())), MPC_RT_OK);
  ASSERT_EQ(record.size(), 5U);
  EXPECT_EQ(record.value(3).reported, 0U);
  EXPECT_NEAR(record.value(4).sum, sum, 1e-6 * std::sqrt(squares));
  EXPECT_NEAR(record.value(4).sum_of_squares, squares, 1e-9 * squares);
  // Runs add up, until they are forgotten.
  ASSERT_EQ(record.report(trace, callOf(values.data())), MPC_RT_OK);
  EXPECT_EQ(record.value(4).count, 2 * count);
  record.reset();
  EXPECT_EQ(record.value(4).count, 0U);
  for (size_t i = 0; i < MPC_RT_EXPONENT_COUNT; ++i)
    EXPECT_EQ(record.value(4).exponents[i], 0U) << i;
}

TEST_P(Statistics, Underflow) {
  const std::vector<float> before{0, 1e-9F, -1e-9F, 1, 1e-7F};
  std::vector<uint16_t> after;
  for (float value : before)
    after.push_back(roundToFloat16(value));
  TraceRecord record(GetParam());
  record.setMode(MPC_RT_TRACE_STATISTICS);
  mpc_rt_trace_t trace = describe(0, MPC_RT_FLOAT16, 5, 0);
  trace.before_dtype = MPC_RT_FLOAT32;
  ASSERT_EQ(record.report(trace, callOf(after.data(), 1, before.data())), MPC_RT_OK);
  EXPECT_EQ(record.value(0).underflow, 2U);
  EXPECT_EQ(record.value(0).zero, 3U);
  EXPECT_EQ(record.value(0).subnormal, 1U);
}

TEST_P(Statistics, UnderflowWhereItLies) {
  const size_t count = 2 * statisticsBlock + 77;
  std::vector<float> before(count);
  std::vector<uint16_t> after(count);
  uint64_t lost = 0, zero = 0;
  for (size_t i = 0; i < count; ++i) {
    before[i] = i % 5 == 0 ? 0 : i % 7 == 0 && i > statisticsBlock ? -0x1p-140F : 3;
    after[i] = static_cast<uint16_t>(bitsOf(before[i]) >> 16); // -0x1p-140 becomes -0
    lost += before[i] != 0 && before[i] != 3;
    zero += before[i] != 3;
  }
  TraceRecord record(GetParam());
  record.setMode(MPC_RT_TRACE_STATISTICS);
  mpc_rt_trace_t trace = describe(0, MPC_RT_BFLOAT16, static_cast<int64_t>(count), 0);
  trace.before_dtype = MPC_RT_FLOAT32;
  ASSERT_EQ(record.report(trace, callOf(after.data(), 1, before.data())), MPC_RT_OK);
  EXPECT_EQ(record.value(0).underflow, lost);
  EXPECT_EQ(record.value(0).zero, zero);
  EXPECT_EQ(record.value(0).max_magnitude, 3);
}

TEST_P(Statistics, NumbersOfFloat8) {
  const std::vector<float> before{1000, 448, -500, 0x1p-12F, 0x1p-8F, 0, 1, -2};
  const std::vector<float> after{448, 448, -448, 0, 0x1p-8F, 0, 1, -2};
  for (auto [flag, largest, smallest] :
       {std::tuple(MPC_RT_TRACE_FLOAT8_E4M3FN, 448.0F, 0x1p-8F),
        std::tuple(MPC_RT_TRACE_FLOAT8_E5M2, 57344.0F, 0x1p-16F)}) {
    std::vector<float> values = after;
    for (float &value : values)
      value = std::fabs(value) == 448 ? std::copysign(largest, value)
              : value == 0x1p-8F      ? smallest
                                      : value;
    TraceRecord record(GetParam());
    record.setMode(MPC_RT_TRACE_STATISTICS);
    mpc_rt_trace_t trace = describe(0, MPC_RT_FLOAT32, static_cast<int64_t>(values.size()), 0);
    trace.flags |= static_cast<uint32_t>(flag);
    ASSERT_EQ(record.report(trace, callOf(values.data(), 1, before.data())), MPC_RT_OK);
    EXPECT_EQ(record.value(0).saturated, 3U);
    EXPECT_EQ(record.value(0).subnormal, 1U);
    EXPECT_EQ(record.value(0).underflow, 1U);
    EXPECT_EQ(record.value(0).zero, 2U);
  }
}

TEST_P(Statistics, ChangesOfThreeDtypes) {
  const size_t count = statisticsBlock + 9;
  std::vector<float> now(count), then(count);
  std::vector<double> wideNow(count), wideThen(count);
  std::vector<uint16_t> narrowNow(count), narrowThen(count);
  for (size_t i = 0; i < count; ++i) {
    wideNow[i] = now[i] = static_cast<float>(i % 200) + 1;
    wideThen[i] = then[i] = static_cast<float>(i % 200) + (i % 3 == 0 ? 1 : 0);
    narrowNow[i] = static_cast<uint16_t>(bitsOf(now[i]) >> 16);
    narrowThen[i] = static_cast<uint16_t>(bitsOf(then[i]) >> 16);
  }
  const std::tuple<mpc_rt_dtype_t, const void *, const void *> changes[] = {
      {MPC_RT_FLOAT32, now.data(), then.data()},
      {MPC_RT_FLOAT64, wideNow.data(), wideThen.data()},
      {MPC_RT_BFLOAT16, narrowNow.data(), narrowThen.data()}};
  for (auto [dtype, value, before] : changes) {
    TraceRecord record(GetParam());
    record.setMode(MPC_RT_TRACE_STATISTICS);
    mpc_rt_trace_t trace = describe(0, dtype, static_cast<int64_t>(count), 0);
    trace.flags |= MPC_RT_TRACE_CHANGE;
    ASSERT_EQ(record.report(trace, callOf(value, 1, before)), MPC_RT_OK);
    const uint64_t same = (count + 2) / 3;
    EXPECT_EQ(record.value(0).zero, same) << dtype;
    EXPECT_EQ(record.value(0).exponents[0 - MPC_RT_FIRST_EXPONENT], count - same) << dtype;
    EXPECT_EQ(record.value(0).sum, static_cast<double>(count - same)) << dtype;
  }
}

TEST_P(Statistics, ErrorsAndRows) {
  const std::vector<float> kept{1, 2, 3, 4, 5, 6, 7, 8}, values{1, 2.5F, 0, infinity, 5, NAN, 7, 8};
  const auto trace = describe(0, MPC_RT_FLOAT32, 0, 2);
  TraceRecord record(GetParam());
  record.setMode(MPC_RT_TRACE_KEEP);
  ASSERT_EQ(record.report(trace, callOf(kept.data(), 4)), MPC_RT_OK);
  record.setMode(MPC_RT_TRACE_COMPARE);
  ASSERT_EQ(record.report(trace, callOf(values.data(), 4)), MPC_RT_OK);
  const mpc_rt_traced_value_t value = record.value(0);
  EXPECT_EQ(value.compared, 6U);
  EXPECT_EQ(value.lost, 1U);
  EXPECT_EQ(value.overflowed, 1U);
  EXPECT_EQ(value.invalid, 1U);
  EXPECT_EQ(value.max_error, 3);
  EXPECT_EQ(value.max_relative_error, 1);
  EXPECT_EQ(value.sum_of_squared_errors, 9.25);
  EXPECT_EQ(value.kept_max_magnitude, 8);
  ASSERT_EQ(value.row_count, 2U);
  EXPECT_EQ(value.rows[0], 1);
  EXPECT_EQ(value.rows[1], 2);
}

TEST_P(Statistics, Refusals) {
  TraceRecord record(GetParam());
  const float value = 1;
  // Nobody asked.
  EXPECT_EQ(record.report(describe(0, MPC_RT_FLOAT32, 1, 0), callOf(&value)), MPC_RT_OK);
  EXPECT_EQ(record.size(), 0U);
  record.setMode(MPC_RT_TRACE_STATISTICS);
  EXPECT_EQ(record.report(describe(1u << 20, MPC_RT_FLOAT32, 1, 0), callOf(&value)),
            MPC_RT_INVALID_ARGUMENT);
}

INSTANTIATE_TEST_SUITE_P(Levels, Statistics, testing::Values(0, 1, 2));
