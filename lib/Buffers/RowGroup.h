// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which structured ops on buffers may run together on a part of the rows.
#ifndef MPC_LIB_BUFFERS_ROWGROUP_H
#define MPC_LIB_BUFFERS_ROWGROUP_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mpc/Analysis/BatchExtent.h"

namespace mpc {

/// The buffers that structured ops touch, and their extents, are found once for each op: most
/// ops are asked about by many groups.
class RowAccesses {
public:
  /// `findsWhole`: the first columns of a buffer are rows of it, too, as where a matrix is padded.
  explicit RowAccesses(bool findsWhole) : findsWhole(findsWhole) {}

  struct Access {
    mlir::Value buffer;
    mlir::Value origin; ///< the allocation or argument that the buffer is a view of
    unsigned rowLoops;  ///< first results of the map that are the first loops
    bool writes;
  };
  struct Loops {
    llvm::SmallVector<std::optional<BatchExtent>> extents;
    unsigned outer = 0;    ///< loops before the first one that sums
    unsigned mostRows = 0; ///< first loops that can be rows without being columns of a sum
    bool sums = false;
    bool hasColumns = false; ///< a parallel loop stands behind one that sums
    bool isOnBuffers = false;
  };
  llvm::ArrayRef<Access> of(mlir::linalg::LinalgOp op) { return find(op).accesses; }
  const Loops &loopsOf(mlir::linalg::LinalgOp op) { return find(op).loops; }
  /// Ops are forgotten before they change or go.
  void forget(llvm::ArrayRef<mlir::Operation *> ops) {
    for (mlir::Operation *op : ops)
      known.erase(op);
  }

private:
  struct Known {
    llvm::SmallVector<Access> accesses;
    Loops loops;
  };
  const Known &find(mlir::linalg::LinalgOp op);

  bool findsWhole;
  // By address, which stays when the map grows.
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Known>> known;
};

/// Ops of one block, in order, that can sink to the last of them and run row by row: their first
/// loops are parallel, have equal extents and index whatever one of them writes and another
/// touches.
class RowGroup {
public:
  /// `keepsRows`: rows stay as short as those of the first op, whose rows at most `mostLoops` of
  /// its loops count, and as those of each op that sums; no op has much more to do in one than
  /// these.
  RowGroup(RowAccesses &known, bool keepsRows, unsigned mostLoops = UINT_MAX)
      : known(&known), mostLoops(mostLoops), keepsRows(keepsRows) {}

  /// Whether it takes no further op.
  bool isFull() const;
  /// Takes `op` when it fits; otherwise the group stays as it is.
  bool add(mlir::Operation *op);

  /// The group before an op was added, to which it can go back while nothing was postponed since.
  struct State {
    size_t ops, accesses;
    unsigned loops;
    int64_t elementsSummed;
    llvm::SmallVector<BatchExtent> extents;
  };
  State getState() const { return {ops.size(), accesses.size(), loops, elementsSummed, extents}; }
  void restore(const State &state);

  /// Whether the group's ops may sink below `op` (which may be one of them), and should: a library
  /// call ends a group, because rows do not stay in the cache across it.
  bool canPass(mlir::Operation *op) const;

  /// Notes that `op`, which needs what the group computes, comes after it, if that is possible:
  /// what is added or passed later must not need it.
  bool postpone(mlir::Operation *op);

  /// Several ops, of which one reduces over a row: elementwise ops alone were merged before, and
  /// run better over all elements than row by row.
  bool isWorthwhile() const;

  /// Whether every access to `buffer` is indexed with the group's loops first.
  bool isRowWise(mlir::Value buffer) const;

  bool contains(mlir::Operation *op) const { return members.contains(op); }

  /// Bytes of a buffer of this type for one row; none when its first dimensions are not the rows.
  std::optional<int64_t> bytesPerRow(mlir::MemRefType type) const;

  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  llvm::ArrayRef<mlir::Operation *> getPostponed() const { return postponed; }
  /// Number of loops that count the rows.
  unsigned getLoops() const { return loops; }

private:
  using Access = RowAccesses::Access;
  /// An op's first loops as rows of the group.
  struct Rows {
    unsigned loops;
    llvm::SmallVector<BatchExtent> extents; ///< of the loops, and perhaps of more
    int64_t elements = 1;                   ///< in a row
  };
  /// The rows of an op with at most `most` loops and the extents of the group's; none if a row
  /// would be too long.
  std::optional<Rows> countRows(const RowAccesses::Loops &op, unsigned most) const;
  /// How many of `common` loops stay rows where the op meets what it or the group touches.
  unsigned countIndependentLoops(llvm::ArrayRef<Access> added, unsigned common) const;
  /// Accesses, by what they are to.
  class Accesses {
  public:
    void add(llvm::ArrayRef<Access> more);
    /// Takes back all but the first ones.
    void truncate(size_t count);
    size_t size() const { return inOrder.size(); }
    llvm::ArrayRef<Access> to(mlir::Value origin) const;
    /// Whether one of `others` must not change places with one of these.
    bool conflictWith(llvm::ArrayRef<Access> others) const;

  private:
    llvm::SmallVector<mlir::Value> inOrder; ///< the origins
    llvm::DenseMap<mlir::Value, llvm::SmallVector<Access, 2>> byOrigin;
  };

  RowAccesses *known;
  llvm::SmallVector<mlir::Operation *> ops, postponed;
  llvm::SmallPtrSet<mlir::Operation *, 8> members; ///< the ops
  Accesses accesses, postponedAccesses;
  llvm::SmallVector<BatchExtent> extents; ///< of the loops
  int64_t elementsSummed = 0;             ///< in a row, by the op with most of them
  unsigned mostLoops, loops = 0;
  bool keepsRows;
};

} // namespace mpc

#endif
