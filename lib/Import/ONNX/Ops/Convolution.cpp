// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions and transposed ones. The dialect has channels last, ONNX behind the batch.
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Windows.h"

#include "lib/Import/Common/Shape.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

/// An input [batch, channels, spatial...] and weights of its rank.
struct Operands {
  Value x, weights;
  int64_t groups = 1;

  size_t spatial() const { return size_t(tensorTypeOf(x).getRank()) - 2; }
  llvm::ArrayRef<int64_t> extents() const { return tensorTypeOf(x).getShape().drop_front(2); }
  llvm::ArrayRef<int64_t> kernel() const { return tensorTypeOf(weights).getShape().drop_front(2); }
};

std::optional<Operands> readOperands(B &b) {
  Operands operands;
  operands.x = b.get(0);
  operands.weights = b.get(1);
  operands.groups = b.attributes.getInteger("group", 1);
  if (!operands.x || !operands.weights)
    return std::nullopt;
  const int64_t rank = b.rankOf(operands.x);
  if (rank < 3 || rank > 5 || b.rankOf(operands.weights) != rank || !b.isFloat(operands.x) ||
      !b.isFloat(operands.weights) || operands.groups < 1) {
    b.error("takes floating [batch, channels, spatial...] with 1 to 3 spatial dimensions, and "
            "weights of the same rank");
    return std::nullopt;
  }
  return operands;
}

/// The weights' dimensions with the spatial ones first, then the second and the first.
Value turnWeights(B &b, Value weights) {
  Extents order;
  for (int64_t axis = 2; axis < b.rankOf(weights); ++axis)
    order.push_back(axis);
  order.append({1, 0});
  return b.make<TransposeOp>(weights, order);
}

void finish(B &b, Value y) {
  if (b.has(2)) {
    Value bias = b.get(2);
    if (!bias || b.rankOf(bias) != 1 || b.shapeOf(bias)[0] != b.shapeOf(y).back())
      return (void)b.error("the bias must have one number for each feature map");
    y = b.make<AddOp>(y, bias);
  }
  b.setResult(0, fromChannelsLast(b, y));
}

/// Channels last, without the elements that negative padding takes away.
Value crop(B &b, Value x, Window &window) {
  for (size_t d = 0; d < window.rank(); ++d) {
    const int64_t axis = int64_t(d) + 1, extent = b.shapeOf(x)[axis];
    const int64_t before = std::max<int64_t>(-window.low[d], 0),
                  after = std::max<int64_t>(-window.high[d], 0);
    window.low[d] += before;
    window.high[d] += after;
    if (before + after >= extent)
      return b.error("the padding leaves no element");
    if (before + after > 0)
      x = b.make<SliceOp>(x, axis, before, extent - before - after);
  }
  return x;
}

void convolve(B &b) {
  auto operands = readOperands(b);
  if (!operands)
    return;
  const int64_t channels = b.shapeOf(operands->x)[1], filters = b.shapeOf(operands->weights)[0];
  if (channels != b.shapeOf(operands->weights)[1] * operands->groups ||
      filters % operands->groups != 0)
    return (void)b.error("weights of shape " + printShape(b.shapeOf(operands->weights)) + " and " +
                         llvm::Twine(operands->groups) + " groups do not fit " +
                         llvm::Twine(channels) + " channels");
  auto window = Window::read(b, operands->extents(), operands->kernel());
  if (!window)
    return;
  for (size_t d = 0; d < window->rank(); ++d)
    if (window->places(d, operands->extents()[d]) < 1)
      return (void)b.error("the kernel does not fit into " + printShape(operands->extents()));
  Value x = crop(b, toChannelsLast(b, operands->x), *window);
  if (!x)
    return;
  finish(b, b.make<ConvolutionOp>(x, turnWeights(b, operands->weights),
                                  ConvolutionWindow{window->strides, window->low, window->high,
                                                    window->dilations, operands->groups}));
}

/// Padding so that the result has `output_shape`, or `auto_pad`'s extents.
bool setOutputPadding(B &b, Window &window, llvm::ArrayRef<int64_t> extents,
                      llvm::ArrayRef<int64_t> outputPadding) {
  const llvm::StringRef automatic = b.attributes.getText("auto_pad", "NOTSET");
  const bool isSame = automatic.starts_with("SAME");
  Extents shape = b.attributes.getIntegers("output_shape");
  if (!b.attributes.has("output_shape") && !isSame)
    return true;
  if (shape.size() == extents.size() + 2)
    shape.erase(shape.begin(), shape.begin() + 2);
  for (size_t d = 0; d < extents.size(); ++d) {
    const int64_t wanted =
        shape.size() == extents.size() ? shape[d] : extents[d] * window.strides[d];
    if (wanted < 1 || wanted > kMostSpatial) {
      b.error("'output_shape' must be one extent for each spatial dimension");
      return false;
    }
    const int64_t total =
        window.strides[d] * (extents[d] - 1) + outputPadding[d] + window.reach(d) - wanted;
    const int64_t part = total >= 0 ? total / 2 : -((-total + 1) / 2);
    window.low[d] = automatic == "SAME_UPPER" ? part : total - part;
    window.high[d] = total - window.low[d];
  }
  return true;
}

void transposeConvolution(B &b) {
  auto operands = readOperands(b);
  if (!operands)
    return;
  const int64_t channels = b.shapeOf(operands->x)[1],
                maps = b.shapeOf(operands->weights)[1] * operands->groups;
  if (channels != b.shapeOf(operands->weights)[0] || channels % operands->groups != 0)
    return (void)b.error("weights of shape " + printShape(b.shapeOf(operands->weights)) +
                         " do not fit " + llvm::Twine(channels) + " channels");
  auto window = Window::read(b, operands->extents(), operands->kernel());
  if (!window)
    return;
  const llvm::SmallVector<int64_t> extents(operands->extents());
  Extents more = b.attributes.getIntegers("output_padding");
  more.resize(extents.size(), 0);
  if (!setOutputPadding(b, *window, extents, more))
    return;
  Extents shape{b.shapeOf(operands->x)[0]}, low, high, padLow, padHigh;
  for (size_t d = 0; d < extents.size(); ++d) {
    // More elements at the end, and negative padding, are zeros outside of what the kernel reaches.
    const int64_t before = window->low[d], after = window->high[d] - more[d];
    low.push_back(std::max<int64_t>(before, 0));
    high.push_back(std::max<int64_t>(after, 0));
    padLow.push_back(std::max<int64_t>(-before, 0));
    padHigh.push_back(std::max<int64_t>(-after, 0));
    shape.push_back(window->strides[d] * (extents[d] - 1) + window->reach(d) - low[d] - high[d]);
    if (shape.back() < 1 || more[d] < 0 || shape.back() > kMostSpatial)
      return (void)b.error("the padding leaves no element, or the result is too large");
  }
  shape.push_back(maps);
  Value x = toChannelsLast(b, operands->x);
  Value y = b.make<ConvolutionInputGradientOp>(
      mlir::RankedTensorType::get(shape, elementTypeOf(x)), x, turnWeights(b, operands->weights),
      ConvolutionWindow{window->strides, low, high, window->dilations, operands->groups});
  for (size_t d = 0; d < extents.size(); ++d)
    if (padLow[d] || padHigh[d])
      y = b.make<PadOp>(y, int64_t(d) + 1, padLow[d], padHigh[d], llvm::APFloat(0.0));
  finish(b, y);
}

constexpr OpEntry kTable[] = {
    {"Conv", 1, convolve},
    {"ConvTranspose", 1, transposeConvolution},
};

} // namespace

llvm::ArrayRef<OpEntry> getConvolutionOps() { return kTable; }

} // namespace mpc::onnx
