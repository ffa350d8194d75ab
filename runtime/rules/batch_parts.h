// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Into how many parts --deterministic-ranks may cut a batch, for mpcc, mpc-run and the runtime.
#ifndef MPC_RUNTIME_RULES_BATCH_PARTS_H
#define MPC_RUNTIME_RULES_BATCH_PARTS_H

#include <stdint.h>

namespace mpc::rules {

constexpr int64_t mostBatchParts = 1024;

// A power of two, so that parts and ranks are one binary tree.
constexpr bool areBatchParts(int64_t parts) {
  return parts > 0 && parts <= mostBatchParts && (parts & (parts - 1)) == 0;
}

} // namespace mpc::rules

#endif
