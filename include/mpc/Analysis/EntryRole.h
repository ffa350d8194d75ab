// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entries of a module, and what they are for.
#ifndef MPC_ANALYSIS_ENTRYROLE_H
#define MPC_ANALYSIS_ENTRYROLE_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace mpc {

/// Whether the function becomes an entry of the library.
inline bool isEntry(mlir::Operation *function) { return function->hasAttr(MpcDialect::kEntryAttr); }

/// Nothing of functions that are no entries, and of entries that are none of mpc's own.
inline std::optional<EntryRole> entryRoleOf(mlir::func::FuncOp function) {
  auto role = function->getAttrOfType<EntryRoleAttr>(MpcDialect::kEntryAttr);
  return role ? std::optional(role.getValue()) : std::nullopt;
}

/// The entry of that role; null where there is none.
inline mlir::func::FuncOp findEntry(mlir::ModuleOp module, EntryRole role) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>(stringifyEntryRole(role));
  return function && entryRoleOf(function) == role ? function : mlir::func::FuncOp();
}

/// A copy at the end of the module, as the entry of that role.
inline mlir::func::FuncOp copyEntry(mlir::func::FuncOp entry, EntryRole role) {
  auto module = entry->getParentOfType<mlir::ModuleOp>();
  auto builder = mlir::OpBuilder::atBlockEnd(module.getBody());
  auto copy = llvm::cast<mlir::func::FuncOp>(builder.clone(*entry));
  copy.setName(stringifyEntryRole(role));
  copy->setAttr(MpcDialect::kEntryAttr, EntryRoleAttr::get(module.getContext(), role));
  return copy;
}

/// A part of the training step, for a caller's own loop.
inline bool isTrainStage(EntryRole role) {
  return role == EntryRole::TrainForward || role == EntryRole::TrainBackward ||
         role == EntryRole::TrainApply;
}

/// With a dynamic loss scale: whether the step counts. An output of the step, an input of its last
/// stage.
inline constexpr llvm::StringLiteral kFinite = "finite";

} // namespace mpc

#endif // MPC_ANALYSIS_ENTRYROLE_H
