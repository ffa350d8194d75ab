// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Serialised Keras objects in layer configs that become attributes of a variable.
#ifndef MPC_LIB_IMPORT_KERAS_OBJECTS_H
#define MPC_LIB_IMPORT_KERAS_OBJECTS_H

#include "dialects/mpc/IR/Mpc.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace mpc::keras {

using ReportFn = llvm::function_ref<void(const llvm::Twine &)>;

/// Class name and config of a serialised object, or of a plain name; an empty name for null.
struct SerializedObject {
  std::string className; ///< as written; plain names may be snake case
  llvm::json::Object config;
};
SerializedObject readObject(const llvm::json::Value *value);

/// The initializer with numbers in place of fans (keras/src/initializers); GlorotUniform and Zeros
/// have no default here: null for a missing one is the caller's. Null after an error; a class that
/// is not Keras's goes to `unknown` instead.
InitializerAttr parseInitializer(mlir::MLIRContext &context, const llvm::json::Value *value,
                                 llvm::ArrayRef<int64_t> shape, ReportFn report, ReportFn unknown);

/// L1, L2, L1L2, OrthogonalRegularizer (keras/src/regularizers); null for none and after an error.
RegularizerAttr parseRegularizer(mlir::MLIRContext &context, const llvm::json::Value *value,
                                 ReportFn report, ReportFn unknown);

/// MaxNorm, NonNeg, UnitNorm, MinMaxNorm (keras/src/constraints) of a variable with `rank`
/// dimensions; axes are counted from the front and sorted. Null for none and after an error, which
/// names `key`.
ConstraintAttr parseConstraint(mlir::MLIRContext &context, const llvm::json::Value *value,
                               unsigned rank, llvm::StringRef key, ReportFn report,
                               ReportFn unknown);

} // namespace mpc::keras

#endif
