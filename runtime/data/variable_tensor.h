// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A variable of a compiled model as a tensor of a file: its name there, its extents, its dtype.
#ifndef MPC_RUNTIME_DATA_VARIABLE_TENSOR_H
#define MPC_RUNTIME_DATA_VARIABLE_TENSOR_H

#include "mpc-rt/executable.h"
#include "runtime/data/array.h"

namespace mpc::data {

/// A weight or a state of a layer: what the model's own file holds.
bool isModelVariable(const mpc_rt_variable_info_t &variable);

/// The prefixes of the names of other variables, and in a checkpoint of the model's.
inline constexpr char optimizerPrefix[] = "optimizer/";
inline constexpr char metricPrefix[] = "metric/";
inline constexpr char randomPrefix[] = "random/";
inline constexpr char modelPrefix[] = "model/";
/// A callback keeps tensors in a checkpoint that are no variables; their names begin like this.
inline constexpr char callbackPrefix[] = "callback/";
bool hasPrefix(const std::string &name, const char *prefix);

/// A variable's name in files, model variables' without a prefix; "" for shadows, which are derived
/// from other variables.
std::string tensorName(const mpc_rt_variable_info_t &variable);

/// Extents of a table's row, `batch` in place of an open one.
std::vector<int64_t> dimsOf(const mpc_rt_tensor_info_t &tensor, int64_t batch);

/// `array` in the variable's dtype (shared with it where that is the same), or what does not fit.
Result<Array> fitArray(const Array &array, const mpc_rt_tensor_info_t &variable);

} // namespace mpc::data
#endif
