// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-verify-tensors: the exit contract of the phase `tensors`.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYTENSORS
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
struct VerifyTensorsPass : mpc::impl::VerifyTensorsBase<VerifyTensorsPass> {
  void runOnOperation() override {
    bool ok = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isEntry(function))
        function.walk([&](Operation *op) { ok &= succeeded(verify(op)); });
    if (!ok)
      signalPassFailure();
  }

  static LogicalResult verify(Operation *op) {
    if (!isa_and_present<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                         math::MathDialect, tensor::TensorDialect>(op->getDialect()) &&
        !isa<scf::ForOp, scf::YieldOp>(op) && !isa<mpcrt::TraceOp>(op) &&
        !(isa<mpcrt::MpcrtDialect>(op->getDialect()) && isa<DestinationStyleOpInterface>(op)))
      return op->emitError()
             << "op '" << op->getName()
             << "' does not belong to phase tensors; expected linalg, tensor, arith, math, "
                "func, scf.for and library calls of mpcrt only";
    // MLIR checks that of buffers only.
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
        expand && expand.getStaticOutputShape() != expand.getResultType().getShape())
      return op->emitError() << "has another output shape than its result "
                             << expand.getResultType();
    auto types = llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()),
                                    SmallVector<Type>(op->getResultTypes()));
    for (Type type : types) {
      if (isa<BaseMemRefType>(type))
        return op->emitError() << "has type " << type << "; expected tensors and scalars";
      Type element = getElementTypeOrSelf(type);
      if (element.isInteger() && !element.isSignlessInteger())
        return op->emitError() << "has type " << type << "; expected signless integers";
    }
    return success();
  }
};
} // namespace
