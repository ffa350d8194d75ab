// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks arguments and evaluates a function's block.
#include "mpc/Interpreter/Interpreter.h"

using namespace mlir;
using namespace mpc;

/// Whether `tensor` can be an argument of type `type`; the first dynamic extent sets `batch` (-1:
/// none yet).
static bool fits(const ReferenceTensor &tensor, RankedTensorType type, int64_t &batch) {
  if (tensor.elementType != type.getElementType() || int64_t(tensor.shape.size()) != type.getRank())
    return false;
  for (auto [extent, declared] : llvm::zip_equal(tensor.shape, type.getShape())) {
    if (ShapedType::isDynamic(declared) && batch < 0)
      batch = extent;
    if (extent != (ShapedType::isDynamic(declared) ? batch : declared))
      return false;
  }
  return tensor.size() ==
         int64_t(tensor.isFloating() ? tensor.floats.size() : tensor.integers.size());
}

LogicalResult mpc::interpret(func::FuncOp function, ArrayRef<ReferenceTensor> arguments,
                             SmallVectorImpl<ReferenceTensor> &results) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitError() << "has no body of one block to evaluate";
  if (arguments.size() != function.getNumArguments())
    return function.emitError() << "takes " << function.getNumArguments() << " arguments, got "
                                << arguments.size();
  int64_t batch = -1;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
    if (!type || !fits(argument, type, batch)) {
      auto error = function.emitError()
                   << "argument " << i << " of type " << function.getArgumentTypes()[i]
                   << " cannot take a tensor of ";
      llvm::interleave(argument.shape, error, "x");
      return error << (argument.shape.empty() ? "" : "x") << argument.elementType;
    }
  }
  return evaluateBlock(function.getBody().front(), arguments, results);
}

ReferenceTensor mpc::referenceTensor(RankedTensorType type, ArrayRef<double> values) {
  ReferenceTensor tensor;
  SmallVector<int64_t> shape(type.getShape());
  int64_t rest = 1;
  for (int64_t extent : shape)
    rest *= ShapedType::isDynamic(extent) ? 1 : extent;
  for (int64_t &extent : shape)
    if (ShapedType::isDynamic(extent))
      extent = rest == 0 ? 0 : int64_t(values.size()) / rest;
  startReference(tensor, type.getElementType(), shape);
  for (int64_t i = 0, count = tensor.size(); i < count; ++i)
    tensor.set(i, values.size() == 1 ? values[0] : values[i]);
  return tensor;
}

DenseElementsAttr mpc::toElements(const ReferenceTensor &tensor) {
  auto type = RankedTensorType::get(tensor.shape, tensor.elementType);
  SmallVector<Attribute> elements;
  for (int64_t i = 0, count = tensor.size(); i < count; ++i)
    if (tensor.isFloating())
      elements.push_back(FloatAttr::get(tensor.elementType, tensor.floats[i]));
    else
      elements.push_back(IntegerAttr::get(tensor.elementType,
                                          llvm::APInt(tensor.elementType.getIntOrFloatBitWidth(),
                                                      uint64_t(tensor.integers[i]),
                                                      /*isSigned=*/false, /*implicitTrunc=*/true)));
  return DenseElementsAttr::get(type, elements);
}
