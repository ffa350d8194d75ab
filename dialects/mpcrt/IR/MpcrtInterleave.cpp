// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.interleave: verifier.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"

using namespace mlir;
using namespace mpc::mpcrt;

ContractOp InterleaveOp::getContract() { return cast<ContractOp>(getBody().front().front()); }

LaunchOp InterleaveOp::getLaunch() { return cast<LaunchOp>(getBody().front().back()); }

LogicalResult InterleaveOp::verify() {
  Block &block = getBody().front();
  if (!llvm::hasNItems(block, 2) || !isa<ContractOp>(block.front()) || !isa<LaunchOp>(block.back()))
    return emitOpError("holds one mpcrt.contract and then one mpcrt.launch");
  ContractOp contract = getContract();
  if (!isa<MemRefType>(contract.getOut().getType()) || !contract.isPlainBesideSums() ||
      !isa<FloatType>(getElementTypeOrSelf(contract.getOut().getType())))
    return contract.emitOpError("in mpcrt.interleave has a floating buffer as out, and neither "
                                "largest, blocks nor bits");
  OperandRange arguments = getLaunch().getArguments();
  if (getResult() >= arguments.size())
    return emitOpError() << "result(" << getResult() << ") is none of the launch's "
                         << arguments.size() << " arguments";
  if (getConsumed() && getReplaced())
    return emitOpError("has a result that is consumed or replaced, not both");
  auto isOut = [&](Value value) {
    auto buffer = dyn_cast<MemrefValue>(value);
    return buffer && memref::skipViewLikeOps(buffer) ==
                         memref::skipViewLikeOps(cast<MemrefValue>(contract.getOut()));
  };
  for (auto [index, argument] : llvm::enumerate(arguments))
    if (isOut(argument) != (index == getResult()))
      return emitOpError() << "argument " << index << " of the launch is "
                           << (index == getResult() ? "not " : "") << "the contraction's out, but "
                           << "result(" << getResult() << ") alone must be";
  return success();
}
