// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pools. Where the dialect's pool has no word for it (dilated windows, places, other norms), the
// windows are put together of slices, one for each element of the kernel.
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Axes.h"
#include "lib/Import/ONNX/Ops/Windows.h"

#include "lib/Import/Common/Shape.h"

#include <limits>

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

/// More slices than this are no way to compute a pool.
constexpr int64_t kMostSlices = 1024;

struct Pool {
  Value x; ///< channels last
  Window window;
  Extents extents, places;

  bool isDilated() const {
    return llvm::any_of(window.dilations, [](int64_t dilation) { return dilation != 1; });
  }
  /// Elements behind the input that the last window reaches over.
  int64_t behind(size_t d) const {
    return (places[d] - 1) * window.strides[d] + window.reach(d) - extents[d] - window.low[d];
  }
};

std::optional<Pool> readPool(B &b, Value x) {
  if (!x)
    return std::nullopt;
  if (b.rankOf(x) < 3 || b.rankOf(x) > 5) {
    b.error("takes [batch, channels, spatial...] with 1 to 3 spatial dimensions");
    return std::nullopt;
  }
  Pool pool;
  pool.extents.assign(b.shapeOf(x).begin() + 2, b.shapeOf(x).end());
  auto window = Window::read(b, pool.extents);
  if (!window)
    return std::nullopt;
  pool.window = *window;
  for (size_t d = 0; d < pool.extents.size(); ++d) {
    if (window->low[d] < 0 || window->high[d] < 0 || window->low[d] >= window->reach(d) ||
        (window->places(d, pool.extents[d]) < 1)) {
      b.error("the window does not fit into " + printShape(pool.extents));
      return std::nullopt;
    }
    pool.places.push_back(window->places(d, pool.extents[d]));
  }
  pool.x = toChannelsLast(b, x);
  return pool;
}

/// `x`, channels last, with elements of this value around it, as far as windows reach.
Value surround(B &b, const Pool &pool, Value x, double value) {
  for (size_t d = 0; d < pool.extents.size(); ++d) {
    const int64_t after = std::max<int64_t>(pool.behind(d), 0);
    if (pool.window.low[d] || after)
      x = b.make<PadOp>(x, int64_t(d) + 1, pool.window.low[d], after, llvm::APFloat(value));
  }
  return x;
}

/// Calls `take` with the elements of all windows that are at one place of the kernel, and that
/// place. False where there are too many.
bool forSlices(B &b, const Pool &pool, Value padded,
               llvm::function_ref<void(Value, llvm::ArrayRef<int64_t>)> take) {
  int64_t count = 1;
  for (int64_t extent : pool.window.kernel)
    count *= std::min<int64_t>(extent, kMostSlices + 1);
  if (count > kMostSlices) {
    b.error("a window of more than " + llvm::Twine(kMostSlices) + " elements is not supported");
    return false;
  }
  Extents place(pool.window.rank(), 0);
  for (int64_t i = 0; i < count; ++i) {
    Value slice = padded;
    for (size_t d = 0; d < place.size(); ++d)
      slice = sliceAxis(b, slice, int64_t(d) + 1, place[d] * pool.window.dilations[d],
                        pool.window.strides[d], pool.places[d]);
    take(slice, place);
    for (size_t d = place.size(); d-- > 0;) {
      if (++place[d] < pool.window.kernel[d])
        break;
      place[d] = 0;
    }
  }
  return true;
}

/// The elements of each window as one, dimension by dimension: `combine` is associative. Null after
/// an error.
Value combineWindows(B &b, const Pool &pool, Value x,
                     llvm::function_ref<Value(Value, Value)> combine) {
  int64_t count = 0;
  for (int64_t extent : pool.window.kernel)
    count += std::min<int64_t>(extent, kMostSlices + 1);
  if (count > kMostSlices)
    return b.error("a window of extents that are more than " + llvm::Twine(kMostSlices) +
                   " together is not supported");
  for (size_t d = 0; d < pool.window.rank(); ++d) {
    Value all;
    for (int64_t i = 0; i < pool.window.kernel[d]; ++i) {
      Value slice = sliceAxis(b, x, int64_t(d) + 1, i * pool.window.dilations[d],
                              pool.window.strides[d], pool.places[d]);
      all = all ? combine(all, slice) : slice;
    }
    x = all;
  }
  return x;
}

Value makePool(B &b, ReduceKind kind, const Pool &pool, Value x, llvm::ArrayRef<int64_t> low,
               llvm::ArrayRef<int64_t> high) {
  return b.make<PoolOp>(kind, x, pool.window.kernel, pool.window.strides, low, high);
}

Value sumWindows(B &b, const Pool &pool, Value x) {
  return combineWindows(b, pool, x, [&](Value a, Value c) { return b.make<AddOp>(a, c); });
}

/// How many elements a window's mean divides by: those of the input, or with padding those of the
/// padded input; what lies behind that never counts.
Value countElements(B &b, const Pool &pool, bool countsPadding) {
  Extents shape{1};
  llvm::append_range(shape, pool.places);
  shape.push_back(1);
  Value counts;
  for (size_t d = 0; d < pool.extents.size(); ++d) {
    llvm::SmallVector<double> along;
    for (int64_t place = 0; place < pool.places[d]; ++place) {
      int64_t count = 0;
      for (int64_t k = 0; k < pool.window.kernel[d]; ++k) {
        const int64_t at = place * pool.window.strides[d] + k * pool.window.dilations[d];
        const int64_t first = countsPadding ? 0 : pool.window.low[d];
        const int64_t end =
            pool.window.low[d] + pool.extents[d] + (countsPadding ? pool.window.high[d] : 0);
        count += at >= first && at < end;
      }
      along.push_back(double(std::max<int64_t>(count, 1)));
    }
    Extents one(shape.size(), 1);
    one[d + 1] = pool.places[d];
    Value axis = b.makeConstant(one, along);
    counts = counts ? b.make<MultiplyOp>(counts, axis) : axis;
  }
  return counts;
}

void averagePool(B &b) {
  auto pool = readPool(b, b.get(0));
  if (!pool)
    return;
  const bool countsPadding = b.attributes.getFlag("count_include_pad");
  const size_t rank = pool->extents.size();
  if (pool->isDilated()) {
    Value wide = b.makeCastLike(pool->x, pool->x, /*wide=*/true);
    Value sum = sumWindows(b, *pool, surround(b, *pool, wide, 0.0));
    if (!sum)
      return;
    Value mean = b.make<DivideOp>(sum, countElements(b, *pool, countsPadding));
    return b.setResult(0, fromChannelsLast(b, b.makeCastLike(mean, pool->x)));
  }
  Value x = pool->x;
  Extents low(pool->window.low), high;
  for (size_t d = 0; d < rank; ++d) {
    int64_t after = pool->behind(d);
    if (countsPadding) {
      // Zeros that count, and behind them what does not.
      const int64_t zeros = pool->window.high[d];
      if (low[d] || zeros)
        x = b.make<PadOp>(x, int64_t(d) + 1, low[d], zeros, llvm::APFloat(0.0));
      low[d] = 0;
      after -= zeros;
    }
    high.push_back(std::max<int64_t>(after, 0));
  }
  b.setResult(0, fromChannelsLast(b, makePool(b, ReduceKind::Mean, *pool, x, low, high)));
}

/// The number of each element in the input: row-major, or column-major in the last two dimensions.
std::optional<Value> numberElements(B &b, const Pool &pool, llvm::ArrayRef<int64_t> inputShape) {
  if (llvm::is_contained(inputShape, mlir::ShapedType::kDynamic)) {
    b.errorOfOpenBatch("indices of the largest elements need a known batch");
    return std::nullopt;
  }
  Extents strides(inputShape.size(), 1);
  for (size_t d = inputShape.size() - 1; d-- > 0;)
    strides[d] = strides[d + 1] * inputShape[d + 1];
  if (b.attributes.getFlag("storage_order")) {
    // The first spatial dimension is the fastest.
    strides[2] = 1;
    for (size_t d = 3; d < inputShape.size(); ++d)
      strides[d] = strides[d - 1] * inputShape[d - 1];
  }
  Value sum;
  for (size_t d = 0; d < inputShape.size(); ++d) {
    const size_t place = d == 0 ? 0 : d == 1 ? inputShape.size() - 1 : d - 1;
    Extents shape(inputShape.size(), 1), numbers;
    shape[place] = inputShape[d];
    for (int64_t i = 0; i < inputShape[d]; ++i)
      numbers.push_back(i * strides[d]);
    Value along = b.makeLiteral(Literal::fromIntegers(b.builder, shape, numbers));
    sum = sum ? b.make<AddOp>(sum, along) : along;
  }
  return sum;
}

/// The number of each window's largest element, and that element in `best`; null after an error.
Value findLargest(B &b, const Pool &pool, Value padded, llvm::ArrayRef<int64_t> inputShape,
                  Value &best) {
  auto all = numberElements(b, pool, inputShape);
  if (!all)
    return {};
  // Zeros around them: no element there is the largest.
  Value around = *all;
  for (size_t d = 0; d < pool.extents.size(); ++d) {
    ResampleTable table;
    table.axis = int64_t(d) + 1;
    const int64_t after = std::max<int64_t>(pool.behind(d), 0);
    table.indices.append(size_t(pool.window.low[d]), -1);
    for (int64_t i = 0; i < pool.extents[d]; ++i)
      table.indices.push_back(i);
    table.indices.append(size_t(after), -1);
    around = b.make<ResampleOp>(around, llvm::ArrayRef(table));
  }
  llvm::SmallVector<Value> slices, numbers;
  const auto collectTo = [](llvm::SmallVector<Value> &to) {
    return [&to](Value slice, llvm::ArrayRef<int64_t>) { to.push_back(slice); };
  };
  if (!forSlices(b, pool, padded, collectTo(slices)) ||
      !forSlices(b, pool, around, collectTo(numbers)))
    return {};
  best = slices.front();
  Value bestNumber = numbers.front();
  for (const auto &[slice, number] : llvm::drop_begin(llvm::zip_equal(slices, numbers))) {
    bestNumber = b.makeSelect(ComparePredicate::GT, slice, best, number, bestNumber);
    best = b.make<MaximumOp>(best, slice);
  }
  return bestNumber;
}

void maxPool(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  const mlir::Type element = elementTypeOf(x);
  const Extents inputShape(b.shapeOf(x));
  const bool isInteger = !b.isFloat(x);
  auto pool = readPool(b, isInteger ? b.makeCastToFloat(x) : x);
  if (!pool)
    return;
  auto finish = [&](Value y) {
    y = fromChannelsLast(b, y);
    if (isInteger)
      y = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(y), element), y);
    b.setResult(0, y);
  };
  if (!pool->isDilated() && !b.isWanted(1)) {
    Extents high;
    for (size_t d = 0; d < pool->extents.size(); ++d)
      high.push_back(std::max<int64_t>(pool->behind(d), 0));
    return finish(makePool(b, ReduceKind::Max, *pool, pool->x, pool->window.low, high));
  }
  const double lowest = -std::numeric_limits<double>::infinity();
  Value padded = surround(b, *pool, pool->x, lowest), best;
  if (!b.isWanted(1)) {
    best =
        combineWindows(b, *pool, padded, [&](Value a, Value c) { return b.make<MaximumOp>(a, c); });
    return best ? finish(best) : void();
  }
  if (Value numbers = findLargest(b, *pool, padded, inputShape, best)) {
    finish(best);
    b.setResult(1, fromChannelsLast(b, numbers), DataType::Int64);
  }
}

/// (sum of |x|^p)^(1/p)
Value raise(B &b, Value x, double power) {
  return power == 1.0   ? x
         : power == 2.0 ? b.make<MultiplyOp>(x, x)
                        : b.make<PowerOp>(x, b.makeConstant(power));
}
Value lower(B &b, Value x, double power) {
  return power == 1.0   ? x
         : power == 2.0 ? b.make<SqrtOp>(x)
                        : b.make<PowerOp>(x, b.makeConstant(1.0 / power));
}
double readPower(B &b) {
  return b.opset < 2 ? b.attributes.getNumber("p", 2.0) : double(b.attributes.getInteger("p", 2));
}

void normPool(B &b) {
  auto pool = readPool(b, b.get(0));
  if (!pool)
    return;
  const double power = readPower(b);
  Value wide = b.make<AbsOp>(b.makeCastLike(pool->x, pool->x, /*wide=*/true));
  Value sum = sumWindows(b, *pool, surround(b, *pool, raise(b, wide, power), 0.0));
  if (!sum)
    return;
  b.setResult(0, fromChannelsLast(b, b.makeCastLike(lower(b, sum, power), pool->x)));
}

// ---- Of all places ------------------------------------------------------------------------------

std::optional<Extents> spatialAxes(B &b, Value x) {
  if (!x)
    return std::nullopt;
  if (b.rankOf(x) < 3) {
    b.error("takes [batch, channels, spatial...]");
    return std::nullopt;
  }
  return llvm::to_vector(llvm::seq<int64_t>(2, b.rankOf(x)));
}

template <ReduceKind kind> void globalPool(B &b) {
  Value x = b.get(0);
  if (auto axes = spatialAxes(b, x))
    b.setResult(0, b.makeReduce(kind, x, *axes, /*keepDims=*/true));
}

void globalNormPool(B &b) {
  Value x = b.get(0);
  auto axes = spatialAxes(b, x);
  if (!axes)
    return;
  const double power = readPower(b);
  Value wide = b.make<AbsOp>(b.makeCastLike(x, x, /*wide=*/true));
  Value sum = b.makeReduce(ReduceKind::Sum, raise(b, wide, power), *axes, /*keepDims=*/true);
  b.setResult(0, b.makeCastLike(lower(b, sum, power), x));
}

constexpr OpEntry kTable[] = {
    {"AveragePool", 1, averagePool},
    {"GlobalAveragePool", 1, globalPool<ReduceKind::Mean>},
    {"GlobalLpPool", 1, globalNormPool},
    {"GlobalMaxPool", 1, globalPool<ReduceKind::Max>},
    {"LpPool", 1, normPool},
    {"MaxPool", 1, maxPool},
};

} // namespace

llvm::ArrayRef<OpEntry> getPoolingOps() { return kTable; }

} // namespace mpc::onnx
