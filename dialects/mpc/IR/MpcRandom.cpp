// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dropout and the random state.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

LogicalResult DropoutOp::verify() {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError() << "rate must be in [0, 1), got " << rate;
  if (auto shape = getNoiseShape(); shape && int64_t(shape->size()) != tensorTypeOf(getInput()).getRank())
    return emitOpError() << "noise_shape must have the input's rank";
  return success();
}

LogicalResult RandomAdvanceOp::evaluate(ArrayRef<ReferenceTensor> operands, MutableArrayRef<ReferenceTensor> results) {
  results[0] = operands[0];
  results[0].integers[1] += 1;
  return success();
}
