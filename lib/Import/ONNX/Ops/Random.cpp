// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random numbers of the library's generator: the seed is the context's, so that a node's own seed
// gives other numbers than in other programs.
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Broadcasts.h"
#include "lib/Import/ONNX/Ops/Casts.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;

/// Zeros of the attribute's shape or of the input's; null after an error.
template <bool isLike> Value makeZeros(B &b) {
  if constexpr (isLike) {
    Value x = b.get(0);
    return x ? broadcastTo(b, b.makeConstant(0.0), b.shapeOf(x)) : Value();
  }
  return broadcastTo(b, b.makeConstant(0.0), b.attributes.getIntegers("shape"));
}

Value makeUniform(B &b, Value like, double low, double high) {
  return b.make<UniformNoiseOp>(like.getType(), like, b.getRandomState(),
                                b.builder.getF64FloatAttr(low), b.builder.getF64FloatAttr(high),
                                b.builder.getI64IntegerAttr(b.takeRandomStream()));
}

Value makeNormal(B &b, Value like, double mean, double deviation) {
  return b.make<NormalNoiseOp>(
      like.getType(), like, b.getRandomState(), b.builder.getF64FloatAttr(mean),
      b.builder.getF64FloatAttr(deviation), b.builder.getI64IntegerAttr(b.takeRandomStream()));
}

/// The type that the node names, else the input's where that is a floating one, else float32.
template <bool isLike> DataType typeOf(B &b) {
  if (b.attributes.has("dtype"))
    return static_cast<DataType>(b.attributes.getInteger("dtype", 1));
  return isLike && isFloating(b.getType(0)) ? b.getType(0) : DataType::Float;
}

template <bool isLike, bool isNormal> void random(B &b) {
  const DataType type = typeOf<isLike>(b);
  b.attributes.ignore("seed"); // numbers are mpc's own
  if (!isFloating(type))
    return (void)b.error("of " + spell(type) + " is not supported; expected a floating type");
  b.setComputeType(type);
  Value like = makeZeros<isLike>(b);
  if (!like)
    return;
  b.setResult(0,
              isNormal ? makeNormal(b, like, b.attributes.getNumber("mean", 0),
                                    b.attributes.getNumber("scale", 1))
                       : makeUniform(b, like, b.attributes.getNumber("low", 0),
                                     b.attributes.getNumber("high", 1)),
              type);
}

/// 1 with the probability that the element is, else 0.
void bernoulli(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  b.attributes.ignore("seed");
  Value hit = b.makeCompare(ComparePredicate::LT, makeUniform(b, x, 0, 1), x);
  const DataType type = b.attributes.has("dtype")
                            ? static_cast<DataType>(b.attributes.getInteger("dtype", 1))
                            : b.getType(0);
  if (Value y = convert(b, hit, DataType::Bool, type, /*saturate=*/true))
    b.setResult(0, y, type);
}

constexpr OpEntry kTable[] = {
    {"Bernoulli", 15, bernoulli},
    {"RandomNormal", 1, random<false, true>},
    {"RandomNormalLike", 1, random<true, true>},
    {"RandomUniform", 1, random<false, false>},
    {"RandomUniformLike", 1, random<true, false>},
};

} // namespace

llvm::ArrayRef<OpEntry> getRandomOps() { return kTable; }

} // namespace mpc::onnx
