// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How pools and their gradients are built: structured ops whose bodies read elements at computed
// indices.
#ifndef MPC_LIB_CONVERSION_MPCTOLINALG_POOLBUILDER_H
#define MPC_LIB_CONVERSION_MPCTOLINALG_POOLBUILDER_H

#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Windows.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <limits>

namespace mpc {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Elements that one body may read.
inline constexpr int64_t kMostUnrolled = 64;
inline constexpr int64_t kMostUnrolledAlongAxis = 256;

/// A pool along some dimensions of a channels-last tensor.
struct PoolWindow {
  llvm::SmallVector<int64_t> dimensions;
  llvm::SmallVector<PoolAxis> axes;

  /// The values that a member function of PoolAxis gives for the axes.
  llvm::SmallVector<int64_t> extents(int64_t (PoolAxis::*count)() const) const;
};

/// One axis after the other, the last first.
llvm::SmallVector<PoolWindow> separate(const PoolWindow &window);

/// Product of extents, no larger than 2^32.
int64_t cappedProduct(llvm::ArrayRef<int64_t> extents);

/// Calls `visit` with each index into a box, the last dimension fastest.
void forEachIndex(llvm::ArrayRef<int64_t> extents,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// The scalar code of one body: reads elements at guarded indices.
struct PoolReader {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t rank;
  IndexMath math{builder, loc};

  mlir::Value loopIndex(int64_t dimension);
  /// The element of `tensor` at the loops' indices, with those of `dimensions` replaced.
  mlir::Value read(mlir::Value tensor, llvm::ArrayRef<int64_t> dimensions,
                   llvm::ArrayRef<GuardedIndex> guarded);
  mlir::Value counts(llvm::ArrayRef<GuardedIndex> guarded);
  /// A null condition is always true.
  mlir::Value select(mlir::Value condition, mlir::Value value, mlir::Value otherwise);
  mlir::Value number(mlir::Type type, double value);
  /// The number of elements of the window at `outputs`, as `type`.
  mlir::Value count(const PoolWindow &window, llvm::ArrayRef<mlir::Value> outputs, mlir::Type type);
};

/// Builds the structured ops of one pool or gradient.
class PoolBuilder {
public:
  PoolBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::Value pool(ReduceKind kind, mlir::Value input, const PoolWindow &window,
                   mlir::Type element);
  mlir::Value meanGradient(mlir::Value cotangent, const PoolWindow &window, mlir::Type element);
  mlir::Value maxGradient(mlir::Value cotangent, mlir::Value input, const PoolWindow &window,
                          mlir::Type element);

private:
  using Values = llvm::SmallVector<mlir::Value>;
  using Body = llvm::function_ref<Values(PoolReader &)>;
  using LoopBody =
      llvm::function_ref<Values(PoolReader &, mlir::Value tap, mlir::ValueRange partial)>;
  using Share = llvm::function_ref<mlir::Value(PoolReader &, llvm::ArrayRef<mlir::Value>)>;

  /// A parallel op over `types`, whose body reads by itself.
  Values build(llvm::ArrayRef<mlir::RankedTensorType> types, mlir::Value source, Body body);
  /// The same with one more, innermost loop of `count` iterations that updates the results, which
  /// begin as `starts`.
  Values buildLoop(llvm::ArrayRef<mlir::RankedTensorType> types, mlir::Value source, int64_t count,
                   llvm::ArrayRef<mlir::Value> starts, LoopBody body);
  /// `value` divided by the elements of its window when that is asked for, and rounded.
  mlir::Value finish(mlir::Value value, const PoolWindow *dividedBy, mlir::Type element);
  mlir::RankedTensorType resized(mlir::Value value, const PoolWindow &window, bool toOutputs,
                                 mlir::Type element);

  mlir::Value unrolled(ReduceKind kind, mlir::Value input, const PoolWindow &window,
                       mlir::Type element);
  mlir::Value insideUnrolled(ReduceKind kind, mlir::Value input, const PoolWindow &window,
                             mlir::Type element);
  mlir::Value reduced(ReduceKind kind, mlir::Value input, const PoolWindow &window,
                      mlir::Type element);

  std::pair<mlir::Value, mlir::Value> firstLargest(mlir::Value input, mlir::Value inputIndices,
                                                   const PoolWindow &window);
  mlir::Value gather(mlir::Value cotangent, const PoolWindow &window, mlir::Type element,
                     llvm::ArrayRef<int64_t> candidates, Share shareOf);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCTOLINALG_POOLBUILDER_H
