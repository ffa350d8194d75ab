// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contractions behind reshapes.
#include "lib/Conversion/MpcToLinalg/ContractedMatrix.h"
#include "mpc/Analysis/Reshapes.h"

using namespace mlir;
using namespace mpc;

std::pair<mpcrt::ContractOp, bool> mpc::findMatrix(Value value, bool inParts) {
  bool isOnly = true;
  while (Operation *op = value ? value.getDefiningOp() : nullptr) {
    isOnly &= value.hasOneUse();
    if (auto contract = dyn_cast<mpcrt::ContractOp>(op))
      return {value == contract.getResult(0) ? contract : mpcrt::ContractOp(), isOnly};
    if (!isReshape(op) && !(inParts && isa<tensor::ExtractSliceOp>(op)))
      break;
    value = op->getOperand(0);
  }
  return {};
}

bool mpc::isOpenMatrix(mpcrt::ContractOp op) {
  auto type = cast<RankedTensorType>(op.getOut().getType());
  return type.getRank() == 2 && !type.isDynamicDim(1) && isa<FloatType>(type.getElementType()) &&
         !op.getAccumulate();
}
