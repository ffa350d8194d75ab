// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors of the reference semantics: what each op is defined to compute, in double.
#ifndef MPC_DIALECTS_MPC_IR_REFERENCE_H
#define MPC_DIALECTS_MPC_IR_REFERENCE_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

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
  double at(int64_t index) const { return isFloating() ? floats[index] : double(integers[index]); }
  /// Stores a value computed in double: rounds floating elements to nearest even.
  void set(int64_t index, double value);
};

/// `value` rounded to nearest even in `type` (f16, bf16, f32, f64); overflow gives infinity.
double roundTo(mlir::Type type, double value);

/// Row-major strides of `shape`, 0 where the extent is 1, as broadcasting into `resultShape` needs.
llvm::SmallVector<int64_t> broadcastStrides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> resultShape);

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_REFERENCE_H
