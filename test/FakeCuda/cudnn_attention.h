// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs without a convolution: those that cuDNN's fused attention computes.
#ifndef MPC_TEST_FAKECUDA_CUDNN_ATTENTION_H
#define MPC_TEST_FAKECUDA_CUDNN_ATTENTION_H

#include "test/FakeCuda/cudnn_graph.h"

namespace fake::dnn {

// Statuses of describing the operations.
int checkMatmul(const Description &operation);
int checkReduction(const Description &operation);
int checkReshape(const Description &operation);

// Whether the first operation is none of a convolution.
bool isAttention(const Description &graph);
int checkAttention(const Description &graph);
std::vector<Engine> attentionEngines(const Description &graph, int mode);
std::vector<Place> attentionPlaces(const Description &graph);
std::string attentionName(const Description &graph);
// Operation by operation, as they stand in the graph.
void computeAttention(const Description &graph, const std::map<int64_t, void *> &addresses);

} // namespace fake::dnn

#endif
