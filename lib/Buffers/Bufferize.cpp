// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-bufferize: upstream's one-shot bufferization, function by function.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Threading.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
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

/// Readers of one tensor that the analysis sees together.
static constexpr size_t kReaders = 32;

/// Whether the user only reads it, and gives nothing that aliases it.
static bool isRead(OpOperand &use) {
  auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
  return isa<tensor::ExtractOp>(use.getOwner()) || (user && user.isDpsInput(&use));
}

/// For each reader of a tensor the analysis goes through all of them, which for a number that each
/// variable's update reads is quadratic. Nobody writes into a tensor that is only read: groups of
/// its readers take its buffer, each as a tensor of its own.
static void divideReaders(func::FuncOp function) {
  SmallVector<OpResult> values;
  for (Operation &op : function.getBody().front())
    for (OpResult result : op.getResults())
      if (isa<RankedTensorType>(result.getType()) && result.hasNUsesOrMore(kReaders + 1) &&
          llvm::all_of(result.getUses(), isRead))
        values.push_back(result);
  for (OpResult value : values) {
    SmallVector<OpOperand *> readers;
    for (OpOperand &use : value.getUses())
      readers.push_back(&use);
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto type = cast<RankedTensorType>(value.getType());
    Value buffer = bufferization::ToBufferOp::create(
        builder, value.getLoc(), MemRefType::get(type.getShape(), type.getElementType()), value,
        /*read_only=*/true);
    for (size_t first = 0; first < readers.size(); first += kReaders) {
      Value own = bufferization::ToTensorOp::create(builder, value.getLoc(), type, buffer,
                                                    /*restrict=*/true);
      for (OpOperand *reader : ArrayRef(readers).drop_front(first).take_front(kReaders))
        reader->set(own);
    }
  }
}

static LogicalResult bufferize(func::FuncOp function) {
  if (!function.isExternal())
    divideReaders(function);
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
