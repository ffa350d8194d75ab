// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element conversions. Roundings are to nearest, ties to even; NaN stays NaN (quiet), Inf stays
// Inf.
#include "runtime/data/convert.h"

#include "runtime/data/half.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace mpc::data {

template <typename T>
constexpr bool isHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <typename T> constexpr bool isReal = isHalf<T> || std::is_floating_point_v<T>;

/// One byte, 0 or 1, kept apart from uint8_t so that conversions to it test for zero.
struct Bool {
  uint8_t value;
};

template <typename F> static void visit(mpc_rt_dtype_t dtype, F &&body) {
  switch (dtype) {
  case MPC_RT_FLOAT32:
    return body(float());
  case MPC_RT_BFLOAT16:
    return body(BFloat16());
  case MPC_RT_FLOAT16:
    return body(Float16());
  case MPC_RT_FLOAT64:
    return body(double());
  case MPC_RT_INT8:
    return body(int8_t());
  case MPC_RT_UINT8:
    return body(uint8_t());
  case MPC_RT_INT16:
    return body(int16_t());
  case MPC_RT_UINT16:
    return body(uint16_t());
  case MPC_RT_INT32:
    return body(int32_t());
  case MPC_RT_UINT32:
    return body(uint32_t());
  case MPC_RT_INT64:
    return body(int64_t());
  case MPC_RT_UINT64:
    return body(uint64_t());
  case MPC_RT_BOOL:
    return body(Bool());
  }
}

template <typename To, typename From> static To convertOne(From value, Conversion conversion) {
  if constexpr (std::is_same_v<From, Bool>) {
    return convertOne<To>(static_cast<uint8_t>(value.value != 0), conversion);
  } else if constexpr (std::is_same_v<To, Bool>) {
    if constexpr (isReal<From>)
      return Bool{0}; // not convertible
    else
      return Bool{static_cast<uint8_t>(value != 0)};
  } else if constexpr (isHalf<From>) {
    return convertOne<To>(toFloat(value), conversion);
  } else if constexpr (isHalf<To>) {
    if constexpr (std::is_same_v<From, float>)
      return fromFloat<To>(value);
    else if (conversion == Conversion::ThroughFloat32)
      return fromFloat<To>(static_cast<float>(value));
    else if constexpr (std::is_same_v<From, double>)
      return fromFloat<To>(toFloatOdd(value));
    else // integers: double holds all up to 2^53, far beyond the precision of either type
      return fromFloat<To>(toFloatOdd(static_cast<double>(value)));
  } else if constexpr (std::is_same_v<To, double>) {
    return conversion == Conversion::ThroughFloat32 ? static_cast<float>(value)
                                                    : static_cast<double>(value);
  } else if constexpr (isReal<From> && !isReal<To>) {
    return To(); // not convertible
  } else {
    return static_cast<To>(value);
  }
}

bool convertible(mpc_rt_dtype_t from, mpc_rt_dtype_t to) {
  return dtypeInfo(from) && dtypeInfo(to) && (!isFloating(from) || isFloating(to));
}

void convertElements(const void *from, mpc_rt_dtype_t fromDtype, void *to, mpc_rt_dtype_t toDtype,
                     int64_t count, Conversion conversion) {
  bool plain = fromDtype == toDtype && fromDtype != MPC_RT_BOOL &&
               (fromDtype != MPC_RT_FLOAT64 || conversion == Conversion::Direct);
  if (plain) {
    if (count)
      std::memcpy(to, from, static_cast<size_t>(count) * dtypeInfo(toDtype)->bytes);
    return;
  }
  visit(fromDtype, [&](auto source) {
    using From = decltype(source);
    visit(toDtype, [&](auto target) {
      using To = decltype(target);
      const From *in = static_cast<const From *>(from);
      To *out = static_cast<To *>(to);
      for (int64_t i = 0; i < count; ++i)
        out[i] = convertOne<To>(in[i], conversion);
    });
  });
}

int64_t firstOutside(const Array &array, int64_t low, uint64_t high) {
  int64_t found = -1;
  visit(array.dtype(), [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_integral_v<T>) {
      const T *values = array.as<T>();
      int64_t count = array.elements();
      for (int64_t i = 0; i < count; ++i) {
        bool below = std::is_signed_v<T> && static_cast<int64_t>(values[i]) < low;
        bool negative = std::is_signed_v<T> && values[i] < 0;
        bool above = !negative && static_cast<uint64_t>(values[i]) > high;
        if (below || above) {
          found = i;
          return;
        }
      }
    }
  });
  return found;
}

int64_t firstNoIndex(const Array &array, int64_t limit) {
  if (!isFloating(array.dtype()))
    return firstOutside(array, 0, static_cast<uint64_t>(limit) - 1);
  for (int64_t i = 0; i < array.elements(); ++i)
    if (double value = elementAsDouble(array, i);
        !(value > -1.0 && value < static_cast<double>(limit)))
      return i;
  return -1;
}

int64_t firstMisfit(const Array &array, mpc_rt_dtype_t dtype) {
  int64_t found = -1;
  visit(dtype, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_integral_v<T>) {
      int64_t low = std::is_signed_v<T> ? static_cast<int64_t>(std::numeric_limits<T>::min()) : 0;
      found = firstOutside(array, low, static_cast<uint64_t>(std::numeric_limits<T>::max()));
    }
  });
  return found;
}

Result<Array> convertArray(const Array &array, mpc_rt_dtype_t dtype, Conversion conversion) {
  const DtypeInfo *from = dtypeInfo(array.dtype()), *to = dtypeInfo(dtype);
  if (!convertible(array.dtype(), dtype))
    return Failure(std::string("is ") + from->keras + "; expected " +
                   (to ? to->keras : "a known type"));
  if (int64_t bad = firstMisfit(array, dtype); bad >= 0)
    return Failure("element " + std::to_string(bad) + " is " + formatElement(array, bad) +
                   ", which " + to->keras + " cannot hold");
  Result<Array> result = Array::allocate(dtype, array.dims());
  if (result)
    convertElements(array.data(), array.dtype(), result->data(), dtype, array.elements(),
                    conversion);
  return result;
}

Array widenForNpz(const Array &array) {
  if (array.dtype() != MPC_RT_BFLOAT16 && array.dtype() != MPC_RT_FLOAT16)
    return array;
  Result<Array> wide = convertArray(array, MPC_RT_FLOAT32, Conversion::Direct);
  return wide ? *wide : array;
}

std::string formatElement(const Array &array, int64_t index) {
  std::string text;
  visit(array.dtype(), [&](auto sample) {
    using T = decltype(sample);
    T value = array.as<T>()[index];
    if constexpr (std::is_same_v<T, Bool>)
      text = value.value ? "true" : "false";
    else if constexpr (std::is_integral_v<T>)
      text = std::to_string(value);
    else
      text = std::to_string(elementAsDouble(array, index));
  });
  return text;
}

double elementAsDouble(const Array &array, int64_t index) {
  double value = 0;
  visit(array.dtype(), [&](auto sample) {
    using T = decltype(sample);
    value = convertOne<double>(array.as<T>()[index], Conversion::Direct);
  });
  return value;
}

} // namespace mpc::data
