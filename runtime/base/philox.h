// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy
// as 1, 2, 3" (SC 2011): block i of a stream is a pure function of (key, i), so any split over
// threads gives the same numbers.
#ifndef MPC_RUNTIME_BASE_PHILOX_H
#define MPC_RUNTIME_BASE_PHILOX_H

#include <stdint.h>

namespace mpc::rt {

struct PhiloxBlock {
  uint32_t word[4];
};

static inline PhiloxBlock philox(PhiloxBlock counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = static_cast<uint64_t>(0xD2511F53u) * counter.word[0];
    uint64_t product1 = static_cast<uint64_t>(0xCD9E8D57u) * counter.word[2];
    counter = {{static_cast<uint32_t>(product1 >> 32) ^ counter.word[1] ^ key0,
                static_cast<uint32_t>(product1),
                static_cast<uint32_t>(product0 >> 32) ^ counter.word[3] ^ key1,
                static_cast<uint32_t>(product0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

} // namespace mpc::rt

#endif
