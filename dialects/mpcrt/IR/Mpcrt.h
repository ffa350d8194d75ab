// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mpcrt dialect: what generated code asks of the runtime.
#ifndef MPC_DIALECTS_MPCRT_IR_MPCRT_H
#define MPC_DIALECTS_MPCRT_IR_MPCRT_H

#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/ContractPart.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/mpcrt/IR/MpcrtDialect.h.inc"

namespace mpc::mpcrt::detail {
/// The rules of BufferizedCallOpInterface.
mlir::LogicalResult verifyBufferizedCall(mlir::Operation *op);
/// Libraries take such buffers: row-major without gaps, at the start of its memory (inits) or some
/// whole lines of caches behind it, as slices along the first dimension are.
bool isDense(mlir::MemRefType type, bool isInit);
/// That all operands are.
mlir::LogicalResult verifyDense(mlir::Operation *op);
/// Reads inputs, writes inits (and reads them when it adds to them); nothing on tensors.
void getBufferizedCallEffects(
    mlir::Operation *op,
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>> &effects);
} // namespace mpc::mpcrt::detail

#include "dialects/mpcrt/IR/MpcrtInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/mpcrt/IR/MpcrtOps.h.inc"

namespace mpc::mpcrt {
/// Lets one-shot bufferize handle service calls and mpcrt.scatter_add.
void registerBufferizableOpInterfaceExternalModels(mlir::DialectRegistry &registry);
} // namespace mpc::mpcrt

#endif // MPC_DIALECTS_MPCRT_IR_MPCRT_H
