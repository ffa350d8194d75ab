// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between element types, each with the one rounding that its use asks for.
#ifndef MPC_RUNTIME_DATA_CONVERT_H
#define MPC_RUNTIME_DATA_CONVERT_H

#include "runtime/data/array.h"

namespace mpc::data {

enum class Conversion {
  /// One rounding, to nearest, ties to even: for stored weights.
  Direct,
  /// Keras's fit, evaluate and predict treat arrays so: floating values are rounded to float32
  /// first, then to the input's type (keras/src/trainers/data_adapters/array_slicing.py). Integers
  /// go to float32 on the way to a floating type.
  ThroughFloat32,
};

/// Whether a value of type `from` may become `to` at all: floating never becomes integer or bool.
bool convertible(mpc_rt_dtype_t from, mpc_rt_dtype_t to);

/// Converts `count` elements; the types must be convertible. An integer that does not fit wraps:
/// callers that read files check with firstMisfit before.
void convertElements(const void *from, mpc_rt_dtype_t fromDtype, void *to, mpc_rt_dtype_t toDtype,
                     int64_t count, Conversion conversion);

/// The whole array as `dtype`; fails when not convertible or when an integer does not fit.
Result<Array> convertArray(const Array &array, mpc_rt_dtype_t dtype, Conversion conversion);

/// 16-bit floats as float32, everything else as it is: what npz files of mpc hold.
Array widenForNpz(const Array &array);

/// Position of the first element of an integer or bool array outside [low, high]; -1 if none. For
/// other arrays -1.
int64_t firstOutside(const Array &array, int64_t low, uint64_t high);

/// The first element whose whole part does not lie in [0, limit), or -1; NaN does not.
int64_t firstNoIndex(const Array &array, int64_t limit);

/// Position of the first integer that `dtype` cannot hold; -1 if none.
int64_t firstMisfit(const Array &array, mpc_rt_dtype_t dtype);

/// Element `index` in decimal, for messages.
std::string formatElement(const Array &array, int64_t index);

/// Element `index` as double; integers above 2^53 are rounded.
double elementAsDouble(const Array &array, int64_t index);

} // namespace mpc::data
#endif
