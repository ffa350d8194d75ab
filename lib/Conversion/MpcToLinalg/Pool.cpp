// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pools and their gradients as parallel loops over the result, channels innermost; each thread owns
// what it writes, so the values do not depend on how many there are.
//
// A window of few elements is unrolled in the body. A large one is pooled along one axis after the
// other; along one axis a very long one becomes a reduction.
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/PoolBuilder.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mpc;

/// An adaptive axis whose windows are all alike is a strided one.
static PoolAxis simplify(PoolAxis axis) {
  if (axis.isAdaptive() && axis.extent % axis.outputs == 0)
    axis.window = axis.stride = axis.extent / axis.outputs;
  return axis;
}

// ---- Forward ------------------------------------------------------------------------------------

Value PoolBuilder::pool(ReduceKind kind, Value input, const PoolWindow &window, Type element) {
  int64_t elements = cappedProduct(window.extents(&PoolAxis::mostElements));
  // A stride of 1 would make an index of the first element the loop's own index, whose range is
  // that of the result.
  bool inside = llvm::all_of(window.axes, [](const PoolAxis &axis) {
    return !axis.isAdaptive() && axis.isInside() && (axis.stride > 1 || axis.window == 1);
  });
  int64_t most = window.axes.size() == 1 ? kMostUnrolledAlongAxis : kMostUnrolled;
  if (elements <= most)
    return inside ? insideUnrolled(kind, input, window, element)
                  : unrolled(kind, input, window, element);
  if (window.axes.size() == 1)
    return reduced(kind, input, window, element);
  // The mean of means of rows, each divided by its own count, is the mean: the counts of a window
  // are a product.
  Type wide = kind == ReduceKind::Max ? element : widerOf32(element);
  SmallVector<PoolWindow> parts = separate(window);
  for (const PoolWindow &part : ArrayRef(parts).drop_back())
    input = pool(kind, input, part, wide);
  return pool(kind, input, parts.back(), element);
}

/// Each element of a window is an input of its own, at an affine index: no index is computed.
Value PoolBuilder::insideUnrolled(ReduceKind kind, Value input, const PoolWindow &window,
                                  Type element) {
  RankedTensorType type = resized(input, window, /*toOutputs=*/true, element);
  int64_t rank = type.getRank();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  forEachIndex(window.extents(&PoolAxis::mostElements), [&](ArrayRef<int64_t> tap) {
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; d < rank; ++d)
      exprs.push_back(builder.getAffineDimExpr(d));
    for (auto [dimension, axis, offset] : llvm::zip_equal(window.dimensions, window.axes, tap))
      exprs[dimension] = exprs[dimension] * axis.stride + offset;
    inputs.push_back(input);
    maps.push_back(AffineMap::get(rank, 0, exprs, builder.getContext()));
  });
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  Value empty = emptyFrom(builder, loc, type, input);
  return buildReduction(builder, loc, inputs, empty, maps, {},
                        [&](OpBuilder &b, Location l, ValueRange taps, ValueRange) {
                          Value total;
                          for (Value tap : taps) {
                            tap = widen(b, l, tap);
                            if (!total)
                              total = tap;
                            else if (kind == ReduceKind::Max)
                              total = arith::MaximumFOp::create(b, l, total, tap);
                            else
                              total = arith::AddFOp::create(b, l, total, tap);
                          }
                          if (kind == ReduceKind::Mean)
                            total = arith::DivFOp::create(
                                b, l, total, scalarOf(b, l, total.getType(), double(taps.size())));
                          return SmallVector<Value>{roundTo(b, l, total, element)};
                        })[0];
}

Value PoolBuilder::unrolled(ReduceKind kind, Value input, const PoolWindow &window, Type element) {
  RankedTensorType type = resized(input, window, /*toOutputs=*/true, element);
  return build(type, input, [&](PoolReader &r) {
    SmallVector<Value> at;
    for (int64_t dimension : window.dimensions)
      at.push_back(r.loopIndex(dimension));
    Value total;
    forEachIndex(window.extents(&PoolAxis::mostElements), [&](ArrayRef<int64_t> tap) {
      SmallVector<GuardedIndex> guarded;
      for (auto [axis, output, offset] : llvm::zip_equal(window.axes, at, tap))
        guarded.push_back(elementOfWindow(r.math, axis, output, offset));
      Value x = widen(r.builder, r.loc, r.read(input, window.dimensions, guarded));
      double neutral = kind == ReduceKind::Max ? -kInfinity : 0;
      x = r.select(r.counts(guarded), x, r.number(x.getType(), neutral));
      if (!total)
        total = x;
      else if (kind == ReduceKind::Max)
        total = arith::MaximumFOp::create(r.builder, r.loc, total, x);
      else
        total = arith::AddFOp::create(r.builder, r.loc, total, x);
    });
    if (kind == ReduceKind::Mean)
      total = arith::DivFOp::create(r.builder, r.loc, total, r.count(window, at, total.getType()));
    return SmallVector<Value>{roundTo(r.builder, r.loc, total, element)};
  })[0];
}

/// Along one axis with one reduction loop. A strided window inside the input reads it at affine
/// outputs, whole rows of channels at a time.
Value PoolBuilder::reduced(ReduceKind kind, Value input, const PoolWindow &window, Type element) {
  int64_t dimension = window.dimensions.front();
  const PoolAxis &axis = window.axes.front();
  Type wide = widerOf32(tensorTypeOf(input).getElementType());
  RankedTensorType type = resized(input, window, /*toOutputs=*/true, wide);
  int64_t rank = type.getRank();
  Value start = scalarOf(builder, loc, wide, kind == ReduceKind::Max ? -kInfinity : 0);
  auto combine = [&](OpBuilder &b, Location l, Value partial, Value x) -> Value {
    if (kind == ReduceKind::Max)
      return arith::MaximumFOp::create(b, l, partial, x);
    return arith::AddFOp::create(b, l, partial, x);
  };
  Value total;
  if (!axis.isAdaptive() && axis.isInside()) {
    Value sums = filledFrom(builder, loc, type, input, start);
    Value extent = tensor::EmptyOp::create(builder, loc, {axis.window}, wide);
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; d < rank; ++d)
      exprs.push_back(builder.getAffineDimExpr(d));
    AffineExpr tap = builder.getAffineDimExpr(rank);
    exprs[dimension] = exprs[dimension] * axis.stride + tap;
    MLIRContext *context = builder.getContext();
    SmallVector<AffineMap> maps{AffineMap::get(rank + 1, 0, exprs, context),
                                AffineMap::get(rank + 1, 0, tap, context),
                                dropMap(context, rank + 1, rank)};
    total = buildReduction(builder, loc, {input, extent}, sums, maps, {rank},
                           [&](OpBuilder &b, Location l, ValueRange inputs, ValueRange partial) {
                             return SmallVector<Value>{
                                 combine(b, l, partial[0], widen(b, l, inputs[0]))};
                           })[0];
  } else {
    total = buildLoop(
        type, input, axis.mostElements(), start, [&](PoolReader &r, Value tap, ValueRange partial) {
          GuardedIndex output = elementOfWindow(r.math, axis, r.loopIndex(dimension), tap);
          Value x = widen(r.builder, r.loc, r.read(input, dimension, output));
          Value next = combine(r.builder, r.loc, partial[0], x);
          return SmallVector<Value>{r.select(output.counts, next, partial[0])};
        })[0];
  }
  return finish(total, kind == ReduceKind::Mean ? &window : nullptr, element);
}

// ---- Patterns -----------------------------------------------------------------------------------

/// The pool that `op` computes or differentiates, from `images` to `outputs`.
template <typename Op>
static PoolWindow windowOf(Op op, RankedTensorType images, RankedTensorType outputs) {
  PoolWindow window;
  for (const PoolAxis &axis :
       poolAxes(images, outputs, op.getWindow(), op.getStrides(), op.getPaddingLow())) {
    window.dimensions.push_back(window.dimensions.size() + 1);
    window.axes.push_back(simplify(axis));
  }
  return window;
}

namespace {
struct LowerPool : OpConversionPattern<PoolOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(PoolOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    PoolWindow window = windowOf(op, tensorTypeOf(op.getInput()), type);
    rewriter.replaceOp(op,
                       PoolBuilder(rewriter, op.getLoc())
                           .pool(op.getKind(), adaptor.getInput(), window, type.getElementType()));
    return success();
  }
};

struct LowerPoolGradient : OpConversionPattern<PoolGradientOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(PoolGradientOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    int64_t elements = 1;
    for (int64_t extent : type.getShape().drop_front().drop_back())
      if (llvm::MulOverflow(elements, extent, elements) ||
          elements > std::numeric_limits<int32_t>::max())
        return rewriter.notifyMatchFailure(op, "a sample has too many elements");
    PoolWindow window = windowOf(op, type, tensorTypeOf(op.getCotangent()));
    PoolBuilder builder(rewriter, op.getLoc());
    Type element = type.getElementType();
    Value result =
        op.getKind() == ReduceKind::Max
            ? builder.maxGradient(adaptor.getCotangent(), adaptor.getInput(), window, element)
            : builder.meanGradient(adaptor.getCotangent(), window, element);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void mpc::populatePoolPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerPool, LowerPoolGradient>(converter, patterns.getContext());
}
