// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of Keras's dtypes and kinds of JSON numbers.
#ifndef MPC_LIB_IMPORT_KERAS_DTYPE_H
#define MPC_LIB_IMPORT_KERAS_DTYPE_H

#include "mlir/IR/Builders.h"
#include "llvm/Support/JSON.h"

#include <optional>

namespace mpc::keras {

/// As parseDtype, and of Python's "int", which a layer may have for a dtype.
mlir::Type dtypeElement(mlir::Builder &builder, llvm::StringRef dtype);

/// A truth value, or a number, which Python takes for one; nothing for other values, and for null
/// pointers.
std::optional<bool> readFlag(const llvm::json::Value *value);

/// Whether a JSON number stands for a Python float: 2.0, not 2.
bool isWrittenAsFloat(const llvm::json::Value &value);

} // namespace mpc::keras

#endif
