// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of few filters: taps and filters are the rows of a product over the places of the
// images, whose channels are the columns. The outputs lie in memory filter by filter, with zeros
// around them, so that the rows of all taps are parts of them. Sums are float32 sums, whose order
// depends on the shape alone.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_SCATTERED_FILTER_GRADIENT_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_SCATTERED_FILTER_GRADIENT_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/convolve/filter_gradient.h"
#include "runtime/drivers/cpu/convolve/scattered_axis.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/threads/thread_team.h"

#include <array>
#include <vector>

namespace mpc::rt {

class ScatteredFilterGradient final : public FilterGradient {
public:
  // Whether the kernel multiplies the operands, and all places of the images meet all taps, unless
  // these are in padding.
  static bool multiplies(const MicroKernel &kernel, const Convolution &shape);

  ScatteredFilterGradient(ThreadTeam &team, const VectorKernels &vectors, const MicroKernel &kernel,
                          const Convolution &shape);
  void run(const void *images, const void *outputs, void *out) override;
  uint64_t bytes() const override;

private:
  // Places of a row of the images that are multiplied at a time.
  struct Segment {
    int64_t row, first, count;
  };
  struct Workspace {
    Buffer panel;               // of some segments; or a row of outputs, or a tap of the result
    std::vector<Piece> pieces;  // one for each segment
    std::vector<Segment> parts; // that the panel holds
  };

  Segment segmentAt(int64_t index) const;
  int64_t spreadAt(const Segment &segment) const; // where its outputs start, in elements
  void spread(const void *outputs);
  void spreadRow(const void *outputs, int64_t row, Workspace &own);
  // Adds the products of the segments [first, last) to the columns of a panel.
  void multiply(const void *images, int64_t panel, int64_t first, int64_t last, float *target,
                Workspace &own) const;
  void packSegments(const void *images, int64_t panel, int64_t first, int64_t last,
                    Workspace &own) const;
  // Numbers that are not finite leave the panel, since they would meet the zeros of padding, and
  // are multiplied by themselves.
  void takeOut(size_t part, float *target, Workspace &own) const;
  void multiplyAlone(const Segment &segment, int64_t place, float value, float *target) const;
  void finish(void *out);
  void orderTap(int64_t tap, float *filter) const; // [channels, filters]

  ThreadTeam &team;
  const VectorKernels &vectors;
  const Convolution shape;
  const MicroKernel &micro;
  const PieceKernel &kernel;
  const int64_t taps, rows, panels, elementBytes;
  const std::array<ScatteredAxis, 3> axes;
  const Convolution::Extents extents; // of the outputs as they are spread
  const int64_t segmentPlaces, segments, groups;
  std::vector<int64_t> lanes; // of each row: elements from where the outputs of a segment start
  Buffer spreadOutputs;       // [batch, filters, extents]
  Buffer sums;                // [groups, panels, rows, columns of a panel]
  std::vector<Workspace> workspaces;
};

} // namespace mpc::rt

#endif
