// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Activations, softmax and dropout.
#include "lib/Import/Common/Activations.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;

Value getFloat(B &b) {
  Value x = b.get(0);
  return x && !b.isFloat(x) ? b.error("takes floating tensors") : x;
}

template <typename Op> void simple(B &b) {
  if (Value x = getFloat(b))
    b.setResult(0, b.make<Op>(x));
}

void relu(B &b) {
  if (Value x = b.get(0))
    b.setResult(0, b.isFloat(x) ? b.make<ReluOp>(x)
                                : b.make<MaximumOp>(x, b.makeZero(elementTypeOf(x))));
}

/// alpha (e^x - 1) below zero. The minimum keeps the branch that select drops finite.
Value bend(B &b, Value x, double alpha) {
  Value low = b.make<Expm1Op>(b.make<MinimumOp>(x, b.makeConstant(0.0)));
  return alpha == 1.0 ? low : b.make<MultiplyOp>(b.makeConstant(alpha), low);
}

void elu(B &b) {
  if (Value x = getFloat(b))
    b.setResult(0, b.makeSelect(ComparePredicate::LT, x, b.makeConstant(0.0),
                                bend(b, x, b.attributes.getNumber("alpha", 1.0)), x));
}

void selu(B &b) {
  Value x = getFloat(b);
  if (!x)
    return;
  // The first opset had rounder numbers.
  const bool isFirst = b.opset < 6;
  const double alpha = b.attributes.getNumber("alpha", isFirst ? 1.6732 : 1.6732631921768188),
               gamma = b.attributes.getNumber("gamma", isFirst ? 1.0507 : 1.0507010221481323);
  Value y = b.makeSelect(ComparePredicate::LE, x, b.makeConstant(0.0), bend(b, x, alpha), x);
  b.setResult(0, b.make<MultiplyOp>(b.makeConstant(gamma), y));
}

void celu(B &b) {
  if (Value x = getFloat(b))
    b.setResult(0, applyCelu(b, x, b.attributes.getNumber("alpha", 1.0)));
}

void gelu(B &b) {
  if (Value x = getFloat(b))
    b.setResult(0, applyGelu(b, x, b.attributes.getText("approximate", "none") == "tanh"));
}

void leakyRelu(B &b) {
  if (Value x = getFloat(b))
    b.setResult(0, applyLeakyRelu(b, x, b.attributes.getNumber("alpha", 0.01f)));
}

void prelu(B &b) {
  Value x = b.get(0), slope = b.get(1);
  if (!x || !slope)
    return;
  // At first one slope for all, or one for each channel.
  if (b.opset < 7 && b.rankOf(slope) == 1 && b.rankOf(x) > 1 && b.shapeOf(slope).front() != 1) {
    llvm::SmallVector<int64_t> column(size_t(b.rankOf(x)) - 1, 1);
    column.front() = b.shapeOf(slope).front();
    slope = b.makeReshape(slope, column);
  }
  if (!b.checkBroadcast({x, slope}))
    return;
  Value zero = b.makeZero(elementTypeOf(x));
  b.setResult(0, b.makeSelect(ComparePredicate::LT, x, zero, b.make<MultiplyOp>(slope, x), x));
}

Value bound(B &b, Value x, double alpha, double beta) {
  Value line = b.make<AddOp>(b.make<MultiplyOp>(x, b.makeConstant(alpha)), b.makeConstant(beta));
  return b.make<MaximumOp>(b.make<MinimumOp>(line, b.makeConstant(1.0)), b.makeConstant(0.0));
}

void hardSigmoid(B &b) {
  if (Value x = getFloat(b))
    b.setResult(
        0, bound(b, x, b.attributes.getNumber("alpha", 0.2f), b.attributes.getNumber("beta", 0.5)));
}

void hardSwish(B &b) {
  if (Value x = getFloat(b))
    b.setResult(0, b.make<MultiplyOp>(x, bound(b, x, 1.0 / 6.0, 0.5)));
}

void mish(B &b) {
  if (Value x = getFloat(b))
    b.setResult(0, b.make<MultiplyOp>(x, b.make<TanhOp>(b.make<SoftplusOp>(x))));
}

void shrink(B &b) {
  Value x = getFloat(b);
  if (!x)
    return;
  const double lambda = b.attributes.getNumber("lambd", 0.5),
               bias = b.attributes.getNumber("bias", 0.0);
  Value zero = b.makeConstant(0.0);
  Value above = b.makeSelect(ComparePredicate::GT, x, b.makeConstant(lambda),
                             b.make<SubtractOp>(x, b.makeConstant(bias)), zero);
  b.setResult(0, b.makeSelect(ComparePredicate::LT, x, b.makeConstant(-lambda),
                              b.make<AddOp>(x, b.makeConstant(bias)), above));
}

void softsign(B &b) {
  if (Value x = getFloat(b))
    b.setResult(0, b.make<DivideOp>(x, b.make<AddOp>(b.makeConstant(1.0), b.make<AbsOp>(x))));
}

void swish(B &b) {
  Value x = getFloat(b);
  if (!x)
    return;
  const double alpha = b.attributes.getNumber("alpha", 1.0);
  Value scaled = alpha == 1.0 ? x : b.make<MultiplyOp>(b.makeConstant(alpha), x);
  b.setResult(0, b.make<MultiplyOp>(x, b.make<SigmoidOp>(scaled)));
}

void thresholdedRelu(B &b) {
  if (Value x = getFloat(b))
    b.setResult(0, b.makeSelect(ComparePredicate::GT, x,
                                b.makeConstant(b.attributes.getNumber("alpha", 1.0)), x,
                                b.makeConstant(0.0)));
}

// ---- Along an axis ------------------------------------------------------------------------------

/// Before opset 13 the dimensions from `axis` on are one; nothing after an error.
template <typename Op> void softmax(B &b) {
  Value x = getFloat(b);
  if (!x)
    return;
  const bool isFlat = b.opset < 13;
  const int64_t rank = b.rankOf(x);
  std::optional<int64_t> axis =
      b.resolveAxis(b.attributes.getInteger("axis", isFlat ? 1 : -1), std::max<int64_t>(rank, 1));
  if (!axis)
    return;
  if (rank == 0)
    return (void)b.error("takes no scalars");
  llvm::ArrayRef<int64_t> shape = b.shapeOf(x);
  if (llvm::is_contained(shape.slice(size_t(*axis), isFlat ? size_t(rank - *axis) : 1),
                         mlir::ShapedType::kDynamic))
    return (void)b.errorOfOpenBatch("the axis is the open batch");
  if (!isFlat || *axis == rank - 1)
    return b.setResult(0, b.make<Op>(x, *axis));
  const llvm::SmallVector<int64_t> original(shape);
  llvm::SmallVector<int64_t> flat(shape.take_front(*axis));
  flat.push_back(1);
  for (int64_t extent : shape.drop_front(*axis))
    flat.back() *= extent;
  b.setResult(0, b.makeReshape(b.make<Op>(b.makeReshape(x, flat), *axis), original));
}

/// 1 at the first largest element.
void hardmax(B &b) {
  Value x = getFloat(b);
  if (!x)
    return;
  const bool isFlat = b.opset < 13;
  std::optional<int64_t> axis =
      b.resolveAxis(b.attributes.getInteger("axis", isFlat ? 1 : -1), b.rankOf(x));
  if (!axis)
    return;
  const llvm::SmallVector<int64_t> original(b.shapeOf(x));
  llvm::SmallVector<int64_t> flat(original);
  if (isFlat)
    for (; int64_t(flat.size()) > *axis + 1; flat.pop_back())
      flat[*axis] *= flat.back();
  const int64_t extent = flat[*axis];
  if (mlir::ShapedType::isDynamic(extent))
    return (void)b.errorOfOpenBatch("the axis is the open batch");
  llvm::SmallVector<int64_t> kept(flat), places(flat.size(), 1);
  kept[*axis] = 1;
  places[*axis] = extent;
  Value first = b.makeReshape(b.make<ArgMaxOp>(b.makeReshape(x, flat), *axis), kept);
  Value index = b.makeIndices(places, llvm::to_vector(llvm::seq<int64_t>(0, extent)));
  Value hit = b.makeCompare(ComparePredicate::EQ, first, index);
  b.setResult(0, b.makeReshape(b.makeCastToFloat(hit), original));
}

/// The rate by opset: an attribute, then an input. What runs at inference hands its input on.
void dropout(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  double rate = b.attributes.getNumber("ratio", 0.5);
  b.attributes.ignore("seed");    // numbers are mpc's own
  b.attributes.ignore("is_test"); // until opset 6: predictions have no dropout
  if (b.opset >= 12 && b.has(1)) {
    auto numbers = b.getNumbers(1, "the ratio");
    if (!numbers || numbers->size() != 1)
      return;
    rate = numbers->front();
  }
  if (b.opset >= 12 && b.has(2)) {
    auto isTraining = b.getIntegers(2, "training_mode");
    if (!isTraining || isTraining->size() != 1)
      return;
  }
  if (!(rate >= 0 && rate < 1))
    return (void)b.error("the ratio must be in [0, 1)");
  Value mask;
  if (b.isWanted(1))
    mask = b.make<BroadcastLikeOp>(b.makeScalar(b.builder.getI1Type(), 1), x);
  if (rate > 0 && !b.getLiteral(0)) {
    const int64_t stream = b.takeRandomStream();
    const auto drop = [&](Value kept) {
      return b.make<DropoutOp>(kept.getType(), kept, b.getRandomState(),
                               b.builder.getF64FloatAttr(rate), b.builder.getI64IntegerAttr(stream),
                               mlir::DenseI64ArrayAttr());
    };
    if (mask) {
      // By one stream both drop the same elements.
      Value ones = b.make<BroadcastLikeOp>(b.makeConstant(1.0), x);
      mask = b.makeCompare(ComparePredicate::NE, drop(ones), b.makeConstant(0.0));
    }
    x = drop(x);
  }
  if (mask)
    b.setResult(1, mask, DataType::Bool);
  b.setResult(0, x);
}

constexpr OpEntry kTable[] = {
    {"Celu", 12, celu, nullptr, OpenBatch::anywhere},
    {"Dropout", 1, dropout, nullptr, OpenBatch::anywhere},
    {"Elu", 1, elu, nullptr, OpenBatch::anywhere},
    {"Gelu", 20, gelu, nullptr, OpenBatch::anywhere},
    {"HardSigmoid", 1, hardSigmoid, nullptr, OpenBatch::anywhere},
    {"HardSwish", 14, hardSwish, nullptr, OpenBatch::anywhere},
    {"Hardmax", 1, hardmax},
    {"LeakyRelu", 1, leakyRelu, nullptr, OpenBatch::anywhere},
    {"LogSoftmax", 1, softmax<LogSoftmaxOp>, nullptr, OpenBatch::anywhere},
    {"Mish", 18, mish, nullptr, OpenBatch::anywhere},
    {"PRelu", 1, prelu, nullptr, OpenBatch::anywhere},
    {"Relu", 1, relu, nullptr, OpenBatch::anywhere},
    {"Selu", 1, selu, nullptr, OpenBatch::anywhere},
    {"Shrink", 9, shrink, nullptr, OpenBatch::anywhere},
    {"Sigmoid", 1, simple<SigmoidOp>, nullptr, OpenBatch::anywhere},
    {"Softmax", 1, softmax<SoftmaxOp>, nullptr, OpenBatch::anywhere},
    {"Softplus", 1, simple<SoftplusOp>, nullptr, OpenBatch::anywhere},
    {"Softsign", 1, softsign, nullptr, OpenBatch::anywhere},
    {"Swish", 24, swish, nullptr, OpenBatch::anywhere},
    {"Tanh", 1, simple<TanhOp>, nullptr, OpenBatch::anywhere},
    {"ThresholdedRelu", 10, thresholdedRelu, nullptr, OpenBatch::anywhere},
};

} // namespace

llvm::ArrayRef<OpEntry> getActivationOps() { return kTable; }

} // namespace mpc::onnx
