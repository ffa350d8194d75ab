// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution as an operation graph of cuDNN.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CONVOLUTION_GRAPH_H
#define MPC_RUNTIME_DRIVERS_CUDA_CONVOLUTION_GRAPH_H

#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cuda/cudnn_descriptions.h"

#include <array>

namespace mpc::rt::cuda::dnn {

// Ids of the tensors that have memory, and the order of addresses everywhere: as the operands of
// the forward convolution, whatever the direction.
enum ConvolutionTensor : int64_t { images, filter, outputs, bias, convolutionTensors };

// Multiples of which the addresses are, in bytes. Beyond 16 nothing is gained.
using ConvolutionAlignments = std::array<int64_t, convolutionTensors>;
constexpr int64_t bestTensorAlignment = 16;

// Whether cuDNN has the dtypes: float32 and 16 bits, of all tensors alike.
bool isOfGraph(const Convolution &c);

// The graph, finalized; null, and a status in `made`, where the library refuses to describe it.
// Images and outputs lie channels last, the filter as [filters, kernel..., channels / groups]: the
// layouts that cuDNN computes in. `handle` is null for a description without a device. With
// `epilogue`, bias and relu of the convolution are nodes of the graph, and sums go from node to
// node in float32.
Descriptor describeConvolution(Descriptions &made, Handle handle, const Convolution &c,
                               const ConvolutionAlignments &alignments, bool epilogue);

} // namespace mpc::rt::cuda::dnn

#endif
