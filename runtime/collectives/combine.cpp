// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/combine.h"

#include "runtime/base/cpu.h"
#include "runtime/base/rounding.h"
#include "runtime/base/vector_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace mpc::rt {
namespace {

// Which of two NaN an operation gives depends on the order of its operands, and that on the
// compiler: there is one NaN here, so that ranks agree.
template <typename T> T oneNaN(T value) {
  return value != value ? std::numeric_limits<T>::quiet_NaN() : value;
}

template <typename T> T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a == b) // of -0 and 0 it is 0
      return std::signbit(a) ? b : a;
    return oneNaN(a > b || a != a ? a : b);
  }
  return a < b ? b : a;
}

template <typename T> T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a == b)
      return std::signbit(a) ? a : b;
    return oneNaN(a < b || a != a ? a : b);
  }
  return b < a ? b : a;
}

template <typename T> T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return T(Unsigned(a) + Unsigned(b));
  } else {
    return oneNaN(a + b);
  }
}

// So many elements are in the caches together.
constexpr size_t elementsAtOnce = 1024;

const VectorKernels &kernels() {
  static const VectorKernels &ofCpu = vectorKernels(cpu().isa);
  return ofCpu;
}

// into[i] = sum(into[i], other[i]).
void addFloats(float *into, const float *other, size_t count) {
  constexpr uint32_t infinity = 0x7f800000;
  for (size_t begin = 0; begin < count; begin += elementsAtOnce) {
    const size_t many = std::min(elementsAtOnce, count - begin);
    float *sums = into + begin;
    kernels().addRows[0](other + begin, /*stride=*/0, /*rows=*/1, sums, many);
    const void *bits = sums;
    if (kernels().largest32(static_cast<const uint32_t *>(bits), many) > infinity)
      for (size_t i = 0; i != many; ++i)
        sums[i] = oneNaN(sums[i]);
  }
}

void addBFloat16(void *into, const void *other, size_t count) {
  auto *a = static_cast<uint16_t *>(into);
  auto *b = static_cast<const uint16_t *>(other);
  float sums[elementsAtOnce], others[elementsAtOnce];
  for (size_t begin = 0; begin < count; begin += elementsAtOnce) {
    const size_t many = std::min(elementsAtOnce, count - begin);
    widenBFloat16(a + begin, sums, many);
    widenBFloat16(b + begin, others, many);
    addFloats(sums, others, many);
    roundToBFloat16(sums, a + begin, many);
  }
}

template <typename T>
void combineAs(mpc_rt_reduction_t reduction, void *into, const void *other, size_t count) {
  auto *a = static_cast<T *>(into);
  auto *b = static_cast<const T *>(other);
  switch (reduction) {
  case MPC_RT_REDUCTION_SUM:
  case MPC_RT_REDUCTION_SUM_BEFORE:
    if constexpr (std::is_same_v<T, float>)
      return addFloats(a, b, count);
    for (size_t i = 0; i != count; ++i)
      a[i] = sum(a[i], b[i]);
    return;
  case MPC_RT_REDUCTION_MAX:
    for (size_t i = 0; i != count; ++i)
      a[i] = larger(a[i], b[i]);
    return;
  case MPC_RT_REDUCTION_MIN:
    for (size_t i = 0; i != count; ++i)
      a[i] = smaller(a[i], b[i]);
    return;
  }
}

template <typename T> T least() {
  using Limits = std::numeric_limits<T>;
  return std::is_floating_point_v<T> ? -Limits::infinity() : Limits::lowest();
}

template <typename T> T largest() {
  using Limits = std::numeric_limits<T>;
  return std::is_floating_point_v<T> ? Limits::infinity() : Limits::max();
}

template <typename T> void fillAs(mpc_rt_reduction_t reduction, void *data, size_t count) {
  const bool isSum = reduction == MPC_RT_REDUCTION_SUM || reduction == MPC_RT_REDUCTION_SUM_BEFORE;
  const T neutral = isSum ? T(0) : reduction == MPC_RT_REDUCTION_MAX ? least<T>() : largest<T>();
  std::fill_n(static_cast<T *>(data), count, neutral);
}

} // namespace

bool canCombine(mpc_rt_dtype_t dtype) {
  return dtype == MPC_RT_FLOAT32 || dtype == MPC_RT_FLOAT64 || dtype == MPC_RT_INT32 ||
         dtype == MPC_RT_INT64;
}

void combine(mpc_rt_dtype_t dtype, mpc_rt_reduction_t reduction, void *into, const void *other,
             size_t count) {
  switch (dtype) {
  case MPC_RT_FLOAT32:
    return combineAs<float>(reduction, into, other, count);
  case MPC_RT_FLOAT64:
    return combineAs<double>(reduction, into, other, count);
  case MPC_RT_INT32:
    return combineAs<int32_t>(reduction, into, other, count);
  case MPC_RT_INT64:
    return combineAs<int64_t>(reduction, into, other, count);
  case MPC_RT_BFLOAT16:
    return addBFloat16(into, other, count); // Reduction::inBFloat16 is of sums
  default:
    return; // canCombine() says no
  }
}

void fillNeutral(mpc_rt_dtype_t dtype, mpc_rt_reduction_t reduction, void *data, size_t count) {
  switch (dtype) {
  case MPC_RT_FLOAT32:
    return fillAs<float>(reduction, data, count);
  case MPC_RT_FLOAT64:
    return fillAs<double>(reduction, data, count);
  case MPC_RT_INT32:
    return fillAs<int32_t>(reduction, data, count);
  case MPC_RT_INT64:
    return fillAs<int64_t>(reduction, data, count);
  default:
    return; // canCombine() says no
  }
}

void roundToBFloat16(const float *from, uint16_t *to, size_t count) {
  kernels().roundBFloat16(from, to, count);
}

void widenBFloat16(const uint16_t *from, float *to, size_t count) {
  kernels().widenBFloat16(from, to, count);
}

void keepBFloat16(float *data, size_t count) {
  uint16_t rounded[elementsAtOnce];
  for (size_t begin = 0; begin < count; begin += elementsAtOnce) {
    const size_t many = std::min(elementsAtOnce, count - begin);
    roundToBFloat16(data + begin, rounded, many);
    widenBFloat16(rounded, data + begin, many);
  }
}

double errorOfBFloat16(const float *data, size_t count) {
  double errors = 0, numbers = 0;
  for (size_t i = 0; i != count; ++i) {
    const double number = data[i], error = number - widenBFloat16(roundToBFloat16(data[i]));
    errors += error * error;
    numbers += number * number;
  }
  return std::isfinite(errors) && numbers > 0 ? std::sqrt(errors / numbers) : 0;
}

} // namespace mpc::rt
