// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which products of int8 a CPU computes in blocks of whole rows, where a kernel on the result runs
// on each: the compiler joins kernels to these alone, but for requantizations that consume the
// sums.
#ifndef MPC_RUNTIME_RULES_INTEGER_BLOCKS_H
#define MPC_RUNTIME_RULES_INTEGER_BLOCKS_H

#include <cstdint>

namespace mpc::rules {

// Sums of a block, half of a first-level cache, and the rows that kernels multiply at once.
constexpr int64_t mostBlockSums = 6144, fewestBlockRows = 6;

// Weights [terms, columns] that stay in a near cache while block after block of rows meets them.
constexpr bool multipliesByBlocks(int64_t terms, int64_t columns) {
  constexpr int64_t mostWeights = 128 << 10;
  return columns > 0 && columns * fewestBlockRows <= mostBlockSums &&
         terms <= mostWeights / columns;
}

} // namespace mpc::rules

#endif
