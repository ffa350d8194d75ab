// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// @forward while nodes are imported into it: its arguments, the random state, in the end its
// signature.
#ifndef MPC_LIB_IMPORT_ONNX_FORWARD_H
#define MPC_LIB_IMPORT_ONNX_FORWARD_H

#include "lib/Import/Common/ForwardModule.h"
#include "lib/Import/ONNX/BoundFlow.h"
#include "lib/Import/ONNX/Parameters.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mpc::onnx {

/// A result of @forward that is an output of the model.
struct ForwardOutput {
  mlir::Value value;
  std::optional<BoundedDimension> bound;
  size_t extent = 0; ///< of a bounded one: the output that says how much of it there is
  bool isText = false;
};

class Forward : public ForwardModule {
public:
  using ForwardModule::ForwardModule;

  /// An input of the model; of a floating type other than float32, as an mpc.layer of that type
  /// hands it on.
  mlir::Value addInput(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, DataType type);
  /// The variable's value, for a layer at `path`.
  mlir::Value getVariable(unsigned number, llvm::StringRef path);
  /// An input whose first extent is open; null where there is none.
  mlir::Value getBatchCarrier() const { return batchCarrier; }

  mlir::OwningOpRef<mlir::ModuleOp> finish(llvm::ArrayRef<ForwardOutput> outputs);

  std::unique_ptr<Parameters> parameters;

private:
  mlir::Value batchCarrier;
  llvm::SmallVector<unsigned> textInputs; ///< by number
};

} // namespace mpc::onnx

#endif
