// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds one entry function: arguments by name, outputs before updates, nothing unused.
#ifndef MPC_LIB_AUTODIFF_ENTRYBUILDER_H
#define MPC_LIB_AUTODIFF_ENTRYBUILDER_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mpc/Analysis/EntryRole.h"

namespace mpc {

class EntryBuilder {
public:
  EntryBuilder(mlir::ModuleOp module, EntryRole role, mlir::Location loc);

  /// The argument of the same kind and name (mpc.input or mpc.target); added, with all attributes,
  /// when new.
  mlir::Value argument(mlir::Type type, mlir::DictionaryAttr attributes);
  /// The argument that holds a variable's value when the function is called.
  mlir::Value variable(mlir::FlatSymbolRefAttr symbol);
  /// The attributes that the argument was added with; the function has them from `finish` on.
  mlir::DictionaryAttr attributesOf(mlir::BlockArgument argument) const {
    return arguments[argument.getArgNumber()];
  }
  /// Null for a symbol that is no variable of the module.
  VariableOp declarationOf(mlir::FlatSymbolRefAttr symbol);
  void addOutput(llvm::StringRef name, mlir::Value value);
  void addUpdate(mlir::FlatSymbolRefAttr symbol, mlir::Value value);
  /// Ends the function: removes dead ops and variable arguments that nothing reads, returns.
  void finish();

  mlir::OpBuilder builder;
  mlir::func::FuncOp function;

private:
  mlir::Value addArgument(mlir::Type type, mlir::DictionaryAttr attributes);

  struct Result {
    mlir::Value value;
    mlir::NamedAttribute attribute;
  };
  mlir::ModuleOp module;
  llvm::SmallVector<mlir::DictionaryAttr> arguments; ///< attributes of each
  unsigned others = 0;                               ///< arguments before the variables
  llvm::DenseMap<mlir::Attribute, VariableOp> declarations;
  llvm::SmallVector<Result> outputs, updates;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, mlir::Value> named; // by kind, name
  llvm::DenseMap<mlir::Attribute, mlir::Value> variables;
};

/// Removes ops without uses and variable arguments that nothing reads.
void removeDeadCode(mlir::func::FuncOp function);

} // namespace mpc

#endif // MPC_LIB_AUTODIFF_ENTRYBUILDER_H
