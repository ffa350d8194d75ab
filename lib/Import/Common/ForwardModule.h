// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module that every importer delivers, with the function @forward: its arguments are inputs,
// variables and the random state, in this order.
#ifndef MPC_LIB_IMPORT_COMMON_FORWARDMODULE_H
#define MPC_LIB_IMPORT_COMMON_FORWARDMODULE_H

#include "dialects/mpc/IR/Mpc.h"

#include <string>

namespace mpc {

/// A precision that no policy decides: of an Input, of loss terms. mpc-apply-policy leaves it
/// alone.
PrecisionAttr makePrecision(mlir::Type compute, llvm::StringRef rule);

class ForwardModule {
public:
  ForwardModule(mlir::MLIRContext &context, llvm::StringRef fileName, llvm::StringRef moduleName);

  llvm::ArrayRef<std::string> getInputNames() const { return inputNames; }
  /// The model's Philox state; the first use declares it.
  mlir::Value getRandomState();
  /// Null where nothing uses it.
  mlir::Value findRandomState() const { return randomState; }
  int64_t takeRandomStream() { return randomStreams++; }

  mlir::OpBuilder builder;       ///< at the end of the body
  const mlir::Location location; ///< of what belongs to no layer

protected:
  /// A variable as an argument, and its path.
  struct Variable {
    mlir::BlockArgument &argument;
    llvm::StringRef path;
  };

  /// A model input behind those that there are.
  mlir::Value insertInput(llvm::StringRef name, mlir::RankedTensorType type, mlir::Location place);
  /// Arguments were collected as layers asked for them; `variables` are in their order.
  void sortArguments(llvm::ArrayRef<Variable> variables);

  /// @forward returns this next; `said` are its attributes.
  void addResult(mlir::Value value, llvm::ArrayRef<mlir::NamedAttribute> said);
  void addOutput(unsigned index, mlir::Value output);
  mlir::NamedAttribute nameOf(const llvm::Twine &output);
  mlir::NamedAttribute updateOf(llvm::StringRef path);
  /// Says on the mpc.layer which of its results is a variable's new value: of a layer that is
  /// called twice only the last one returns, but none is rounded to the compute dtype.
  void markUpdate(mlir::Value update, llvm::StringRef path);

  /// Behind the other results: the next random state, and the end. Gives the function its
  /// signature; declarations of variables come next, at the builder.
  void finishFunction(llvm::ArrayRef<Variable> variables);
  /// Behind the declarations of variables.
  mlir::OwningOpRef<mlir::ModuleOp> takeModule();

  mlir::func::FuncOp function;
  mlir::Block *body;
  llvm::SmallVector<std::string> inputNames;

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::BlockArgument randomState;
  int64_t randomStreams = 0;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::Attribute> resultAttributes;
};

} // namespace mpc

#endif
