// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contractions whose right operand is a variable of integers, cast or scaled in blocks: the library
// reads the integers themselves, a quarter or an eighth of the bytes, and converts them in
// registers.
#include "lib/Conversion/MpcToLinalg/NarrowWeights.h"
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc;

/// The number of the function's argument that is a variable, or none.
static std::optional<int64_t> findVariable(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function || !function.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr))
    return std::nullopt;
  return argument.getArgNumber();
}

static Value withoutCast(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast ? cast.getInput() : value;
}

static ArrayRef<int64_t> shapeOf(Value value) { return tensorTypeOf(value).getShape(); }

/// Whether the right operand is a matrix of `rows` x `columns` as it lies in memory, its contracted
/// dimensions first and in the order of those of the left one.
static bool isStoredMatrix(ContractOp op, int64_t rows, int64_t columns) {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (auto [l, r] : llvm::zip_equal(op.getLhsContracting(), op.getRhsContracting()))
    pairs.emplace_back(l, r);
  llvm::sort(pairs);
  int64_t contracted = 1, free = 1;
  for (auto [d, pair] : llvm::enumerate(pairs)) {
    if (pair.second != int64_t(d))
      return false;
    contracted *= shapeOf(op.getRhs())[d];
  }
  for (int64_t d : op.getRhsFree())
    free *= shapeOf(op.getRhs())[d];
  // The library tells packed rows by their extent, which is half the columns.
  return contracted == rows && free == columns && columns > 1;
}

/// The matrix whose transpose `value` is, as gptq and awq store it; null: it is no transpose.
static Value beforeTranspose(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose || transpose.getPermutation() != ArrayRef<int64_t>{1, 0})
    return {};
  return transpose.getInput();
}

/// The vector that divides the rows of a matrix, a column of one number per row; null: none.
static Value divisorsOf(DivideOp divide) {
  auto column = divide.getRhs().getDefiningOp<ReshapeOp>();
  if (!column || tensorTypeOf(column.getInput()).getRank() != 1 ||
      shapeOf(column) != ArrayRef<int64_t>{shapeOf(divide)[0], 1})
    return {};
  return column.getInput();
}

/// The arguments of (cast(unpacked) - cast(zeros of blocks)) * scales of blocks, where each row's
/// block is in one and the same variable; of unsigned numbers those are stored transposed, the
/// numbers may be bytes, and rows may be divided.
static SmallVector<int64_t> matchBlocks(ContractOp op) {
  Value scaled = op.getRhs();
  if (auto reshape = scaled.getDefiningOp<ReshapeOp>())
    scaled = reshape.getInput();
  auto divide = scaled.getDefiningOp<DivideOp>();
  if (divide)
    scaled = divide.getLhs();
  auto multiply = scaled.getDefiningOp<MultiplyOp>();
  auto scale = multiply ? multiply.getRhs().getDefiningOp<GatherOp>() : GatherOp();
  auto subtract = multiply ? multiply.getLhs().getDefiningOp<SubtractOp>() : SubtractOp();
  if (!scale || !subtract)
    return {};
  Value numbers = withoutCast(subtract.getLhs());
  auto unpack = numbers.getDefiningOp<UnpackInt4Op>();
  auto zero = withoutCast(subtract.getRhs()).getDefiningOp<GatherOp>();
  if (!(unpack || elementTypeOf(numbers).isUnsignedInteger(8)) || !zero ||
      elementTypeOf(zero) != elementTypeOf(numbers) ||
      elementTypeOf(scale) != elementTypeOf(op.getLhs()))
    return {};
  Value groups = scale.getIndices();
  auto toIntegers = groups.getDefiningOp<CastOp>();
  if (zero.getIndices() != groups || !toIntegers || !elementTypeOf(toIntegers.getInput()).isF32())
    return {};
  auto type = tensorTypeOf(numbers);
  if (type.getRank() != 2 || !isStoredMatrix(op, type.getDimSize(0), type.getDimSize(1)))
    return {};
  for (GatherOp table : {scale, zero})
    if (table.getAxis() != 0 || table.getBatchDims() != 0 || shapeOf(table) != type.getShape())
      return {};
  const bool isUnsigned = type.getElementType().isUnsignedInteger();
  if (divide && !isUnsigned)
    return {};
  SmallVector<Value> parts{unpack ? unpack.getPacked() : numbers, scale.getTable(),
                           zero.getTable()};
  if (isUnsigned)
    for (Value &part : parts)
      part = beforeTranspose(part);
  parts.push_back(toIntegers.getInput());
  if (divide)
    parts.push_back(divisorsOf(divide));
  SmallVector<int64_t> arguments;
  for (Value part : parts) {
    std::optional<int64_t> variable = part ? findVariable(part) : std::nullopt;
    if (!variable)
      return {};
    arguments.push_back(*variable);
  }
  return arguments;
}

/// The argument of a cast variable of i8, or of an unpacked and cast one, which may have another
/// shape then.
static SmallVector<int64_t> matchNumbers(ContractOp op) {
  Value numbers = op.getRhs();
  if (auto reshape = numbers.getDefiningOp<ReshapeOp>())
    numbers = reshape.getInput();
  auto widened = numbers.getDefiningOp<CastOp>();
  if (!widened)
    return {};
  Value source = widened.getInput();
  if (auto unpack = source.getDefiningOp<UnpackInt4Op>()) {
    auto type = tensorTypeOf(unpack);
    if (type.getRank() != 2 || !isStoredMatrix(op, type.getDimSize(0), type.getDimSize(1)))
      return {};
    source = unpack.getPacked();
  } else if (widened != op.getRhs().getDefiningOp()) {
    return {};
  }
  std::optional<int64_t> variable = findVariable(source);
  if (!variable || !elementTypeOf(source).isSignlessInteger(8))
    return {};
  return {*variable};
}

void mpc::markNarrowWeights(func::FuncOp function) {
  function.walk([](ContractOp op) {
    Type element = elementTypeOf(op.getLhs());
    if (!isa<Float32Type, BFloat16Type, Float16Type>(element) ||
        elementTypeOf(op.getResult()) != element)
      return;
    // Narrow weights are taken only as the right operand of one product of matrices.
    if (!op.getLhsBatch().empty() || op.getLhsFree().empty() ||
        !tensorTypeOf(op.getRhs()).hasStaticShape())
      return;
    SmallVector<int64_t> arguments = matchNumbers(op);
    if (arguments.empty())
      arguments = matchBlocks(op);
    if (!arguments.empty())
      op->setAttr(kNarrowWeightsAttr, DenseI64ArrayAttr::get(op.getContext(), arguments));
  });
}

std::optional<NarrowWeights> mpc::readNarrowWeights(ContractOp op) {
  auto arguments = op->getAttrOfType<DenseI64ArrayAttr>(kNarrowWeightsAttr);
  if (!arguments)
    return std::nullopt;
  auto function = op->getParentOfType<func::FuncOp>();
  // In the order of matchBlocks.
  auto argument = [&](int64_t i) -> Value {
    return i < arguments.size() ? function.getArgument(arguments[i]) : Value();
  };
  NarrowWeights weights{argument(0), argument(1), argument(2), argument(3), argument(4)};
  // gptq and awq have unsigned numbers, whose argument says which type they have in the model.
  weights.isTransposed = bool(function.getArgAttr(arguments[0], MpcDialect::kElementTypeAttr));
  weights.isMatrix = weights.scale || tensorTypeOf(weights.numbers).getNumElements() !=
                                          tensorTypeOf(op.getRhs()).getNumElements();
  return weights;
}
