// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-verify-module: what code generation may rely on after the phase `module`.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYMODULE
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
struct VerifyModulePass : mpc::impl::VerifyModuleBase<VerifyModulePass> {
  void runOnOperation() override {
    for (Operation &op : *getOperation().getBody()) {
      // Declarations of variables, metrics and the optimizer become tables.
      if (isa_and_present<MpcDialect>(op.getDialect()))
        continue;
      op.walk([&](Operation *nested) {
        if (isa_and_present<LLVM::LLVMDialect>(nested->getDialect()))
          return;
        nested->emitError() << "op '" << nested->getName()
                            << "' is left after the phase module; expected the LLVM dialect and "
                               "declarations of mpc";
        signalPassFailure();
      });
    }
  }
};
} // namespace
