// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ONNX's Attention: grouped heads, a cache, masks by position, by length and by value. Logits of
// [batch, heads, targets, sources]; rows that may see nothing are zeros.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Broadcasts.h"

#include <cmath>
#include <limits>

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

enum Input : unsigned { Query, Key, ValueInput, Mask, PastKey, PastValue, Lengths };
enum Output : unsigned { Result, PresentKey, PresentValue, Logits };

/// One node while it is imported.
class Attention {
public:
  explicit Attention(B &b) : b(b), is3D(b.getShape(Query).size() == 3) {}
  void run();

private:
  bool read();
  Value splitHeads(Value x, llvm::StringRef attribute);
  Value append(Value x, unsigned past);
  /// The product over the last dimension of `lhs` and dimension `dimension` of `rhs`, of whose
  /// heads several of `lhs` share one.
  Value multiply(Value lhs, Value rhs, int64_t dimension);
  bool readMasks();
  void allow(Value mask) { allowed = allowed ? b.make<LogicalAndOp>(allowed, mask) : mask; }
  bool readMaskInput();
  Value cap(Value logits);

  B &b;
  const bool is3D;
  Value query, key, value, lengths;
  int64_t batch = 0, heads = 0, targets = 0, sources = 0, past = 0;
  Value allowed; ///< i1, broadcasts to the logits; null: everything
  Value added;   ///< to the logits; may be null
};

/// [batch, places, heads * width] as [batch, heads, places, width].
Value Attention::splitHeads(Value x, llvm::StringRef attribute) {
  if (!x || !is3D)
    return x && b.rankOf(x) != 4 ? b.error("takes three inputs of 3, or of 4 dimensions") : x;
  const int64_t count = b.attributes.getInteger(attribute, 0);
  if (b.rankOf(x) != 3 || count < 1 || b.shapeOf(x)[2] % count)
    return b.error("has " + llvm::Twine(count) + " heads in an input of the shape " +
                   printShape(b.shapeOf(x)));
  Value split =
      b.makeReshape(x, {b.shapeOf(x)[0], b.shapeOf(x)[1], count, b.shapeOf(x)[2] / count});
  return b.make<TransposeOp>(split, Extents{0, 2, 1, 3});
}

Value Attention::append(Value x, unsigned input) {
  Value before = x && b.has(input) ? b.get(input) : Value();
  if (!x || !b.has(input))
    return x;
  if (!before)
    return {};
  Extents expected(b.shapeOf(x)), own(b.shapeOf(before));
  if (own.size() == 4)
    expected[2] = own[2];
  if (own != expected)
    return b.error("the cache has the shape " + printShape(own) + "; expected " +
                   printShape(expected));
  past = own[2];
  return b.make<ConcatenateOp>(mlir::ValueRange{before, x}, int64_t(2));
}

bool Attention::read() {
  query = splitHeads(b.get(Query), "q_num_heads");
  key = query ? append(splitHeads(b.get(Key), "kv_num_heads"), PastKey) : Value();
  value = key ? append(splitHeads(b.get(ValueInput), "kv_num_heads"), PastValue) : Value();
  if (!value)
    return false;
  batch = b.shapeOf(query)[0];
  heads = b.shapeOf(query)[1];
  targets = b.shapeOf(query)[2];
  sources = b.shapeOf(key)[2];
  if (heads % b.shapeOf(key)[1] || b.shapeOf(key)[1] != b.shapeOf(value)[1] ||
      b.shapeOf(key)[3] != b.shapeOf(query)[3] || b.shapeOf(value)[2] != sources ||
      mlir::ShapedType::isDynamic(targets) || mlir::ShapedType::isDynamic(sources)) {
    b.error("query, key and value have the shapes " + printShape(b.shapeOf(query)) + ", " +
            printShape(b.shapeOf(key)) + " and " + printShape(b.shapeOf(value)) +
            " [batch, heads, places, width], which do not fit");
    return false;
  }
  if (b.has(Lengths)) {
    lengths = b.get(Lengths);
    if (!lengths)
      return false;
    auto type = mlir::RankedTensorType::get(b.shapeOf(lengths), b.builder.getI32Type());
    lengths = b.makeReshape(b.make<CastOp>(type, lengths), {b.shapeOf(lengths).front(), 1, 1, 1});
  }
  return readMasks();
}

bool Attention::readMaskInput() {
  Value mask = b.get(Mask);
  if (!mask)
    return false;
  const bool isBool = elementTypeOf(mask).isInteger(1);
  if (const int64_t missing = sources - b.shapeOf(mask).back(); missing > 0) {
    // Sources that the mask does not know are hidden.
    Extents shape(b.shapeOf(mask));
    shape.back() = missing;
    Value hidden = isBool ? b.makeScalar(b.builder.getI1Type(), 0)
                          : b.makeConstant(-std::numeric_limits<double>::infinity());
    Value rest = broadcastTo(b, hidden, shape);
    if (!rest)
      return false;
    mask = b.make<ConcatenateOp>(mlir::ValueRange{mask, rest}, b.rankOf(mask) - 1);
  }
  if (failed(broadcastShapes({b.shapeOf(mask), {batch, heads, targets, sources}}))) {
    b.error("the mask's shape " + printShape(b.shapeOf(mask)) + " does not fit the logits");
    return false;
  }
  if (isBool) {
    allow(mask);
    return true;
  }
  added = mask;
  allow(b.makeCompare(ComparePredicate::NE, mask,
                      b.makeConstant(-std::numeric_limits<double>::infinity())));
  return true;
}

/// Targets stand behind the cache; with lengths they are the last ones of each sample.
bool Attention::readMasks() {
  const auto numbers = [&](int64_t count, bool isRow) {
    return b.makeIndices(isRow ? Extents{1, count} : Extents{count, 1},
                         llvm::to_vector(llvm::seq<int64_t>(0, count)));
  };
  const mlir::Type i32 = b.builder.getI32Type();
  Value columns = numbers(sources, true), rows = numbers(targets, false);
  Value places = lengths && !past
                     ? b.make<AddOp>(rows, b.make<SubtractOp>(lengths, b.makeInteger(i32, targets)))
                     : b.make<AddOp>(rows, b.makeInteger(i32, past));
  const int64_t left = b.attributes.getInteger("left_window_size", -1),
                right = b.attributes.getInteger("right_window_size", -1);
  if (b.has(Mask) && !readMaskInput())
    return false;
  if (b.attributes.getFlag("is_causal"))
    allow(b.makeCompare(ComparePredicate::LE, columns, places));
  if (left >= 0)
    allow(b.makeCompare(ComparePredicate::GE, columns,
                        b.make<SubtractOp>(places, b.makeInteger(i32, left))));
  if (right >= 0)
    allow(b.makeCompare(ComparePredicate::LE, columns,
                        b.make<AddOp>(places, b.makeInteger(i32, right))));
  if (lengths)
    allow(b.makeCompare(ComparePredicate::LT, columns, lengths));
  return true;
}

Value Attention::multiply(Value lhs, Value rhs, int64_t dimension) {
  const int64_t groups = b.shapeOf(rhs)[1], shared = heads / groups;
  const Extents shape(b.shapeOf(lhs));
  if (shared > 1)
    lhs = b.makeReshape(lhs, {batch, groups, shared, shape[2], shape[3]});
  Value y = b.make<ContractOp>(lhs, rhs, Extents{0, 1}, Extents{0, 1}, Extents{b.rankOf(lhs) - 1},
                               Extents{dimension});
  return shared > 1 ? b.makeReshape(y, {batch, heads, shape[2], b.shapeOf(y).back()}) : y;
}

Value Attention::cap(Value logits) {
  const double most = b.attributes.getNumber("softcap", 0);
  if (!(most > 0))
    return logits;
  Value squashed = b.make<TanhOp>(b.make<DivideOp>(logits, b.makeConstant(most)));
  return b.make<MultiplyOp>(squashed, b.makeConstant(most));
}

void Attention::run() {
  if (!read())
    return;
  b.setResult(PresentKey, key, b.getType(Key));
  b.setResult(PresentValue, value, b.getType(ValueInput));
  // Both factors take the root of the scale, rounded to their type.
  const double scale =
      b.attributes.getNumber("scale", 1.0 / std::sqrt(double(b.shapeOf(query)[3])));
  Value root = b.makeConstant(std::sqrt(scale));
  Value logits = cap(multiply(b.make<MultiplyOp>(query, root), b.make<MultiplyOp>(key, root), 3));
  const int64_t mode = b.attributes.getInteger("qk_matmul_output_mode", 0);
  Value biased = added ? b.make<AddOp>(logits, added) : logits;
  Value sees; // whether a target sees anything
  if (allowed) {
    Value hidden = b.makeConstant(-std::numeric_limits<double>::infinity());
    biased = b.makeSelect(allowed, biased, hidden);
    sees = b.makeReduce(ReduceKind::Any, allowed, {b.rankOf(allowed) - 1}, /*keepDims=*/true);
  }
  b.setResult(Logits, mode == 2 ? biased : logits, b.getType(Query));
  Value zero = b.makeConstant(0.0);
  if (sees)
    biased = b.makeSelect(sees, biased, zero);
  Value probabilities = b.make<SoftmaxOp>(biased, int64_t(3));
  if (sees)
    probabilities = b.makeSelect(sees, probabilities, zero);
  if (mode == 3)
    b.setResult(Logits, probabilities, b.getType(Query));
  Value y = multiply(probabilities, value, 2);
  if (is3D) {
    y = b.make<TransposeOp>(y, Extents{0, 2, 1, 3});
    y = b.makeReshape(y, {batch, targets, heads * b.shapeOf(y)[3]});
  }
  b.setResult(Result, y, b.getType(Query));
}

constexpr OpEntry kTable[] = {
    {"Attention", 23, [](B &b) { Attention(b).run(); }},
};

} // namespace

llvm::ArrayRef<OpEntry> getAttentionOps() { return kTable; }

} // namespace mpc::onnx
