// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The exit contract of the phase kernels.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/EntrySignature.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
struct VerifyKernelsPass : mpc::impl::VerifyKernelsBase<VerifyKernelsPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (op == getOperation())
        return;
      if (auto entry = dyn_cast<func::FuncOp>(op);
          entry && isEntry(entry) && failed(verifyEntrySignature(entry)))
        return signalPassFailure();
      if (isa<linalg::LinalgDialect, tensor::TensorDialect, bufferization::BufferizationDialect>(
              op->getDialect()))
        return fail(op, "is left after the phase kernels");
      // Declarations of mpc stand beside functions.
      const bool isDeclared = isa<ModuleOp>(op->getParentOp()) && !isa<func::FuncOp>(op);
      if (!isDeclared && (isa_and_present<MpcDialect>(op->getDialect()) || hasTensors(op)))
        return fail(op, "is of an earlier phase than kernels; expected buffers and scalars");
      if (isa<memref::AllocOp, memref::DeallocOp>(op))
        return fail(op, "allocates; every temporary is an mpcrt.view of the arena");
      auto function = op->getParentOfType<func::FuncOp>();
      bool inKernel = function && function->hasAttr(mpcrt::MpcrtDialect::kKernelAttr);
      if (inKernel && (isa<mpcrt::MpcrtDialect>(op->getDialect()) || isa<CallOpInterface>(op)))
        return fail(op, "is for host functions, not kernels");
    });
  }

private:
  static bool hasTensors(Operation *op) {
    auto areTensors = [](TypeRange types) {
      return llvm::any_of(types, llvm::IsaPred<TensorType>);
    };
    if (auto function = dyn_cast<func::FuncOp>(op))
      return areTensors(function.getArgumentTypes()) || areTensors(function.getResultTypes());
    return areTensors(op->getOperandTypes()) || areTensors(op->getResultTypes());
  }

  void fail(Operation *op, StringRef why) {
    op->emitOpError() << why;
    signalPassFailure();
  }
};
} // namespace
