// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scales of packed weights as the kernels that read tiles want them, made once for as long as the
// tiles are kept.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_WEIGHT_SCALES_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_WEIGHT_SCALES_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/kernels/weight_kernel.h"
#include "runtime/threads/thread_team.h"

#include <cstdint>
#include <vector>

namespace mpc::rt {

struct WeightScales {
  uint64_t keptVersion = 0;
  int64_t count = 0; // of blocks
  // [tiles][blocks][zeros of 64 columns, their scales], in float32; zeros of columns that are not
  // there.
  Buffer adjustments;
  // Which row of the weights is the i-th of a tile: those of a block are neighbours, so that its
  // adjustments are loaded once. Empty where they lie so; else lhs is brought into this order.
  std::vector<int64_t> order;
  std::vector<int32_t> blockOfRow; // in that order
  std::vector<float> divisors;     // of each row, in that order; empty: none
  // A row may be multiplied by these instead where that gives the same weights bit by bit;
  // otherwise empty. They are filled up to a multiple of pairRun.
  std::vector<float> reciprocals;
  // The reciprocals, or divisors of other dtypes than bfloat16, as columns want them: in steps of
  // columnStep rows, those with even numbers first.
  std::vector<float> columnFactors;
  // Steps of columnStep rows that every block has, the last one at most; 0 where they differ.
  int64_t blockSteps = 0;
  // Numbers that lie in pairs become these weights (avx512_pairs.h): blocks begin at multiples of
  // pairRun, and their scales times 2^16 are finite.
  bool fitsPairs = false;

  int64_t rowAt(int64_t index) const {
    return order.empty() ? index : order[static_cast<size_t>(index)];
  }
  const float *adjustmentsOf(int64_t tile) const {
    constexpr auto columns = static_cast<int64_t>(tileColumns);
    return reinterpret_cast<const float *>(adjustments.data()) + tile * count * 2 * columns;
  }
  // Rows behind the last one of a block are filled with this: the number in column `n` whose weight
  // is 0, or next to that. Zeros of lhs times a weight are zeros if it is finite.
  int8_t fillingNumber(int64_t n) const;
  uint64_t bytes() const {
    return adjustments.size() + order.size() * sizeof(int64_t) +
           blockOfRow.size() * sizeof(int32_t) +
           (divisors.size() + reciprocals.size() + columnFactors.size()) * sizeof(float);
  }
};

// The index in a step of columns of its row `i`, where rows with even numbers come first.
constexpr int64_t evenFirstIndex(int64_t i) { return i % 2 * (columnStep / 2) + i / 2; }
void fillBlockWeights(ThreadTeam &team, const Contraction &shape, const BlockScales &blocks,
                      WeightScales &kept);

} // namespace mpc::rt

#endif
