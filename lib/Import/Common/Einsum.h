// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Einstein summation as contractions, for EinsumDense, attention, Dot and keras.ops.einsum.
#ifndef MPC_LIB_IMPORT_COMMON_EINSUM_H
#define MPC_LIB_IMPORT_COMMON_EINSUM_H

#include "dialects/mpc/IR/Mpc.h"

#include "llvm/Support/Error.h"

namespace mpc {

/// A label of each dimension: the letter, or a number below 'A' for a dimension of an ellipsis.
using EinsumLabels = llvm::SmallVector<char>;

struct Einsum {
  llvm::SmallVector<EinsumLabels> operands;
  EinsumLabels result;

  /// Reads "abc,cd->abd", "...x,xy->...y" or the form without "->" (the result then has the labels
  /// that appear once, in alphabetical order) for operands of these ranks.
  static llvm::Expected<Einsum> parse(llvm::StringRef equation, llvm::ArrayRef<int64_t> ranks);

  /// The ops; an error for what mpc cannot express (a diagonal of the open batch, extents that
  /// differ).
  llvm::Expected<mlir::Value> build(mlir::OpBuilder &builder, mlir::Location loc,
                                    llvm::ArrayRef<mlir::Value> values) const;
};

} // namespace mpc

#endif
