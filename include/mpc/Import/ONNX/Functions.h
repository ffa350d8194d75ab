// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops of ONNX that its specification defines as functions of other ops.
#ifndef MPC_IMPORT_ONNX_FUNCTIONS_H
#define MPC_IMPORT_ONNX_FUNCTIONS_H

#include "mpc/Import/ONNX/Model.h"

namespace mpc::onnx {

/// The body of ONNX's op `op` as the opset of a model defines it; null where the op is no function,
/// or one whose body depends on the call. The body's nodes are of `Function::opsets`, which may be
/// newer than the model's: a body came later than its op. Lives as long as the process.
const Function *findFunction(llvm::StringRef op, int64_t opset);

} // namespace mpc::onnx

#endif // MPC_IMPORT_ONNX_FUNCTIONS_H
