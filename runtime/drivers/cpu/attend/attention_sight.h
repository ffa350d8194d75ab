// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which sources each target of an attention sees.
#ifndef MPC_RUNTIME_DRIVERS_CPU_ATTEND_ATTENTION_SIGHT_H
#define MPC_RUNTIME_DRIVERS_CPU_ATTEND_ATTENTION_SIGHT_H

#include "runtime/drivers/attention.h"

namespace mpc::rt {

// The sources of a target that count are among the first `seen`. Hidden is a target whose mask has
// none: then all count, by scores of 0, unless what is hidden has a score of its own.
struct Sight {
  int64_t seen;
  const uint8_t *mask; // null: all of them
  bool isHidden;
};

class AttentionSight {
public:
  AttentionSight(const Attention &shape, const uint8_t *mask) : shape(shape), mask(mask) {}

  // `pair` is (sample * heads + head).
  Sight of(int64_t pair, int64_t target) const;
  // The number of sources up to the last one that any of these targets sees.
  int64_t seenFrom(int64_t pair, int64_t first, int64_t count) const;
  // Hidden sources have a share of the softmax where their score is not far below the others: it
  // goes into the largest score and the sum, and the row is scaled accordingly.
  void shareWithHidden(const Sight &sight, float *row, float *largest, float *sum) const;

private:
  // The number of sources that do not count.
  int64_t hiddenFrom(const Sight &sight) const;

  const Attention &shape;
  const uint8_t *mask; // null: none
};

} // namespace mpc::rt

#endif
