// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How lowered ops build linalg.generic: destinations, broadcasting maps, constants in the body.
#ifndef MPC_LIB_CONVERSION_MPCTOLINALG_GENERIC_H
#define MPC_LIB_CONVERSION_MPCTOLINALG_GENERIC_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpc {

/// Computes one element: block arguments of the inputs (a constant stands for an input that is a
/// splat constant), then of the destinations; returns one value per destination.
using ScalarBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange inputs, mlir::ValueRange destinations)>;

/// Extent of a dimension, read as far up as it is known without the value itself: producers that
/// are asked for nothing but their extents would stay alive.
mlir::OpFoldResult extentOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                            int64_t dimension);

/// Extents of `type`; a dynamic one is taken from the source whose dimension, aligned at the last
/// one as NumPy broadcasting does, is dynamic. Sources are values of the function being lowered.
llvm::SmallVector<mlir::OpFoldResult> extentsFrom(mlir::OpBuilder &builder, mlir::Location loc,
                                                  mlir::RankedTensorType type,
                                                  mlir::ValueRange sources);

/// A tensor without contents, of `type`.
mlir::Value emptyFrom(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type,
                      mlir::ValueRange sources);

/// The same, filled.
mlir::Value filledFrom(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type,
                       mlir::ValueRange sources, mlir::Value scalar);

/// The map of an operand of shape `operand` that is broadcast over the `rank` loops of a result.
mlir::AffineMap broadcastMap(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> operand,
                             size_t rank);

/// Element that every index of a constant has, or null.
mlir::Attribute splatOf(mlir::Value value);

/// A parallel linalg.generic over the first destination's shape; inputs broadcast to it, splat
/// constants move into the body.
llvm::SmallVector<mlir::Value> buildElementwise(mlir::OpBuilder &builder, mlir::Location loc,
                                                mlir::ValueRange inputs,
                                                mlir::ValueRange destinations, ScalarBody body);

/// A linalg.generic over the dimensions of `inputs[0]`; `maps` are those of inputs, then
/// destinations; dimensions in `reduced` are reductions.
llvm::SmallVector<mlir::Value> buildReduction(mlir::OpBuilder &builder, mlir::Location loc,
                                              mlir::ValueRange inputs,
                                              mlir::ValueRange destinations,
                                              llvm::ArrayRef<mlir::AffineMap> maps,
                                              llvm::ArrayRef<int64_t> reduced, ScalarBody body);

/// Map of `rank` loops to the dimensions that are not in `reduced`.
mlir::AffineMap dropMap(mlir::MLIRContext *context, int64_t rank, llvm::ArrayRef<int64_t> reduced);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCTOLINALG_GENERIC_H
