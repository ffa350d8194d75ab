// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuDNN orders dimensions as samples, heads, length, width, and multiplies the last two.
#include "runtime/drivers/cuda/attention_graph.h"

namespace mpc::rt::cuda::dnn {
namespace {

using Extents = std::vector<int64_t>;

// Virtual tensors, which have no memory, follow the others.
constexpr int64_t firstInside = attentionTensors;

Extents packedStrides(const Extents &extents) {
  Extents strides(extents.size(), 1);
  for (size_t d = extents.size() - 1; d > 0; --d)
    strides[d - 1] = strides[d] * extents[d];
  return strides;
}

class AttentionBuilder {
public:
  AttentionBuilder(Descriptions &made, const Attention &a)
      : made(made), a(a), type(a.dtype == MPC_RT_FLOAT16 ? float16 : bfloat16) {}

  Descriptor tensor(int64_t id, DataType dataType, const Extents &extents, const Extents &strides,
                    bool byValue = false) {
    Descriptor t = made.make(tensorDescriptor);
    made.set(t, tensorId, typeInt64, id)
        .set(t, tensorDataType, typeDataType, dataType)
        .set(t, tensorAlignment, typeInt64, attentionAlignment)
        .set(t, tensorExtents, extents)
        .set(t, tensorStrides, strides);
    if (id >= firstInside)
      made.set(t, tensorIsVirtual, typeBoolean, true);
    if (byValue)
      made.set(t, tensorIsByValue, typeBoolean, true);
    made.finalize(t);
    return t;
  }
  // [batch, length, heads, width] in memory.
  Descriptor sequence(int64_t id, int64_t count, int64_t width) {
    return tensor(id, type, {a.batch, a.heads, count, width},
                  {count * a.heads * width, width, a.heads * width, 1});
  }
  Descriptor transposedSequence(int64_t id, int64_t count, int64_t width) {
    return tensor(id, type, {a.batch, a.heads, width, count},
                  {count * a.heads * width, width, 1, a.heads * width});
  }
  Extents rowExtents() const { return {a.batch, a.heads, a.targets, 1}; }
  Descriptor row(int64_t id) {
    return tensor(id, float32, rowExtents(), packedStrides(rowExtents()));
  }
  Descriptor scalar(int64_t id) { return tensor(id, float32, {1, 1, 1, 1}, {1, 1, 1, 1}, true); }
  Descriptor virtualOf(const Extents &extents, DataType dataType = float32) {
    return tensor(nextVirtual++, dataType, extents, packedStrides(extents));
  }
  Descriptor virtualRow() { return virtualOf(rowExtents()); }
  Descriptor virtualScores(DataType dataType = float32) {
    return virtualOf({a.batch, a.heads, a.targets, a.sources}, dataType);
  }
  Descriptor virtualSequence(int64_t count, int64_t width) {
    return sequence(nextVirtual++, count, width);
  }
  // Scores with sources before targets, as operands of a product.
  Descriptor virtualTransposed() {
    const Extents extents = {a.batch, a.heads, a.sources, a.targets};
    return tensor(nextVirtual++, type, extents,
                  {a.heads * a.targets * a.sources, a.targets * a.sources, 1, a.sources});
  }

  Descriptor pointwise(PointwiseMode mode, Descriptor x, Descriptor b, Descriptor y,
                       DataType mathType = float32, Descriptor predicate = nullptr) {
    Descriptor kind = made.make(pointwiseDescriptor);
    made.set(kind, pointwiseKind, typePointwiseMode, mode)
        .set(kind, pointwiseMathType, typeDataType, mathType)
        .finalize(kind);
    return operate(kind, x, b, y, predicate);
  }
  // The index along a dimension, for each element of x.
  Descriptor index(Descriptor x, int64_t axis) {
    Descriptor kind = made.make(pointwiseDescriptor), y = virtualScores(int32);
    made.set(kind, pointwiseKind, typePointwiseMode, generateIndex)
        .set(kind, pointwiseMathType, typeDataType, float32)
        .set(kind, pointwiseAxis, typeInt64, axis)
        .finalize(kind);
    return operate(kind, x, nullptr, y, nullptr);
  }
  Descriptor product(Descriptor lhs, Descriptor rhs, Descriptor out) {
    Descriptor kind = made.make(matmulDescriptor);
    made.set(kind, matmulMathType, typeDataType, float32).finalize(kind);
    Descriptor operation = made.make(matmulOperation);
    made.set(operation, matmulA, typeDescriptor, lhs)
        .set(operation, matmulB, typeDescriptor, rhs)
        .set(operation, matmulC, typeDescriptor, out)
        .set(operation, matmulDescription, typeDescriptor, kind)
        .finalize(operation);
    operations.push_back(operation);
    return out;
  }
  Descriptor reduce(ReduceOperator kindOf, Descriptor x, Descriptor y) {
    Descriptor kind = made.make(reductionDescriptor);
    made.set(kind, reductionKind, typeReduceOperator, kindOf)
        .set(kind, reductionMathType, typeDataType, float32)
        .finalize(kind);
    Descriptor operation = made.make(reductionOperation);
    made.set(operation, reductionX, typeDescriptor, x)
        .set(operation, reductionY, typeDescriptor, y)
        .set(operation, reductionDescription, typeDescriptor, kind)
        .finalize(operation);
    operations.push_back(operation);
    return y;
  }
  Descriptor reshape(Descriptor x, Descriptor y) {
    Descriptor operation = made.make(reshapeOperation);
    made.set(operation, reshapeX, typeDescriptor, x)
        .set(operation, reshapeY, typeDescriptor, y)
        .finalize(operation);
    operations.push_back(operation);
    return y;
  }
  Descriptor scaled(Descriptor x, Descriptor scale) {
    return pointwise(multiply, x, scale, virtualScores());
  }
  // Sources behind the target do not count.
  Descriptor masked(Descriptor x) {
    if (!a.causal)
      return x;
    Descriptor target = index(x, 2), source = index(x, 3);
    Descriptor counts =
        pointwise(isGreaterOrEqual, target, source, virtualScores(boolean), boolean);
    return pointwise(binarySelect, x, scalar(attentionMasked), virtualScores(), float32, counts);
  }

  Descriptor graph(Handle handle) {
    Descriptor g = made.make(graphDescriptor);
    if (handle)
      made.set(g, graphHandle, typeHandle, handle);
    made.set(g, graphOperations, typeDescriptor, static_cast<int64_t>(operations.size()),
             operations.data())
        .finalize(g);
    return made.status() ? nullptr : g;
  }
  DataType elementType() const { return type; }

private:
  Descriptor operate(Descriptor kind, Descriptor x, Descriptor b, Descriptor y,
                     Descriptor predicate) {
    Descriptor operation = made.make(pointwiseOperation);
    made.set(operation, pointwiseDescription, typeDescriptor, kind)
        .set(operation, pointwiseX, typeDescriptor, x);
    if (b)
      made.set(operation, pointwiseB, typeDescriptor, b);
    if (predicate)
      made.set(operation, pointwisePredicate, typeDescriptor, predicate);
    made.set(operation, pointwiseY, typeDescriptor, y).finalize(operation);
    operations.push_back(operation);
    return y;
  }

  Descriptions &made;
  const Attention &a;
  DataType type;
  int64_t nextVirtual = firstInside;
  std::vector<Descriptor> operations;
};

} // namespace

bool isOfGraph(const Attention &a) {
  constexpr int64_t multiple = 8;
  return (a.dtype == MPC_RT_FLOAT16 || a.dtype == MPC_RT_BFLOAT16) && a.width % multiple == 0 &&
         a.valueWidth % multiple == 0;
}

Descriptor describeAttention(Descriptions &made, Handle handle, const Attention &a) {
  AttentionBuilder build(made, a);
  Descriptor scores = build.product(build.sequence(attendedQuery, a.targets, a.width),
                                    build.transposedSequence(attendedKey, a.sources, a.width),
                                    build.virtualScores());
  scores = build.masked(build.scaled(scores, build.scalar(attentionScale)));
  Descriptor top = build.reduce(maximum, scores, build.virtualRow());
  Descriptor weights = build.pointwise(subtract, scores, top, build.virtualScores());
  weights = build.pointwise(exponential, weights, nullptr, build.virtualScores());
  Descriptor total = build.reduce(sum, weights, build.virtualRow());
  Descriptor logTotal = build.pointwise(logarithm, total, nullptr, build.virtualRow());
  build.pointwise(add, top, logTotal, build.row(attentionLogSums));
  weights = build.pointwise(divide, weights, total, build.virtualScores(build.elementType()));
  build.product(weights, build.sequence(attendedValue, a.sources, a.valueWidth),
                build.sequence(attended, a.targets, a.valueWidth));
  return build.graph(handle);
}

Descriptor describeAttentionGradient(Descriptions &made, Handle handle, const Attention &a) {
  AttentionBuilder build(made, a);
  Descriptor query = build.sequence(attendedQuery, a.targets, a.width);
  Descriptor key = build.transposedSequence(attendedKey, a.sources, a.width);
  Descriptor cotangent = build.sequence(attendedCotangent, a.targets, a.valueWidth);
  Descriptor scale = build.scalar(attentionScale);

  // The softmax's derivative subtracts this from each row: the cotangent times the result, summed.
  Descriptor sums =
      build.pointwise(multiply, cotangent, build.sequence(attended, a.targets, a.valueWidth),
                      build.virtualOf({a.batch, a.heads, a.targets, a.valueWidth}));
  sums = build.reduce(sum, sums, build.virtualRow());
  sums = build.pointwise(multiply, sums, build.scalar(attentionOne), build.row(attentionRowSums));

  Descriptor scores = build.scaled(build.product(query, key, build.virtualScores()), scale);
  scores = build.pointwise(subtract, scores, build.row(attentionLogSums), build.virtualScores());
  Descriptor weights =
      build.pointwise(exponential, build.masked(scores), nullptr, build.virtualScores());
  build.product(build.reshape(weights, build.virtualTransposed()), cotangent,
                build.sequence(attendedValueGradient, a.sources, a.valueWidth));

  Descriptor derivative =
      build.product(cotangent, build.transposedSequence(attendedValue, a.sources, a.valueWidth),
                    build.virtualScores());
  derivative = build.pointwise(subtract, derivative, sums, build.virtualScores());
  derivative = build.pointwise(multiply, derivative, weights, build.virtualScores());
  derivative = build.scaled(derivative, scale);
  build.product(build.reshape(derivative, build.virtualTransposed()), query,
                build.sequence(attendedKeyGradient, a.sources, a.width));
  build.product(derivative, build.reshape(key, build.virtualSequence(a.sources, a.width)),
                build.sequence(attendedQueryGradient, a.targets, a.width));
  return build.graph(handle);
}

} // namespace mpc::rt::cuda::dnn
