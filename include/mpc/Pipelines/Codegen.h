// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pipelines from tensors to the LLVM dialect. Emission of the library is mpc/Codegen/CPU/Emit.h.
#ifndef MPC_PIPELINES_CODEGEN_H
#define MPC_PIPELINES_CODEGEN_H

#include "mlir/Pass/PassManager.h"
#include "mpc/Support/Device.h"

namespace mpc {

/// tensors to buffers: docs/pipeline.md, phase 8. On a module.
void buildBuffersPipeline(mlir::OpPassManager &manager, Device device = Device::cpu,
                          int64_t bucketBytes = 4 << 20);

/// buffers to kernels: phase 9. On CUDA, with memory of its own, entries touch no buffer.
/// `watched`: the training step also with reports of its values.
void buildKernelsPipeline(mlir::OpPassManager &manager, Device device = Device::cpu,
                          int64_t bucketBytes = 4 << 20, bool watched = false);

/// kernels to the LLVM dialect: the first half of phase 10; emitModule runs it itself.
void buildLLVMPipeline(mlir::OpPassManager &manager);

} // namespace mpc

#endif // MPC_PIPELINES_CODEGEN_H
