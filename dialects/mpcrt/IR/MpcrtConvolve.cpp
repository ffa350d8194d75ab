// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.convolve: parts, shapes, memory effects.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "runtime/rules/integer_windows.h"

using namespace mlir;
using namespace mpc::mpcrt;

Value ConvolveOp::getImages() {
  return getDirection() == ConvolutionDirection::InputGradient ? getOut() : getLhs();
}

Value ConvolveOp::getFilter() {
  return getDirection() == ConvolutionDirection::FilterGradient ? getOut() : getRhs();
}

Value ConvolveOp::getOutputs() {
  switch (getDirection()) {
  case ConvolutionDirection::Forward:
    return getOut();
  case ConvolutionDirection::InputGradient:
    return getLhs();
  case ConvolutionDirection::FilterGradient:
    return getRhs();
  }
  llvm_unreachable("enumerated");
}

// Sums of a filter's gradient are complete at its end only.
bool ConvolveOp::takesKernel() {
  return isa<MemRefType>(getOut().getType()) &&
         getDirection() != ConvolutionDirection::FilterGradient;
}

LogicalResult ConvolveOp::verify() {
  if (failed(mpcrt::detail::verifyDense(*this)))
    return failure();

  auto images = cast<ShapedType>(getImages().getType());
  auto filter = cast<ShapedType>(getFilter().getType());
  auto outputs = cast<ShapedType>(getOutputs().getType());
  int64_t rank = images.getRank();
  if (rank < 3 || rank > 5 || filter.getRank() != rank || outputs.getRank() != rank)
    return emitOpError("images, filter and outputs must have one rank from 3 to 5");
  if (getElementTypeOrSelf(getLhs().getType()) != getElementTypeOrSelf(getRhs().getType()))
    return emitOpError("operands have different element types");
  const bool isInteger = images.getElementType().isInteger(8);
  if (isInteger != outputs.getElementType().isInteger(32) ||
      (isInteger && (getDirection() != ConvolutionDirection::Forward || getBias() ||
                     getActivation() != mpc::Activation::None)))
    return emitOpError() << "of i8 gives i32, forward, without bias or activation; got " << outputs;
  const auto border = int64_t(getBorder());
  if (isInteger ? border != int8_t(border) : border != 0)
    return emitOpError() << "has the border " << border
                         << "; expected a number of 8 bits, of floating images 0";
  for (ArrayRef<int64_t> numbers :
       {getStrides(), getPaddingLow(), getPaddingHigh(), getDilations()})
    if (int64_t(numbers.size()) != rank - 2)
      return emitOpError() << "needs " << rank - 2 << " strides, paddings and dilations";
  int64_t groups = getGroups();
  if (groups < 1 || filter.getDimSize(rank - 2) * groups != images.getDimSize(rank - 1) ||
      filter.getDimSize(rank - 1) != outputs.getDimSize(rank - 1) ||
      filter.getDimSize(rank - 1) % groups != 0)
    return emitOpError("channels, filters and groups disagree");
  if (isInteger && !mpc::rules::areIntegerGroups(
                       groups, images.getDimSize(rank - 1), filter.getDimSize(rank - 1), rank - 2,
                       ShapedType::getNumElements(filter.getShape().take_front(rank - 2))))
    return emitOpError() << "of i8 has one group, or one small filter for each channel; got "
                         << groups << " groups of filters [" << filter.getShape() << "]";
  for (int64_t d = 0; d < rank - 2; ++d) {
    if (getStrides()[d] < 1 || getDilations()[d] < 1 || getPaddingLow()[d] < 0 ||
        getPaddingHigh()[d] < 0)
      return emitOpError("strides and dilations must be positive, paddings not negative");
    if (convolvedExtent(images.getDimSize(d + 1), filter.getDimSize(d), getStrides()[d],
                        getPaddingLow()[d], getPaddingHigh()[d],
                        getDilations()[d]) != outputs.getDimSize(d + 1))
      return emitOpError() << "spatial dimension " << d << " does not fit the window";
  }
  if (getBias()) {
    auto bias = cast<ShapedType>(getBias().getType());
    int64_t last = cast<ShapedType>(getOut().getType()).getShape().back();
    if (getDirection() == ConvolutionDirection::FilterGradient)
      return emitOpError("a filter's gradient has no bias");
    if (bias.getRank() != 1 || bias.getDimSize(0) != last)
      return emitOpError() << "bias must be a vector of " << last << ", but is " << bias;
  }
  return success();
}

void ConvolveOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}
