// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-form-attention: softmax of products of queries and keys, times values, as one op.
#include "Fusion.h"
#include "mlir/IR/Matchers.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_FORMATTENTION
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// What no library of CUDA takes in the heads of attention: other multiples, and wider ones.
static constexpr int64_t kWidthMultiple = 8, kMostWidth = 256;
/// A score below this has the probability 0 beside any score of a product of 16-bit numbers that
/// is not.
static constexpr double kMaskedScore = -1e30;

static std::optional<double> scalarOf(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

/// Whether the constant is true where the source (last dimension) is not behind the target (the one
/// before), the same for all samples and heads.
static bool isCausal(Value mask) {
  DenseElementsAttr elements;
  if (!matchPattern(mask, m_Constant(&elements)) || !elements.getElementType().isInteger(1))
    return false;
  ArrayRef<int64_t> shape = cast<ShapedType>(elements.getType()).getShape();
  if (shape.size() < 2 || !llvm::all_of(shape.drop_back(2), [](int64_t n) { return n == 1; }))
    return false;
  const int64_t sources = shape.back();
  for (auto [i, visible] : llvm::enumerate(elements.getValues<bool>()))
    if (visible != (int64_t(i) % sources <= int64_t(i) / sources))
      return false;
  return true;
}

namespace {
/// The ops from queries and keys to the product with values.
struct Match {
  ContractOp scores;
  double scale = 1;
  bool causal = false;
  Value mask;        ///< what else tells which sources count; broadcasts to the scores
  DropoutOp dropout; ///< of the probabilities; null without
  ContractOp product;
  TransposeOp transpose; ///< back to [batch, targets, heads, width]; null for one head
};
} // namespace

/// The op that `value` is the result of, if it is an `Op`.
template <typename Op> static Op definedBy(Value value) { return value.getDefiningOp<Op>(); }

/// The only op that reads `value`; null when several do.
static Operation *onlyUser(Value value) {
  return value.hasOneUse() ? *value.user_begin() : nullptr;
}

static bool contracts(ContractOp op, ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                      int64_t lhs, int64_t rhs) {
  return op.getLhsBatch() == lhsBatch && op.getRhsBatch() == rhsBatch &&
         op.getLhsContracting() == ArrayRef(lhs) && op.getRhsContracting() == ArrayRef(rhs) &&
         !op.getBias() && op.getActivation() == Activation::None;
}

/// What hides scores from the softmax: causality, or a mask of the call. CUDA's library takes the
/// first alone.
static void matchMask(SelectOp select, bool isCuda, Match &match, StringRef &obstacle) {
  Value mask = select->getOperand(0);
  auto hidden = scalarOf(select->getOperand(2));
  const int64_t sources = tensorTypeOf(select.getResult()).getShape().back();
  if (!hidden || *hidden > kMaskedScore)
    obstacle = "what its mask hides keeps a score";
  else if (isCausal(mask))
    match.causal = true;
  else if (isCuda)
    obstacle = "it has a mask that is not causal alone";
  else if (tensorTypeOf(mask).getRank() == 0 || tensorTypeOf(mask).getShape().back() != sources)
    obstacle = "its mask does not tell its sources apart";
  else
    match.mask = mask;
}

/// Whether the softmax is of products of rows with rows, for each sample (and head), on the way to
/// which nothing else reads them. `obstacle` then says what is between that attention has not.
static bool matchScores(SoftmaxOp softmax, bool isCuda, Match &match, StringRef &obstacle) {
  Value value = softmax.getInput();
  if (auto select = definedBy<SelectOp>(value)) {
    matchMask(select, isCuda, match, obstacle);
    value = select->getOperand(1);
  }
  if (auto multiply = definedBy<MultiplyOp>(value)) {
    for (unsigned i : {0u, 1u})
      if (auto scale = scalarOf(multiply->getOperand(1 - i))) {
        match.scale = *scale;
        value = multiply->getOperand(i);
        break;
      }
  }
  if (auto cast = definedBy<CastOp>(value))
    value = cast.getInput();
  match.scores = definedBy<ContractOp>(value);
  if (!match.scores)
    return false;
  const bool hasHeads = contracts(match.scores, {0, 2}, {0, 2}, 3, 3);
  if (!hasHeads && !contracts(match.scores, {0}, {0}, 2, 2))
    return false;
  const int64_t rank = match.scores.getType().getRank();
  if (rank != (hasHeads ? 4 : 3) || int64_t(softmax.getAxis()) != rank - 1)
    return false;
  for (Operation *op = match.scores; op != softmax && obstacle.empty();) {
    Operation *user = onlyUser(op->getResult(0));
    if (!user)
      obstacle = "its scores have other uses";
    op = user;
  }
  return true;
}

/// The product of the probabilities with values, in the places of the queries.
static void matchProduct(SoftmaxOp softmax, bool isCuda, Match &match, StringRef &obstacle) {
  if (!obstacle.empty())
    return;
  Operation *user = onlyUser(softmax.getResult());
  Value probabilities = softmax.getResult();
  auto stepOver = [&] {
    probabilities = user->getResult(0);
    user = onlyUser(probabilities);
  };
  if (isa_and_nonnull<CastOp>(user))
    stepOver();
  match.dropout = dyn_cast_or_null<DropoutOp>(user);
  if (match.dropout && (isCuda || match.dropout.getNoiseShape())) {
    obstacle = "training drops some of its probabilities";
    return;
  }
  if (match.dropout)
    stepOver();
  if (match.dropout && isa_and_nonnull<CastOp>(user)) {
    obstacle = "its probabilities are dropped in another element type";
    return;
  }
  match.product = dyn_cast_or_null<ContractOp>(user);
  const bool hasHeads = match.scores.getType().getRank() == 4;
  const bool isProduct = match.product && match.product.getLhs() == probabilities &&
                         (hasHeads ? contracts(match.product, {0, 1}, {0, 2}, 3, 1)
                                   : contracts(match.product, {0}, {0}, 2, 1));
  if (!isProduct || match.product.getRhs() == probabilities) {
    obstacle = "its probabilities have other uses than a product with values";
    return;
  }
  if (!hasHeads)
    return;
  match.transpose = dyn_cast_or_null<TransposeOp>(onlyUser(match.product.getResult()));
  if (!match.transpose || match.transpose.getPermutation() != ArrayRef<int64_t>{0, 2, 1, 3})
    obstacle = "its result is not in the order of the queries";
}

/// Whether a head has so many scores, or an unknown number of them.
static bool hasScores(ContractOp scores, int64_t fewest) {
  ArrayRef<int64_t> matrix = scores.getType().getShape().take_back(2);
  return ShapedType::isDynamicShape(matrix) || matrix[0] * matrix[1] >= fewest;
}

static void checkTypes(Match &match, bool isCuda, StringRef &obstacle) {
  if (!obstacle.empty())
    return;
  RankedTensorType query = tensorTypeOf(match.scores.getLhs());
  Type element = query.getElementType();
  auto isOf = [&](ContractOp op) {
    Type accumulator = op.getAccumulate().value_or(Float32Type::get(op.getContext()));
    return elementTypeOf(op.getLhs()) == element && elementTypeOf(op.getRhs()) == element &&
           elementTypeOf(op.getResult()) == element && accumulator.isF32();
  };
  const bool isNarrow = element.isF16() || element.isBF16();
  if (isCuda ? !isNarrow : !isNarrow && !element.isF32())
    obstacle = isCuda ? "it is not in 16 bits" : "it is in more than 32 bits";
  else if (!isOf(match.scores) || !isOf(match.product))
    obstacle = "its products are not all of one element type with sums in float32";
  else if (isCuda)
    for (int64_t width :
         {query.getShape().back(), tensorTypeOf(match.product.getRhs()).getShape().back()})
      if (width % kWidthMultiple != 0 || width > kMostWidth)
        obstacle = "the width of its heads is no multiple of 8 up to 256";
}

/// [batch, places, width] as one head.
static Value withHeads(IRRewriter &rewriter, Location loc, Value value) {
  RankedTensorType type = tensorTypeOf(value);
  if (type.getRank() == 4)
    return value;
  ArrayRef<int64_t> shape = type.getShape();
  return ReshapeOp::create(rewriter, loc, type.clone({shape[0], shape[1], 1, shape[2]}), value);
}

/// The mask as [batch, heads, targets, sources], with extents of 1 where it had none.
static Value withAllExtents(IRRewriter &rewriter, Location loc, Match &match) {
  if (!match.mask)
    return {};
  RankedTensorType type = tensorTypeOf(match.mask);
  SmallVector<int64_t> shape(match.scores.getType().getRank() - type.getRank(), 1);
  llvm::append_range(shape, type.getShape());
  if (shape.size() == 3)
    shape.insert(shape.begin() + 1, 1);
  if (ArrayRef(shape) == type.getShape())
    return match.mask;
  return ReshapeOp::create(rewriter, loc, type.clone(shape), match.mask);
}

static void form(IRRewriter &rewriter, Match &match) {
  ContractOp product = match.product, scores = match.scores;
  Operation *last = match.transpose ? match.transpose.getOperation() : product.getOperation();
  Location loc = product.getLoc();
  rewriter.setInsertionPoint(last);
  auto attention = AttentionOp::create(
      rewriter, loc, withHeads(rewriter, loc, scores.getLhs()),
      withHeads(rewriter, loc, scores.getRhs()), withHeads(rewriter, loc, product.getRhs()),
      withAllExtents(rewriter, loc, match), match.dropout ? match.dropout.getState() : Value(),
      rewriter.getF64FloatAttr(match.scale), match.causal ? rewriter.getUnitAttr() : UnitAttr(),
      match.dropout ? match.dropout.getRateAttr() : FloatAttr(),
      match.dropout ? match.dropout.getStreamAttr() : IntegerAttr());
  Value result = attention.getResult();
  if (result.getType() != last->getResult(0).getType())
    result = ReshapeOp::create(rewriter, loc, last->getResult(0).getType(), result);
  // Each of the ops between has one user.
  SmallVector<Operation *> chain;
  for (Operation *op = scores; op != last; op = onlyUser(op->getResult(0)))
    chain.push_back(op);
  rewriter.replaceOp(last, result);
  for (Operation *op : llvm::reverse(chain))
    rewriter.eraseOp(op);
}

namespace {
struct FormAttention : mpc::impl::FormAttentionBase<FormAttention> {
  using FormAttentionBase::FormAttentionBase;

  void runOnOperation() override {
    const bool isCuda = StringRef(target).starts_with("cuda");
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<SoftmaxOp> candidates;
      // The bodies of loops over time stay as they are.
      for (Block &block : function.getBody())
        llvm::append_range(candidates, block.getOps<SoftmaxOp>());
      for (SoftmaxOp softmax : candidates) {
        Match match;
        StringRef obstacle;
        if (!matchScores(softmax, isCuda, match, obstacle))
          continue;
        matchProduct(softmax, isCuda, match, obstacle);
        checkTypes(match, isCuda, obstacle);
        if (obstacle.empty() && !isCuda && !hasScores(match.scores, fewestScores))
          obstacle = "its heads have few scores";
        Location loc = match.scores.getLoc();
        if (!obstacle.empty() && late)
          continue;
        if (!obstacle.empty()) {
          remark::missed(loc, fusionRemark("attention"))
              << "attention is products and a softmax: " << obstacle;
          continue;
        }
        remark::passed(loc, fusionRemark("attention"))
            << (Twine("attention is one call") + (late ? " where nothing trains" : "") +
                (match.dropout ? ": of its scores a byte each in memory, for dropout"
                               : ": no scores in memory") +
                (isCuda ? " where cuDNN has an engine for it" : ""))
                   .str();
        form(rewriter, match);
      }
    }
  }
};
} // namespace
