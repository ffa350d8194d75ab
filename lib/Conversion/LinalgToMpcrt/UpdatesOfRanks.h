// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The launches of a module of which each rank of a job does a part.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_UPDATESOFRANKS_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_UPDATESOFRANKS_H

#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mpc {

/// Ranks share updates of so many elements: a message costs more than the update of fewer.
inline constexpr int64_t kFewestSharedElements = 1024;

/// A launch that goes element by element through variables.
struct RankUpdate {
  mpcrt::LaunchOp launch;
  int64_t elements;
  llvm::SmallVector<unsigned> own; ///< arguments of which an iteration touches its own element

  mlir::Value argument(unsigned index) const {
    return mpcrt::LaunchOp(launch).getArguments()[index];
  }
};

/// Finds what ranks can share among the updates of variables with `mpc.sharded`.
class UpdatesOfRanks {
public:
  explicit UpdatesOfRanks(mlir::ModuleOp module);

  const llvm::MapVector<mlir::Operation *, RankUpdate> &all() const { return updates; }
  /// The variables that they write.
  llvm::SetVector<mlir::Operation *> findWritten();
  /// Whether they alone touch the variable, in all entries.
  bool areOnlyUsersOf(VariableOp variable);
  /// Whether what touches the result of a reduction behind it needs the own elements alone.
  bool needsOwnPart(mpcrt::AllReduceOp reduction);
  /// The variable that a buffer of an entry is; null for others.
  VariableOp variableOf(mlir::Value buffer);
  /// Whether the launch stores to that argument.
  bool isWritten(mpcrt::LaunchOp launch, unsigned argument);

private:
  void collect(mlir::func::FuncOp entry);
  std::optional<RankUpdate> match(mpcrt::LaunchOp launch);
  bool isSharded(VariableOp variable);
  void followSlots();
  void dropReadWhole();
  bool isReadWhole(const RankUpdate &update, unsigned argument);
  /// Whether the op is an update that touches `buffer`, of so many elements, by its own elements.
  bool isOwnUse(mlir::Operation *user, mlir::Value buffer, int64_t elements);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  BufferUses uses;
  /// The arguments of all entries that are a variable.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::BlockArgument>> arguments;
  llvm::MapVector<mlir::Operation *, RankUpdate> updates; // by launch
};

/// All ops that touch the memory of a buffer through the value or views of it.
llvm::SmallVector<mlir::OpOperand *> findTouches(mlir::Value buffer);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_LINALGTOMPCRT_UPDATESOFRANKS_H
