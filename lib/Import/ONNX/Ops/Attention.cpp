// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scaled dot-product attention of opset 23 on: with a cache of keys and values, groups of queries,
// masks, windows and soft caps. Scores are normalised in float32 or wider.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Axes.h"

#include <cmath>
#include <limits>

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// [batch, heads, places, width] of a tensor of 3 or 4 dimensions; null after an error.
Value splitHeads(B &b, Value x, int64_t heads) {
  if (!x)
    return {};
  llvm::ArrayRef<int64_t> shape = b.shapeOf(x);
  if (shape.size() == 4)
    return x;
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0)
    return b.error("takes [batch, heads, places, width], or [batch, places, heads * width] and the "
                   "numbers of heads");
  Value split = b.makeReshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  return b.make<TransposeOp>(split, Extents{0, 2, 1, 3});
}

/// Each head `times` times in place.
Value repeatHeads(B &b, Value x, int64_t times) {
  ResampleTable table;
  table.axis = 1;
  for (int64_t head = 0; head < b.shapeOf(x)[1]; ++head)
    table.indices.append(size_t(times), head);
  return times == 1 ? x : resample(b, x, {table});
}

Value makeNumbers(B &b, int64_t count, llvm::ArrayRef<int64_t> shape) {
  return b.makeLiteral(
      Literal::fromIntegers(b.builder, shape, llvm::to_vector(llvm::seq<int64_t>(0, count))));
}

/// 0 where `visible`, else minus infinity.
Value hide(B &b, Value visible) {
  return b.makeSelect(visible, b.makeConstant(0.0), b.makeConstant(kHidden));
}

struct Attention {
  Value query, key, value;
  int64_t queries = 0, keys = 0, past = 0;

  /// The bias by positions: causal, and a window; null for none. Integers of [queries, keys], or
  /// with the number of valid keys of each sample [batch, 1, queries, keys].
  Value makePositionBias(B &b) const {
    const bool isCausal = b.attributes.getFlag("is_causal");
    const int64_t left = b.attributes.getInteger("left_window_size", -1),
                  right = b.attributes.getInteger("right_window_size", -1);
    if (!isCausal && left < 0 && right < 0)
      return {};
    const mlir::Type i64 = b.builder.getI64Type();
    Value row = makeNumbers(b, queries, {queries, 1}), column = makeNumbers(b, keys, {1, keys});
    if (b.has(6)) {
      Value valid = b.makeReshape(b.get(6), {b.getShape(6).front(), 1, 1, 1});
      row = b.make<AddOp>(row, b.make<SubtractOp>(valid, b.makeInteger(i64, queries)));
    } else {
      row = b.make<AddOp>(row, b.makeInteger(i64, past));
    }
    Value visible, distance = b.make<SubtractOp>(row, column);
    auto require = [&](ComparePredicate predicate, int64_t bound) {
      Value holds = b.makeCompare(predicate, distance, b.makeInteger(i64, bound));
      visible = visible ? b.make<LogicalAndOp>(visible, holds) : holds;
    };
    if (isCausal)
      require(ComparePredicate::GE, 0);
    if (left >= 0)
      require(ComparePredicate::LE, left);
    if (right >= 0)
      require(ComparePredicate::GE, -right);
    return hide(b, visible);
  }

  /// The mask as a bias, as long as the keys; null for none and after an error.
  Value makeMaskBias(B &b) const {
    if (!b.has(3))
      return {};
    Value mask = b.get(3);
    if (!mask || b.rankOf(mask) < 1)
      return {};
    Value bias = b.isFloat(mask) ? mask : hide(b, mask);
    const int64_t missing = keys - b.shapeOf(bias).back();
    return missing > 0 ? b.make<PadOp>(bias, b.rankOf(bias) - 1, 0, missing, llvm::APFloat(kHidden))
                       : bias;
  }
};

Value add(B &b, Value x, Value bias) {
  return bias && b.checkBroadcast({x, bias}) ? b.make<AddOp>(x, bias) : x;
}

/// A row that is hidden as a whole has probabilities of 0.
Value normalize(B &b, Value scores) {
  Value wide = b.makeCastLike(scores, scores, /*wide=*/true);
  const int64_t last = b.rankOf(wide) - 1;
  Value most = b.makeReduce(ReduceKind::Max, wide, {last}, /*keepDims=*/true);
  Value isHidden = b.makeCompare(ComparePredicate::EQ, most, b.makeConstant(kHidden));
  Value safe = b.makeSelect(isHidden, b.makeConstant(0.0), wide);
  Value probabilities = b.make<SoftmaxOp>(safe, last);
  return b.makeSelect(isHidden, b.makeConstant(0.0), probabilities);
}

void attention(B &b) {
  const int64_t queryHeads = b.attributes.getInteger("q_num_heads", 0),
                keyHeads = b.attributes.getInteger("kv_num_heads", 0);
  const bool isFlat = b.getShape(0).size() == 3;
  Attention a;
  a.query = splitHeads(b, b.get(0), queryHeads);
  a.key = splitHeads(b, b.get(1), keyHeads);
  a.value = splitHeads(b, b.get(2), keyHeads);
  if (!a.query || !a.key || !a.value)
    return;
  for (unsigned i = 0; i < 2 && b.has(4) && b.has(5); ++i) {
    Value before = b.get(4 + i), &now = i == 0 ? a.key : a.value;
    if (!before || b.rankOf(before) != 4)
      return (void)b.error("the cache must be [batch, heads, places, width]");
    a.past = b.shapeOf(before)[2];
    now = b.make<ConcatenateOp>(mlir::ValueRange{before, now}, 2);
  }
  b.setResult(1, a.key, b.getType(1));
  b.setResult(2, a.value, b.getType(2));
  a.queries = b.shapeOf(a.query)[2];
  a.keys = b.shapeOf(a.key)[2];
  const int64_t width = b.shapeOf(a.query)[3], heads = b.shapeOf(a.query)[1],
                sources = b.shapeOf(a.key)[1];
  if (sources < 1 || heads % sources != 0 || b.shapeOf(a.key)[3] != width ||
      b.shapeOf(a.value)[2] != a.keys)
    return (void)b.error("queries of shape " + printShape(b.shapeOf(a.query)) + ", keys of " +
                         printShape(b.shapeOf(a.key)) + " and values of " +
                         printShape(b.shapeOf(a.value)) + " do not fit");
  a.key = repeatHeads(b, a.key, heads / sources);
  a.value = repeatHeads(b, a.value, heads / sources);
  // Half of the scale goes to each factor, so that neither product overflows.
  const double scale = std::sqrt(
      b.attributes.getNumber("scale", 1.0 / std::sqrt(double(std::max<int64_t>(width, 1)))));
  const Extents batch{0, 1}, last{3};
  Value scores = b.make<ContractOp>(b.make<MultiplyOp>(a.query, b.makeConstant(scale)),
                                    b.make<MultiplyOp>(a.key, b.makeConstant(scale)), batch, batch,
                                    last, last);
  // The softmax is in float32, which is no less than 16 bits.
  if (b.attributes.getInteger("softmax_precision", 0) == int64_t(DataType::Double))
    b.warn("softmax_precision is float64; the softmax is in float32");
  const int64_t mode = b.attributes.getInteger("qk_matmul_output_mode", 0);
  if (mode == 0)
    b.setResult(3, scores, b.getType(0));
  if (const double cap = b.attributes.getNumber("softcap", 0.0); cap > 0) {
    Value bent = b.make<TanhOp>(b.make<DivideOp>(scores, b.makeConstant(cap)));
    scores = b.make<MultiplyOp>(bent, b.makeConstant(cap));
  }
  if (mode == 1)
    b.setResult(3, scores, b.getType(0));
  scores = add(b, scores, a.makeMaskBias(b));
  scores = add(b, scores, a.makePositionBias(b));
  if (b.has(6)) {
    Value valid = b.makeReshape(b.get(6), {b.getShape(6).front(), 1, 1, 1});
    scores = add(b, scores,
                 hide(b, b.makeCompare(ComparePredicate::LT,
                                       makeNumbers(b, a.keys, {1, 1, 1, a.keys}), valid)));
  }
  if (b.hasFailed())
    return;
  if (mode == 2)
    b.setResult(3, scores, b.getType(0));
  Value probabilities = b.makeCastLike(normalize(b, scores), a.query);
  if (mode == 3)
    b.setResult(3, probabilities, b.getType(0));
  Value y = b.make<ContractOp>(probabilities, a.value, batch, batch, last, Extents{2});
  if (isFlat)
    y = b.makeReshape(b.make<TransposeOp>(y, Extents{0, 2, 1, 3}),
                      {b.shapeOf(y)[0], a.queries, heads * b.shapeOf(y)[3]});
  b.setResult(0, y, b.getType(0));
}

/// Pairs of features turn by angles that depend on the place.
void rotaryEmbedding(B &b) {
  Value x = b.get(0), cosine = b.get(1), sine = b.get(2);
  if (!x || !cosine || !sine)
    return;
  const bool isFlat = b.rankOf(x) == 3;
  const Extents original(b.shapeOf(x));
  x = splitHeads(b, x, b.attributes.getInteger("num_heads", 0));
  if (!x)
    return;
  x = b.make<TransposeOp>(x, Extents{0, 2, 1, 3}); // [batch, places, heads, width]
  const int64_t width = b.shapeOf(x)[3], places = b.shapeOf(x)[1];
  int64_t turned = b.attributes.getInteger("rotary_embedding_dim", 0);
  turned = turned == 0 ? width : turned;
  if (turned % 2 != 0 || turned > width || turned < 2)
    return (void)b.error("turns an even number of features, at most " + llvm::Twine(width));
  const int64_t half = turned / 2;
  auto prepare = [&](Value table) -> Value {
    if (b.has(3)) {
      if (b.rankOf(table) != 2)
        return b.error("with positions the tables must be [places, half of the features]");
      Value positions = b.get(3);
      table = positions ? b.make<GatherOp>(table, positions, 0) : Value();
    }
    if (!table || b.rankOf(table) != 3 || b.shapeOf(table)[1] != places ||
        b.shapeOf(table)[2] < half)
      return b.error("the tables do not fit the input");
    if (b.shapeOf(table)[2] > half)
      table = b.make<SliceOp>(table, 2, 0, half);
    return b.makeReshape(table, {b.shapeOf(table)[0], places, 1, half});
  };
  cosine = prepare(cosine);
  sine = prepare(sine);
  if (!cosine || !sine)
    return;
  Value head = turned == width ? x : b.make<SliceOp>(x, 3, 0, turned), first, second;
  const bool isInterleaved = b.attributes.getFlag("interleaved");
  if (isInterleaved) {
    first = sliceAxis(b, head, 3, 0, 2, half);
    second = sliceAxis(b, head, 3, 1, 2, half);
  } else {
    first = b.make<SliceOp>(head, 3, 0, half);
    second = b.make<SliceOp>(head, 3, half, half);
  }
  Value real =
      b.make<SubtractOp>(b.make<MultiplyOp>(cosine, first), b.make<MultiplyOp>(sine, second));
  Value imaginary =
      b.make<AddOp>(b.make<MultiplyOp>(sine, first), b.make<MultiplyOp>(cosine, second));
  Value y;
  if (isInterleaved) {
    Extents pair(b.shapeOf(real)), whole(b.shapeOf(head));
    pair.push_back(1);
    y = b.make<ConcatenateOp>(
        mlir::ValueRange{b.makeReshape(real, pair), b.makeReshape(imaginary, pair)}, 4);
    y = b.makeReshape(y, whole);
  } else {
    y = b.make<ConcatenateOp>(mlir::ValueRange{real, imaginary}, 3);
  }
  if (turned < width)
    y = b.make<ConcatenateOp>(mlir::ValueRange{y, b.make<SliceOp>(x, 3, turned, width - turned)},
                              3);
  b.setResult(0, isFlat ? b.makeReshape(y, original) : b.make<TransposeOp>(y, Extents{0, 2, 1, 3}),
              b.getType(0));
}

constexpr OpEntry kTable[] = {
    {"Attention", 23, attention},
    {"RotaryEmbedding", 23, rotaryEmbedding},
};

} // namespace

llvm::ArrayRef<OpEntry> getAttentionOps() { return kTable; }

} // namespace mpc::onnx
