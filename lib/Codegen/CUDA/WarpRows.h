// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels whose iteration goes along a row of memory: a warp takes the row, each lane every 32nd
// element.
#ifndef MPC_LIB_CODEGEN_CUDA_WARPROWS_H
#define MPC_LIB_CODEGEN_CUDA_WARPROWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mpc {

/// Threads of a warp on every GPU of NVIDIA's.
inline constexpr int64_t kWarpLanes = 32;

/// The op that combines what `loop` carries as its number `index`; null when it is more than one
/// op, or none whose operands may be regrouped.
mlir::Operation *findCombiner(mlir::scf::ForOp loop, unsigned index);

/// Whether the lanes of a warp can share the loops of a kernel of one iteration (ThreadKernel.h):
/// they are neither nested nor long chains of one number after the other, what one lane writes no
/// other one reads, and neighbouring lanes read neighbours.
bool isForWarps(mlir::func::FuncOp kernel);

/// Whether each lane has the elements of a temporary that it computes itself, and no others.
bool isSharedOut(mlir::Value buffer);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_WARPROWS_H
