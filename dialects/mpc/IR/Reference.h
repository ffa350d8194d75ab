// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors of the reference semantics: what each op is defined to compute, in double.
#ifndef MPC_DIALECTS_MPC_IR_REFERENCE_H
#define MPC_DIALECTS_MPC_IR_REFERENCE_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <array>

namespace mpc {

/// A tensor of static shape, row-major. Floating elements live in `floats`, already rounded to the
/// element type; integers and i1 in `integers`, so that ids and counters stay exact.
struct ReferenceTensor {
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<double, 0> floats;
  llvm::SmallVector<int64_t, 0> integers;

  bool isFloating() const { return llvm::isa<mlir::FloatType>(elementType); }
  int64_t size() const;
  /// Allocates `size()` zeros in the vector that the element type asks for.
  void allocate();
  /// The element as double, whichever vector holds it.
  double at(int64_t index) const;
  /// The element of a tensor of integers, i1 among the unsigned ones.
  llvm::APSInt integerAt(int64_t index) const;
  /// Stores a value computed in double: rounds floating elements to nearest even, and integers
  /// towards zero.
  void set(int64_t index, double value);
  /// Stores an integer, which wraps at the width of the element type.
  void set(int64_t index, const llvm::APSInt &value);
};

/// `value` rounded to nearest even in `type` (f16, bf16, f32, f64); overflow gives infinity.
double roundTo(mlir::Type type, double value);

/// Row-major strides of `shape`.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// The offset `sum(index[d] * strides[d])` of each index of a box with these extents, in row-major
/// order.
llvm::SmallVector<int64_t, 0> stridedOffsets(llvm::ArrayRef<int64_t> extents,
                                             llvm::ArrayRef<int64_t> strides);

/// Gives `result` the element type and shape and zeros.
void startReference(ReferenceTensor &result, mlir::Type elementType, llvm::ArrayRef<int64_t> shape);

/// `result[i] = input[offsets[i]]`; both hold elements of one type and `result` has its shape.
void gatherReference(const ReferenceTensor &input, llvm::ArrayRef<int64_t> offsets,
                     ReferenceTensor &result);

/// A seed grows by this from step to step (mpc.random_step): 2^64 / golden ratio, odd.
inline constexpr uint64_t kStepKey = 0x9E3779B97F4A7C15;

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// The row-major index that the first element of a tensor of samples of this shape has: 0 unless
/// `state` says the number of the first sample.
int64_t firstElementOf(const ReferenceTensor &state, llvm::ArrayRef<int64_t> shape);
/// Whether mpc.dropout keeps the element of this row-major index; `state` is seed and counter.
bool keepsElement(const ReferenceTensor &state, int64_t stream, double rate, int64_t element);

/// Row-major strides of `shape`, 0 where the extent is 1, as broadcasting into `resultShape` needs.
llvm::SmallVector<int64_t> broadcastStrides(llvm::ArrayRef<int64_t> shape,
                                            llvm::ArrayRef<int64_t> resultShape);

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_REFERENCE_H
