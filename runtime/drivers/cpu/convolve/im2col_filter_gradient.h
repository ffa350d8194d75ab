// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of few filters as a product over the pixels of the images: taps and filters are its
// rows, channels its columns. The rows are im2col of the outputs without a copy for each tap: the
// outputs lie in memory filter by filter, with zeros around them, so that every row is a part. Sums
// are float32 sums, whose order depends on the shape alone.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_IM2COL_FILTER_GRADIENT_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_IM2COL_FILTER_GRADIENT_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/convolve/col2im_axis.h"
#include "runtime/drivers/cpu/convolve/filter_gradient.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/threads/thread_team.h"

#include <array>
#include <vector>

namespace mpc::rt {

class Im2colFilterGradient final : public FilterGradient {
public:
  // Whether the kernel multiplies the operands, and all pixels of the images meet all taps, unless
  // these are in padding.
  static bool multiplies(const MicroKernel &kernel, const Convolution &shape);

  Im2colFilterGradient(ThreadTeam &team, const VectorKernels &vectors, const MicroKernel &kernel,
                       const Convolution &shape);
  void run(const void *images, const void *outputs, void *out) override;
  uint64_t bytes() const override;

private:
  // Pixels of a row of the images that are multiplied at a time.
  struct Segment {
    int64_t row, first, count;
  };
  struct Workspace {
    Buffer panel;               // of some segments; or a row of outputs, or a tap of the result
    std::vector<Piece> pieces;  // one for each segment
    std::vector<Segment> parts; // that the panel holds
  };

  Segment segmentAt(int64_t index) const;
  int64_t paddedOffset(const Segment &segment) const; // where its outputs start, in elements
  void padOutputs(const void *outputs);
  void padRow(const void *outputs, int64_t row, Workspace &own);
  // Adds the products of the segments [first, last) to the columns of a panel.
  void multiply(const void *images, int64_t panel, int64_t first, int64_t last, float *target,
                Workspace &own) const;
  void packSegments(const void *images, int64_t panel, int64_t first, int64_t last,
                    Workspace &own) const;
  // Numbers that are not finite leave the panel, since they would meet the zeros of padding, and
  // are multiplied by themselves.
  void takeOut(size_t part, float *target, Workspace &own) const;
  void multiplyAlone(const Segment &segment, int64_t pixel, float value, float *target) const;
  void finish(void *out);
  void orderTap(int64_t tap, float *filter) const; // [channels, filters]

  ThreadTeam &team;
  const VectorKernels &vectors;
  const Convolution shape;
  const MicroKernel &micro;
  const PieceKernel &kernel;
  const int64_t taps, rows, panels, elementBytes;
  const std::array<Col2imAxis, 3> axes;
  const Convolution::Extents extents; // of the outputs as they are padded
  const int64_t segmentPixels, segments, groups;
  std::vector<int64_t> lanes; // of each row: elements from where the outputs of a segment start
  Buffer paddedOutputs;       // [batch, filters, extents]
  Buffer sums;                // [groups, panels, rows, columns of a panel]
  std::vector<Workspace> workspaces;
};

} // namespace mpc::rt

#endif
