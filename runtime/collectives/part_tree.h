// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The binary tree over the arrays of several parts, by blocks: threads that have nothing else to do
// take the next one.
#ifndef MPC_RUNTIME_COLLECTIVES_PART_TREE_H
#define MPC_RUNTIME_COLLECTIVES_PART_TREE_H

#include "runtime/collectives/all_reduce.h"

#include <atomic>

namespace mpc::rt {

class PartTree {
public:
  // `parts`: arrays by part, a power of two of them, all of the same lengths. What comes of them
  // goes to `result`, one array behind the other; null: to the arrays of the first part. With
  // `rounds` operands and sums are rounded to bfloat16.
  PartTree(Reduction reduction, bool rounds, const std::vector<std::vector<RankArray>> &parts,
           char *result);

  // Whether a thread may take a block.
  bool hasWork() const { return next < starts.back(); }
  // Takes blocks until there are no more. True for the one thread that ended the last one: what
  // comes of the parts is there then.
  bool work();

private:
  void combineBlock(size_t array, size_t begin, size_t count);
  const char *sum(unsigned first, unsigned many, size_t array, size_t begin, size_t count,
                  char *scratch);

  const Reduction reduction;
  const bool rounds;
  const std::vector<std::vector<RankArray>> &parts;
  char *const result;
  const size_t element;
  std::vector<size_t> starts; // the number of each array's first block, and of all
  std::atomic<size_t> next{0}, ended{0};
};

} // namespace mpc::rt

#endif
