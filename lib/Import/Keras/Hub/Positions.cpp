// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Hub/Positions.h"

namespace mpc::keras {

using mlir::Value;

Value readPositions(LayerBuilder &b, int64_t places) {
  llvm::ArrayRef<Value> given = b.getArgument(2, "positions");
  if (given.empty()) {
    if (b.getLiteral(2, "positions"))
      b.error("'positions' of " + b.layer.className + " must be a tensor of the model");
    return {};
  }
  Value positions = given.front();
  if (b.rankOf(positions) != 2 || b.shapeOf(positions)[1] != places)
    return b.error("'positions' of " + b.layer.className +
                   " must have the shape [batch, places], as many places as the input");
  return positions;
}

} // namespace mpc::keras
