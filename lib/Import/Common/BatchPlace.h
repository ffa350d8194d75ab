// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the open batch is among the dimensions of a tensor of the file. The dialect has it first
// and by itself: a tensor of the file is another order of the elements of one that is so.
#ifndef MPC_LIB_IMPORT_COMMON_BATCHPLACE_H
#define MPC_LIB_IMPORT_COMMON_BATCHPLACE_H

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/SmallVector.h"

namespace mpc {

/// Dimension `axis` has `before` × batch × `after` elements, in row-major order. The value that
/// stands for the tensor is [batch, dimensions in front of it, before, after, those behind it],
/// without a `before` and an `after` of 1.
struct BatchPlace {
  int64_t axis = 0, before = 1, after = 1;

  bool operator==(const BatchPlace &other) const {
    return axis == other.axis && before == other.before && after == other.after;
  }
  bool operator!=(const BatchPlace &other) const { return !(*this == other); }
  /// The tensor is as the dialect has it.
  bool isFirst() const { return axis == 0 && getFactor() == 1; }
  /// The extent in batches.
  int64_t getFactor() const { return before * after; }
  /// Dimensions of the value that are a part of the tensor's dimension `axis`, but for the batch.
  int64_t getParts() const { return (before != 1) + (after != 1); }
  /// The value's dimension that is dimension `d` of the tensor, another one than `axis`.
  int64_t find(int64_t d) const { return d < axis ? d + 1 : d + getParts(); }
  /// The value's dimensions that dimension `axis` of the tensor is made of, but for the batch.
  llvm::SmallVector<int64_t> findParts() const {
    llvm::SmallVector<int64_t> parts;
    for (int64_t part = 0; part < getParts(); ++part)
      parts.push_back(axis + 1 + part);
    return parts;
  }
  /// Finds several dimensions, the batch among them, and gives them in ascending order.
  llvm::SmallVector<int64_t> findAll(llvm::ArrayRef<int64_t> dimensions) const {
    llvm::SmallVector<int64_t> all;
    for (int64_t d : dimensions)
      if (d == axis) {
        all.push_back(0);
        llvm::append_range(all, findParts());
      } else {
        all.push_back(find(d));
      }
    llvm::sort(all);
    return all;
  }

  /// The shape of the value, of the tensor's.
  llvm::SmallVector<int64_t> arrange(llvm::ArrayRef<int64_t> shape) const {
    llvm::SmallVector<int64_t> value{mlir::ShapedType::kDynamic};
    llvm::append_range(value, shape.take_front(size_t(axis)));
    for (int64_t part : {before, after})
      if (part != 1)
        value.push_back(part);
    llvm::append_range(value, shape.drop_front(size_t(axis) + 1));
    return value;
  }
  /// The shape of the tensor, of the value's.
  llvm::SmallVector<int64_t> restore(llvm::ArrayRef<int64_t> value) const {
    llvm::SmallVector<int64_t> shape(value.slice(1, size_t(axis)));
    shape.push_back(mlir::ShapedType::kDynamic);
    llvm::append_range(shape, value.drop_front(size_t(axis + getParts()) + 1));
    return shape;
  }
};

} // namespace mpc

#endif
