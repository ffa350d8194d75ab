// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One head of one sample: its operands as a micro-kernel reads them, and blocks of targets on one
// thread.
#ifndef MPC_RUNTIME_DRIVERS_CPU_ATTEND_ATTENTION_HEAD_H
#define MPC_RUNTIME_DRIVERS_CPU_ATTEND_ATTENTION_HEAD_H

#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/attention.h"
#include "runtime/drivers/cpu/attend/attention_rows.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"

namespace mpc::rt {

struct AttentionKernels {
  const MicroKernel &micro;
  const VectorKernels &vectors;
  const AttentionRows &rows;
};

class AttentionHead {
public:
  // The operands are packed in `memory` of bytes(): between one call of enter() and leave() of the
  // micro-kernel.
  AttentionHead(const AttentionKernels &kernels, const Attention &shape, bool isGradient,
                uint8_t *memory);
  static uint64_t bytes(const AttentionKernels &kernels, const Attention &shape, bool isGradient);

  // Targets of a block.
  static int64_t blockOf(const Attention &shape);

  // Both work on one pair, (sample * heads + head). The targets [first, end) are whole blocks, or
  // the last one.
  void attend(const AttentionOperands &operands, int64_t pair, int64_t first, int64_t end);
  void differentiate(const AttentionGradientOperands &operands, int64_t pair);

private:
  // Rows whose numbers lie together, in whole steps of k, as PieceKernel reads them.
  struct Lanes {
    uint8_t *data;
    int64_t stride; // bytes
  };
  // A right-hand side in panels of `pieces`.
  struct Panels {
    const PieceKernel *pieces;
    uint8_t *data;
    int64_t columns, steps;
  };
  // float32
  struct Sums {
    float *data;
    int64_t stride; // elements
    float *row(int64_t i) const { return data + i * stride; }
  };

  void layOut(bool isGradient);
  template <typename Type> Type *take(int64_t count);
  Lanes takeLanes(int64_t k);
  Panels takePanels(int64_t columns, int64_t k);
  Sums takeSums(int64_t rows, int64_t columns);

  int64_t stepsOf(int64_t k) const { return (k + kernel.depth - 1) / kernel.depth; }
  bool isNarrow() const { return kernel.depth > 1; } // bfloat16, otherwise float32
  mpc_rt_dtype_t laneType() const { return isNarrow() ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32; }
  // Returns where a position of [batch, length, heads, width] lies in memory.
  const uint8_t *at(const void *from, int64_t pair, int64_t position, int64_t length,
                    int64_t width) const;
  uint8_t *at(void *to, int64_t pair, int64_t position, int64_t length, int64_t width) const;

  // packSources() has sources as columns and the width as k; packWidth() has them the other way
  // round.
  void packSources(const void *from, int64_t width, const Panels &to) const;
  void packWidth(const void *from, int64_t width, const Panels &to) const;
  void copyRows(const void *from, int64_t count, int64_t width, const Lanes &to) const;
  void widen(const void *from, int64_t count, float *to) const;
  void round(const float *from, int64_t count, void *to) const;
  // Rows of sums as lanes: the same memory in float32.
  Lanes lanesOf(const Sums &sums, const Lanes &own, int64_t rows, int64_t count) const;
  // sums = lanes[rows, k] panels, of which the first `columns` and `steps` count.
  void multiply(const Lanes &lanes, int64_t rows, const Panels &panels, int64_t columns,
                int64_t steps, const Sums &sums) const;
  // sums[width, sources] += left[rows, width]^T right[rows, sources]
  void accumulate(const Lanes &left, int64_t width, const Lanes &right, int64_t sources,
                  int64_t rows, const Sums &sums) const;
  void storeTransposed(const Sums &sums, int64_t width, int64_t pair, void *to) const;
  void differentiateBlock(const AttentionGradientOperands &operands, int64_t pair, int64_t first,
                          int64_t count);
  // Which probabilities of the target dropout keeps; null: all of them.
  const uint8_t *keptOf(const AttentionDropout &dropout, int64_t pair, int64_t target) const;

  const Attention &shape;
  const MicroKernel &kernel;
  const VectorKernels &vectors;
  const AttentionRows &rows;
  const int64_t block;
  uint8_t *memory = nullptr;
  uint64_t taken = 0;

  Panels keys, values, keysOfWidth;
  Lanes queries, cotangents, probabilities, derivatives;
  Sums scores, products, results, keySums, valueSums;
  float *wide[2];
  uint8_t *leftPanels, *rightPanels;
};

} // namespace mpc::rt

#endif
