// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-form-float8: contractions of numbers that float8 holds as contractions of float8, with the
// scales behind the sums.
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpc/IR/ShortSums.h"
#include "lib/Transforms/Fusion.h"
#include "mpc/Transforms/Passes.h"
#include "llvm/ADT/DenseMap.h"

namespace mpc {
#define GEN_PASS_DEF_FORMFLOAT8
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

namespace {
/// A tensor in float8 and what each of its numbers is multiplied with.
struct Scaled {
  Value numbers, scale;
};

struct FormFloat8Pass : mpc::impl::FormFloat8Base<FormFloat8Pass> {
  void runOnModule() override {
    SmallVector<ContractOp> contracts;
    getOperation().walk([&](ContractOp op) { contracts.push_back(op); });
    llvm::DenseMap<Value, Scaled> known;
    IRRewriter rewriter(&getContext());
    for (ContractOp op : contracts)
      visit(rewriter, op, known);
  }

  /// The float8 format whose numbers, times one scale, `value` holds; null for others.
  static Type formatOf(Value value) {
    if (auto quantize = value.getDefiningOp<Float8QuantizeOp>())
      return quantize.getFormat();
    auto scaled = value.getDefiningOp<MultiplyOp>();
    auto rounded = scaled ? scaled->getOperand(0).getDefiningOp<RoundFloat8Op>() : RoundFloat8Op();
    return rounded && tensorTypeOf(scaled->getOperand(1)).getRank() == 0 ? rounded.getFormat()
                                                                         : Type();
  }

  static void visit(IRRewriter &rewriter, ContractOp op, llvm::DenseMap<Value, Scaled> &known) {
    Type left = formatOf(op.getLhs()), right = formatOf(op.getRhs());
    if (!left && !right)
      return;
    StringRef obstacle;
    if (!left || !right)
      obstacle = "one of its operands is not rounded to float8";
    else if (isa<Float8E5M2Type>(left) && isa<Float8E5M2Type>(right))
      obstacle = "no Tensor Core multiplies f8E5M2 with itself";
    else if (op.getBias() || op.getActivation() != Activation::None)
      obstacle = "it has an epilogue";
    else if (!op.getLhsBatch().empty())
      obstacle = "it is a product for each sample";
    else if (elementTypeOf(op.getLhs()).isF64())
      obstacle = "sums of float64 are float64";
    else if (hasShortSums(op))
      obstacle = "its sums have few terms";
    if (!obstacle.empty()) {
      remark::missed(op.getLoc(), fusionRemark("float8"))
          << "multiplied in " + textOf(elementTypeOf(op.getLhs())) + ": " + obstacle.str();
      return;
    }
    remark::passed(op.getLoc(), fusionRemark("float8"))
        << "multiplied in float8: " + textOf(left) + " x " + textOf(right);
    const Scaled lhs = narrow(rewriter, op.getLhs(), known),
                 rhs = narrow(rewriter, op.getRhs(), known);
    Location loc = op.getLoc();
    rewriter.setInsertionPoint(op);
    Value sum = ContractOp::create(rewriter, loc, lhs.numbers, rhs.numbers, op.getLhsContracting(),
                                   op.getRhsContracting());
    // One after the other: the product of two small scales could be a subnormal number.
    for (Value scale : {lhs.scale, rhs.scale})
      sum = MultiplyOp::create(rewriter, loc, sum, scale);
    if (sum.getType() != op.getType())
      sum = CastOp::create(rewriter, loc, op.getType(), sum);
    rewriter.replaceOp(op, sum);
  }

  /// The numbers of a quantized tensor, made once where it is.
  static Scaled narrow(IRRewriter &rewriter, Value value, llvm::DenseMap<Value, Scaled> &known) {
    Scaled &made = known[value];
    if (made.numbers)
      return made;
    Operation *op = value.getDefiningOp();
    Location loc = op->getLoc();
    rewriter.setInsertionPoint(op);
    Value unrounded;
    Type format = formatOf(value);
    if (auto quantize = dyn_cast<Float8QuantizeOp>(op)) {
      made.scale = quantize.getScale();
      unrounded = scaleForFloat8(rewriter, loc, quantize.getInput(), made.scale, format);
    } else {
      made.scale = op->getOperand(1);
      unrounded = op->getOperand(0).getDefiningOp<RoundFloat8Op>().getInput();
    }
    if (!elementTypeOf(made.scale).isF32())
      made.scale = CastOp::create(
          rewriter, loc, tensorTypeOf(made.scale).clone(rewriter.getF32Type()), made.scale);
    auto cast = CastOp::create(rewriter, loc, tensorTypeOf(value).clone(format), unrounded);
    made.numbers = cast;
    if (Value whole = unscaledOf(unrounded))
      raiseLargestMagnitude(whole, cast);
    return made;
  }

  /// x of clip(x / scale); null for what is something else.
  static Value unscaledOf(Value clipped) {
    auto above = clipped.getDefiningOp<MinimumOp>();
    auto below = above ? above->getOperand(0).getDefiningOp<MaximumOp>() : MaximumOp();
    auto scaled = below ? below->getOperand(0).getDefiningOp<DivideOp>() : DivideOp();
    return scaled ? scaled->getOperand(0) : Value();
  }

  /// The largest magnitude of `whole`, where something later asks for it, moves behind the cast,
  /// which reads the same numbers.
  static void raiseLargestMagnitude(Value whole, CastOp cast) {
    for (Operation *user : whole.getUsers()) {
      if (!isa<AbsOp>(user) || user->getBlock() != cast->getBlock())
        continue;
      for (Operation *reader : llvm::make_early_inc_range(user->getUsers())) {
        auto largest = dyn_cast<ReduceOp>(reader);
        if (!largest || largest.getKind() != ReduceKind::Max ||
            tensorTypeOf(largest).getRank() != 0 || !user->hasOneUse() ||
            !cast->isBeforeInBlock(user))
          continue;
        user->moveAfter(cast);
        largest->moveAfter(user);
      }
    }
  }
};
} // namespace
