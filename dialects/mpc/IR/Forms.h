// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The attribute mpc.form: what the type of an argument or result of a function does not say.
#ifndef MPC_DIALECTS_MPC_IR_FORMS_H
#define MPC_DIALECTS_MPC_IR_FORMS_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

/// Whether forms fit the type that has them; an error on `op` otherwise.
llvm::LogicalResult verifyForms(mlir::Operation *op, mlir::Type type, mlir::Attribute forms);
/// Whether a result has forms that fit its type; its extent must be another result.
llvm::LogicalResult verifyResultForms(mlir::FunctionOpInterface function, unsigned result);

/// Whether a value of this type may hold the extent of a call.
bool isExtentType(mlir::Type type);

/// The form of this kind; null where there is none.
template <typename Form> Form findForm(mlir::Attribute forms) {
  if (auto all = llvm::dyn_cast_or_null<mlir::ArrayAttr>(forms))
    for (mlir::Attribute form : all)
      if (auto found = llvm::dyn_cast<Form>(form))
        return found;
  return {};
}

/// Gives the results of entries that are outputs of @forward the forms that these have.
void keepForms(mlir::func::FuncOp forward, mlir::func::FuncOp entry);

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_FORMS_H
