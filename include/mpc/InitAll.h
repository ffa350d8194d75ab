// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registration of everything that the tools know: dialects with their external models, and passes.
#ifndef MPC_INITALL_H
#define MPC_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mpc {

/// Upstream's dialects and ours, with the external models that the pipeline needs.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Every pass of mpc under its command-line name.
void registerAllPasses();

} // namespace mpc

#endif // MPC_INITALL_H
