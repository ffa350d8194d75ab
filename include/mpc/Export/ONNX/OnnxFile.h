// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ONNX's files from the models that they were read as, with other values of initializers.
#ifndef MPC_EXPORT_ONNX_ONNXFILE_H
#define MPC_EXPORT_ONNX_ONNXFILE_H

#include "mpc/Import/ONNX/Model.h"

#include <map>

namespace mpc::onnx {

/// The bytes of the file of `model` with `values` in place of what initializers of its graph hold,
/// by their names: elements of their own types, packed and little-endian. Tensors that lay in other
/// files are inside. All that mpc does not read of a file stays as it was. Takes the model, whose
/// tensors point into what it changes.
llvm::Expected<std::string> makeModelFile(Model model,
                                          const std::map<std::string, std::vector<char>> &values);

} // namespace mpc::onnx

#endif // MPC_EXPORT_ONNX_ONNXFILE_H
