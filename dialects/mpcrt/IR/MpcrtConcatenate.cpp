// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.concatenate: shapes, memory effects.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc::mpcrt;

LogicalResult ConcatenateOp::verify() {
  auto out = cast<ShapedType>(getOut().getType());
  const int64_t axis = getAxis();
  if (axis < 0 || axis >= out.getRank())
    return emitOpError() << "axis " << axis << " is out of range for rank " << out.getRank();
  if (getParts().empty())
    return emitOpError("needs a part");
  int64_t extent = 0;
  for (auto [index, value] : llvm::enumerate(getParts())) {
    auto part = cast<ShapedType>(value.getType());
    if (part.getElementType() != out.getElementType())
      return emitOpError() << "part " << index << " has elements of type " << part.getElementType()
                           << ", but out of type " << out.getElementType();
    if (part.getRank() != out.getRank() || part.isDynamicDim(axis))
      return emitOpError() << "part " << index << " must have rank " << out.getRank()
                           << " and a static extent along the axis";
    for (int64_t d = 0; d < out.getRank(); ++d)
      if (d != axis && part.getDimSize(d) != out.getDimSize(d))
        return emitOpError() << "part " << index << " and out differ in dimension " << d
                             << ", which is not the axis";
    if (llvm::AddOverflow(extent, part.getDimSize(axis), extent))
      return emitOpError("has parts with more elements along the axis than 64 bits can count");
  }
  if (extent != out.getDimSize(axis))
    return emitOpError() << "parts have " << extent << " elements along the axis, but out has "
                         << out.getDimSize(axis);
  return success();
}

void ConcatenateOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}
