// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// @forward while layers are imported into it: its arguments as they are asked for, what values
// carry along (masks, known integers), the terms of the loss, the random state; in the end its
// signature.
#ifndef MPC_LIB_IMPORT_KERAS_FORWARDFUNCTION_H
#define MPC_LIB_IMPORT_KERAS_FORWARDFUNCTION_H

#include "dialects/mpc/IR/Mpc.h"
#include "lib/Import/Common/ForwardModule.h"
#include "lib/Import/Keras/BatchPlaces.h"
#include "lib/Import/Keras/Legacy/SymbolicIntegers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace mpc::keras {

class VariableTable;

class ForwardFunction : public ForwardModule {
public:
  using ForwardModule::ForwardModule;

  // ---- Arguments ------------------------------------------------------------------------------

  /// A model input behind those that there are.
  mlir::Value addInput(llvm::StringRef name, mlir::RankedTensorType type, mlir::Location place) {
    return insertInput(name, type, place);
  }
  /// Bounds the numbers of a model input; of other values nothing is checked, and this is false.
  bool limitInput(mlir::Value input, int64_t limit);
  mlir::BlockArgument addVariable(mlir::RankedTensorType type, mlir::Location place) {
    return body->addArgument(type, place);
  }

  // ---- Values ---------------------------------------------------------------------------------

  /// The mask (i1) that a value carries, Keras's `_keras_mask`; null without one.
  mlir::Value getMask(mlir::Value value) const { return masks.lookup(value); }
  void setMask(mlir::Value value, mlir::Value mask) { masks[value] = mask; }
  /// Training adds a scalar to the loss, which `compute` makes in float32 of `input`, in a
  /// layer of its own; without `compute` the input itself.
  void addLossTerm(
      llvm::StringRef path, llvm::StringRef kind, mlir::Value input,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Value)> compute = {});

  /// Training and evaluation report the mean of all elements of `input` under `name`, of which a
  /// layer that is called twice has one. False where another layer has the name.
  bool addMetric(llvm::StringRef path, llvm::StringRef name, mlir::Value input);

  /// Gives the function its arguments in their order, its results and the module its variables.
  mlir::OwningOpRef<mlir::ModuleOp> finish(VariableTable &variables,
                                           llvm::ArrayRef<mlir::Value> outputs);

  llvm::SmallVector<mlir::Value> lossTerms;
  struct AddedMetric {
    std::string path, name;
    mlir::Value values;
  };
  std::vector<AddedMetric> addedMetrics;
  /// Results of TensorFlow's functions of shapes.
  SymbolicIntegerTable symbolicIntegers;
  BatchPlaces batchPlaces;

private:
  void addResults(const VariableTable &variables, llvm::ArrayRef<mlir::Value> outputs);
  mlir::NamedAttribute flag(llvm::StringRef attribute) {
    return builder.getNamedAttr(attribute, builder.getUnitAttr());
  }

  llvm::DenseMap<mlir::Value, int64_t> indexLimits; ///< of inputs
  llvm::DenseMap<mlir::Value, mlir::Value> masks;
};

} // namespace mpc::keras

#endif
