// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions with their adjoints, pools and resampling with random windows.
#include "test/RandomGraphs/RandomGraph.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

namespace {
/// A random window over the spatial dimensions of [batch, spatial..., channels].
struct Window {
  SmallVector<int64_t> kernel, strides, low, high, dilations, places;
  int64_t groups = 1, channels = 0, filters = 0;

  ConvolutionWindow get() const { return {strides, low, high, dilations, groups}; }
  SmallVector<int64_t> filterShape() const {
    SmallVector<int64_t> shape(kernel);
    shape.push_back(channels / groups);
    shape.push_back(filters);
    return shape;
  }
};
} // namespace

/// False when the kernel does not fit.
static bool chooseWindow(Random &random, RankedTensorType images, Window &window) {
  window.channels = images.getShape().back();
  window.groups = random.chance(0.3) ? window.channels : 1;
  window.filters = window.groups * random.between(1, 3);
  for (int64_t extent : images.getShape().drop_front().drop_back()) {
    const int64_t kernel = random.between(1, 3);
    window.kernel.push_back(kernel);
    window.strides.push_back(random.chance(0.3) ? 2 : 1);
    window.dilations.push_back(random.chance(0.2) ? 2 : 1);
    window.low.push_back(random.below(kernel));
    window.high.push_back(random.below(kernel));
    window.places.push_back(convolvedExtent(extent, kernel, window.strides.back(),
                                            window.low.back(), window.high.back(),
                                            window.dilations.back()));
    if (window.places.back() < 1)
      return false;
  }
  return true;
}

static Value pickImages(Scope &s) {
  return s.pick([](RankedTensorType type) {
    return type.getElementType().isF64() && type.getRank() >= 3 && type.getRank() <= 5 &&
           type.isDynamicDim(0);
  });
}

static bool makeConvolution(Scope &s) {
  Value images = pickImages(s);
  Window window;
  return images && chooseWindow(s.random(), tensorTypeOf(images), window) &&
         s.make<ConvolutionOp>(images, s.addVariable(window.filterShape()), window.get());
}

/// A transposed convolution: images of any extent whose convolution has the extents of the value.
static bool makeInputGradient(Scope &s) {
  Value cotangent = pickImages(s);
  Window window;
  if (!cotangent || !chooseWindow(s.random(), tensorTypeOf(cotangent), window))
    return false;
  // The chosen channels are the filters here, and the other way round.
  window.groups = s.random().chance(0.3) ? window.channels : 1;
  const int64_t channels = window.groups * s.random().between(1, 3);
  window.filters = window.channels;
  window.channels = channels;
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  for (auto [d, places] :
       llvm::enumerate(tensorTypeOf(cotangent).getShape().drop_front().drop_back()))
    shape.push_back((places - 1) * window.strides[d] +
                    (window.kernel[d] - 1) * window.dilations[d] + 1 - window.low[d] -
                    window.high[d] + s.random().below(window.strides[d]));
  shape.push_back(channels);
  if (llvm::any_of(ArrayRef(shape).drop_front(), [](int64_t extent) { return extent < 1; }))
    return false;
  return s.make<ConvolutionInputGradientOp>(tensorTypeOf(cotangent).clone(shape), cotangent,
                                            s.addVariable(window.filterShape()), window.get());
}

/// Makes a convolution, and the gradient of its filter.
static bool makeFilterGradient(Scope &s) {
  Value images = pickImages(s);
  Window window;
  if (!images || !chooseWindow(s.random(), tensorTypeOf(images), window) ||
      !s.make<ConvolutionOp>(images, s.addVariable(window.filterShape()), window.get()))
    return false;
  return s.make<ConvolutionFilterGradientOp>(
      RankedTensorType::get(window.filterShape(), s.builder.getF64Type()), images, s.pool.back(),
      window.get());
}

static bool makePool(Scope &s) {
  Value images = pickImages(s);
  Window window;
  if (!images || !chooseWindow(s.random(), tensorTypeOf(images), window))
    return false;
  const ReduceKind kind = s.random().chance(0.5) ? ReduceKind::Max : ReduceKind::Mean;
  if (s.random().chance(0.3)) {
    SmallVector<int64_t> shape(tensorTypeOf(images).getShape());
    for (size_t d = 1; d + 1 < shape.size(); ++d)
      shape[d] = s.random().between(1, shape[d]);
    const ArrayRef<int64_t> none;
    return s.make<PoolOp>(tensorTypeOf(images).clone(shape), kind, images, none, none, none, none);
  }
  return s.make<PoolOp>(kind, images, window.kernel, window.strides, window.low, window.high);
}

static bool makeResample(Scope &s) {
  Random &random = s.random();
  Value x = s.pickFloat(2);
  if (!x)
    return false;
  SmallVector<ResampleTable> tables;
  for (int64_t axis = 1; axis < tensorTypeOf(x).getRank(); ++axis) {
    if (random.chance(0.5))
      continue;
    ResampleTable table;
    table.axis = axis;
    table.taps = random.between(1, 2);
    const bool isWeighted = random.chance(0.6);
    for (int64_t i = random.between(1, 4) * table.taps; i > 0; --i) {
      table.indices.push_back(random.between(-1, tensorTypeOf(x).getDimSize(axis) - 1));
      if (isWeighted)
        // As text holds them exactly: MLIR prints seven digits of such lists.
        table.weights.push_back(double(random.between(-64, 64)) / 64);
    }
    tables.push_back(table);
  }
  // Either every table has weights or none.
  for (ResampleTable &table : tables)
    if (table.weights.empty() != tables.front().weights.empty())
      return false;
  return !tables.empty() && s.make<ResampleOp>(x, ArrayRef<ResampleTable>(tables));
}

void mpc::test::addWindowOps(OpMakers &makers) {
  makers[ConvolutionOp::getOperationName()] = makeConvolution;
  makers[ConvolutionInputGradientOp::getOperationName()] = makeInputGradient;
  makers[ConvolutionFilterGradientOp::getOperationName()] = makeFilterGradient;
  makers[PoolOp::getOperationName()] = makePool;
  makers[ResampleOp::getOperationName()] = makeResample;
}
