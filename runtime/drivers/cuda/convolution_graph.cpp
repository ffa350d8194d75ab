// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuDNN orders the dimensions of every tensor as samples (or filters), channels, space; strides say
// how they lie in memory.
#include "runtime/drivers/cuda/convolution_graph.h"

namespace mpc::rt::cuda::dnn {
namespace {

DataType dataTypeOf(mpc_rt_dtype_t dtype) {
  return dtype == MPC_RT_FLOAT16 ? float16 : dtype == MPC_RT_BFLOAT16 ? bfloat16 : float32;
}

// The spatial dimensions that are described: a convolution has at least two for cuDNN.
std::vector<int64_t> spatial(const Convolution &c, const Convolution::Extents &extents) {
  return {extents.end() - (c.spatial < 2 ? 2 : c.spatial), extents.end()};
}

std::vector<int64_t> extentsOf(int64_t first, int64_t channels, const std::vector<int64_t> &space) {
  std::vector<int64_t> extents = {first, channels};
  extents.insert(extents.end(), space.begin(), space.end());
  return extents;
}

std::vector<int64_t> stridesOf(const std::vector<int64_t> &extents) {
  std::vector<int64_t> strides(extents.size());
  strides[1] = 1;
  int64_t stride = extents[1];
  for (size_t d = extents.size() - 1; d >= 2; --d) {
    strides[d] = stride;
    stride *= extents[d];
  }
  strides[0] = stride;
  return strides;
}

// Virtual tensors, which have no memory, follow the others.
constexpr int64_t firstVirtual = convolutionTensors;

class Builder {
public:
  Builder(Descriptions &made, const Convolution &c) : made(made), c(c) {}

  Descriptor tensor(int64_t id, DataType type, const std::vector<int64_t> &extents,
                    int64_t alignment) {
    Descriptor t = made.make(tensorDescriptor);
    made.set(t, tensorId, typeInt64, id)
        .set(t, tensorDataType, typeDataType, type)
        .set(t, tensorAlignment, typeInt64, alignment)
        .set(t, tensorExtents, extents)
        .set(t, tensorStrides, stridesOf(extents));
    if (id >= firstVirtual)
      made.set(t, tensorIsVirtual, typeBoolean, true);
    made.finalize(t);
    return t;
  }

  Descriptor window() {
    Descriptor w = made.make(convolutionDescriptor);
    const std::vector<int64_t> low = spatial(c, c.low);
    made.set(w, convolutionMathType, typeDataType, float32)
        .set(w, convolutionKind, typeConvolutionMode, crossCorrelation)
        .set(w, convolutionSpatialDims, typeInt64, static_cast<int64_t>(low.size()))
        .set(w, convolutionDilations, spatial(c, c.dilations))
        .set(w, convolutionStrides, spatial(c, c.strides))
        .set(w, convolutionPrePaddings, low)
        .set(w, convolutionPostPaddings, spatial(c, c.high))
        .finalize(w);
    return w;
  }

  Descriptor convolution(Descriptor image, Descriptor weights, Descriptor output) {
    struct Names {
      DescriptorType operation;
      Attribute image, filter, output, window, alpha, beta;
    };
    static constexpr Names names[] = {
        {forwardOperation, forwardInput, forwardFilter, forwardOutput, forwardConvolution,
         forwardAlpha, forwardBeta},
        {dataGradientOperation, dataGradientInput, dataGradientFilter, dataGradientOutput,
         dataGradientConvolution, dataGradientAlpha, dataGradientBeta},
        {filterGradientOperation, filterGradientInput, filterGradientFilter, filterGradientOutput,
         filterGradientConvolution, filterGradientAlpha, filterGradientBeta}};
    const Names &name = names[c.direction];
    Descriptor operation = made.make(name.operation);
    made.set(operation, name.image, typeDescriptor, image)
        .set(operation, name.filter, typeDescriptor, weights)
        .set(operation, name.output, typeDescriptor, output)
        .set(operation, name.window, typeDescriptor, window())
        .set(operation, name.alpha, typeFloat, 1.0f)
        .set(operation, name.beta, typeFloat, 0.0f)
        .finalize(operation);
    return operation;
  }

  // y = x + b, or relu(x) where b is null.
  Descriptor pointwise(Descriptor x, Descriptor b, Descriptor y) {
    Descriptor kind = made.make(pointwiseDescriptor);
    made.set(kind, pointwiseKind, typePointwiseMode, b ? add : reluForward)
        .set(kind, pointwiseMathType, typeDataType, float32);
    if (!b)
      made.set(kind, pointwiseNanPropagation, typeNanPropagation, propagateNaN);
    made.finalize(kind);
    Descriptor operation = made.make(pointwiseOperation);
    made.set(operation, pointwiseDescription, typeDescriptor, kind)
        .set(operation, pointwiseX, typeDescriptor, x);
    if (b)
      made.set(operation, pointwiseB, typeDescriptor, b);
    made.set(operation, pointwiseY, typeDescriptor, y).finalize(operation);
    return operation;
  }

private:
  Descriptions &made;
  const Convolution &c;
};

} // namespace

bool isOfGraph(const Convolution &c) {
  const bool isNarrow = c.out == MPC_RT_FLOAT16 || c.out == MPC_RT_BFLOAT16;
  return (c.out == MPC_RT_FLOAT32 || isNarrow) && c.lhs == c.out && c.rhs == c.out &&
         c.bias == c.out;
}

Descriptor describeConvolution(Descriptions &made, Handle handle, const Convolution &c,
                               const ConvolutionAlignments &alignments, bool epilogue) {
  Builder build(made, c);
  const DataType type = dataTypeOf(c.out);
  const std::array<std::vector<int64_t>, 3> extents = {
      extentsOf(c.batch, c.channels, spatial(c, c.images)),
      extentsOf(c.filters, c.channels / c.groups, spatial(c, c.kernel)),
      extentsOf(c.batch, c.filters, spatial(c, c.outputs))};
  // The tensor that each direction computes.
  constexpr ConvolutionTensor results[] = {outputs, images, filter};
  const ConvolutionTensor result = results[c.direction];
  int64_t nextVirtual = firstVirtual;
  auto between = [&] {
    return build.tensor(nextVirtual++, float32, extents[result], bestTensorAlignment);
  };
  std::array<Descriptor, 3> tensors{};
  for (int64_t id = images; id <= outputs; ++id)
    if (id != result)
      tensors[id] = build.tensor(id, type, extents[id], alignments[id]);
  Descriptor last = build.tensor(result, type, extents[result], alignments[result]);
  const bool adds = epilogue && c.hasBias, cuts = epilogue && c.relu;
  Descriptor sums = adds || cuts ? between() : last;
  tensors[result] = sums;
  std::vector<Descriptor> operations = {
      build.convolution(tensors[images], tensors[filter], tensors[outputs])};
  if (adds) {
    Descriptor added = build.tensor(
        bias, type, extentsOf(1, c.outColumns(), std::vector<int64_t>(extents[0].size() - 2, 1)),
        alignments[bias]);
    Descriptor biased = cuts ? between() : last;
    operations.push_back(build.pointwise(sums, added, biased));
    sums = biased;
  }
  if (cuts)
    operations.push_back(build.pointwise(sums, nullptr, last));
  Descriptor graph = made.make(graphDescriptor);
  if (handle)
    made.set(graph, graphHandle, typeHandle, handle);
  made.set(graph, graphOperations, typeDescriptor, static_cast<int64_t>(operations.size()),
           operations.data())
      .finalize(graph);
  return made.status() ? nullptr : graph;
}

} // namespace mpc::rt::cuda::dnn
