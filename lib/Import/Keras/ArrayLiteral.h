// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constant arrays in the calls of a model file.
#ifndef MPC_LIB_IMPORT_KERAS_ARRAYLITERAL_H
#define MPC_LIB_IMPORT_KERAS_ARRAYLITERAL_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/JSON.h"

namespace mpc::keras {

/// The elements of a nested list of numbers or truth values, rounded once where `element` is
/// floating. Null for what is no rectangular array of them, or has numbers that an integer type has
/// not.
mlir::DenseElementsAttr readArray(const llvm::json::Value &value, mlir::Type element);

/// The elements of an object `__tensor__` or `__numpy__`: integers in their own dtype, floating
/// numbers in float32, as a model's inputs. Null as above, and for dtypes that mpc has no tensors
/// of.
mlir::DenseElementsAttr readArrayObject(mlir::Builder &builder, const llvm::json::Object &object);

} // namespace mpc::keras

#endif // MPC_LIB_IMPORT_KERAS_ARRAYLITERAL_H
