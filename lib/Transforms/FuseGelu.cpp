// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-fuse-gelu: gelu in the contraction that gives its argument, its derivative in the one that
// gives the cotangent.
#include "dialects/mpc/IR/Gelu.h"
#include "lib/Transforms/ContractedMatrix.h"
#include "lib/Transforms/Fusion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_FUSEGELU
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using linalg::GenericOp;

/// Whether both are computed by the same scalar ops, of constants and of `arguments`, each of which
/// corresponds to the one at its index in `others`.
static bool isSameExpression(Value value, Value other, ValueRange arguments, ValueRange others) {
  for (auto [argument, corresponding] : llvm::zip_equal(arguments, others))
    if (value == argument || other == corresponding)
      return value == argument && other == corresponding;
  Attribute number, otherNumber;
  if (matchPattern(value, m_Constant(&number)))
    return matchPattern(other, m_Constant(&otherNumber)) && number == otherNumber;
  Operation *op = value.getDefiningOp(), *otherOp = other.getDefiningOp();
  return op && otherOp && op->getName() == otherOp->getName() && op->getNumOperands() != 0 &&
         op->getNumOperands() == otherOp->getNumOperands() &&
         llvm::all_of(llvm::zip(op->getOperands(), otherOp->getOperands()), [&](auto operands) {
           return isSameExpression(std::get<0>(operands), std::get<1>(operands), arguments, others);
         });
}

/// Whether the op rounds to 16 bits, element by element, what `build` makes of its inputs in
/// float32.
static bool computes(GenericOp op, int64_t inputs,
                     function_ref<Value(OpBuilder &, Location, ValueRange)> build) {
  Value yielded = yieldOfElements(op, inputs);
  auto rounded = yielded ? yielded.getDefiningOp<arith::TruncFOp>() : arith::TruncFOp();
  if (!rounded || yielded.getType().getIntOrFloatBitWidth() != 16 ||
      !rounded.getIn().getType().isF32())
    return false;
  // The definition is built in a block of its own, for comparison.
  Block definition;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToStart(&definition);
  SmallVector<Value> wide, arguments;
  for (BlockArgument argument : op.getRegionInputArgs()) {
    arith::ExtFOp widened;
    for (Operation *user : argument.getUsers())
      if (auto candidate = dyn_cast<arith::ExtFOp>(user))
        widened = candidate;
    if (!widened || argument.getType() != yielded.getType())
      return false;
    wide.push_back(widened.getOut());
    arguments.push_back(definition.addArgument(builder.getF32Type(), op.getLoc()));
  }
  Value defined = build(builder, op.getLoc(), arguments);
  return isSameExpression(rounded.getIn(), defined, wide, arguments);
}

static bool isGelu(GenericOp op) {
  return computes(op, 1, [](OpBuilder &builder, Location loc, ValueRange inputs) {
    return buildGelu(builder, loc, inputs[0]);
  });
}

static bool isGeluGradient(GenericOp op) {
  return computes(op, 2, [](OpBuilder &builder, Location loc, ValueRange inputs) {
    return buildGeluGradient(builder, loc, inputs[0], inputs[1]);
  });
}

static bool isInLoop(mpcrt::ContractOp op) { return !isa<FunctionOpInterface>(op->getParentOp()); }

/// Why the contraction cannot do `wanted` besides; empty when it can.
static std::string obstacleOf(mpcrt::ContractOp contract, mpcrt::ContractPart wanted) {
  if (!isOpenMatrix(contract))
    return "the contraction is not of one floating matrix of known width";
  auto obstacle = contract.findObstacle(wanted);
  return obstacle ? "the contraction " + describe(*obstacle).str() : "";
}

static void miss(GenericOp op, StringRef what, StringRef obstacle) {
  remark::missed(op.getLoc(), fusionRemark("gelu"))
      << remark::reason("{0} not in a contraction: {1}", what, obstacle);
}

/// `value` is `matrix` in another shape or a part of it: the same of `other`.
static Value inShapeOf(IRRewriter &rewriter, Value value, Value matrix, Value other) {
  if (value == matrix)
    return other;
  Operation *reshape = value.getDefiningOp();
  Value source = inShapeOf(rewriter, reshape->getOperand(0), matrix, other);
  rewriter.setInsertionPointAfter(reshape);
  IRMapping mapping;
  mapping.map(reshape->getOperand(0), source);
  return rewriter.clone(*reshape, mapping)->getResult(0);
}

static void fuseGelu(IRRewriter &rewriter, GenericOp gelu) {
  Value argument = gelu.getDpsInputs()[0];
  auto [contract, isOnlyUse] = findMatrix(argument, /*inParts=*/true);
  std::string obstacle;
  if (!contract)
    obstacle = "its argument is not what a contraction writes";
  else if (isInLoop(contract))
    obstacle = "the contraction runs in a loop";
  else
    obstacle = obstacleOf(contract, mpcrt::ContractPart::Gelu);
  if (!obstacle.empty())
    return miss(gelu, "gelu", obstacle);
  rewriter.setInsertionPoint(contract);
  mpcrt::ContractOp::Extras extras = contract.getExtras();
  extras.gelu = true;
  // Other readers of the argument, as the derivative, find it beside.
  if (!isOnlyUse)
    extras.kept = contract.getOut();
  mpcrt::ContractOp merged = contract.cloneWith(rewriter, extras);
  remark::passed(gelu.getLoc(), fusionRemark("gelu"))
      << (isOnlyUse ? "gelu applied by the contraction that gives its argument"
                    : "gelu applied by the contraction that gives its argument, which is kept");
  if (isOnlyUse) {
    rewriter.replaceOp(contract, merged.getResult(0));
    rewriter.replaceOp(gelu, argument == contract.getResult(0) ? merged.getResult(0) : argument);
    return;
  }
  Value kept = merged.getKeptResult();
  if (argument == contract.getResult(0))
    argument = kept;
  rewriter.replaceOp(contract, kept);
  rewriter.replaceOp(gelu, inShapeOf(rewriter, argument, kept, merged.getResult(0)));
}

/// Where `cotangent` is `matrix` in another shape, or a part of it: what `argument` is the same of;
/// null where it is not made the same way.
static Value findCounterpart(Value argument, Value cotangent, Value matrix) {
  while (cotangent != matrix) {
    Operation *op = cotangent.getDefiningOp(), *other = argument.getDefiningOp();
    // Extents that are not attributes are the batch.
    if (!other || op->getName() != other->getName() ||
        op->getAttrDictionary() != other->getAttrDictionary() ||
        op->getOperandTypes() != other->getOperandTypes() ||
        op->getResultTypes() != other->getResultTypes())
      return {};
    cotangent = op->getOperand(0);
    argument = other->getOperand(0);
  }
  return argument.getType() == matrix.getType() ? argument : Value();
}

static void fuseGradient(IRRewriter &rewriter, GenericOp gradient) {
  Value cotangent = gradient.getDpsInputs()[0];
  auto [contract, isOnlyUse] = findMatrix(cotangent, /*inParts=*/true);
  Value argument;
  std::string obstacle;
  if (!contract) {
    obstacle = "the cotangent is not what a contraction writes";
  } else if (!isOnlyUse) {
    obstacle = "the cotangent has other uses";
  } else if (isInLoop(contract)) {
    obstacle = "the contraction runs in a loop";
  } else if (obstacle = obstacleOf(contract, mpcrt::ContractPart::GeluGradient); obstacle.empty()) {
    argument = findCounterpart(gradient.getDpsInputs()[1], cotangent, contract.getResult(0));
    if (!argument || (argument.getDefiningOp() &&
                      (argument.getDefiningOp()->getBlock() != contract->getBlock() ||
                       !argument.getDefiningOp()->isBeforeInBlock(contract))))
      obstacle = "gelu's argument is not there as such a matrix";
  }
  if (!obstacle.empty())
    return miss(gradient, "derivative of gelu", obstacle);
  rewriter.setInsertionPoint(contract);
  mpcrt::ContractOp::Extras extras = contract.getExtras();
  extras.geluAt = argument;
  mpcrt::ContractOp merged = contract.cloneWith(rewriter, extras);
  remark::passed(gradient.getLoc(), fusionRemark("gelu"))
      << "derivative of gelu applied by the contraction that writes the cotangent";
  const bool isMatrix = cotangent == contract.getResult(0);
  rewriter.replaceOp(contract, merged.getResult(0));
  rewriter.replaceOp(gradient, isMatrix ? merged.getResult(0) : cotangent);
}

namespace {
struct FuseGeluPass : mpc::impl::FuseGeluBase<FuseGeluPass> {
  void runOnModule() override {
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<GenericOp> gelus, gradients;
      function.walk([&](GenericOp op) {
        if (isGelu(op))
          gelus.push_back(op);
        else if (isGeluGradient(op))
          gradients.push_back(op);
      });
      // Arguments that are kept become results of their contractions first.
      for (GenericOp gelu : gelus)
        fuseGelu(rewriter, gelu);
      for (GenericOp gradient : gradients)
        fuseGradient(rewriter, gradient);
    }
  }
};
} // namespace
