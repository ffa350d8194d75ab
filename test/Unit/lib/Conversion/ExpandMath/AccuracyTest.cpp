// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The generated code of exp, expm1, tanh, erf, log and log1p against libm in float64: arguments of
// every sign and exponent. MPC_MATH_STRIDE=1 takes all 2^32 of them.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <vector>
#include <xmmintrin.h>

#define DECLARE(name)                                                                              \
  extern "C" void name##_v2(void **, int64_t, int64_t);                                            \
  extern "C" void name##_v3(void **, int64_t, int64_t);                                            \
  extern "C" void name##_v4(void **, int64_t, int64_t);
DECLARE(exp)
DECLARE(expm1)
DECLARE(tanh)
DECLARE(erf)
DECLARE(log)
DECLARE(log1p)
#undef DECLARE

namespace {

using Kernel = void (*)(void **arguments, int64_t begin, int64_t end);

struct Function {
  const char *name;
  double (*reference)(double);
  /// Units in the last place; docs/numerics.md states the same numbers.
  double bound;
  Kernel levels[3];
  /// Denormal results are zero in every mode.
  bool flushes = false;
};

const Function kFunctions[] = {
    {"exp", std::exp, 1.0, {exp_v2, exp_v3, exp_v4}, /*flushes=*/true},
    {"expm1", std::expm1, 1.5, {expm1_v2, expm1_v3, expm1_v4}},
    {"tanh", std::tanh, 1.5, {tanh_v2, tanh_v3, tanh_v4}},
    {"erf", std::erf, 1.5, {erf_v2, erf_v3, erf_v4}},
    {"log", std::log, 1.0, {log_v2, log_v3, log_v4}},
    {"log1p", std::log1p, 1.5, {log1p_v2, log1p_v3, log1p_v4}},
};

constexpr unsigned kIeee = 0x1f80;     // the caller's MXCSR
constexpr unsigned kFlushing = 0x9fc0; // inside a call: denormals are zero
constexpr size_t kBlock = 4096;

bool hasLevel(int level) {
  if (level == 0)
    return true;
  if (level == 1)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

std::vector<float> evaluate(Kernel kernel, const std::vector<float> &arguments, unsigned mode) {
  std::vector<float> results(arguments.size(), -77.0f);
  void *buffers[] = {const_cast<float *>(arguments.data()), results.data()};
  _mm_setcsr(mode);
  kernel(buffers, 0, int64_t(arguments.size()));
  _mm_setcsr(kIeee);
  return results;
}

/// Distance from the exact result in units of the last place of float32; infinite where one is NaN,
/// infinite or a zero (of that sign) and the other is not.
double errorOf(double exact, float result, bool flushes) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  constexpr float kSmallest = std::numeric_limits<float>::min();
  float rounded = float(exact);
  if (std::isnan(rounded) || std::isnan(result))
    return std::isnan(rounded) && std::isnan(result) ? 0 : kWrong;
  if (std::isinf(rounded) || std::isinf(result))
    return rounded == result ? 0 : kWrong;
  if (std::signbit(rounded) != std::signbit(result))
    return kWrong;
  if (flushes && std::fabs(exact) < double(kSmallest))
    return std::fabs(result) <= kSmallest ? 0 : kWrong;
  if (exact == 0)
    return result == 0 ? 0 : kWrong;
  int exponent;
  std::frexp(exact, &exponent);
  return std::fabs(exact - double(result)) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

/// Calls `consume` with blocks of arguments of all exponents.
void sweep(uint64_t stride, const std::function<void(const std::vector<float> &)> &consume) {
  std::vector<float> block;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += stride) {
    block.push_back(fromBits(uint32_t(bits)));
    if (block.size() == kBlock) {
      consume(block);
      block.clear();
    }
  }
  consume(block); // not a multiple of a vector: the scalar rest of the loop
}

struct Worst {
  double error = 0;
  float argument = 0, result = 0;
};

/// libm's result for the argument that the CPU sees.
Worst compare(const Function &function, int level, const std::vector<float> &arguments,
              unsigned mode) {
  std::vector<float> results = evaluate(function.levels[level], arguments, mode);
  Worst worst;
  for (size_t i = 0; i < arguments.size(); ++i) {
    float seen = arguments[i];
    if (mode == kFlushing && std::fabs(seen) < std::numeric_limits<float>::min())
      seen = std::copysign(0.0f, seen);
    double error =
        errorOf(function.reference(seen), results[i], mode == kFlushing || function.flushes);
    if (error > worst.error)
      worst = {error, arguments[i], results[i]};
  }
  return worst;
}

/// Levels with different bits: without and with instructions that multiply and add.
std::vector<int> levelsThatDiffer() {
  return hasLevel(1) ? std::vector<int>{0, 1} : std::vector<int>{0};
}

class ExpandMath : public testing::TestWithParam<Function> {};

TEST_P(ExpandMath, IsWithinItsBound) {
  uint64_t stride = 127; // 2^25 arguments
  if (const char *given = std::getenv("MPC_MATH_STRIDE"))
    stride = std::max(1ll, std::atoll(given));
  for (int level : levelsThatDiffer())
    for (unsigned mode : {kFlushing, kIeee}) {
      Worst worst;
      sweep(mode == kFlushing ? stride : stride * 8, [&](const std::vector<float> &arguments) {
        Worst here = compare(GetParam(), level, arguments, mode);
        if (here.error > worst.error)
          worst = here;
      });
      const std::string how =
          (mode == kFlushing ? "flushing_v" : "ieee_v") + std::to_string(level + 2);
      EXPECT_LE(worst.error, GetParam().bound)
          << GetParam().name << "(" << worst.argument << ") gave " << worst.result << ", exact "
          << GetParam().reference(worst.argument) << ", " << how;
      RecordProperty(how, std::to_string(worst.error));
    }
}

TEST_P(ExpandMath, HasTheValuesOfLibmAtTheEdges) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> arguments;
  // exp overflows at 88.72, has denormal results from -87.34 and none from -103.97.
  for (float edge : {0.0f,        1.0f,
                     0x1p-126f,   0x1p-25f,
                     0x1p-100f,   0.625f,
                     0.9277f,     4.0f,
                     9.0f,        10.0f,
                     17.4f,       20.0f,
                     88.7228f,    89.0f,
                     87.3365f,    103.2789f,
                     103.9721f,   104.0f,
                     0.70710678f, 1.41421356f,
                     0x1p127f,    std::numeric_limits<float>::max()})
    for (int step = -64; step <= 64; ++step)
      for (uint32_t sign : {0u, 0x80000000u})
        arguments.push_back(fromBits((toBits(edge) + uint32_t(step)) ^ sign));
  for (float special : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 0.0f, -0.0f,
                        fromBits(0xffc00001u), fromBits(0x7f800001u)})
    arguments.push_back(special);
  for (int level : levelsThatDiffer())
    for (unsigned mode : {kFlushing, kIeee}) {
      Worst worst = compare(GetParam(), level, arguments, mode);
      EXPECT_LE(worst.error, GetParam().bound)
          << GetParam().name << "(" << worst.argument << ") gave " << worst.result << ", exact "
          << GetParam().reference(worst.argument) << (mode == kFlushing ? ", flushing" : "");
    }
}

TEST_P(ExpandMath, GivesTheSameBitsOnLevelsThatMultiplyAndAddInOne) {
  if (!hasLevel(2))
    GTEST_SKIP() << "this CPU does not run x86-64-v4";
  sweep(1021, [&](const std::vector<float> &arguments) {
    std::vector<float> v3 = evaluate(GetParam().levels[1], arguments, kFlushing);
    std::vector<float> v4 = evaluate(GetParam().levels[2], arguments, kFlushing);
    for (size_t i = 0; i < arguments.size(); ++i)
      // Which NaN comes out depends on the order of operands that the compiler picked.
      if (toBits(v3[i]) != toBits(v4[i]) && !(std::isnan(v3[i]) && std::isnan(v4[i])))
        FAIL() << GetParam().name << "(" << arguments[i] << "): v3 " << v3[i] << ", v4 " << v4[i];
  });
}

INSTANTIATE_TEST_SUITE_P(Functions, ExpandMath, testing::ValuesIn(kFunctions),
                         [](const testing::TestParamInfo<Function> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
