// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients that are sums of parts. TensorFlow leaves the gradient of a table that is only gathered
// from as rows and their places, one for every time that a row was taken; Keras's optimizers square
// each row before they add those of one place (keras/src/backend/tensorflow/sparse.py,
// elementwise_unary).
#ifndef MPC_LIB_AUTODIFF_GRADIENTPARTS_H
#define MPC_LIB_AUTODIFF_GRADIENTPARTS_H

#include "dialects/mpc/IR/Arithmetic.h"

namespace mpc {

struct GradientPart {
  ScatterAddOp sum;   ///< adds the rows
  mlir::Value values; ///< the rows that count: what `sum` adds, then unscaled and clipped
};

/// The parts of a gradient that is nothing but rows added to zeros; none of a dense one.
llvm::SmallVector<GradientPart> findParts(mlir::Value gradient);

/// The sum at the places of the rows of |values|^power (power 1 or 2), or of the values themselves
/// (0), in the element type of `arithmetic`.
mlir::Value sumPowers(const Arithmetic &arithmetic, llvm::ArrayRef<GradientPart> parts,
                      unsigned power);

/// Which elements of the table lie in a row that some part is of, as truth values of the gradient's
/// shape; null without parts.
mlir::Value findTouched(const Arithmetic &arithmetic, llvm::ArrayRef<GradientPart> parts);

} // namespace mpc

#endif // MPC_LIB_AUTODIFF_GRADIENTPARTS_H
