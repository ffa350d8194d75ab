// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/AttentionMatch.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

/// No library of CUDA takes heads of attention with other multiples, or wider ones.
static constexpr int64_t kWidthMultiple = 8, kMostWidth = 256;
/// A score below this has the probability 0 beside any score of a product of 16-bit numbers that
/// is not.
static constexpr double kMaskedScore = -1e30;

/// The op that `value` is the result of, if it is an `Op`.
template <typename Op> static Op definedBy(Value value) { return value.getDefiningOp<Op>(); }

/// The number that a constant is, or a choice between two: that which the element type can hold.
static std::optional<double> scalarOf(Value value) {
  if (auto choice = definedBy<SelectOp>(value)) {
    auto test = definedBy<IsFiniteOp>(choice.getCondition());
    auto tested = test ? scalarOf(test.getInput()) : std::nullopt;
    if (!tested)
      return std::nullopt;
    return scalarOf(std::isfinite(*tested) ? choice.getOnTrue() : choice.getOnFalse());
  }
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

/// Whether the mask is a constant that hides nothing.
static bool hidesNothing(Value mask) {
  DenseElementsAttr elements;
  return matchPattern(mask, m_Constant(&elements)) && elements.isSplat() &&
         elements.getElementType().isInteger(1) && elements.getSplatValue<bool>();
}

/// Whether the constant counts 0, 1, 2, … along its dimension `axis` from the end, whose extent is
/// `count`, and has no other.
static bool countsAlong(Value value, unsigned axis, int64_t count) {
  DenseIntElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || elements.getElementType().isInteger(1))
    return false;
  ArrayRef<int64_t> shape = elements.getType().getShape();
  if (shape.size() < axis || elements.getNumElements() != count || *(shape.end() - axis) != count)
    return false;
  return llvm::all_of(llvm::enumerate(elements.getValues<APInt>()),
                      [](auto position) { return position.value() == int64_t(position.index()); });
}

/// Whether the mask is true where the source (last dimension) is not behind the target (the one
/// before), the same for all samples and heads. One that is repeated over either says no such
/// thing. Importers compare positions; a file may hold the whole mask as a constant.
static bool isCausal(Value mask, ArrayRef<int64_t> scores) {
  ArrayRef<int64_t> shape = tensorTypeOf(mask).getShape();
  if (shape.size() < 2 || shape.take_back(2) != scores.take_back(2) ||
      !llvm::all_of(shape.drop_back(2), [](int64_t n) { return n == 1; }))
    return false;
  while (auto reshape = definedBy<ReshapeOp>(mask)) // of dimensions of 1
    mask = reshape.getInput();
  const int64_t targets = shape[shape.size() - 2], sources = shape.back();
  if (auto compare = definedBy<CompareOp>(mask))
    return compare.getPredicate() == ComparePredicate::LE &&
           countsAlong(compare.getLhs(), 1, sources) && countsAlong(compare.getRhs(), 2, targets);
  DenseElementsAttr elements;
  if (!matchPattern(mask, m_Constant(&elements)) || !elements.getElementType().isInteger(1))
    return false;
  for (auto [i, visible] : llvm::enumerate(elements.getValues<bool>()))
    if (visible != (int64_t(i) % sources <= int64_t(i) / sources))
      return false;
  return true;
}

Operation *mpc::onlyUser(Value value) { return value.hasOneUse() ? *value.user_begin() : nullptr; }

static bool contracts(ContractOp op, ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                      int64_t lhs, int64_t rhs) {
  return op.getLhsBatch() == lhsBatch && op.getRhsBatch() == rhsBatch &&
         op.getLhsContracting() == ArrayRef(lhs) && op.getRhsContracting() == ArrayRef(rhs) &&
         !op.getBias() && op.getActivation() == Activation::None;
}

/// Finds why scores are hidden from the softmax: causality, or a mask of the call. CUDA's library
/// takes the first alone.
static void matchMask(SelectOp select, bool isCuda, AttentionMatch &match, StringRef &obstacle) {
  Value mask = select->getOperand(0);
  if (hidesNothing(mask))
    return;
  match.hiding = select;
  const ArrayRef<int64_t> scores = tensorTypeOf(select.getResult()).getShape();
  const int64_t sources = scores.back();
  if (isCausal(mask, scores))
    match.causal = true;
  else if (isCuda)
    obstacle = "it has a mask that is not causal alone";
  else if (tensorTypeOf(mask).getRank() == 0 || tensorTypeOf(mask).getShape().back() != sources)
    obstacle = "its mask does not tell its sources apart";
  else
    match.mask = mask;
}

/// Whether the op gives what the mask of the scores hides the probability 0.
static bool clearsHidden(Operation *op, Value probabilities, const AttentionMatch &match) {
  auto select = dyn_cast_or_null<SelectOp>(op);
  return select && match.hiding && select->getOperand(0) == match.hiding->getOperand(0) &&
         select->getOperand(1) == probabilities && scalarOf(select->getOperand(2)).value_or(1) == 0;
}

/// Checks what hidden sources have: nothing, or a score and no probability. CUDA's library has the
/// first alone.
static void checkHidden(bool isCuda, bool isCleared, AttentionMatch &match, StringRef &obstacle) {
  auto score = scalarOf(match.hiding->getOperand(2));
  if (!isCuda && isCleared && score && std::isfinite(*score))
    match.hiddenScore = FloatAttr::get(Float64Type::get(match.hiding.getContext()), *score);
  else if (isCleared || !score || *score > kMaskedScore)
    obstacle = "what its mask hides keeps a score";
}

/// Whether the softmax is of products of rows with rows; `obstacle` says what else is between, or
/// reads them.
static bool matchScores(SoftmaxOp softmax, bool isCuda, AttentionMatch &match,
                        StringRef &obstacle) {
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
    else if (tensorTypeOf(user->getResult(0)).getShape() != match.scores.getType().getShape())
      obstacle = "what is done to its scores widens them";
    op = user;
  }
  return true;
}

/// The product of the probabilities with values, at the positions of the queries.
static void matchProduct(SoftmaxOp softmax, bool isCuda, AttentionMatch &match,
                         StringRef &obstacle) {
  if (!obstacle.empty())
    return;
  Operation *user = onlyUser(softmax.getResult());
  Value probabilities = softmax.getResult();
  auto stepOver = [&] {
    probabilities = user->getResult(0);
    user = onlyUser(probabilities);
  };
  const bool isCleared = clearsHidden(user, probabilities, match);
  if (isCleared)
    stepOver();
  if (match.hiding)
    checkHidden(isCuda, isCleared, match, obstacle);
  if (!obstacle.empty())
    return;
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
  const bool isProduct =
      match.product && match.product.getLhs() == probabilities &&
      tensorTypeOf(match.product.getRhs()).getRank() == match.scores.getType().getRank() &&
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

bool mpc::hasScores(ContractOp scores, int64_t fewest) {
  ArrayRef<int64_t> matrix = scores.getType().getShape().take_back(2);
  return ShapedType::isDynamicShape(matrix) || matrix[0] * matrix[1] >= fewest;
}

static void checkTypes(AttentionMatch &match, bool isCuda, StringRef &obstacle) {
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

bool mpc::matchAttention(SoftmaxOp softmax, bool isCuda, AttentionMatch &match,
                         StringRef &obstacle) {
  if (!matchScores(softmax, isCuda, match, obstacle))
    return false;
  matchProduct(softmax, isCuda, match, obstacle);
  checkTypes(match, isCuda, obstacle);
  return true;
}
