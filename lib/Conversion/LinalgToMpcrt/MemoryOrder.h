// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of a block's ops in the memory that they touch, for passes that change the order of
// ops.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_MEMORYORDER_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_MEMORYORDER_H

#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "mlir/IR/PatternMatch.h"
#include <map>

namespace mpc {

/// Finds the ops that touch the same memory as another one without asking all that stand between
/// them. Ops have places in the order in which they stood at first; what a pass moves keeps its
/// place unless it says so.
class MemoryOrder {
public:
  MemoryOrder(mlir::Block &block, BufferUses &uses);

  /// The first op behind `op` that may touch the buffer; null without one.
  mlir::Operation *findNext(mlir::Operation *op, mlir::Value buffer);
  /// Whether `matches` holds for an op from `first` on and before `last` whose order with `op`
  /// matters, and which is not `op`.
  bool anyOrderedWith(mlir::Operation *op, mlir::Operation *first, mlir::Operation *last,
                      llvm::function_ref<bool(mlir::Operation *)> matches);
  /// Moves what the values are computed from to a place before `point`, unless it is there; false
  /// where that cannot be.
  bool moveDefinitions(mlir::RewriterBase &rewriter, llvm::ArrayRef<mlir::Value> values,
                       mlir::Operation *point);
  /// `merged` is to do what `a` and `b` did, and gets the place of `point`, one of them. It is to
  /// be called before these change, and gives the function that is to be called once `merged`
  /// exists.
  std::function<void(mlir::Operation *merged)> replace(mlir::Operation *a, mlir::Operation *b,
                                                       mlir::Operation *point);

private:
  using Place = uint64_t;
  /// Ops that touch one piece of memory, and those of them that write it: of what many read, as of
  /// a number for all updates, a reader asks the writers alone.
  struct Track {
    std::map<Place, mlir::Operation *> ops, writers;
    void add(Place place, mlir::Operation *op, bool writes) {
      ops.try_emplace(place, op);
      if (writes)
        writers.try_emplace(place, op);
    }
  };
  struct Touch {
    Track *track;
    bool isWritten;
  };
  /// The pieces of an arena, sorted, with what tells from one of them on that no later, or no
  /// earlier, one overlaps.
  struct Arena {
    struct Piece {
      ByteRange range;
      Track track;
    };
    std::vector<Piece> pieces;
    std::vector<std::pair<int64_t, int64_t>> largestEnds, smallestBegins;
    void sort();
    /// The first piece that is not sorted before the range.
    size_t indexOf(const ByteRange &range) const;
    Track &trackOf(const ByteRange &range);
    void findOverlapping(const ByteRange &range, llvm::SmallVectorImpl<Track *> &found);
  };

  /// The tracks whose ops may touch the buffer, among others.
  llvm::SmallVector<Track *> tracksOf(mlir::Value base);
  /// The track of exactly this memory; null if it is not known what memory it is.
  Track *ownTrackOf(mlir::Value base);
  llvm::SmallVector<Touch> touchesOf(mlir::Operation *op);

  mlir::Block &block;
  BufferUses &uses;
  llvm::DenseMap<mlir::Operation *, Place> places;
  Place moved = 0; ///< number of ops that got a place between others
  llvm::DenseMap<mlir::Value, std::unique_ptr<Track>> others; ///< of what is not in an arena
  llvm::DenseMap<mlir::Value, std::unique_ptr<Arena>> arenas;
  Track unknown; ///< ops that may touch anything
  Track all;
};

} // namespace mpc

#endif // MPC_LIB_CONVERSION_LINALGTOMPCRT_MEMORYORDER_H
