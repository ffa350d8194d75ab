// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mpc/Codegen/Passes.h"
namespace mpc {
#define GEN_PASS_DEF_CONVERTMPCRTTOLLVMPASS
#include "mpc/Codegen/Passes.h.inc"
} // namespace mpc
namespace {
struct ConvertMpcrtToLLVM : mpc::impl::ConvertMpcrtToLLVMPassBase<ConvertMpcrtToLLVM> {
  void runOnOperation() override {
    getOperation().emitError("not implemented");
    signalPassFailure();
  }
};
} // namespace
