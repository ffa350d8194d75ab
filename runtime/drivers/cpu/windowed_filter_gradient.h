// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product over the places of the outputs for each tap. Both operands are packed across places, a
// block of samples at a time; taps that differ in the innermost dimension only have packed rows of
// their own, and share them with those that differ in the others. Sums are float32 sums, whose
// order depends neither on the block nor on the number of threads.
#ifndef MPC_RUNTIME_DRIVERS_CPU_WINDOWED_FILTER_GRADIENT_H
#define MPC_RUNTIME_DRIVERS_CPU_WINDOWED_FILTER_GRADIENT_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/filter_gradient.h"
#include "runtime/drivers/cpu/micro_kernel.h"
#include "runtime/drivers/cpu/thread_team.h"
#include "runtime/drivers/cpu/windows.h"

#include <array>
#include <vector>

namespace mpc::rt {

class WindowedFilterGradient final : public FilterGradient {
public:
  // Whether the kernel packs both operands.
  static bool multiplies(const MicroKernel &kernel, const Convolution &shape);

  WindowedFilterGradient(ThreadTeam &team, const VectorKernels &vectors, const MicroKernel &kernel,
                         const Convolution &shape);
  void run(const void *images, const void *outputs, void *out) override;
  uint64_t bytes() const override { return packed.size() + sums.size(); }

private:
  // Rows of the innermost dimension, packed for the outputs that have a tap inside the image: panel
  // by panel, sample by sample.
  struct Packing {
    int64_t first, stride, count; // places of the operand
    int64_t steps;
    int64_t offset; // bytes before it, of each sample in a block
    bool operator==(const Packing &other) const {
      return first == other.first && count == other.count;
    }
  };
  struct Operand {
    mpc_rt_dtype_t dtype;
    Convolution::Extents extents;
    int64_t lanes, panelLanes, panels;
    int64_t laneBytes; // of a step
    int64_t rowStride; // rows so far apart follow each other when packed
    PackPanels pack;
    std::vector<Packing> packings;
    std::vector<size_t> ofTap; // along the innermost dimension

    void add(const Packing &packing);
    int64_t rows() const; // packed ones of a sample
    int64_t position(int64_t outer, int64_t row) const;
    int64_t rowBytes(const Packing &packing) const;
    int64_t sampleBytes() const;
  };
  // A tile of the result.
  struct Unit {
    int64_t tap, panel, lane, lanes;
  };

  void packRow(const Operand &operand, const void *data, int64_t row, int64_t sample,
               int64_t samples, uint8_t *to) const;
  void packBlock(const void *images, const void *outputs, int64_t first, int64_t samples);
  void collect(const Unit &unit, int64_t samples, std::vector<Piece> &pieces) const;
  void multiplyBlock(int64_t samples, bool first);

  ThreadTeam &team;
  const VectorKernels &vectors;
  const Convolution shape;
  const MicroKernel &micro;
  const PieceKernel &kernel;
  const int64_t depth;
  Operand lhs, rhs;
  int64_t block, sumStride;
  std::vector<Unit> units;
  std::vector<std::vector<Piece>> pieces; // a thread's own
  Buffer packed, sums;
};

} // namespace mpc::rt

#endif
