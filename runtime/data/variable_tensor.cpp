// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names by role, and the checks of shape and dtype.
#include "runtime/data/variable_tensor.h"

#include "runtime/data/convert.h"

#include <cstring>

namespace mpc::data {

bool isModelVariable(const mpc_rt_variable_info_t &variable) {
  return variable.role == MPC_RT_ROLE_TRAINABLE || variable.role == MPC_RT_ROLE_NON_TRAINABLE;
}

bool hasPrefix(const std::string &name, const char *prefix) {
  return name.compare(0, std::strlen(prefix), prefix) == 0;
}

std::string tensorName(const mpc_rt_variable_info_t &variable) {
  switch (variable.role) {
  case MPC_RT_ROLE_TRAINABLE:
  case MPC_RT_ROLE_NON_TRAINABLE:
    return variable.tensor.name;
  case MPC_RT_ROLE_OPTIMIZER:
    return std::string(optimizerPrefix) + variable.tensor.name;
  case MPC_RT_ROLE_METRIC:
    return std::string(metricPrefix) + variable.tensor.name;
  case MPC_RT_ROLE_RANDOM:
    return std::string(randomPrefix) + variable.tensor.name;
  default:
    return "";
  }
}

std::vector<int64_t> dimsOf(const mpc_rt_tensor_info_t &tensor, int64_t batch) {
  std::vector<int64_t> dims(tensor.dims, tensor.dims + tensor.rank);
  if (!dims.empty() && dims[0] == MPC_RT_DYNAMIC)
    dims[0] = batch;
  return dims;
}

Result<Array> fitArray(const Array &array, const mpc_rt_tensor_info_t &variable) {
  std::vector<int64_t> dims = dimsOf(variable, 0);
  if (array.dims() != dims)
    return Failure("has shape " + formatShape(array.dims()) + "; expected " + formatShape(dims));
  if (array.dtype() == variable.dtype)
    return array;
  return convertArray(array, variable.dtype, Conversion::Direct);
}

} // namespace mpc::data
