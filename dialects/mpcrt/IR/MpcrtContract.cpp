// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.contract: builder, shapes, memory effects.
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc::mpcrt;

void ContractOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, Value bias,
                       Value out, bool transposeLhs, bool transposeRhs, mpc::Activation activation,
                       StringRef layer) {
  SmallVector<Type> results;
  if (isa<RankedTensorType>(out.getType()))
    results.push_back(out.getType());
  build(builder, state, results, lhs, rhs, bias, /*scale=*/Value(), /*zero=*/Value(),
        /*places=*/Value(), out, /*largest=*/Value(), transposeLhs, transposeRhs,
        /*accumulate=*/false, activation, layer);
}

/// Rows and columns of an operand as the product sees them.
static std::pair<int64_t, int64_t> matrixExtents(ShapedType type, bool transposed) {
  int64_t rows = type.getDimSize(type.getRank() - 2), columns = type.getDimSize(type.getRank() - 1);
  return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
}

/// Scales and zeros of packed weights, and the block of each row.
static LogicalResult verifyBlocks(ContractOp op, int64_t k, int64_t n, bool isPacked) {
  if (!op.getScale() && !op.getZero() && !op.getPlaces())
    return success();
  if (!op.getScale() || !op.getZero() || !op.getPlaces() || !isPacked || op.getAccumulate() ||
      op.getLargest())
    return op.emitOpError("has scales, zeros and places only all together, of packed weights, "
                          "without accumulate and largest");
  auto scale = cast<ShapedType>(op.getScale().getType());
  auto zero = cast<ShapedType>(op.getZero().getType());
  auto places = cast<ShapedType>(op.getPlaces().getType());
  if (scale.getRank() != 2 || scale.getShape() != zero.getShape() || !scale.hasStaticShape() ||
      scale.getDimSize(0) < 1 || scale.getDimSize(1) != n ||
      scale.getElementType() != cast<ShapedType>(op.getLhs().getType()).getElementType())
    return op.emitOpError() << "scale and zero must be [blocks, " << n
                            << "], the scale of the left operand's element type, but are " << scale
                            << " and " << zero;
  if (places.getRank() != 1 || places.getDimSize(0) != k)
    return op.emitOpError() << "places must be a vector of " << k << ", but is " << places;
  return success();
}

LogicalResult ContractOp::verify() {
  auto lhs = cast<ShapedType>(getLhs().getType()), rhs = cast<ShapedType>(getRhs().getType());
  auto out = cast<ShapedType>(getOut().getType());
  for (Value operand : getOperands())
    if (auto memref = dyn_cast<MemRefType>(operand.getType()))
      if (!memref.getLayout().isIdentity())
        return emitOpError() << "operands must be dense and row-major, but one is " << memref;

  if (lhs.getRank() != rhs.getRank() || lhs.getRank() != out.getRank() || lhs.getRank() < 2 ||
      lhs.getRank() > 3)
    return emitOpError("operands must all be matrices or all be batches of matrices");
  const bool isInteger = lhs.getElementType().isInteger(8);
  const bool isNarrow = !isInteger && rhs.getElementType().isInteger(8);
  if (lhs.getElementType() != rhs.getElementType() && !isNarrow)
    return emitOpError() << "operands have element types " << lhs.getElementType() << " and "
                         << rhs.getElementType();
  if (isInteger != out.getElementType().isInteger(32) ||
      (isInteger && (getBias() || getLargest() || getActivation() != mpc::Activation::None)))
    return emitOpError() << "of i8 gives i32, without bias, largest or activation; got "
                         << out.getElementType();
  auto [m, k] = matrixExtents(lhs, getTransposeLhs());
  auto [rhsK, n] = matrixExtents(rhs, getTransposeRhs());
  auto [outM, outN] = matrixExtents(out, false);
  if (k != rhsK)
    return emitOpError() << "contracts an extent of " << k << " with one of " << rhsK;
  // Two numbers in each byte of a row.
  const bool isPacked =
      isNarrow && lhs.getRank() == 2 && !getTransposeRhs() && outN > 1 && n == (outN + 1) / 2;
  if (isPacked)
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
  if (failed(verifyBlocks(*this, k, n, isPacked)))
    return failure();
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
