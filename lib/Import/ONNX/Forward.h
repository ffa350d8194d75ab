// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// @forward while nodes are imported into it: its arguments, the random state, in the end its
// signature.
#ifndef MPC_LIB_IMPORT_ONNX_FORWARD_H
#define MPC_LIB_IMPORT_ONNX_FORWARD_H

#include "lib/Import/ONNX/Parameters.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mpc::onnx {

class Forward {
public:
  Forward(mlir::MLIRContext &context, llvm::StringRef fileName, llvm::StringRef moduleName);

  /// An input of the model; of a floating type other than float32, as an mpc.layer of that type
  /// hands it on.
  mlir::Value addInput(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, DataType type);
  /// The variable's value, for a layer at `path`.
  mlir::Value getVariable(unsigned number, llvm::StringRef path);
  /// An input whose first extent is open; null where there is none.
  mlir::Value getBatchCarrier() const { return batchCarrier; }
  mlir::Value getRandomState();
  int64_t takeRandomStream() { return randomStreams++; }

  mlir::OwningOpRef<mlir::ModuleOp> finish(llvm::ArrayRef<mlir::Value> outputs);

  llvm::ArrayRef<std::string> getInputNames() const { return inputNames; }

  mlir::OpBuilder builder; ///< at the end of the body
  const mlir::Location location;
  std::unique_ptr<Parameters> parameters;

private:
  void sortArguments();
  void nameArguments();
  void markUpdates();

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  mlir::Block *body;
  llvm::SmallVector<std::string> inputNames;
  mlir::Value batchCarrier;
  mlir::BlockArgument randomState;
  int64_t randomStreams = 0;
};

/// A precision that no policy decides.
PrecisionAttr makePrecision(mlir::Type compute, llvm::StringRef rule);

} // namespace mpc::onnx

#endif
