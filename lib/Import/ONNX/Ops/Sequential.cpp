// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations along the steps of sequences: attention with a state in place of logits, a causal
// convolution with the end of what came before, and reversal up to each sample's length.
#include "lib/Import/Common/ScanBuilder.h"
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Broadcasts.h"

#include <cmath>

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;
using Values = llvm::SmallVector<Value>;

/// The taps of a convolution that is written out.
constexpr int64_t kMostTaps = 64;

Value widen(B &b, Value x) { return b.makeCastLike(x, x, /*wide=*/true); }

// ---- Linear attention ---------------------------------------------------------------------------

/// Input `i` [batch, steps, heads * width] as [batch, steps, heads, width]; null after an error.
Value readHeads(B &b, unsigned i, int64_t heads) {
  Value x = b.get(i);
  if (!x)
    return {};
  if (b.rankOf(x) != 3 || heads < 1 || b.shapeOf(x)[2] % heads ||
      mlir::ShapedType::isDynamic(b.shapeOf(x)[1]))
    return b.error("input " + llvm::Twine(i) + " has the shape " + printShape(b.shapeOf(x)) +
                   "; expected [batch, steps, heads * width] of " + llvm::Twine(heads) + " heads");
  return b.makeReshape(widen(b, x),
                       {b.shapeOf(x)[0], b.shapeOf(x)[1], heads, b.shapeOf(x)[2] / heads});
}

Value behind(B &b, Value x) { // with a last dimension of 1
  Extents shape(b.shapeOf(x));
  shape.push_back(1);
  return b.makeReshape(x, shape);
}

/// The state [batch, heads, key width, value width] decays, takes over the step's key and value
/// (with `beta` only what it does not know of the value), and is read by the queries.
void linearAttention(B &b) {
  const int64_t queryHeads = b.attributes.getInteger("q_num_heads", 0),
                heads = b.attributes.getInteger("kv_num_heads", 0);
  const llvm::StringRef rule = b.attributes.getText("update_rule", "gated_delta");
  const bool decays = rule == "gated" || rule == "gated_delta",
             corrects = rule == "delta" || rule == "gated_delta";
  if ((!decays && !corrects && rule != "linear") || b.has(4) != decays || b.has(5) != corrects)
    return (void)b.error("the rule '" + rule + "' with these inputs is not known");
  Value query = readHeads(b, 0, queryHeads), key = query ? readHeads(b, 1, heads) : Value(),
        value = key ? readHeads(b, 2, heads) : Value();
  if (!value)
    return;
  const int64_t batch = b.shapeOf(query)[0], steps = b.shapeOf(query)[1],
                keyWidth = b.shapeOf(key)[3], valueWidth = b.shapeOf(value)[3];
  if (queryHeads % heads || b.shapeOf(query)[3] != keyWidth || b.shapeOf(key)[1] != steps ||
      b.shapeOf(value)[1] != steps)
    return (void)b.error("query, key and value do not fit");
  Values scanned = {query, key, value};
  if (decays)
    scanned.push_back(readHeads(b, 4, heads));
  if (corrects)
    scanned.push_back(readHeads(b, 5, b.getShape(5).back()));
  Value state = b.has(3)
                    ? b.get(3)
                    : broadcastTo(b, b.makeConstant(0.0), {batch, heads, keyWidth, valueWidth});
  if (!state || llvm::is_contained(scanned, Value()))
    return;
  const double given = b.attributes.getNumber("scale", 0),
               scale = given == 0 ? 1 / std::sqrt(double(keyWidth)) : given;
  ScanBuilder loop(b.builder, b.location, {widen(b, state)}, scanned, steps, /*reverse=*/false);
  Value memory = loop.getCarried()[0];
  Value q = loop.getSlices()[0], k = loop.getSlices()[1], v = loop.getSlices()[2];
  if (decays)
    memory = b.make<MultiplyOp>(memory, behind(b, b.make<ExpOp>(loop.getSlices()[3])));
  if (corrects) {
    Value known =
        b.make<ContractOp>(memory, k, Extents{0, 1}, Extents{0, 1}, Extents{2}, Extents{2});
    v = b.make<MultiplyOp>(loop.getSlices().back(), b.make<SubtractOp>(v, known));
  }
  Value row = b.makeReshape(v, {batch, heads, 1, valueWidth});
  memory = b.make<AddOp>(memory, b.make<MultiplyOp>(behind(b, k), row));
  Value grouped = b.makeReshape(q, {batch, heads, queryHeads / heads, keyWidth});
  Value read =
      b.make<ContractOp>(grouped, memory, Extents{0, 1}, Extents{0, 1}, Extents{3}, Extents{2});
  Value output = b.make<MultiplyOp>(b.makeReshape(read, {batch, queryHeads * valueWidth}),
                                    b.makeConstant(scale));
  ScanOp op = loop.finish({memory}, {output});
  b.setResult(0, b.makeCastLike(op.getStacked().front(), b.get(0)), b.getType(0));
  b.setResult(1, b.makeCastLike(op.getFinals().front(), b.has(3) ? b.get(3) : b.get(0)),
              b.getType(b.has(3) ? 3 : 0));
}

// ---- Convolution --------------------------------------------------------------------------------

void causalConvolution(B &b) {
  Value x = b.get(0), weights = b.get(1);
  if (!x || !weights)
    return;
  const int64_t taps = b.rankOf(weights) == 3 ? b.shapeOf(weights)[2] : 0;
  if (b.rankOf(x) != 3 || taps < 1 || taps > kMostTaps || b.shapeOf(weights)[1] != 1 ||
      b.shapeOf(weights)[0] != b.shapeOf(x)[1] || mlir::ShapedType::isDynamic(b.shapeOf(x)[2]))
    return (void)b.error(
        "takes [batch, channels, steps] and weights [channels, 1, taps] of at most " +
        llvm::Twine(kMostTaps) + " taps");
  const int64_t channels = b.shapeOf(x)[1], steps = b.shapeOf(x)[2];
  Value whole = x;
  if (taps > 1) {
    Value before = b.has(3)
                       ? b.get(3)
                       : broadcastTo(b, b.makeConstant(0.0), {b.shapeOf(x)[0], channels, taps - 1});
    if (!before)
      return;
    whole = b.make<ConcatenateOp>(mlir::ValueRange{before, x}, int64_t(2));
    b.setResult(1, b.make<SliceOp>(whole, int64_t(2), steps, taps - 1), b.getType(0));
  }
  Value sum, wide = widen(b, whole), kernel = widen(b, weights);
  for (int64_t tap = 0; tap < taps; ++tap) {
    Value part = b.make<MultiplyOp>(
        b.make<SliceOp>(wide, int64_t(2), tap, steps),
        b.makeReshape(b.make<SliceOp>(kernel, int64_t(2), tap, int64_t(1)), {channels, 1}));
    sum = sum ? b.make<AddOp>(sum, part) : part;
  }
  if (b.has(2)) {
    Value bias = b.get(2);
    if (!bias)
      return;
    sum = b.make<AddOp>(sum, b.makeReshape(widen(b, bias), {channels, 1}));
  }
  Value y = b.makeCastLike(sum, x);
  const llvm::StringRef activation = b.attributes.getText("activation", "none");
  if (activation == "silu" || activation == "swish") {
    Value inner = widen(b, y);
    y = b.makeCastLike(b.make<MultiplyOp>(inner, b.make<SigmoidOp>(inner)), x);
  } else if (activation != "none") {
    return (void)b.error("the activation '" + activation + "' is not supported");
  }
  b.setResult(0, y, b.getType(0));
}

// ---- Reversal -----------------------------------------------------------------------------------

/// The first elements of each sample, as many as its length, in the opposite order.
void reverseSequence(B &b) {
  Value x = b.get(0), lengths = b.get(1);
  if (!x || !lengths)
    return;
  const int64_t rank = b.rankOf(x), batch = b.attributes.getInteger("batch_axis", 1),
                time = b.attributes.getInteger("time_axis", 0);
  if (rank < 2 || batch + time != 1 || batch * time != 0)
    return (void)b.error("takes the batch and the steps as the first two dimensions");
  Extents order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (batch == 1) {
    std::swap(order[0], order[1]);
    x = b.make<TransposeOp>(x, order);
  }
  const int64_t steps = b.shapeOf(x)[1];
  if (mlir::ShapedType::isDynamic(steps))
    return (void)b.errorOfOpenBatch("the number of steps is open");
  const mlir::Type i32 = b.builder.getI32Type();
  auto type = mlir::RankedTensorType::get(b.shapeOf(lengths), i32);
  Value ends =
      b.makeReshape(elementTypeOf(lengths) == i32 ? lengths : b.make<CastOp>(type, lengths),
                    {b.shapeOf(lengths).front(), 1});
  Value numbers = b.makeIndices({1, steps}, llvm::to_vector(llvm::seq<int64_t>(0, steps)));
  Value turned = b.make<SubtractOp>(b.make<SubtractOp>(ends, b.makeInteger(i32, 1)), numbers);
  Value places = b.makeSelect(ComparePredicate::LT, numbers, ends, turned, numbers);
  Value y = b.make<GatherOp>(x, places, int64_t(1), int64_t(1));
  b.setResult(0, batch == 1 ? b.make<TransposeOp>(y, order) : y, b.getType(0));
}

constexpr OpEntry kTable[] = {
    {"CausalConvWithState", 27, causalConvolution},
    {"LinearAttention", 27, linearAttention},
    {"ReverseSequence", 10, reverseSequence, nullptr, OpenBatch::anywhere},
};

} // namespace

llvm::ArrayRef<OpEntry> getSequentialOps() { return kTable; }

} // namespace mpc::onnx
