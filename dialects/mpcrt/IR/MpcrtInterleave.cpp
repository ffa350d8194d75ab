// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.interleave: verifier.
#include "dialects/mpcrt/IR/Requantization.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"

using namespace mlir;
using namespace mpc::mpcrt;

LibraryCallOpInterface InterleaveOp::getProduct() {
  return cast<LibraryCallOpInterface>(getBody().front().front());
}

LaunchOp InterleaveOp::getLaunch() { return cast<LaunchOp>(getBody().front().back()); }

static DenseI64ArrayAttr requantizationOf(InterleaveOp op) {
  return op->getAttrOfType<DenseI64ArrayAttr>(kRequantizationAttr);
}

void mpc::mpcrt::setRequantization(InterleaveOp op, const rules::Requantization &rule) {
  const int64_t bias = rule.bias == rule.none ? -1 : int64_t(rule.bias);
  op->setAttr(kRequantizationAttr,
              DenseI64ArrayAttr::get(
                  op.getContext(), {bias, rule.scale, rule.out, rule.low, rule.high, rule.offset}));
}

uint64_t mpc::mpcrt::getRequantizationWord(InterleaveOp op) {
  DenseI64ArrayAttr numbers = requantizationOf(op);
  if (!numbers)
    return 0;
  rules::Requantization result;
  result.bias = uint8_t(numbers[0]); // -1 is none
  result.scale = uint8_t(numbers[1]);
  result.out = uint8_t(numbers[2]);
  result.low = int16_t(numbers[3]);
  result.high = int16_t(numbers[4]);
  result.offset = uint8_t(numbers[5]);
  return result.word();
}

/// The numbers fit their places in the word, and the arguments are what it says.
static LogicalResult verifyRequantization(InterleaveOp op) {
  DenseI64ArrayAttr numbers = requantizationOf(op);
  if (!numbers)
    return success();
  OperandRange arguments = op.getLaunch().getArguments();
  constexpr int64_t most = mpc::rules::Requantization::none - 1, least = -0x8000;
  const std::pair<int64_t, int64_t> ranges[] = {{-1, most},      {0, most},       {0, most},
                                                {least, 0x7FFF}, {least, 0x7FFF}, {0, 255}};
  bool isInRange = size_t(numbers.size()) == std::size(ranges);
  for (size_t i = 0; isInRange && i < std::size(ranges); ++i)
    isInRange = numbers[i] >= ranges[i].first && numbers[i] <= ranges[i].second;
  if (!isInRange || !mpc::rules::Requantization::of(getRequantizationWord(op))
                         .isValid(uint32_t(arguments.size()), uint32_t(op.getResult())))
    return op.emitOpError("has a requantization that is not [bias or -1, scale, out, low, high, "
                          "offset] of its launch's arguments");
  const auto holds = [&](int64_t index, auto isElement) {
    auto type = dyn_cast<MemRefType>(arguments[size_t(index)].getType());
    return type && isElement(type.getElementType());
  };
  const auto isInt32 = [](Type type) { return type.isInteger(32); };
  if (op.getReplaced() || !holds(int64_t(op.getResult()), isInt32) ||
      (numbers[0] >= 0 && !holds(numbers[0], isInt32)) ||
      !holds(numbers[1], [](Type type) { return type.isF32(); }) ||
      !holds(numbers[2], [](Type type) { return type.isInteger(8); }))
    return op.emitOpError("has a requantization of int32 sums with a bias of int32 and scales of "
                          "float32 into int8, but other arguments");
  return success();
}

LogicalResult InterleaveOp::verify() {
  Block &block = getBody().front();
  if (!llvm::hasNItems(block, 2) || !isa<LibraryCallOpInterface>(block.front()) ||
      !isa<LaunchOp>(block.back()))
    return emitOpError("holds one mpcrt.contract or mpcrt.convolve and then one mpcrt.launch");
  LibraryCallOpInterface product = getProduct();
  const bool requantizes = requantizationOf(*this) && getConsumed();
  if (!(requantizes ? takesRequantization(product) : product.takesKernel()))
    return product.emitOpError("takes no kernel in mpcrt.interleave: a contraction has neither "
                               "largest, blocks nor bits, and of int8 few weights unless a "
                               "requantization consumes it, a convolution is no gradient of a "
                               "filter, and both are on buffers");
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
  return verifyRequantization(*this);
}
