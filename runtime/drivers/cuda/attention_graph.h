// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, and its derivative, as an operation graph of cuDNN.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_ATTENTION_GRAPH_H
#define MPC_RUNTIME_DRIVERS_CUDA_ATTENTION_GRAPH_H

#include "runtime/drivers/attention.h"
#include "runtime/drivers/cuda/cudnn_descriptions.h"

namespace mpc::rt::cuda::dnn {

// Ids of the tensors that have memory: of the device, but scalars of the host.
enum AttentionTensor : int64_t {
  attendedQuery,
  attendedKey,
  attendedValue,
  attended, // the result
  attentionLogSums,
  attendedCotangent,
  attendedQueryGradient,
  attendedKeyGradient,
  attendedValueGradient,
  // Scratch memory of the derivative: float32 [batch, heads, targets, 1].
  attentionRowSums,
  // Scalars, float32.
  attentionScale,
  attentionOne,
  attentionMasked, // -infinity
  attentionTensors
};

// Addresses are multiples of this, in bytes.
constexpr int64_t attentionAlignment = 16;

// Whether cuDNN may be asked: 16 bits, widths in multiples of 16 bytes.
bool isOfGraph(const Attention &a);

// The graph, finalized; null, and a status in `made`, where the library refuses to describe it.
// It is the pattern of operations that its fused engines look for, in the strides of mpc's tensors:
// nothing is transposed in memory. `handle` is null for a description without a device.
//
// The derivative writes the query's gradient itself. Were it summed in a tensor of float32, as in
// the pattern that cuDNN's frontend prefers, engines would add to it by atomic operations, in
// another order each time, and not note it.
Descriptor describeAttention(Descriptions &made, Handle handle, const Attention &a);
Descriptor describeAttentionGradient(Descriptions &made, Handle handle, const Attention &a);

} // namespace mpc::rt::cuda::dnn

#endif
