// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-evaluate: functions without arguments become constants.
#include "mpc/Interpreter/Interpreter.h"
#include "mpc/Interpreter/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_EVALUATE
#include "mpc/Interpreter/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
struct EvaluatePass : mpc::impl::EvaluateBase<EvaluatePass> {
  void runOnOperation() override {
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || function.getNumArguments() != 0)
        continue;
      SmallVector<ReferenceTensor> results;
      if (failed(interpret(function, {}, results)))
        return signalPassFailure();
      Block &block = function.getBody().front();
      Operation *terminator = block.getTerminator();
      OpBuilder builder(terminator);
      for (auto [operand, result] : llvm::zip_equal(terminator->getOpOperands(), results)) {
        if (operand.get().getType() != RankedTensorType::get(result.shape, result.elementType)) {
          function.emitError() << "result " << operand.getOperandNumber() << " has a dynamic shape";
          return signalPassFailure();
        }
        operand.set(ConstantOp::create(builder, terminator->getLoc(), toElements(result)));
      }
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
        if (isOpTriviallyDead(&op))
          op.erase();
    }
  }
};
} // namespace
