// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/combine.h"

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

template <typename T>
void combineAs(mpc_rt_reduction_t reduction, void *into, const void *other, size_t count) {
  auto *a = static_cast<T *>(into);
  auto *b = static_cast<const T *>(other);
  switch (reduction) {
  case MPC_RT_REDUCTION_SUM:
  case MPC_RT_REDUCTION_SUM_BEFORE:
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

} // namespace mpc::rt
