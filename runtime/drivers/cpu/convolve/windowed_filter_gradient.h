// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product over the pixels of the outputs for each tap. Both operands are packed across pixels, a
// block of samples at a time, or a band of a large one, and taps that differ in the outer
// dimensions share what is packed. Those that differ in the innermost one share long rows, which
// they read from different pixels on; of short rows each has its own, which follow each other
// without a gap. Where a step of the kernel is longer than a row has pixels, rows of several
// samples share steps. Sums are float32 sums, whose order depends neither on the block nor on the
// number of threads.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_WINDOWED_FILTER_GRADIENT_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_WINDOWED_FILTER_GRADIENT_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/convolve/filter_gradient.h"
#include "runtime/drivers/cpu/convolve/windows.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/threads/thread_team.h"

#include <array>
#include <vector>

namespace mpc::rt {

class WindowedFilterGradient final : public FilterGradient {
public:
  // Whether the kernel packs both operands.
  static bool multiplies(const MicroKernel &kernel, const Convolution &shape);
  // Whether taps of the innermost dimension share packed rows.
  static bool sharesRows(const MicroKernel &kernel, const Convolution &shape);

  WindowedFilterGradient(ThreadTeam &team, const VectorKernels &vectors, const MicroKernel &kernel,
                         const Convolution &shape);
  void run(const void *images, const void *outputs, void *out) override;
  uint64_t bytes() const override { return packed.size() + sums.size(); }

private:
  // Rows of the innermost dimension, packed for the outputs that have a tap inside the image, or
  // for several such taps: panel by panel, group of samples by group.
  struct Packing {
    int64_t first, stride, count; // pixels of the operand, in one sample
    int64_t steps;                // of a group
    int64_t offset;               // bytes before it, of each group in a block
    int64_t end() const { return first + stride * count; }
    bool operator==(const Packing &other) const {
      return first == other.first && count == other.count;
    }
  };
  // Where a tap of the innermost dimension begins.
  struct Tap {
    size_t packing;
    int64_t skipped; // steps
  };
  struct Operand {
    mpc_rt_dtype_t dtype;
    Convolution::Extents whole;
    // The outer two dimensions of what is packed: where it begins, and how far it goes.
    std::array<int64_t, 2> origin, extents;
    int64_t lanes, panelLanes, panels;
    int64_t laneBytes; // of a step
    int64_t rowStride; // rows so far apart follow each other when packed
    PackPanels pack;
    PackPixels packPixels;
    std::vector<Packing> packings;
    std::vector<Tap> ofTap; // along the innermost dimension

    // Rows for each tap, or for all that can share them in steps of so many pixels.
    void add(const std::vector<Packing> &taps, bool areShared, int64_t depth);
    void setOffsets();    // of the packings, for these extents
    int64_t rows() const; // packed ones of a group
    int64_t position(int64_t outer, int64_t row) const;
    int64_t positionAt(int64_t outer, int64_t row) const { // of the whole operand
      return position(outer - origin[0], row - origin[1]);
    }
    int64_t stepBytes() const { return panelLanes * laneBytes; }
    int64_t rowBytes(const Packing &packing) const { return packing.steps * stepBytes(); }
    int64_t groupBytes() const;
  };
  // A tile of the result.
  struct Unit {
    int64_t tap, panel, lane, lanes;
  };
  // Samples that are packed at a time.
  struct Block {
    int64_t first, samples, groups;
  };

  // Groups of samples that do not fit into the caches are packed in bands of the outputs, along the
  // outer of the two dimensions that has more than one pixel.
  TapRange bandAt(int64_t index, int64_t count) const;
  void setBand(const TapRange &band);
  int64_t packedBytes(int64_t bandCount); // of a group, or of its largest band
  // `row` of what is packed of `group` in the block.
  void packRow(const Operand &operand, const void *data, const Block &block, int64_t group,
               int64_t row, uint8_t *to) const;
  void packGroup(const Operand &operand, const void *first, int64_t samples, const Packing &packing,
                 int64_t panelBytes, uint8_t *to) const;
  void packBlock(const void *images, const void *outputs, const Block &block);
  TapRange outputsInBand(size_t d, int64_t tap) const;
  void collect(const Unit &unit, int64_t groups, std::vector<Piece> &pieces) const;
  void multiplyBlock(int64_t groups, bool first);

  ThreadTeam &team;
  const VectorKernels &vectors;
  const Convolution shape;
  const MicroKernel &micro;
  const PieceKernel &kernel;
  const int64_t depth, groupSamples;
  Operand lhs, rhs;
  const size_t cut; // dimension of the bands
  int64_t bands = 1, blockGroups, sumStride;
  std::vector<int64_t> stepsOfTap; // along the innermost dimension
  std::vector<Unit> units;
  std::vector<std::vector<Piece>> pieces; // a thread's own
  Buffer packed, sums;
};

} // namespace mpc::rt

#endif
