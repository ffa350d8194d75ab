// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.contract: builder, parts, shapes, memory effects.
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "dialects/mpcrt/IR/Requantization.h"
#include "runtime/rules/integer_blocks.h"

using namespace mlir;
using namespace mpc::mpcrt;

void ContractOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, Value bias,
                       Value out, bool transposeLhs, bool transposeRhs, mpc::Activation activation,
                       StringRef layer) {
  SmallVector<Type> results;
  if (isa<RankedTensorType>(out.getType()))
    results.push_back(out.getType());
  build(builder, state, results, lhs, rhs, bias, /*scale=*/Value(), /*zero=*/Value(),
        /*places=*/Value(), /*divisors=*/Value(), /*where=*/Value(), /*gelu_at=*/Value(), out,
        /*largest=*/Value(), /*mask=*/Value(), /*sums=*/Value(), /*kept=*/Value(), /*gelu=*/false,
        transposeLhs, transposeRhs, /*accumulate=*/false, /*summedByParts=*/false, activation,
        layer);
}

/// Rows and columns of an operand as the product sees them.
static std::pair<int64_t, int64_t> matrixExtents(ShapedType type, bool transposed) {
  int64_t rows = type.getDimSize(type.getRank() - 2), columns = type.getDimSize(type.getRank() - 1);
  return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
}

bool ContractOp::hasPackedRhs() {
  auto rhs = cast<ShapedType>(getRhs().getType());
  const int64_t columns = cast<ShapedType>(getOut().getType()).getShape().back();
  return isa<FloatType>(getElementTypeOrSelf(getLhs().getType())) &&
         rhs.getElementType().isInteger(8) && rhs.getRank() == 2 && columns > 1 &&
         (!getTransposeRhs() || getScale()) &&
         matrixExtents(rhs, getTransposeRhs()).second == (columns + 1) / 2;
}

bool ContractOp::roundsLhs() {
  Type rhs = getElementTypeOrSelf(getRhs().getType());
  return getElementTypeOrSelf(getLhs().getType()).isF32() && (rhs.isBF16() || rhs.isF16());
}

bool ContractOp::roundsSums() {
  return getSums() && !getElementTypeOrSelf(getSums().getType()).isF32();
}

/// Whether sums of int8 come in whole rows, so that something may be made of them row by row.
static bool hasIntegerRows(ContractOp op) {
  auto out = dyn_cast<MemRefType>(op.getOut().getType());
  return out && op.isPlainBesideSums() && !isa<FloatType>(out.getElementType()) &&
         out.getRank() == 2 && !op.getTransposeLhs() && !op.getAccumulate() &&
         cast<ShapedType>(op.getLhs().getType()).getDimSize(1) > 0 && out.getDimSize(1) > 0;
}

bool ContractOp::takesKernel() {
  auto out = dyn_cast<MemRefType>(getOut().getType());
  if (!out || !isPlainBesideSums())
    return false;
  // Elsewhere the sums of integers are one part.
  return isa<FloatType>(out.getElementType()) ||
         (hasIntegerRows(*this) &&
          mpc::rules::multipliesByBlocks(cast<ShapedType>(getLhs().getType()).getDimSize(1),
                                         out.getDimSize(1)));
}

bool mpc::mpcrt::takesRequantization(LibraryCallOpInterface product) {
  auto contract = dyn_cast<ContractOp>(product.getOperation());
  return product.takesKernel() || (contract && hasIntegerRows(contract));
}

// Integers come in blocks of them, or all at once.
bool ContractOp::hasPartsOfWholeRows() {
  return getElementTypeOrSelf(getOut().getType()).isInteger();
}

bool ContractOp::isByRows() {
  auto out = cast<ShapedType>(getOut().getType());
  return out.getRank() == 2 && isa<FloatType>(out.getElementType()) &&
         !mpc::isFloat8(cast<ShapedType>(getLhs().getType()).getElementType()) &&
         !getTransposeLhs() && isPlain() && !roundsLhs();
}

ContractOp::Extras ContractOp::getExtras() {
  return {getLargest(), getWhere(), getMask(), getSums(), getGeluAt(), getKept(), getGelu()};
}

bool ContractOp::isGradientOfWeights() {
  auto out = cast<ShapedType>(getOut().getType());
  return out.getRank() == 2 && out.hasStaticShape() && out.getElementType().isF32() &&
         getTransposeLhs() && !getTransposeRhs() && !getAccumulate() && !getBias() &&
         !roundsSums() && getActivation() == mpc::Activation::None && isPlainBesideSums();
}

ContractOp ContractOp::cloneWith(OpBuilder &builder, const Extras &extras) {
  SmallVector<Type> types;
  for (Value init : {Value(getOut()), extras.largest, extras.mask, extras.sums, extras.kept})
    if (init && isa<RankedTensorType>(init.getType()))
      types.push_back(init.getType());
  auto clone = ContractOp::create(builder, getLoc(), types, getLhs(), getRhs(), getBias(),
                                  getScale(), getZero(), getPlaces(), getDivisors(), extras.where,
                                  extras.geluAt, getOut(), extras.largest, extras.mask, extras.sums,
                                  extras.kept, extras.gelu ? builder.getUnitAttr() : UnitAttr(),
                                  getTransposeLhsAttr(), getTransposeRhsAttr(), getAccumulateAttr(),
                                  getSummedByPartsAttr(), getActivationAttr(), getLayerAttr());
  clone->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  return clone;
}

StringRef mpc::mpcrt::describe(ContractPart part) {
  switch (part) {
  case ContractPart::Blocks:
    return "multiplies weights in blocks";
  case ContractPart::Accumulate:
    return "adds to another result";
  case ContractPart::Bias:
    return "adds a bias";
  case ContractPart::Activation:
    return "applies an activation";
  case ContractPart::Largest:
    return "reports its largest element";
  case ContractPart::Mask:
    return "makes bits of relu";
  case ContractPart::Where:
    return "reads bits of relu";
  case ContractPart::Sums:
    return "sums columns";
  case ContractPart::Gelu:
    return "applies gelu";
  case ContractPart::GeluGradient:
    return "applies the derivative of gelu";
  }
  llvm_unreachable("a part of a contraction");
}

/// One of these is applied to each number of a result.
static constexpr ContractPart kActivations[] = {ContractPart::Activation, ContractPart::Where,
                                                ContractPart::Gelu, ContractPart::GeluGradient};

bool ContractOp::has(ContractPart part) {
  switch (part) {
  case ContractPart::Blocks:
    return bool(getScale());
  case ContractPart::Accumulate:
    return getAccumulate();
  case ContractPart::Bias:
    return bool(getBias());
  case ContractPart::Activation:
    return getActivation() != mpc::Activation::None;
  case ContractPart::Largest:
    return bool(getLargest());
  case ContractPart::Mask:
    return bool(getMask());
  case ContractPart::Where:
    return bool(getWhere());
  case ContractPart::Sums:
    return bool(getSums());
  case ContractPart::Gelu:
    return getGelu();
  case ContractPart::GeluGradient:
    return bool(getGeluAt());
  }
  llvm_unreachable("a part of a contraction");
}

std::optional<ContractPart> ContractOp::findObstacle(ContractPart wanted) {
  if (has(wanted))
    return wanted;
  const bool isMask = wanted == ContractPart::Mask;
  // Bits are made of relu.
  if (isMask || llvm::is_contained(kActivations, wanted))
    for (ContractPart part : kActivations)
      if (has(part) && !(isMask && part == ContractPart::Activation))
        return part;
  // The bits of a sum with the earlier contents of `out` would mean nothing.
  const ContractPart other = isMask ? ContractPart::Accumulate : ContractPart::Mask;
  if ((isMask || wanted == ContractPart::Accumulate) && has(other))
    return other;
  return std::nullopt;
}

/// At most one activation, and bits only of what is not added to anything.
static LogicalResult verifyParts(ContractOp op) {
  std::optional<ContractPart> first;
  auto fail = [&](ContractPart a, ContractPart b) {
    return op.emitOpError() << describe(a) << " and " << describe(b)
                            << "; it may do one of these only";
  };
  for (ContractPart part : kActivations) {
    if (!op.has(part))
      continue;
    if (first)
      return fail(*first, part);
    first = part;
  }
  if (op.has(ContractPart::Mask) && op.has(ContractPart::Accumulate))
    return fail(ContractPart::Accumulate, ContractPart::Mask);
  return success();
}

/// Scales and zeros of packed weights, and the block of each row. With transpose_rhs these are
/// weights as gptq and awq store them, packed or not, the tables with
/// a row for each column; only there divisors.
static LogicalResult verifyBlocks(ContractOp op, int64_t k, int64_t n) {
  if (!op.getScale() && !op.getZero() && !op.getPlaces() && !op.getDivisors())
    return success();
  auto rhs = cast<ShapedType>(op.getRhs().getType());
  const bool areBytes =
      op.getTransposeRhs() && rhs.getElementType().isInteger(8) && rhs.getRank() == 2;
  if (!op.getScale() || !op.getZero() || !op.getPlaces() || !(op.hasPackedRhs() || areBytes))
    return op.emitOpError("has scales, zeros and places only all together, of packed weights or of "
                          "transposed ones of i8");
  auto scale = cast<ShapedType>(op.getScale().getType());
  auto zero = cast<ShapedType>(op.getZero().getType());
  if (scale.getRank() != 2 || scale.getShape() != zero.getShape() || !scale.hasStaticShape() ||
      scale.getNumElements() == 0 || matrixExtents(scale, op.getTransposeRhs()).second != n ||
      scale.getElementType() != cast<ShapedType>(op.getLhs().getType()).getElementType())
    return op.emitOpError() << "scale and zero must be "
                            << (op.getTransposeRhs() ? "[" + Twine(n) + ", blocks]"
                                                     : "[blocks, " + Twine(n) + "]")
                                   .str()
                            << ", the scale of the left operand's element type, but are " << scale
                            << " and " << zero;
  for (Value each : {op.getPlaces(), op.getDivisors()})
    if (each && cast<ShapedType>(each.getType()).getShape() != ArrayRef<int64_t>(k))
      return op.emitOpError() << "places and divisors must be vectors of " << k << ", but one is "
                              << each.getType();
  if (op.getDivisors() && !op.getTransposeRhs())
    return op.emitOpError("has divisors of weights that are not transposed");
  return success();
}

/// Bits of the derivative of relu, those that are made and those that are read.
static LogicalResult verifyBits(ContractOp op) {
  if (!op.getMask() && !op.getWhere())
    return success();
  auto out = cast<ShapedType>(op.getOut().getType());
  if (out.getRank() != 2 || out.isDynamicDim(1) || !isa<FloatType>(out.getElementType()))
    return op.emitOpError("has a mask or a where only as one floating matrix of known width");
  if (op.getMask() && op.getActivation() != mpc::Activation::Relu)
    return op.emitOpError("has a mask only with the activation relu");
  auto bits = cast<ShapedType>((op.getMask() ? op.getMask() : op.getWhere()).getType());
  if (bits.getRank() != 2 || bits.getDimSize(0) != out.getDimSize(0) ||
      bits.getDimSize(1) != ContractOp::getMaskBytes(out.getDimSize(1)))
    return op.emitOpError() << "has bits " << bits << " for " << out << "; expected rows of "
                            << ContractOp::getMaskBytes(out.getDimSize(1)) << " bytes";
  return success();
}

/// Sums of the columns of the right operand.
static LogicalResult verifySums(ContractOp op, int64_t n) {
  if (!op.getSums())
    return success();
  auto rhs = cast<ShapedType>(op.getRhs().getType());
  Type element = rhs.getElementType();
  if (rhs.getRank() != 2 || op.getTransposeRhs() || !isa<FloatType>(element) || element.isF64())
    return op.emitOpError("has sums only of one right matrix of f32, bf16 or f16 that is not "
                          "transposed");
  auto sums = cast<ShapedType>(op.getSums().getType());
  if (sums.getRank() != 1 || sums.getDimSize(0) != n)
    return op.emitOpError() << "sums must be a vector of " << n << ", but is " << sums;
  Type out = cast<ShapedType>(op.getOut().getType()).getElementType();
  if (op.roundsSums() && (sums.getElementType() != out || !(out.isBF16() || out.isF16())))
    return op.emitOpError() << "sums must be of f32, or of the 16 bits that out has, but are "
                            << sums;
  return success();
}

/// gelu and its derivative.
static LogicalResult verifyGelu(ContractOp op) {
  if (op.getKept() && !op.getGelu())
    return op.emitOpError("keeps what gelu is applied to, but has no gelu");
  if (!op.hasGelu())
    return success();
  auto out = cast<ShapedType>(op.getOut().getType());
  if (out.getRank() != 2 || !isa<FloatType>(out.getElementType()))
    return op.emitOpError("applies gelu or its derivative only to one floating matrix");
  for (Value matrix : {op.getGeluAt(), op.getKept()})
    if (matrix && matrix.getType() != op.getOut().getType())
      return op.emitOpError() << "reads or keeps arguments of gelu of type " << matrix.getType()
                              << ", but out has " << op.getOut().getType();
  return success();
}

LogicalResult ContractOp::verify() {
  auto lhs = cast<ShapedType>(getLhs().getType()), rhs = cast<ShapedType>(getRhs().getType());
  auto out = cast<ShapedType>(getOut().getType());
  if (failed(mpcrt::detail::verifyDense(*this)))
    return failure();

  if (lhs.getRank() != rhs.getRank() || lhs.getRank() != out.getRank() || lhs.getRank() < 2 ||
      lhs.getRank() > 3)
    return emitOpError("operands must all be matrices or all be batches of matrices");
  const bool isInteger = lhs.getElementType().isInteger(8);
  const bool isNarrow = !isInteger && rhs.getElementType().isInteger(8);
  const bool isPair = mpc::isFloat8(lhs.getElementType()) && mpc::isFloat8(rhs.getElementType());
  if (lhs.getElementType() != rhs.getElementType() && !isNarrow && !isPair && !roundsLhs())
    return emitOpError() << "operands have element types " << lhs.getElementType() << " and "
                         << rhs.getElementType();
  if (isInteger != out.getElementType().isInteger(32) ||
      (isInteger && (getBias() || getLargest() || getActivation() != mpc::Activation::None)))
    return emitOpError() << "of i8 gives i32, without bias, largest or activation; got "
                         << out.getElementType();
  if (isPair &&
      (!out.getElementType().isF32() || getBias() || !isPlain() || getAccumulate() ||
       getActivation() != mpc::Activation::None ||
       (isa<Float8E5M2Type>(lhs.getElementType()) && isa<Float8E5M2Type>(rhs.getElementType()))))
    return emitOpError() << "of float8, one operand at least in f8E4M3FN, gives f32, without bias, "
                            "largest, bits, accumulate or activation; got "
                         << lhs.getElementType() << " x " << rhs.getElementType() << " -> "
                         << out.getElementType();
  auto [m, k] = matrixExtents(lhs, getTransposeLhs());
  auto [rhsK, n] = matrixExtents(rhs, getTransposeRhs());
  auto [outM, outN] = matrixExtents(out, false);
  if (k != rhsK)
    return emitOpError() << "contracts an extent of " << k << " with one of " << rhsK;
  if (hasPackedRhs())
    n = outN;
  if (m != outM || n != outN)
    return emitOpError() << "gives " << m << " x " << n << ", but out has " << outM << " x "
                         << outN;
  if (lhs.getRank() == 3 &&
      (lhs.getDimSize(0) != rhs.getDimSize(0) || lhs.getDimSize(0) != out.getDimSize(0)))
    return emitOpError("batch extents differ");
  if (getBias()) {
    auto bias = cast<ShapedType>(getBias().getType());
    if (bias.getRank() != 1 || bias.getDimSize(0) != n)
      return emitOpError() << "bias must be a vector of " << n << ", but is " << bias;
  }
  if (failed(verifyParts(*this)) || failed(verifyBlocks(*this, k, n)) ||
      failed(verifyBits(*this)) || failed(verifySums(*this, n)) || failed(verifyGelu(*this)))
    return failure();
  if (getSummedByParts() && !isGradientOfWeights())
    return emitOpError("with summed_by_parts is a product alone, with transpose_lhs, in f32 and of "
                       "a static shape");
  if (getLargest() && getElementTypeOrSelf(getLargest().getType()).getIntOrFloatBitWidth() !=
                          out.getElementTypeBitWidth())
    return emitOpError() << "largest must have the bits of " << out.getElementType() << ", but is "
                         << getLargest().getType();
  return success();
}

bool ContractOp::readsInit(OpOperand &init) {
  return getAccumulate() && init.getOperandNumber() == getOutMutable().getOperandNumber();
}

void ContractOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}

#define GET_OP_CLASSES
#include "dialects/mpcrt/IR/MpcrtOps.cpp.inc"
