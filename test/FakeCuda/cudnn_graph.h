// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operation graphs of cuDNN's look-alike: a convolution, perhaps with a bias and relu behind it;
// the engines that there are for them, and the plain sum that all of them are.
#ifndef MPC_TEST_FAKECUDA_CUDNN_GRAPH_H
#define MPC_TEST_FAKECUDA_CUDNN_GRAPH_H

#include "test/FakeCuda/cudnn_description.h"

#include <map>
#include <string>

namespace fake::dnn {

// Finalization of operations and graphs.
int checkConvolution(const Description &operation);
int checkPointwise(const Description &operation);
int checkGraph(const Description &graph);

// An engine whose plans cannot be made ready.
constexpr int64_t unpreparedEngine = 94;
// In the order of a heuristic's mode (cudnnBackendHeurMode_t). Some may not be chosen by who wants
// sums in float32, one rounding, and the same bytes each time: their notes say so, and they end the
// process when they run.
std::vector<Engine> enginesFor(const Description &graph, int mode);

// A tensor that has memory.
struct Place {
  int64_t id;
  size_t bytes;
  int64_t alignment;
  bool isResult;
  bool isByValue = false; // on the host, read when the graph is executed
};
std::vector<Place> placesOf(const Description &graph);

// "forward 2x8x5x5 by 4x8x3x3 type 2 epilogue 6": for the log. The epilogue counts as cuBLASLt's.
std::string nameOf(const Description &graph);
void compute(const Description &graph, const Engine &engine,
             const std::map<int64_t, void *> &addresses);

} // namespace fake::dnn

#endif
