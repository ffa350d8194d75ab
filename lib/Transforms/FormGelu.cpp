// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-form-gelu: gelu of what a contraction gives, as one op.
#include "dialects/mpc/IR/Gelu.h"
#include "lib/Transforms/Fusion.h"
#include "mlir/IR/Matchers.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_FORMGELU
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Whether the value is this number, as its type holds it.
static bool isNumber(Value value, double number) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return false;
  APFloat rounded(number);
  bool lossy;
  rounded.convert(cast<FloatType>(elements.getElementType()).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &lossy);
  return elements.getSplatValue<APFloat>().bitwiseIsEqual(rounded);
}

/// The other operand of an `Op` of `value` that has the number as one; null for other values.
template <typename Op> static Value besideNumber(Value value, double number) {
  auto op = value ? value.getDefiningOp<Op>() : Op();
  for (unsigned i : {0u, 1u})
    if (op && isNumber(op->getOperand(i), number))
      return op->getOperand(1 - i);
  return {};
}

/// The other operand of an `Op` of `value` that has `operand` as one; null for other values.
template <typename Op> static Value beside(Value value, Value operand) {
  auto op = value ? value.getDefiningOp<Op>() : Op();
  for (unsigned i : {0u, 1u})
    if (op && op->getOperand(i) == operand)
      return op->getOperand(1 - i);
  return {};
}

/// The x of kGeluScale (x + kGeluCube x^3); null for other values.
static Value argumentOf(Value bent) {
  Value sum = besideNumber<MultiplyOp>(bent, kGeluScale);
  auto add = sum ? sum.getDefiningOp<AddOp>() : AddOp();
  for (unsigned i : {0u, 1u}) {
    if (!add)
      break;
    Value x = add->getOperand(i);
    Value square =
        beside<MultiplyOp>(besideNumber<MultiplyOp>(add->getOperand(1 - i), kGeluCube), x);
    if (Value bounded = besideNumber<MinimumOp>(square, kGeluSquareBound))
      square = bounded;
    if (beside<MultiplyOp>(square, x) == x)
      return x;
  }
  return {};
}

/// The multiplication 0.5 x (1 + bent), whose parts nothing else reads; null where there is none.
static MultiplyOp findGelu(Operation *bent, Value x) {
  auto onlyUser = [](Operation *op) {
    return op && op->getResult(0).hasOneUse() ? *op->user_begin() : nullptr;
  };
  Operation *sum = onlyUser(bent);
  if (!sum || besideNumber<AddOp>(sum->getResult(0), 1) != bent->getResult(0))
    return {};
  auto product = dyn_cast_or_null<MultiplyOp>(onlyUser(sum));
  Value half = product ? beside<MultiplyOp>(product.getResult(), sum->getResult(0)) : Value();
  return besideNumber<MultiplyOp>(half, 0.5) == x ? product : MultiplyOp();
}

/// Whether a contraction gives the value, by itself or with a vector that is added.
static bool isContracted(Value value) {
  if (auto add = value.getDefiningOp<AddOp>())
    for (unsigned i : {0u, 1u})
      if (tensorTypeOf(add->getOperand(1 - i)).getRank() == 1)
        return isa_and_nonnull<ContractOp>(add->getOperand(i).getDefiningOp());
  return isa_and_nonnull<ContractOp>(value.getDefiningOp());
}

static void refuse(Operation *op, StringRef reason) {
  remark::missed(op->getLoc(), fusionRemark("gelu"))
      << remark::reason("gelu of a product stays elementary ops: {0}", reason);
}

static void visitErf(ErfOp erf) {
  constexpr double squareRootOfTwo = 1.4142135623730951;
  Value scaled = erf.getInput();
  auto divide = scaled.getDefiningOp<DivideOp>();
  if (!divide || !isNumber(divide.getRhs(), squareRootOfTwo))
    return;
  Value x = divide.getLhs();
  if (isContracted(x) && findGelu(erf, x))
    refuse(erf, "it is the exact form, with erf; libraries apply the one with tanh "
                "(gelu(x, approximate=True))");
}

static void visitTanh(IRRewriter &rewriter, TanhOp tanh) {
  Value x = argumentOf(tanh.getInput());
  if (!x || !isContracted(x))
    return;
  MultiplyOp gelu = findGelu(tanh, x);
  // Numbers of a larger shape would widen x.
  if (!gelu || gelu.getType() != x.getType())
    return;
  Type element = elementTypeOf(x);
  if (!element.isF16() && !element.isBF16())
    return refuse(tanh,
                  "it is not in 16 bits, and nothing documents the error of a library's tanh");
  remark::passed(tanh.getLoc(), fusionRemark("gelu")) << "gelu of a product is one op";
  rewriter.setInsertionPoint(gelu);
  SetVector<Value> parts(gelu->operand_begin(), gelu->operand_end());
  rewriter.replaceOpWithNewOp<GeluOp>(gelu, x);
  // Only the argument has another use among these now.
  while (!parts.empty()) {
    Operation *part = parts.pop_back_val().getDefiningOp();
    if (!part || !isOpTriviallyDead(part))
      continue;
    parts.insert_range(part->getOperands());
    rewriter.eraseOp(part);
  }
}

namespace {
struct FormGeluPass : mpc::impl::FormGeluBase<FormGeluPass> {
  void runOnModule() override {
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<TanhOp> candidates;
      // The bodies of loops over time stay as they are.
      for (Block &block : function.getBody()) {
        llvm::append_range(candidates, block.getOps<TanhOp>());
        llvm::for_each(block.getOps<ErfOp>(), visitErf);
      }
      for (TanhOp tanh : candidates)
        visitTanh(rewriter, tanh);
    }
  }
};
} // namespace
