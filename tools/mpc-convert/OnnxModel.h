// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values back into the ONNX model whose variables they are.
#ifndef MPC_TOOLS_MPC_CONVERT_ONNXMODEL_H
#define MPC_TOOLS_MPC_CONVERT_ONNXMODEL_H

#include "mpc/Import/Keras/Weights.h"

#include "llvm/Support/Error.h"

namespace mpc {

/// The bytes of the ONNX file `model` with `values` in its initializers of their names, in the
/// types that these have; what an optimizer, metrics and random numbers keep is left out. `file`:
/// where the values are from, for errors.
llvm::Expected<std::string> fillOnnxModel(const keras::WeightFile &values, llvm::StringRef file,
                                          const std::string &model);

} // namespace mpc

#endif // MPC_TOOLS_MPC_CONVERT_ONNXMODEL_H
