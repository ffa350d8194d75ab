// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-bufferize: upstream's one-shot bufferization, function by function.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Threading.h"
#include "mpc/Buffers/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_BUFFERIZE
#include "mpc/Buffers/Passes.h.inc"
} // namespace mpc

using namespace mlir;

/// Whether it has a constant that becomes a global of the module.
static bool addsGlobals(func::FuncOp function) {
  return function
      .walk([](arith::ConstantOp constant) {
        return isa<TensorType>(constant.getType()) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static LogicalResult bufferize(func::FuncOp function) {
  bufferization::BufferizationState state;
  return bufferization::runOneShotBufferize(function, bufferization::OneShotBufferizationOptions(),
                                            state);
}

namespace {
struct BufferizePass : mpc::impl::BufferizeBase<BufferizePass> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> alone, inModule;
    for (auto function : getOperation().getOps<func::FuncOp>())
      (addsGlobals(function) ? inModule : alone).push_back(function);
    if (failed(failableParallelForEach(&getContext(), alone, bufferize)))
      return signalPassFailure();
    for (func::FuncOp function : inModule)
      if (failed(bufferize(function)))
        return signalPassFailure();
  }
};
} // namespace
