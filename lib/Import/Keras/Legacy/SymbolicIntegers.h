// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers that import knows up to the number of samples: what tf.shape gives, and what models
// compute of it to reshape and repeat tensors.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_SYMBOLICINTEGERS_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_SYMBOLICINTEGERS_H

#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mpc::keras {

/// `batches` times the number of samples, and `constant`.
struct Extent {
  int64_t batches = 0, constant = 0;

  bool isConstant() const { return batches == 0; }
  bool isBatch() const { return batches == 1 && constant == 0; }
  bool operator==(const Extent &other) const {
    return batches == other.batches && constant == other.constant;
  }
};

/// Nothing where the result is none of this form, or overflows.
std::optional<Extent> addExtents(Extent a, Extent b);
std::optional<Extent> subtractExtents(Extent a, Extent b);
std::optional<Extent> multiplyExtents(Extent a, Extent b);
/// Rounded towards negative infinity.
std::optional<Extent> divideExtents(Extent a, Extent b);
std::optional<Extent> remainderOfExtents(Extent a, Extent b);
std::optional<Extent> largerExtent(Extent a, Extent b);
std::optional<Extent> smallerExtent(Extent a, Extent b);

/// A scalar or a vector of them.
struct SymbolicIntegers {
  bool isScalar = false;
  llvm::SmallVector<Extent, 4> elements;
  /// A tensor with the batch; null where all elements are constant.
  mlir::Value sample;

  bool isConstant() const;
  /// All elements; nothing where one depends on the batch.
  std::optional<llvm::SmallVector<int64_t>> getConstants() const;
};

using ExtentFn = std::optional<Extent> (*)(Extent, Extent);

/// Element by element; a scalar goes with each element. Nothing where the lengths differ, or an
/// element is none.
std::optional<SymbolicIntegers> combine(const SymbolicIntegers &a, const SymbolicIntegers &b,
                                        ExtentFn function);

/// The symbolic integers behind values of @forward. Constants are read off their ops and not
/// recorded.
class SymbolicIntegerTable {
public:
  std::optional<SymbolicIntegers> lookup(mlir::Value value) const;
  void record(mlir::Value value, SymbolicIntegers integers) { known[value] = std::move(integers); }

private:
  llvm::DenseMap<mlir::Value, SymbolicIntegers> known;
};

} // namespace mpc::keras

#endif
