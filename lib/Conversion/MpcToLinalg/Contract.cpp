// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contractions: every one becomes a matrix product or a batch of them, between reshapes.
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpc/IR/ShortSums.h"
#include "dialects/mpc/IR/SumOfProducts.h"
#include "dialects/mpcrt/IR/Turn.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/NarrowWeights.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mpc/Analysis/LayerPath.h"
#include "mpc/Support/Dtype.h"
#include "runtime/rules/blas_products.h"

using namespace mlir;
using namespace mpc;

/// Dimensions of a tensor in consecutive groups, one per dimension of a matrix; a group may be
/// empty.
using Groups = SmallVector<SmallVector<int64_t>>;

static SmallVector<int64_t> flatten(const Groups &groups) {
  SmallVector<int64_t> order;
  for (ArrayRef<int64_t> group : groups)
    llvm::append_range(order, group);
  return order;
}

/// Which of the matrix's dimensions belong to which kept one, when those of empty groups (of extent
/// 1) are dropped.
static SmallVector<ReassociationIndices> unitReassociation(const Groups &groups) {
  SmallVector<ReassociationIndices> kept;
  ReassociationIndices leading;
  for (auto [d, group] : llvm::enumerate(groups)) {
    if (!group.empty()) {
      kept.push_back(std::exchange(leading, {}));
      kept.back().push_back(d);
    } else if (kept.empty()) {
      leading.push_back(d);
    } else {
      kept.back().push_back(d);
    }
  }
  return kept;
}

/// Consecutive dimensions of the groups' members, empty groups left out.
static SmallVector<ReassociationIndices> consecutiveReassociation(const Groups &groups) {
  SmallVector<ReassociationIndices> reassociation;
  int64_t next = 0;
  for (ArrayRef<int64_t> group : groups)
    if (!group.empty()) {
      reassociation.emplace_back(llvm::to_vector(llvm::seq<int64_t>(next, next + group.size())));
      next += group.size();
    }
  return reassociation;
}

static Value transposeTo(OpBuilder &builder, Location loc, Value operand,
                         ArrayRef<int64_t> permutation) {
  SmallVector<OpFoldResult> extents;
  for (int64_t d : permutation)
    extents.push_back(extentOf(builder, loc, operand, d));
  Value empty = tensor::EmptyOp::create(builder, loc, extents, elementTypeOf(operand));
  AffineMap map =
      inversePermutation(AffineMap::getPermutationMap(permutation, builder.getContext()));
  return buildReduction(builder, loc, operand, empty,
                        {map, builder.getMultiDimIdentityMap(permutation.size())}, {},
                        [](OpBuilder &, Location, ValueRange inputs, ValueRange) {
                          return SmallVector<Value>{inputs[0]};
                        })[0];
}

/// The operand as [(batch,) rows, columns], or stored [(batch,) columns, rows] when the second
/// value is true. Other orders of its dimensions are copied.
static std::pair<Value, bool> asMatrix(OpBuilder &builder, Location loc, Value operand,
                                       ArrayRef<int64_t> batch, ArrayRef<int64_t> rows,
                                       ArrayRef<int64_t> columns) {
  Groups groups{SmallVector<int64_t>(rows), SmallVector<int64_t>(columns)};
  Groups transposed{SmallVector<int64_t>(columns), SmallVector<int64_t>(rows)};
  if (!batch.empty()) {
    groups.insert(groups.begin(), SmallVector<int64_t>(batch));
    transposed.insert(transposed.begin(), SmallVector<int64_t>(batch));
  }
  // The batch comes first in what is stored, so a form that begins with another dimension (or
  // with one of extent 1) does not do.
  const bool hasBatch = !tensorTypeOf(operand).hasStaticShape();
  auto isStorable = [&](const Groups &form) {
    return !hasBatch || (!form.front().empty() && form.front().front() == 0);
  };
  auto isStored = [&](const Groups &form) {
    return isStorable(form) && llvm::is_sorted(flatten(form));
  };
  bool useTransposed = false;
  if (!isStored(groups)) {
    useTransposed = isStored(transposed) || !isStorable(groups);
    const bool isCopied = !useTransposed || !isStored(transposed);
    if (useTransposed)
      groups = transposed;
    if (isCopied)
      operand = transposeTo(builder, loc, operand, flatten(groups));
  }
  // Merge the members of each group, then give empty groups an extent of 1.
  SmallVector<int64_t> mergedShape;
  auto type = tensorTypeOf(operand);
  SmallVector<ReassociationIndices> reassociation = consecutiveReassociation(groups);
  for (const ReassociationIndices &merged : reassociation) {
    int64_t extent = 1;
    for (int64_t d : merged)
      extent = ShapedType::isDynamic(extent) || type.isDynamicDim(d) ? ShapedType::kDynamic
                                                                     : extent * type.getDimSize(d);
    mergedShape.push_back(extent);
  }
  if (int64_t(mergedShape.size()) != type.getRank())
    operand = tensor::CollapseShapeOp::create(builder, loc, type.clone(mergedShape), operand,
                                              reassociation);
  if (mergedShape.size() == groups.size())
    return {operand, useTransposed};
  SmallVector<OpFoldResult> extents;
  SmallVector<int64_t> shape;
  size_t next = 0;
  for (ArrayRef<int64_t> group : groups) {
    shape.push_back(group.empty() ? 1 : mergedShape[next]);
    extents.push_back(group.empty() ? OpFoldResult(builder.getIndexAttr(1))
                                    : extentOf(builder, loc, operand, next));
    next += !group.empty();
  }
  return {tensor::ExpandShapeOp::create(builder, loc, type.clone(shape), operand,
                                        unitReassociation(groups), extents),
          useTransposed};
}

/// The inverse of asMatrix for the product.
static Value fromMatrix(OpBuilder &builder, Location loc, Value matrix, const Groups &groups,
                        RankedTensorType type, ArrayRef<OpFoldResult> extents) {
  SmallVector<ReassociationIndices> reassociation = consecutiveReassociation(groups);
  auto matrixType = tensorTypeOf(matrix);
  if (reassociation.size() != groups.size()) {
    SmallVector<int64_t> shape;
    for (auto [d, group] : llvm::enumerate(groups))
      if (!group.empty())
        shape.push_back(matrixType.getDimSize(d));
    matrix = tensor::CollapseShapeOp::create(builder, loc, matrixType.clone(shape), matrix,
                                             unitReassociation(groups));
  }
  if (int64_t(reassociation.size()) == type.getRank())
    return matrix;
  return tensor::ExpandShapeOp::create(builder, loc, type, matrix, reassociation, extents);
}

/// A vector in float32.
static Value widenVector(OpBuilder &builder, Location loc, Value vector) {
  auto type = tensorTypeOf(vector);
  Type wide = builder.getF32Type();
  if (type.getElementType() == wide)
    return vector;
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), wide);
  AffineMap each = builder.getMultiDimIdentityMap(1);
  return buildReduction(builder, loc, {vector}, empty, {each, each}, {},
                        [&](OpBuilder &b, Location l, ValueRange inputs, ValueRange) {
                          return SmallVector<Value>{arith::ExtFOp::create(b, l, wide, inputs[0])};
                        })[0];
}

/// The epilogue as ops of its own.
static Value separateBias(ContractOp op, ContractOp::Adaptor adaptor, OpBuilder &builder) {
  auto product = ContractOp::create(
      builder, op.getLoc(), op.getType(), adaptor.getLhs(), adaptor.getRhs(),
      /*bias=*/Value(), op.getLhsBatch(), op.getRhsBatch(), op.getLhsContracting(),
      op.getRhsContracting(), op.getAccumulateAttr(), Activation::None);
  if (Attribute narrow = op->getAttr(kNarrowWeightsAttr))
    product->setAttr(kNarrowWeightsAttr, narrow);
  Value sum = AddOp::create(builder, op.getLoc(), product, adaptor.getBias());
  if (op.getActivation() == Activation::Relu)
    sum = ReluOp::create(builder, op.getLoc(), sum);
  return sum;
}

/// Whether it sums over samples within each of several matrices: batches of matrices lie one after
/// the other, which leaves the samples no place inside of them.
static bool sumsSamplesOfBatches(ContractOp op) {
  return !op.getLhsBatch().empty() && llvm::any_of(op.getLhsContracting(), [&](int64_t d) {
    return tensorTypeOf(op.getLhs()).isDynamicDim(d);
  });
}

/// Whether the product cannot add the bias itself: it belongs to the last result dimensions, which
/// must be the matrix's whole last one.
static bool hasSeparateBias(ContractOp op) {
  return op.getBias() && (tensorTypeOf(op.getBias()).getRank() != int64_t(op.getRhsFree().size()) ||
                          sumsSamplesOfBatches(op));
}

/// The sums of such a contraction without bias.
static Value sumElements(ContractOp op, ContractOp::Adaptor adaptor, OpBuilder &builder) {
  Location loc = op.getLoc();
  Type wide = widerOf32(op.getType().getElementType());
  const int64_t rank = tensorTypeOf(op.getLhs()).getRank();
  auto lhsLabels = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  DimensionLabels rhsLabels(tensorTypeOf(op.getRhs()).getRank()), result(op.getLhsBatch());
  for (auto [d, label] : llvm::enumerate(rhsLabels))
    label = rank + int64_t(d);
  for (auto [l, r] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    rhsLabels[r] = l;
  for (auto [l, r] : llvm::zip_equal(op.getLhsContracting(), op.getRhsContracting()))
    rhsLabels[r] = l;
  llvm::append_range(result, op.getLhsFree());
  for (int64_t d : op.getRhsFree())
    result.push_back(rhsLabels[d]);
  auto widen = [&](Value value) -> Value {
    auto type = tensorTypeOf(value);
    return type.getElementType() == wide
               ? value
               : Value(CastOp::create(builder, loc, type.clone(wide), value));
  };
  Value sum = sumProducts(builder, loc, widen(adaptor.getLhs()), lhsLabels, widen(adaptor.getRhs()),
                          rhsLabels, result);
  if (sum.getType() != op.getType())
    sum = CastOp::create(builder, loc, op.getType(), sum);
  return op.getActivation() == Activation::Relu ? Value(ReluOp::create(builder, loc, sum)) : sum;
}

/// Each result from its few terms, in float32, rounded once.
static Value sumTerms(ContractOp op, ContractOp::Adaptor adaptor, OpBuilder &builder) {
  Location loc = op.getLoc();
  MLIRContext *context = builder.getContext();
  const bool lhsTransposed = op.getLhsContracting()[0] == 0;
  Value lhs = adaptor.getLhs(), rhs = adaptor.getRhs();
  const int64_t terms = tensorTypeOf(lhs).getDimSize(op.getLhsContracting()[0]);
  Value out = tensor::EmptyOp::create(builder, loc,
                                      {extentOf(builder, loc, lhs, lhsTransposed ? 1 : 0),
                                       extentOf(builder, loc, rhs, op.getRhsFree()[0])},
                                      op.getType().getElementType());
  // Neighbouring results read neighbours.
  if (op.getRhsContracting()[0] == 1)
    rhs = transposeTo(builder, loc, rhs, {1, 0});
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  AffineExpr row = builder.getAffineDimExpr(0), column = builder.getAffineDimExpr(1);
  for (int64_t t = 0; t < terms; ++t) {
    AffineExpr term = builder.getAffineConstantExpr(t);
    inputs.append({lhs, rhs});
    maps.push_back(
        AffineMap::get(2, 0, lhsTransposed ? ArrayRef{term, row} : ArrayRef{row, term}, context));
    maps.push_back(AffineMap::get(2, 0, {term, column}, context));
  }
  maps.push_back(builder.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &b, Location l, ValueRange arguments) {
    Type wide = b.getF32Type(), narrow = op.getType().getElementType();
    auto widen = [&](Value x) -> Value {
      return x.getType() == wide ? x : Value(arith::ExtFOp::create(b, l, wide, x));
    };
    Value sum;
    for (int64_t t = 0; t < terms; ++t) {
      Value term =
          arith::MulFOp::create(b, l, widen(arguments[2 * t]), widen(arguments[2 * t + 1]));
      sum = sum ? Value(arith::AddFOp::create(b, l, sum, term)) : term;
    }
    if (narrow != wide)
      sum = arith::TruncFOp::create(b, l, narrow, sum);
    linalg::YieldOp::create(b, l, sum);
  };
  return linalg::GenericOp::create(builder, loc, op.getType(), inputs, out, maps, loops, body)
      .getResult(0);
}

/// Whether Tensor Cores multiply the operands of float8 once rows of one meet rows of the other. An
/// extent that the batch decides is padded by the driver.
static bool isOfFloat8ByRows(mpcrt::ContractOp product) {
  auto typeOf = [](Value value) { return cast<ShapedType>(value.getType()); };
  const ShapedType lhs = typeOf(product.getLhs()), out = typeOf(product.getOut());
  if (lhs.getRank() != 2 || !isFloat8(lhs.getElementType()))
    return false;
  rules::BlasProduct byRows;
  byRows.lhs = *runtimeDtypeOf(lhs.getElementType());
  byRows.rhs = *runtimeDtypeOf(typeOf(product.getRhs()).getElementType());
  byRows.out = *runtimeDtypeOf(out.getElementType());
  const int64_t terms = lhs.getDimSize(product.getTransposeLhs() ? 0 : 1);
  byRows.k = ShapedType::isDynamic(terms) ? 0 : terms;
  byRows.n = ShapedType::isDynamic(out.getDimSize(1)) ? 0 : out.getDimSize(1);
  byRows.transposeRhs = true;
  return byRows.isOfFloat8();
}

/// The operand column after column, where the numbers are: a kernel that writes them can write
/// both.
static void turn(OpBuilder &builder, OpOperand &operand) {
  OpBuilder::InsertionGuard guard(builder);
  Value numbers = operand.get();
  builder.setInsertionPointAfterValue(numbers);
  Value empty = emptyFrom(builder, numbers.getLoc(), tensorTypeOf(numbers), numbers);
  operand.set(
      mpcrt::TurnOp::create(builder, numbers.getLoc(), TypeRange(empty.getType()), numbers, empty)
          .getResult(0));
}

/// Lets operands of float8 lie as cuBLASLt reads them, rows of one and columns of the other one.
static void turnOperands(OpBuilder &builder, mpcrt::ContractOp product) {
  if (!isOfFloat8ByRows(product))
    return;
  if (product.getTransposeLhs()) {
    turn(builder, product.getLhsMutable());
    product->setAttr(mpcrt::kTurnedLhsAttr, builder.getUnitAttr());
  }
  if (!product.getTransposeRhs()) {
    turn(builder, product.getRhsMutable());
    product->setAttr(mpcrt::kTurnedRhsAttr, builder.getUnitAttr());
  }
}

namespace {
/// The operands of a product of matrices, by the dimensions of each.
struct Sides {
  Value lhs, rhs;
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsFree, rhsFree, lhsContracting, rhsContracting;
};

/// Replaces a contraction that is no call of a library, or not as it is.
template <bool (*applies)(ContractOp), Value (*build)(ContractOp, ContractOp::Adaptor, OpBuilder &)>
struct ReplaceContract : OpConversionPattern<ContractOp> {
  using OpConversionPattern::OpConversionPattern;

  /// separateBias makes a contraction without bias, which makes no other.
  void initialize() { setHasBoundedRewriteRecursion(); }

  LogicalResult matchAndRewrite(ContractOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!applies(op))
      return rewriter.notifyMatchFailure(op, "is a product of matrices");
    rewriter.replaceOp(op, build(op, adaptor, rewriter));
    return success();
  }
};

class LowerContract : public OpConversionPattern<ContractOp> {
public:
  LowerContract(const TypeConverter &converter, MLIRContext *context, bool turnsOperands)
      : OpConversionPattern(converter, context), turnsOperands(turnsOperands) {}

  LogicalResult matchAndRewrite(ContractOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    std::optional<NarrowWeights> weights = readNarrowWeights(op);
    const bool isMatrix = weights && weights->isMatrix;
    const Sides sides = chooseSides(op, adaptor.getLhs(),
                                    weights && !isMatrix ? weights->numbers : adaptor.getRhs());
    auto [lhs, lhsTransposed] =
        asMatrix(rewriter, loc, sides.lhs, sides.lhsBatch, sides.lhsFree, sides.lhsContracting);
    auto [rhs, rhsTransposed] = isMatrix ? std::pair(weights->numbers, weights->isTransposed)
                                         : asMatrix(rewriter, loc, sides.rhs, sides.rhsBatch,
                                                    sides.rhsContracting, sides.rhsFree);
    Value out =
        createResult(rewriter, op, sides, {lhs, lhsTransposed}, {rhs, rhsTransposed}, isMatrix);
    Value bias = adaptor.getBias();
    if (bias && sides.rhsFree.size() > 1)
      bias = tensor::CollapseShapeOp::create(
          rewriter, loc, bias,
          ArrayRef{llvm::to_vector<2>(llvm::seq<int64_t>(0, sides.rhsFree.size()))});
    auto call = mpcrt::ContractOp::create(rewriter, loc, lhs, rhs, bias, out, lhsTransposed,
                                          rhsTransposed, op.getActivation(), layerPathOf(loc));
    if (weights && weights->scale) {
      call.getScaleMutable().assign(weights->scale);
      call.getZeroMutable().assign(weights->zero);
      call.getPlacesMutable().assign(weights->places);
    }
    if (weights && weights->divisors) {
      rewriter.setInsertionPoint(call);
      call.getDivisorsMutable().assign(widenVector(rewriter, loc, weights->divisors));
      rewriter.setInsertionPointAfter(call);
    }
    if (turnsOperands)
      turnOperands(rewriter, call);
    SmallVector<OpFoldResult> extents;
    for (int64_t d : llvm::concat<const int64_t>(sides.lhsBatch, sides.lhsFree))
      extents.push_back(extentOf(rewriter, loc, sides.lhs, d));
    for (int64_t d : sides.rhsFree)
      extents.push_back(isMatrix ? rewriter.getIndexAttr(tensorTypeOf(op.getRhs()).getDimSize(d))
                                 : extentOf(rewriter, loc, sides.rhs, d));
    Groups groups{sides.lhsFree, sides.rhsFree};
    if (!sides.lhsBatch.empty())
      groups.insert(groups.begin(), sides.lhsBatch);
    rewriter.replaceOp(op,
                       fromMatrix(rewriter, loc, call.getResult(0), groups, op.getType(), extents));
    return success();
  }

private:
  /// Contracted dimensions in the order of the left operand's. Only the first dimension of a matrix
  /// may be the batch: when lhs has no dimension in the product, it changes sides with rhs.
  static Sides chooseSides(ContractOp op, Value lhs, Value rhs) {
    SmallVector<std::pair<int64_t, int64_t>> pairs;
    for (auto [l, r] : llvm::zip_equal(op.getLhsContracting(), op.getRhsContracting()))
      pairs.emplace_back(l, r);
    llvm::sort(pairs);
    Sides sides{lhs,
                rhs,
                SmallVector<int64_t>(op.getLhsBatch()),
                SmallVector<int64_t>(op.getRhsBatch()),
                op.getLhsFree(),
                op.getRhsFree(),
                llvm::to_vector(llvm::make_first_range(pairs)),
                llvm::to_vector(llvm::make_second_range(pairs))};
    if (sides.lhsBatch.empty() && sides.lhsFree.empty() &&
        llvm::any_of(sides.rhsFree, [&](int64_t d) { return tensorTypeOf(rhs).isDynamicDim(d); })) {
      std::swap(sides.lhs, sides.rhs);
      std::swap(sides.lhsFree, sides.rhsFree);
      std::swap(sides.lhsContracting, sides.rhsContracting);
    }
    return sides;
  }

  /// An empty matrix, or batch of them, for the product of `lhs` and `rhs`, each with whether it is
  /// stored transposed. Of narrow weights the columns follow from what they stand for: they may be
  /// packed.
  static Value createResult(OpBuilder &builder, ContractOp op, const Sides &sides,
                            std::pair<Value, bool> lhs, std::pair<Value, bool> rhs,
                            bool isNarrowMatrix) {
    Location loc = op.getLoc();
    const int64_t rank = tensorTypeOf(lhs.first).getRank();
    SmallVector<OpFoldResult> extents;
    if (rank == 3)
      extents.push_back(extentOf(builder, loc, lhs.first, 0));
    extents.push_back(extentOf(builder, loc, lhs.first, lhs.second ? rank - 1 : rank - 2));
    int64_t columns = 1;
    for (int64_t d : sides.rhsFree)
      columns *= tensorTypeOf(op.getRhs()).getDimSize(d);
    extents.push_back(isNarrowMatrix
                          ? OpFoldResult(builder.getIndexAttr(columns))
                          : extentOf(builder, loc, rhs.first, rhs.second ? rank - 2 : rank - 1));
    return tensor::EmptyOp::create(builder, loc, extents, op.getType().getElementType());
  }

  const bool turnsOperands;
};
} // namespace

void mpc::populateContractPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                   bool shortProducts, bool turnedOperands) {
  MLIRContext *context = patterns.getContext();
  patterns.add<LowerContract>(converter, context, turnedOperands);
  // These patterns go before it, in the order of their benefits.
  patterns.add<ReplaceContract<sumsSamplesOfBatches, sumElements>>(converter, context,
                                                                   /*benefit=*/2);
  patterns.add<ReplaceContract<hasSeparateBias, separateBias>>(converter, context, /*benefit=*/3);
  if (shortProducts)
    patterns.add<ReplaceContract<hasShortSums, sumTerms>>(converter, context, /*benefit=*/4);
}
