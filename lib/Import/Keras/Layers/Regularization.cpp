// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/regularization: Dropout.
#include "../LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;

Value importDropout(LayerBuilder &b) {
  Value x = b.getInput();
  const double rate = b.getNumber("rate", 0.0);
  if (!x)
    return {};
  if (!(rate >= 0.0 && rate < 1.0))
    return b.error("'rate' of Dropout is " + std::to_string(rate) + "; expected 0 <= rate < 1");
  if (rate == 0.0)
    return x;
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(x)))
    return b.error("Dropout of integers is not supported; give the model floating inputs");

  mlir::DenseI64ArrayAttr noiseShape;
  llvm::ArrayRef<int64_t> shape = b.shapeOf(x);
  if (auto configured = b.getIntegers("noise_shape", -1)) {
    if (configured->size() != shape.size())
      return b.error("'noise_shape' of Dropout has " + llvm::Twine(configured->size()) +
                     " extents for an input of " + llvm::Twine(shape.size()) + " dimensions");
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      int64_t &extent = (*configured)[axis];
      if (axis > 0 && extent == -1)
        extent = shape[axis];
      if (extent != 1 && !(axis == 0 ? extent == -1 : extent == shape[axis]))
        return b.error("'noise_shape' of Dropout must hold 1, null or the input's own extent; "
                       "axis " +
                       llvm::Twine(axis) + " holds " + llvm::Twine(extent));
    }
    noiseShape = b.builder.getDenseI64ArrayAttr(*configured);
  }
  Value state = b.getRandomState();
  return b.make<DropoutOp>(x.getType(), x, state, b.builder.getF64FloatAttr(rate),
                           b.builder.getI64IntegerAttr(b.takeRandomStream()), noiseShape);
}

constexpr LayerEntry kLayers[] = {
    {"Dropout", importDropout, Masking::PassesOn, nullptr, /*onLastAxis=*/true}};

} // namespace

llvm::ArrayRef<LayerEntry> regularizationLayers() { return kLayers; }

} // namespace mpc::keras
