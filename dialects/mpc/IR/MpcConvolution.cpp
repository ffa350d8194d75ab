// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The convolution and its two adjoints: shapes, verifiers, derivatives, reference values. Each
// one's derivatives are the other two.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/PatternMatch.h"
#include "runtime/rules/integer_windows.h"

using namespace mlir;
using namespace mpc;

/// Numbers above this have no use and would overflow extents.
static constexpr int64_t kMostWindow = std::numeric_limits<int32_t>::max();

// ---- Shapes -------------------------------------------------------------------------------------

/// Checks a convolution of `images` with `filter` that gives `outputs`.
static LogicalResult verifyWindow(Operation *op, const ConvolutionWindow &window,
                                  RankedTensorType images, RankedTensorType filter,
                                  RankedTensorType outputs) {
  if (images.getElementType() != filter.getElementType() ||
      images.getElementType() != outputs.getElementType())
    return op->emitOpError() << "element types differ: " << images.getElementType() << ", "
                             << filter.getElementType() << ", " << outputs.getElementType()
                             << "; insert mpc.cast, no op promotes implicitly";
  int64_t rank = images.getRank(), spatial = rank - 2;
  if (rank < 3 || rank > 5 || filter.getRank() != rank || outputs.getRank() != rank)
    return op->emitOpError("images, filter and result must have one rank from 3 to 5");
  for (ArrayRef<int64_t> numbers :
       {window.strides, window.paddingLow, window.paddingHigh, window.dilations})
    if (int64_t(numbers.size()) != spatial)
      return op->emitOpError() << "needs " << spatial << " strides, paddings and dilations";
  if (!filter.hasStaticShape() || images.getNumDynamicDims() > images.isDynamicDim(0) ||
      outputs.getNumDynamicDims() > outputs.isDynamicDim(0))
    return op->emitOpError("only the batch may be dynamic");
  if (images.getDimSize(0) != outputs.getDimSize(0))
    return op->emitOpError("batches differ");
  int64_t channels = images.getShape().back(), filters = outputs.getShape().back();
  if (window.groups < 1 || filters % window.groups != 0 ||
      filter.getDimSize(rank - 2) * window.groups != channels ||
      filter.getDimSize(rank - 1) != filters)
    return op->emitOpError() << "a filter of shape [" << filter.getShape() << "] in "
                             << window.groups << " groups does not map " << channels
                             << " channels to " << filters;
  for (int64_t d = 0; d < spatial; ++d) {
    int64_t stride = window.strides[d], dilation = window.dilations[d];
    int64_t low = window.paddingLow[d], high = window.paddingHigh[d];
    int64_t kernel = filter.getDimSize(d);
    if (stride < 1 || dilation < 1 || low < 0 || high < 0 || kernel < 1)
      return op->emitOpError() << "strides, dilations and kernel extents must be positive, "
                                  "paddings not negative (dimension "
                               << d << ")";
    if (std::max({stride, dilation, low, high, kernel}) > kMostWindow)
      return op->emitOpError() << "window of dimension " << d << " is too large";
    int64_t pixels = convolvedExtent(images.getDimSize(d + 1), kernel, stride, low, high, dilation);
    if (outputs.getDimSize(d + 1) != pixels)
      return op->emitOpError() << "spatial dimension " << d << " has " << pixels << " pixels, but "
                               << outputs.getDimSize(d + 1) << " are given";
  }
  return success();
}

static LogicalResult verifyBias(Operation *op, Value bias, RankedTensorType result) {
  if (!bias)
    return success();
  auto type = tensorTypeOf(bias);
  if (type.getRank() != 1 || type.getDimSize(0) != result.getShape().back() ||
      type.getElementType() != result.getElementType())
    return op->emitOpError("bias must be a vector as long as the last result dimension, of the "
                           "result's element type");
  return success();
}

void ConvolutionOp::build(OpBuilder &builder, OperationState &state, Value input, Value filter,
                          const ConvolutionWindow &window, int64_t border) {
  auto images = tensorTypeOf(input), weights = tensorTypeOf(filter);
  SmallVector<int64_t> shape{images.getDimSize(0)};
  for (size_t d = 0; d < window.strides.size(); ++d)
    shape.push_back(convolvedExtent(images.getDimSize(d + 1), weights.getDimSize(d),
                                    window.strides[d], window.paddingLow[d], window.paddingHigh[d],
                                    window.dilations[d]));
  shape.push_back(weights.getShape().back());
  Type element = images.getElementType();
  if (element.isInteger(8))
    element = builder.getI32Type();
  build(builder, state, images.clone(shape, element), input, filter, /*bias=*/Value(),
        window.strides, window.paddingLow, window.paddingHigh, window.dilations, window.groups,
        Activation::None, border);
}

void ConvolutionInputGradientOp::build(OpBuilder &builder, OperationState &state, Type result,
                                       Value cotangent, Value filter,
                                       const ConvolutionWindow &window) {
  build(builder, state, result, cotangent, filter, /*bias=*/Value(), window.strides,
        window.paddingLow, window.paddingHigh, window.dilations, window.groups, Activation::None);
}

void ConvolutionFilterGradientOp::build(OpBuilder &builder, OperationState &state, Type result,
                                        Value input, Value cotangent,
                                        const ConvolutionWindow &window) {
  build(builder, state, result, input, cotangent, window.strides, window.paddingLow,
        window.paddingHigh, window.dilations, window.groups);
}

LogicalResult ConvolutionOp::verify() {
  auto result = tensorTypeOf(getResult());
  const bool isInteger = elementTypeOf(getInput()).isInteger(8);
  if (isInteger != result.getElementType().isInteger(32) ||
      (isInteger && (getBias() || getActivation() != Activation::None)))
    return emitOpError() << "of i8 gives i32, without bias or activation; got " << result;
  ArrayRef<int64_t> filter = tensorTypeOf(getFilter()).getShape();
  const int64_t spatial = int64_t(filter.size()) - 2, groups = getGroups();
  if (isInteger && (spatial < 1 || !rules::areIntegerGroups(
                                       groups, filter[spatial] * groups, filter.back(), spatial,
                                       ShapedType::getNumElements(filter.take_front(spatial)))))
    return emitOpError() << "of i8 has one group, or for each channel one filter of one or two "
                            "dimensions and at most "
                         << rules::mostIntegerTaps << " elements; got " << groups
                         << " groups of filters [" << filter << "]";
  const auto border = int64_t(getBorder());
  if (isInteger ? border != int8_t(border) : border != 0)
    return emitOpError() << "has the border " << border
                         << "; expected a number of 8 bits, of floating images 0";
  if (isInteger)
    result = result.clone(elementTypeOf(getInput()));
  if (failed(verifyWindow(*this, getWindow(), tensorTypeOf(getInput()), tensorTypeOf(getFilter()),
                          result)))
    return failure();
  return verifyBias(*this, getBias(), result);
}

LogicalResult ConvolutionInputGradientOp::verify() {
  auto result = tensorTypeOf(getResult());
  if (failed(verifyWindow(*this, getWindow(), result, tensorTypeOf(getFilter()),
                          tensorTypeOf(getCotangent()))))
    return failure();
  return verifyBias(*this, getBias(), result);
}

LogicalResult ConvolutionFilterGradientOp::verify() {
  auto images = tensorTypeOf(getInput()), filter = tensorTypeOf(getResult());
  // The sums as they are, not rounded.
  if (filter.getElementType() == widerOf32(images.getElementType()))
    filter = filter.clone(images.getElementType());
  return verifyWindow(*this, getWindow(), images, filter, tensorTypeOf(getCotangent()));
}

PrecisionClass ConvolutionOp::getPrecisionClass() { return PrecisionClass::Safe; }
PrecisionClass ConvolutionInputGradientOp::getPrecisionClass() { return PrecisionClass::Safe; }
PrecisionClass ConvolutionFilterGradientOp::getPrecisionClass() { return PrecisionClass::Safe; }

// ---- Epilogue -----------------------------------------------------------------------------------

static StringRef findObstacle(int64_t biasRank) {
  return biasRank == 1 ? "" : "what is added is no vector along the last dimension";
}
StringRef ConvolutionOp::findBiasObstacle(int64_t rank) {
  return getType().getElementType().isInteger(32) ? "sums of integers take no bias"
                                                  : findObstacle(rank);
}
StringRef ConvolutionInputGradientOp::findBiasObstacle(int64_t rank) { return findObstacle(rank); }

Operation *ConvolutionOp::createWithEpilogue(OpBuilder &builder, Value bias,
                                             Activation activation) {
  return create(builder, getLoc(), getType(), getInput(), getFilter(), bias, getStrides(),
                getPaddingLow(), getPaddingHigh(), getDilations(), getGroups(), activation,
                getBorder());
}

Operation *ConvolutionInputGradientOp::createWithEpilogue(OpBuilder &builder, Value bias,
                                                          Activation activation) {
  return create(builder, getLoc(), getType(), getCotangent(), getFilter(), bias, getStrides(),
                getPaddingLow(), getPaddingHigh(), getDilations(), getGroups(), activation);
}

// ---- Canonical forms ----------------------------------------------------------------------------

namespace {
/// Zeros added before a convolution are its padding.
struct AbsorbPadding : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter &rewriter) const override {
    auto pad = op.getInput().getDefiningOp<PadOp>();
    if (!pad || !pad.getValue().isPosZero())
      return rewriter.notifyMatchFailure(op, "the input is not padded with zeros");
    if (op.getBorder() != 0)
      return rewriter.notifyMatchFailure(op, "zeros are not what the padding has");
    int64_t axis = pad.getAxis();
    if (axis < 1 || axis + 1 >= tensorTypeOf(op.getInput()).getRank())
      return rewriter.notifyMatchFailure(op, "padded along the channels");
    SmallVector<int64_t> low(op.getPaddingLow()), high(op.getPaddingHigh());
    low[axis - 1] += pad.getLow();
    high[axis - 1] += pad.getHigh();
    if (std::max(low[axis - 1], high[axis - 1]) > kMostWindow)
      return rewriter.notifyMatchFailure(op, "the padding would be too large");
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().assign(pad.getInput());
      op.setPaddingLow(low);
      op.setPaddingHigh(high);
    });
    return success();
  }
};

/// A kernel of one element that visits each pixel is a matrix product along the channels.
struct PointwiseToContract : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvolutionOp op, PatternRewriter &rewriter) const override {
    auto filter = tensorTypeOf(op.getFilter());
    int64_t rank = filter.getRank();
    auto isOne = [](int64_t n) { return n == 1; };
    auto isZero = [](int64_t n) { return n == 0; };
    if (!llvm::all_of(filter.getShape().drop_back(2), isOne) ||
        !llvm::all_of(op.getStrides(), isOne) || !llvm::all_of(op.getPaddingLow(), isZero) ||
        !llvm::all_of(op.getPaddingHigh(), isZero) || op.getGroups() != 1)
      return rewriter.notifyMatchFailure(op, "not pointwise");
    if (op.getBias() || op.getActivation() != Activation::None)
      return rewriter.notifyMatchFailure(op, "has an epilogue");
    Value matrix = ReshapeOp::create(rewriter, op.getLoc(),
                                     filter.clone(filter.getShape().take_back(2)), op.getFilter());
    rewriter.replaceOpWithNewOp<ContractOp>(op, op.getInput(), matrix, ArrayRef<int64_t>{rank - 1},
                                            ArrayRef<int64_t>{0});
    return success();
  }
};
} // namespace

void ConvolutionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<AbsorbPadding, PointwiseToContract>(context);
}

// ---- Derivatives --------------------------------------------------------------------------------

LogicalResult ConvolutionOp::buildVjp(OpBuilder &builder, ValueRange cotangents,
                                      ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> operandCotangents) {
  if (getActivation() != Activation::None)
    return emitOpError() << "has an activation; mpc-fuse comes after mpc-differentiate";
  Value dy = cotangents[0];
  if (wanted[0])
    operandCotangents[0] = ConvolutionInputGradientOp::create(
        builder, getLoc(), getInput().getType(), dy, getFilter(), getWindow());
  if (wanted[1])
    operandCotangents[1] = ConvolutionFilterGradientOp::create(
        builder, getLoc(), getFilter().getType(), getInput(), dy, getWindow());
  if (getBias() && wanted[2])
    operandCotangents[2] = sumToType(builder, getLoc(), dy, tensorTypeOf(getBias()));
  return success();
}

LogicalResult ConvolutionInputGradientOp::buildVjp(OpBuilder &builder, ValueRange cotangents,
                                                   ArrayRef<bool> wanted,
                                                   MutableArrayRef<Value> operandCotangents) {
  if (getActivation() != Activation::None)
    return emitOpError() << "has an activation; mpc-fuse comes after mpc-differentiate";
  Value c = cotangents[0];
  if (wanted[0])
    operandCotangents[0] = ConvolutionOp::create(builder, getLoc(), c, getFilter(), getWindow());
  if (wanted[1])
    operandCotangents[1] = ConvolutionFilterGradientOp::create(
        builder, getLoc(), getFilter().getType(), c, getCotangent(), getWindow());
  if (getBias() && wanted[2])
    operandCotangents[2] = sumToType(builder, getLoc(), c, tensorTypeOf(getBias()));
  return success();
}

LogicalResult ConvolutionFilterGradientOp::buildVjp(OpBuilder &builder, ValueRange cotangents,
                                                    ArrayRef<bool> wanted,
                                                    MutableArrayRef<Value> operandCotangents) {
  Value c = cotangents[0];
  if (wanted[0])
    operandCotangents[0] = ConvolutionInputGradientOp::create(
        builder, getLoc(), getInput().getType(), getCotangent(), c, getWindow());
  if (wanted[1])
    operandCotangents[1] = ConvolutionOp::create(builder, getLoc(), getInput(), c, getWindow());
  return success();
}

// ---- Reference ----------------------------------------------------------------------------------

/// Calls `visit(image, filter, output)` with the offsets of the first channel and filter of group 0
/// for each product of pixels: of an output pixel with each kernel element inside the image.
template <typename Visit>
static void forEachPixelPair(const ConvolutionWindow &window, ArrayRef<int64_t> images,
                             ArrayRef<int64_t> filter, ArrayRef<int64_t> outputs, Visit visit) {
  size_t spatial = window.strides.size();
  SmallVector<int64_t> imageStrides = rowMajorStrides(images),
                       filterStrides = rowMajorStrides(filter),
                       outputStrides = rowMajorStrides(outputs);
  SmallVector<int64_t> pixel(spatial, 0), tap(spatial, 0);
  auto advance = [&](SmallVector<int64_t> &index, ArrayRef<int64_t> extents) {
    for (size_t d = spatial; d-- > 0;) {
      if (++index[d] < extents[d])
        return true;
      index[d] = 0;
    }
    return false;
  };
  if (llvm::is_contained(outputs, 0))
    return;
  do {
    llvm::fill(tap, 0);
    do {
      int64_t image = 0, weight = 0, output = 0;
      bool inside = true;
      for (size_t d = 0; d < spatial; ++d) {
        int64_t at =
            pixel[d] * window.strides[d] - window.paddingLow[d] + tap[d] * window.dilations[d];
        inside &= at >= 0 && at < images[d + 1];
        image += at * imageStrides[d + 1];
        weight += tap[d] * filterStrides[d];
        output += pixel[d] * outputStrides[d + 1];
      }
      if (inside)
        for (int64_t b = 0; b < images[0]; ++b)
          visit(image + b * imageStrides[0], weight, output + b * outputStrides[0]);
    } while (advance(tap, filter.take_front(spatial)));
  } while (advance(pixel, outputs.drop_front().take_front(spatial)));
}

/// Adds up, in double, the products that make `result`: `product(image, filter, output)` gets the
/// offsets of one of them.
template <typename Product>
static void forEachProduct(const ConvolutionWindow &window, ArrayRef<int64_t> images,
                           ArrayRef<int64_t> filter, ArrayRef<int64_t> outputs, Product product) {
  int64_t filters = filter.back(), channels = filter[filter.size() - 2];
  int64_t perGroup = filters / window.groups;
  forEachPixelPair(
      window, images, filter, outputs, [&](int64_t image, int64_t weight, int64_t output) {
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t f = 0; f < filters; ++f)
            product(image + f / perGroup * channels + c, weight + c * filters + f, output + f);
      });
}

/// Sums of products of integers, which wrap around as i32 does.
static void sumIntegers(ConvolutionOp op, const ReferenceTensor &input,
                        const ReferenceTensor &filter, ReferenceTensor &result) {
  // The image with its border, in which every tap meets an element.
  ConvolutionWindow window = op.getWindow();
  const size_t spatial = window.strides.size();
  ReferenceTensor bordered;
  SmallVector<int64_t> shape(input.shape);
  for (size_t d = 0; d < spatial; ++d)
    shape[d + 1] += window.paddingLow[d] + window.paddingHigh[d];
  startReference(bordered, input.elementType, shape);
  llvm::fill(bordered.integers, int64_t(op.getBorder()));
  const SmallVector<int64_t> from = rowMajorStrides(input.shape), to = rowMajorStrides(shape);
  for (int64_t i = 0; i < input.size(); ++i) {
    int64_t target = 0;
    for (size_t d = 0; d < input.shape.size(); ++d) {
      const int64_t at = i / from[d] % input.shape[d];
      const bool isSpatial = d >= 1 && d <= spatial;
      target += (at + (isSpatial ? window.paddingLow[d - 1] : 0)) * to[d];
    }
    bordered.integers[target] = input.integers[i];
  }
  const SmallVector<int64_t> none(spatial, 0);
  window.paddingLow = window.paddingHigh = none;
  SmallVector<uint32_t> sums(result.size(), 0);
  forEachProduct(window, shape, filter.shape, result.shape, [&](int64_t x, int64_t w, int64_t y) {
    sums[y] += uint32_t(bordered.integers[x] * filter.integers[w]);
  });
  for (size_t i = 0; i < sums.size(); ++i)
    result.integers[i] = int32_t(sums[i]);
}

/// Rounds the sums, adds the bias and applies the activation.
static void finish(ReferenceTensor &result, ArrayRef<double> sums, const ReferenceTensor *bias,
                   Activation activation) {
  for (size_t i = 0; i < sums.size(); ++i) {
    result.set(i, sums[i]);
    if (bias)
      result.set(i, result.floats[i] + bias->floats[i % bias->size()]);
    if (activation == Activation::Relu && result.floats[i] < 0)
      result.floats[i] = 0;
  }
}

LogicalResult ConvolutionOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                      MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &input = operands[0], &filter = operands[1];
  SmallVector<int64_t> shape(tensorTypeOf(getResult()).getShape());
  shape[0] = input.shape[0];
  startReference(results[0], getType().getElementType(), shape);
  if (!results[0].isFloating()) {
    sumIntegers(*this, input, filter, results[0]);
    return success();
  }
  SmallVector<double> sums(results[0].size(), 0.0);
  forEachProduct(
      getWindow(), input.shape, filter.shape, shape,
      [&](int64_t x, int64_t w, int64_t y) { sums[y] += input.floats[x] * filter.floats[w]; });
  finish(results[0], sums, getBias() ? &operands[2] : nullptr, getActivation());
  return success();
}

LogicalResult ConvolutionInputGradientOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                                   MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &cotangent = operands[0], &filter = operands[1];
  SmallVector<int64_t> shape(tensorTypeOf(getResult()).getShape());
  shape[0] = cotangent.shape[0];
  startReference(results[0], cotangent.elementType, shape);
  SmallVector<double> sums(results[0].size(), 0.0);
  forEachProduct(
      getWindow(), shape, filter.shape, cotangent.shape,
      [&](int64_t x, int64_t w, int64_t y) { sums[x] += cotangent.floats[y] * filter.floats[w]; });
  finish(results[0], sums, getBias() ? &operands[2] : nullptr, getActivation());
  return success();
}

LogicalResult ConvolutionFilterGradientOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                                    MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &input = operands[0], &cotangent = operands[1];
  ArrayRef<int64_t> shape = tensorTypeOf(getResult()).getShape();
  startReference(results[0], input.elementType, shape);
  SmallVector<double> sums(results[0].size(), 0.0);
  forEachProduct(
      getWindow(), input.shape, shape, cotangent.shape,
      [&](int64_t x, int64_t w, int64_t y) { sums[w] += input.floats[x] * cotangent.floats[y]; });
  finish(results[0], sums, nullptr, Activation::None);
  return success();
}
