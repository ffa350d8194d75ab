// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/BatchAxis.h"

#include "lib/Import/Common/Shape.h"

namespace mpc {

using mlir::Value;

bool judgeResults(ValueBuilder &b, llvm::ArrayRef<Value> results) {
  bool good = true;
  auto complain = [&](const llvm::Twine &message) {
    b.error(message);
    good = false;
  };
  for (Value result : results) {
    if (!result) {
      good = false;
      continue;
    }
    llvm::ArrayRef<int64_t> shape = b.shapeOf(result);
    if (llvm::is_contained(shape, 0))
      complain("the result is a tensor of shape " + printShape(shape) +
               " and so without elements, which mpc does not compile");
    else if (!shape.empty() && llvm::is_contained(shape.drop_front(), mlir::ShapedType::kDynamic))
      complain("the result is a tensor of shape " + printShape(shape) +
               ", in which the batch is not the first dimension; put it there, in the equation or "
               "by the order of the operands");
  }
  return good;
}

std::optional<int64_t> resolveAxis(ValueBuilder &b, int64_t axis, Value value) {
  const int64_t rank = b.rankOf(value);
  if (axis < -rank || axis >= rank) {
    b.error("axis " + llvm::Twine(axis) + " is outside an input of " + llvm::Twine(rank) +
            " dimensions");
    return std::nullopt;
  }
  axis = axis < 0 ? axis + rank : axis;
  if (axis == 0) {
    b.error("axis 0 is the batch; computing across samples is not supported here");
    return std::nullopt;
  }
  return axis;
}

} // namespace mpc
