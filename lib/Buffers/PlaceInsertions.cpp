// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-place-insertions: what is inserted into a larger tensor is computed there.
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mpc/Buffers/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_PLACEINSERTIONS
#include "mpc/Buffers/Passes.h.inc"
} // namespace mpc

using namespace mlir;

namespace {
struct PlaceInsertionsPass : mpc::impl::PlaceInsertionsBase<PlaceInsertionsPass> {
  void runOnOperation() override {
    const bool inserts = getOperation()
                             .walk([](tensor::InsertSliceOp) { return WalkResult::interrupt(); })
                             .wasInterrupted();
    IRRewriter rewriter(&getContext());
    if (inserts && failed(bufferization::eliminateEmptyTensors(rewriter, getOperation())))
      signalPassFailure();
  }
};
} // namespace
