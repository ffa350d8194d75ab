// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contraction: shapes, verifier, derivative, reference value.
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpc/IR/ShortSums.h"
#include "dialects/mpc/IR/SumOfProducts.h"

using namespace mlir;
using namespace mpc;

/// Dimensions of a tensor of `rank` that are in neither list, in order.
static SmallVector<int64_t> freeDimensions(int64_t rank, ArrayRef<int64_t> batch,
                                           ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> free;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contracting, d))
      free.push_back(d);
  return free;
}

SmallVector<int64_t> ContractOp::getLhsFree() {
  return freeDimensions(tensorTypeOf(getLhs()).getRank(), getLhsBatch(), getLhsContracting());
}

SmallVector<int64_t> ContractOp::getRhsFree() {
  return freeDimensions(tensorTypeOf(getRhs()).getRank(), getRhsBatch(), getRhsContracting());
}

bool mpc::hasShortSums(ContractOp op) {
  constexpr int64_t kMostTerms = 16;
  auto lhs = tensorTypeOf(op.getLhs()), rhs = tensorTypeOf(op.getRhs());
  auto isNarrow = [](Type type) { return type.isF16() || type.isBF16() || type.isF32(); };
  return lhs.getRank() == 2 && rhs.getRank() == 2 && rhs.hasStaticShape() &&
         op.getLhsContracting().size() == 1 && op.getLhsFree().size() == 1 &&
         op.getRhsFree().size() == 1 && rhs.getDimSize(op.getRhsContracting()[0]) <= kMostTerms &&
         !op.getBias() && op.getActivation() == Activation::None &&
         lhs.getElementType() == rhs.getElementType() && isNarrow(lhs.getElementType()) &&
         isNarrow(op.getType().getElementType()) &&
         (!op.getAccumulate() || op.getAccumulate()->isF32());
}

static SmallVector<int64_t> resultShape(RankedTensorType lhs, RankedTensorType rhs,
                                        ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                                        ArrayRef<int64_t> lhsContracting,
                                        ArrayRef<int64_t> rhsContracting) {
  SmallVector<int64_t> shape;
  for (int64_t d : lhsBatch)
    shape.push_back(lhs.getDimSize(d));
  for (int64_t d : freeDimensions(lhs.getRank(), lhsBatch, lhsContracting))
    shape.push_back(lhs.getDimSize(d));
  for (int64_t d : freeDimensions(rhs.getRank(), rhsBatch, rhsContracting))
    shape.push_back(rhs.getDimSize(d));
  return shape;
}

/// The element type that a contraction has where nobody asks for another.
static Type sumTypeOf(Type factor) {
  if (isFloat8(factor))
    return Float32Type::get(factor.getContext());
  return factor.isInteger(8) ? IntegerType::get(factor.getContext(), 32) : factor;
}

void ContractOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs,
                       ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                       ArrayRef<int64_t> lhsContracting, ArrayRef<int64_t> rhsContracting) {
  auto lhsType = tensorTypeOf(lhs), rhsType = tensorTypeOf(rhs);
  auto type = RankedTensorType::get(
      resultShape(lhsType, rhsType, lhsBatch, rhsBatch, lhsContracting, rhsContracting),
      sumTypeOf(lhsType.getElementType()));
  build(builder, state, type, lhs, rhs, /*bias=*/Value(), lhsBatch, rhsBatch, lhsContracting,
        rhsContracting,
        /*accumulate=*/TypeAttr(), Activation::None);
}

void ContractOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs,
                       ArrayRef<int64_t> lhsContracting, ArrayRef<int64_t> rhsContracting) {
  build(builder, state, lhs, rhs, {}, {}, lhsContracting, rhsContracting);
}

LogicalResult ContractOp::verify() {
  auto lhs = tensorTypeOf(getLhs()), rhs = tensorTypeOf(getRhs()), result = getType();
  auto pairs = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right,
                   StringRef what) -> LogicalResult {
    if (left.size() != right.size())
      return emitOpError() << "has " << left.size() << " " << what << " dimensions on the left and "
                           << right.size() << " on the right";
    for (auto [l, r] : llvm::zip_equal(left, right)) {
      if (l < 0 || l >= lhs.getRank() || r < 0 || r >= rhs.getRank())
        return emitOpError() << what << " dimension out of range: " << l << " x " << r;
      if (lhs.getDimSize(l) != rhs.getDimSize(r))
        return emitOpError() << what << " dimensions " << l << " of " << lhs << " and " << r
                             << " of " << rhs << " have different extents";
    }
    return success();
  };
  if (failed(pairs(getLhsBatch(), getRhsBatch(), "batch")) ||
      failed(pairs(getLhsContracting(), getRhsContracting(), "contracting")) ||
      failed(verifyDistinct(
          *this, llvm::to_vector(llvm::concat<const int64_t>(getLhsBatch(), getLhsContracting())),
          "left dimension")) ||
      failed(verifyDistinct(
          *this, llvm::to_vector(llvm::concat<const int64_t>(getRhsBatch(), getRhsContracting())),
          "right dimension")))
    return failure();
  const bool isPair = isFloat8(lhs.getElementType()) && isFloat8(rhs.getElementType());
  if (lhs.getElementType() != rhs.getElementType() && !isPair)
    return emitOpError() << "operands have element types " << lhs.getElementType() << " and "
                         << rhs.getElementType() << "; insert mpc.cast, no op promotes implicitly";
  SmallVector<int64_t> shape =
      resultShape(lhs, rhs, getLhsBatch(), getRhsBatch(), getLhsContracting(), getRhsContracting());
  if (ArrayRef<int64_t>(shape) != result.getShape())
    return emitOpError() << "result must have shape [" << shape << "]";
  const bool isInteger = isa<IntegerType>(lhs.getElementType());
  if (isInteger != result.getElementType().isInteger(32) ||
      (isInteger && (getBias() || getAccumulate() || getActivation() != Activation::None)))
    return emitOpError() << "of i8 gives i32, without bias, accumulator type or activation; got "
                         << result;
  if (isInteger)
    return success();
  if (isPair) {
    const bool hasFraction =
        isa<Float8E4M3FNType>(lhs.getElementType()) || isa<Float8E4M3FNType>(rhs.getElementType());
    if (!hasFraction || !result.getElementType().isF32() || getBias() || getAccumulate() ||
        getActivation() != Activation::None)
      return emitOpError() << "of float8, one operand at least in f8E4M3FN, gives f32, without "
                              "bias, accumulator type or activation; got "
                           << lhs.getElementType() << " x " << rhs.getElementType() << " -> "
                           << result;
    return success();
  }
  Type accumulate = getAccumulate().value_or(getDefaultAccumulator(lhs.getElementType()));
  if (result.getElementType() != lhs.getElementType() && result.getElementType() != accumulate)
    return emitOpError() << "result must have the operands' element type or the accumulator's";
  if (Value bias = getBias()) {
    auto type = tensorTypeOf(bias);
    if (type.getRank() == 0 || type.getRank() > result.getRank() || !type.hasStaticShape() ||
        type.getShape() != result.getShape().take_back(type.getRank()) ||
        type.getElementType() != result.getElementType())
      return emitOpError() << "bias must have the shape of the last result dimensions and the "
                              "result's element type";
  }
  return success();
}

PrecisionClass ContractOp::getPrecisionClass() { return PrecisionClass::Safe; }

StringRef ContractOp::findBiasObstacle(int64_t rank) {
  if (getType().getElementType().isInteger(32))
    return "sums of integers take no bias";
  if (isFloat8(elementTypeOf(getLhs())))
    return "sums of float8 are scaled first";
  if (rank == static_cast<int64_t>(getRhsFree().size()))
    return "";
  return rank == 1 ? "the last dimension is not the only free one of the right operand"
                   : "what is added is no vector along the last dimension";
}

Operation *ContractOp::createWithEpilogue(OpBuilder &builder, Value bias, Activation activation) {
  return create(builder, getLoc(), getType(), getLhs(), getRhs(), bias, getLhsBatch(),
                getRhsBatch(), getLhsContracting(), getRhsContracting(), getAccumulateAttr(),
                activation);
}

/// The contraction with sums of the element type `sum`.
static Value contractTo(OpBuilder &builder, Location loc, Type sum, Value lhs, Value rhs,
                        ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                        ArrayRef<int64_t> lhsContracting, ArrayRef<int64_t> rhsContracting) {
  auto result = ContractOp::create(builder, loc, lhs, rhs, lhsBatch, rhsBatch, lhsContracting,
                                   rhsContracting);
  result.getResult().setType(result.getType().clone(sum));
  return result;
}

/// `value`, whose dimension p is dimension `dimensions[p]` of `type`, brought into the order and
/// element type of `type`.
static Value arrange(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> dimensions,
                     RankedTensorType type) {
  SmallVector<int64_t> permutation(dimensions.size());
  for (auto [position, dimension] : llvm::enumerate(dimensions))
    permutation[dimension] = position;
  if (!llvm::is_sorted(permutation))
    value = TransposeOp::create(builder, loc, value, permutation);
  if (value.getType() != type)
    value = CastOp::create(builder, loc, type, value);
  return value;
}

/// The cotangent of one operand: contracts dy with the other operand over the other's free
/// dimensions. Of the two operand orders the one that needs no transpose is taken, so that a GEMM
/// with transposed operands is all that is left.
static Value contractCotangent(OpBuilder &builder, Location loc, Value dy, Value other,
                               RankedTensorType type, ArrayRef<int64_t> dyFree,
                               ArrayRef<int64_t> dyContracting, ArrayRef<int64_t> otherFree,
                               ArrayRef<int64_t> batch, ArrayRef<int64_t> otherBatch,
                               ArrayRef<int64_t> free, ArrayRef<int64_t> contracting,
                               ArrayRef<int64_t> otherContracting) {
  SmallVector<int64_t> dyBatch = llvm::to_vector(llvm::seq<int64_t>(0, batch.size()));
  // Remaining dimensions of `other` come out in ascending order; the index of each is its
  // partner's.
  SmallVector<std::pair<int64_t, int64_t>> partners;
  for (auto [own, theirs] : llvm::zip_equal(contracting, otherContracting))
    partners.push_back({theirs, own});
  llvm::sort(partners);
  SmallVector<int64_t> dyFirst(batch), otherFirst(batch);
  llvm::append_range(dyFirst, free);
  for (auto [theirs, own] : partners) {
    dyFirst.push_back(own);
    otherFirst.push_back(own);
  }
  llvm::append_range(otherFirst, free);
  // A result that has the batch has it first.
  auto isPossible = [&](ArrayRef<int64_t> order) {
    return type.hasStaticShape() || order.front() == 0;
  };
  if (!isPossible(dyFirst) && !isPossible(otherFirst)) {
    // Labels are the operand's own dimensions, behind them those that are summed.
    const int64_t rank = type.getRank();
    DimensionLabels own = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    DimensionLabels dyLabels(tensorTypeOf(dy).getRank()),
        otherLabels(tensorTypeOf(other).getRank());
    for (auto [i, d] : llvm::enumerate(batch)) {
      dyLabels[dyBatch[i]] = d;
      otherLabels[otherBatch[i]] = d;
    }
    for (auto [i, d] : llvm::enumerate(free))
      dyLabels[dyFree[i]] = d;
    for (auto [d, theirs] : llvm::zip_equal(contracting, otherContracting))
      otherLabels[theirs] = d;
    for (auto [i, d] : llvm::enumerate(dyContracting)) {
      dyLabels[d] = rank + int64_t(i);
      otherLabels[otherFree[i]] = rank + int64_t(i);
    }
    Type wide = widerOf32(type.getElementType());
    auto widen = [&](Value value) -> Value {
      auto narrow = tensorTypeOf(value);
      return narrow.getElementType() == wide
                 ? value
                 : Value(CastOp::create(builder, loc, narrow.clone(wide), value));
    };
    Value sum = sumProducts(builder, loc, widen(dy), dyLabels, widen(other), otherLabels, own);
    return sum.getType() == type ? sum : Value(CastOp::create(builder, loc, type, sum));
  }
  const bool isBetter = llvm::is_sorted(otherFirst) && !llvm::is_sorted(dyFirst);
  if (isPossible(otherFirst) && (isBetter || !isPossible(dyFirst))) {
    Value result = contractTo(builder, loc, type.getElementType(), other, dy, otherBatch, dyBatch,
                              otherFree, dyContracting);
    return arrange(builder, loc, result, otherFirst, type);
  }
  Value result = contractTo(builder, loc, type.getElementType(), dy, other, dyBatch, otherBatch,
                            dyContracting, otherFree);
  return arrange(builder, loc, result, dyFirst, type);
}

LogicalResult ContractOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool> wanted,
                                   MutableArrayRef<Value> operandCotangents) {
  if (getActivation() != Activation::None)
    return emitOpError() << "has an activation; mpc-fuse comes after mpc-differentiate";
  Location loc = getLoc();
  auto lhsType = tensorTypeOf(getLhs()), rhsType = tensorTypeOf(getRhs());
  SmallVector<int64_t> lhsFree = getLhsFree(), rhsFree = getRhsFree();
  int64_t batch = getLhsBatch().size(), left = lhsFree.size(), right = rhsFree.size();
  SmallVector<int64_t> dyLeft = llvm::to_vector(llvm::seq(batch, batch + left));
  SmallVector<int64_t> dyRight = llvm::to_vector(llvm::seq(batch + left, batch + left + right));
  if (getBias() && wanted[2])
    operandCotangents[2] = sumToType(builder, loc, cotangents[0], tensorTypeOf(getBias()));
  if (!wanted[0] && !wanted[1])
    return success();
  // Keras's gradients compute in the operands' dtype, also where the result is the wider
  // accumulator.
  Value dy = cotangents[0];
  if (elementTypeOf(dy) != lhsType.getElementType())
    dy = CastOp::create(builder, loc, tensorTypeOf(dy).clone(lhsType.getElementType()), dy);
  if (wanted[0])
    operandCotangents[0] = contractCotangent(builder, loc, dy, getRhs(), lhsType, dyLeft, dyRight,
                                             rhsFree, getLhsBatch(), getRhsBatch(), lhsFree,
                                             getLhsContracting(), getRhsContracting());
  if (getEveryStep())
    rhsType = rhsType.clone(widerOf32(rhsType.getElementType()));
  if (wanted[1])
    operandCotangents[1] = contractCotangent(builder, loc, dy, getLhs(), rhsType, dyRight, dyLeft,
                                             lhsFree, getRhsBatch(), getLhsBatch(), rhsFree,
                                             getRhsContracting(), getLhsContracting());
  return success();
}

/// Offsets of the elements that `dimensions` of a tensor of `shape` span.
static SmallVector<int64_t, 0> offsetsOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> dimensions) {
  SmallVector<int64_t> strides = rowMajorStrides(shape), extents, chosen;
  for (int64_t d : dimensions) {
    extents.push_back(shape[d]);
    chosen.push_back(strides[d]);
  }
  return stridedOffsets(extents, chosen);
}

LogicalResult ContractOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                   MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &lhs = operands[0], &rhs = operands[1];
  SmallVector<int64_t> lhsFree = getLhsFree(), rhsFree = getRhsFree(), shape;
  for (int64_t d : getLhsBatch())
    shape.push_back(lhs.shape[d]);
  for (int64_t d : lhsFree)
    shape.push_back(lhs.shape[d]);
  for (int64_t d : rhsFree)
    shape.push_back(rhs.shape[d]);
  ReferenceTensor &result = results[0];
  startReference(result, getType().getElementType(), shape);
  auto lhsBatch = offsetsOf(lhs.shape, getLhsBatch()),
       rhsBatch = offsetsOf(rhs.shape, getRhsBatch());
  auto left = offsetsOf(lhs.shape, lhsFree), right = offsetsOf(rhs.shape, rhsFree);
  auto lhsSum = offsetsOf(lhs.shape, getLhsContracting()),
       rhsSum = offsetsOf(rhs.shape, getRhsContracting());
  int64_t next = 0;
  if (!result.isFloating()) {
    for (auto [lhsStart, rhsStart] : llvm::zip_equal(lhsBatch, rhsBatch))
      for (int64_t l : left)
        for (int64_t r : right) {
          uint32_t sum = 0; // wraps around as i32 does
          for (size_t k = 0; k < lhsSum.size(); ++k)
            sum += uint32_t(lhs.integers[lhsStart + l + lhsSum[k]] *
                            rhs.integers[rhsStart + r + rhsSum[k]]);
          result.integers[next++] = int32_t(sum);
        }
    return success();
  }
  for (auto [lhsStart, rhsStart] : llvm::zip_equal(lhsBatch, rhsBatch))
    for (int64_t l : left)
      for (int64_t r : right) {
        double sum = 0;
        for (size_t k = 0; k < lhsSum.size(); ++k)
          sum += lhs.floats[lhsStart + l + lhsSum[k]] * rhs.floats[rhsStart + r + rhsSum[k]];
        result.set(next, sum);
        if (getBias())
          result.set(next, result.floats[next] + operands[2].floats[next % operands[2].size()]);
        if (getActivation() == Activation::Relu && result.floats[next] < 0)
          result.floats[next] = 0;
        ++next;
      }
  return success();
}
