// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions of each channel with a filter of its own, and their gradients, on channels-last
// images, row by row: rows are widened to float32 when the first window meets them, and kept until
// the last one has. Sums are float32 sums, whose order does not depend on the number of threads;
// those of a filter's gradient are taken over parts of the batch, and then added up. Float32 holds
// sums of int8.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_DEPTHWISE_CONVOLUTION_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_DEPTHWISE_CONVOLUTION_H

#include "runtime/base/memory.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/convolve/convolution_result.h"
#include "runtime/drivers/cpu/convolve/depthwise_kernels.h"
#include "runtime/drivers/cpu/convolve/depthwise_strips.h"
#include "runtime/drivers/result_kernel.h"
#include "runtime/threads/thread_team.h"

#include <vector>

namespace mpc::rt {

class DepthwiseConvolution {
public:
  // Whether each channel has one filter, of one or two dimensions, in float32, 16 bits or int8.
  static bool multiplies(const DepthwiseKernels &kernels, const Convolution &shape);
  // Whether it does, and all pixels of a row lie in strips, which share what their windows meet;
  // not of a filter's gradient.
  static bool isInStrips(const DepthwiseKernels &kernels, const Convolution &shape);

  DepthwiseConvolution(ThreadTeam &team, const DepthwiseKernels &kernels, const Convolution &shape);
  // Operands and result as mpc_rt_convolution_t orders them.
  void run(const void *lhs, const void *rhs, const void *bias, const ConvolutionResult &result);
  // As ImageProduct's, which needs none of a filter's gradient.
  void reserveParts();
  uint64_t bytes() const { return scratch.size() + partSums.size() + partRows.size(); }

private:
  // Images or outputs: rows of a sample, pixels of a row.
  struct Extent {
    int64_t rows, pixels;
    mpc_rt_dtype_t dtype;
  };
  // A row that windows meet, and the row of the filter that it meets there.
  struct RowTap {
    int64_t tap, source;
  };
  // Channels that a thread takes together.
  struct Group {
    int64_t first, channels, vectors;
  };
  // Rows of a sample, for the channels of a group, which give way to those `kept` behind them.
  struct Ring {
    const Extent *extent;
    int64_t kept;
    float *memory;
    std::vector<int64_t> held;
  };
  // Operands and result of a call.
  struct Call {
    const void *lhs, *rhs, *bias;
    const ConvolutionResult &result;
  };
  // A thread's own.
  struct Workspace {
    Ring lhs, rhs; // rhs: the outputs, of a filter's gradient
    float *filter, *bias, *sums;
    uint8_t *part = nullptr; // of a result that has no memory
    std::vector<const float *> rows, weights, next;
    std::vector<bool> holdsFilter; // by group
  };

  Group groupAt(int64_t index) const;
  int64_t lanesOf(const Group &group) const { return group.vectors * kernels.lanes; }
  bool isRead(const Extent &extent) const; // as it lies in memory
  int64_t strideOf(const Extent &extent) const;
  bool requantizes(const ConvolutionResult &result) const {
    return shape.isInteger() && kernels.requantize && result.isRequantized();
  }
  void planRows();
  void makeWorkspaces();
  const float *rowOf(Ring &ring, const void *data, int64_t sample, int64_t row,
                     const Group &group) const;
  void widenFilter(Workspace &own, const void *filter, const void *bias, const Group &group) const;
  // The rows of a band. Those of a result that has no memory: as many as its kernel gets at once.
  int64_t firstRow(int64_t band) const { return to.rows * band / bands; }
  int64_t rowsAtOnce() const { return groups == 1 ? 1 : ceilDivide(to.rows, bands); }
  void multiplyBand(Workspace &own, const Call &call, int64_t sample, int64_t band,
                    const Group &group) const;
  // All groups, and the kernel on the result.
  void multiplyAndFinishBand(Workspace &own, const Call &call, int64_t sample, int64_t band) const;
  // Fetches a row of `data` from `pixel` on: with each output the pixel that lies `step` pixels
  // further.
  void fetch(DepthwiseCorrelation &correlation, const void *data, mpc_rt_dtype_t dtype,
             int64_t pixel, int64_t step, const Group &group) const;
  void correlatePart(Workspace &own, const void *lhs, const void *rhs, int64_t part,
                     const Group &group) const;
  void sumParts(void *out) const;

  ThreadTeam &team;
  const DepthwiseKernels &kernels;
  const Convolution shape;
  const bool toFilter;
  const FinishPixels finish; // null: results are integers
  Extent from, to;           // what windows meet; for each of them: the result, or the outputs
  int64_t taps, padded, groupChannels, groups, bands = 1, parts = 1, ringRows = 1;
  std::vector<std::vector<RowTap>> rowTaps; // by row of `to`
  // If the images are large, these are the sources of the next row of `to` that this one does not
  // meet.
  std::vector<std::vector<int64_t>> fetchedRows;
  DepthwiseCover cover;                // of the pixels in a row
  std::vector<DepthwiseTap> tapsInRow; // of a filter's gradient
  std::vector<Workspace> workspaces;
  Buffer scratch, partSums, partRows;
};

} // namespace mpc::rt

#endif
