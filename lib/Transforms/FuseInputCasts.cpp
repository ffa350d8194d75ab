// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-fuse-input-casts: contractions round the inputs of the model that they multiply.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Transforms/Fusion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_FUSEINPUTCASTS
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using linalg::GenericOp;

/// Whether the value is an input of the model, as it is or in another shape.
static bool isInput(Value value) {
  auto argument = dyn_cast<BlockArgument>(skipReshapes(value));
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && function.getArgAttr(argument.getArgNumber(), MpcDialect::kInputAttr);
}

/// Whether the op rounds each element of an input from f32 to 16 bits, and does nothing else.
static bool isInputCast(GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() != 0 ||
      !llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }) ||
      !isInput(op.getDpsInputs()[0]))
    return false;
  Type type = getElementTypeOrSelf(op.getResultTypes()[0]);
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  auto rounded = yield.getValues()[0].getDefiningOp<arith::TruncFOp>();
  return rounded && rounded.getIn() == op.getRegionInputArgs()[0] &&
         rounded.getIn().getType().isF32() && (type.isBF16() || type.isF16());
}

/// Why not every use of the value can round by itself; empty when all can.
static StringRef obstacleOfCast(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isReshape(user)) {
      if (StringRef obstacle = obstacleOfCast(user->getResult(0)); !obstacle.empty())
        return obstacle;
      continue;
    }
    if (isa<tensor::DimOp>(user))
      continue;
    auto contract = dyn_cast<mpcrt::ContractOp>(user);
    if (!contract || &use != &contract.getLhsMutable())
      return "it is not only multiplied from the left";
    if (getElementTypeOrSelf(contract.getRhs().getType()) != getElementTypeOrSelf(value.getType()))
      return "what it is multiplied with has another type";
    if (!isa<func::FuncOp>(contract->getParentOp()))
      return "a contraction runs in a loop";
  }
  return "";
}

/// Gives the users of `rounded` what it was rounded from, in the shapes that they had it in.
static void replaceUses(IRRewriter &rewriter, Value rounded, Value wide) {
  for (OpOperand &use : llvm::make_early_inc_range(rounded.getUses())) {
    Operation *user = use.getOwner();
    if (!isReshape(user)) {
      rewriter.modifyOpInPlace(user, [&] { use.set(wide); });
      continue;
    }
    rewriter.setInsertionPoint(user);
    Operation *reshape = rewriter.clone(*user);
    reshape->setOperand(0, wide);
    auto type = cast<RankedTensorType>(user->getResult(0).getType());
    reshape->getResult(0).setType(type.clone(getElementTypeOrSelf(wide.getType())));
    replaceUses(rewriter, user->getResult(0), reshape->getResult(0));
    rewriter.eraseOp(user);
  }
}

static void fuseCast(IRRewriter &rewriter, GenericOp cast) {
  if (StringRef obstacle = obstacleOfCast(cast.getResult(0)); !obstacle.empty()) {
    remark::missed(cast.getLoc(), fusionRemark("input-cast"))
        << remark::reason("input rounded by a kernel: {0}", obstacle);
    return;
  }
  remark::passed(cast.getLoc(), fusionRemark("input-cast"))
      << "input rounded by the contractions that multiply it";
  replaceUses(rewriter, cast.getResult(0), cast.getDpsInputs()[0]);
  rewriter.eraseOp(cast);
}

namespace {
struct FuseInputCastsPass : mpc::impl::FuseInputCastsBase<FuseInputCastsPass> {
  void runOnModule() override {
    SmallVector<GenericOp> casts;
    getOperation().walk([&](GenericOp op) {
      if (isInputCast(op))
        casts.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (GenericOp cast : casts)
      fuseCast(rewriter, cast);
  }
};
} // namespace
