// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.interleave: verifier.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"

using namespace mlir;
using namespace mpc::mpcrt;

LibraryCallOpInterface InterleaveOp::getProduct() {
  return cast<LibraryCallOpInterface>(getBody().front().front());
}

LaunchOp InterleaveOp::getLaunch() { return cast<LaunchOp>(getBody().front().back()); }

LogicalResult InterleaveOp::verify() {
  Block &block = getBody().front();
  if (!llvm::hasNItems(block, 2) || !isa<LibraryCallOpInterface>(block.front()) ||
      !isa<LaunchOp>(block.back()))
    return emitOpError("holds one mpcrt.contract or mpcrt.convolve and then one mpcrt.launch");
  LibraryCallOpInterface product = getProduct();
  if (!product.takesKernel())
    return product.emitOpError("takes no kernel in mpcrt.interleave: a contraction has neither "
                               "largest, blocks nor bits, and of int8 few weights, a "
                               "convolution is no gradient of a filter, and both are on buffers");
  OperandRange arguments = getLaunch().getArguments();
  if (getResult() >= arguments.size())
    return emitOpError() << "result(" << getResult() << ") is none of the launch's "
                         << arguments.size() << " arguments";
  if (getConsumed() && getReplaced())
    return emitOpError("has a result that is consumed or replaced, not both");
  auto isOut = [&](Value value) {
    auto buffer = dyn_cast<MemrefValue>(value);
    return buffer && memref::skipViewLikeOps(buffer) ==
                         memref::skipViewLikeOps(cast<MemrefValue>(product.getOut()));
  };
  for (auto [index, argument] : llvm::enumerate(arguments))
    if (isOut(argument) != (index == getResult()))
      return emitOpError() << "argument " << index << " of the launch is "
                           << (index == getResult() ? "not " : "") << "the product's out, but "
                           << "result(" << getResult() << ") alone must be";
  return success();
}
