// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.compact and mpcrt.select_boxes: shapes, memory effects.
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc::mpcrt;

LogicalResult CompactOp::verify() {
  auto mask = cast<ShapedType>(getMask().getType()),
       places = cast<ShapedType>(getPlaces().getType()),
       count = cast<ShapedType>(getCount().getType());
  if (mask.getRank() != 1 || !mask.hasStaticShape() || places.getShape() != mask.getShape() ||
      count.getRank() != 0)
    return emitOpError("takes a mask of known extent, places of its shape and a count without "
                       "dimensions");
  if (!places.getElementType().isInteger(64) || !count.getElementType().isInteger(64))
    return emitOpError("gives places and a count of i64");
  return mpcrt::detail::verifyDense(*this);
}

void CompactOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}

LogicalResult SelectBoxesOp::verify() {
  auto boxes = cast<ShapedType>(getBoxes().getType()),
       scores = cast<ShapedType>(getScores().getType()),
       picks = cast<ShapedType>(getPicks().getType()), left = cast<ShapedType>(getLeft().getType());
  if (boxes.getRank() != 3 || scores.getRank() != 3 || picks.getRank() != 3 ||
      boxes.getDimSize(2) != 4 || boxes.getDimSize(1) != scores.getDimSize(2) ||
      boxes.getDimSize(0) != scores.getDimSize(0) || scores.isDynamicDim(1) ||
      scores.isDynamicDim(2))
    return emitOpError("takes boxes [batch, boxes, 4] and scores [batch, classes, boxes]");
  if (left.getShape() != scores.getShape() ||
      picks.getShape().take_front(2) != scores.getShape().take_front(2) || picks.isDynamicDim(2))
    return emitOpError("gives picks [batch, classes, limit] and has scores [batch, classes, boxes] "
                       "left");
  if (!picks.getElementType().isInteger(32) || !left.getElementType().isInteger(32))
    return emitOpError("numbers boxes in i32");
  for (Value number : {getOverlap(), getLeast()})
    if (number && cast<ShapedType>(number.getType()).getRank() != 0)
      return emitOpError("compares with numbers without dimensions");
  return mpcrt::detail::verifyDense(*this);
}

void SelectBoxesOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}
