// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transition table of the loss scale. Deliberately as Keras: growth compares with ==, so that a
// restored counter beyond the boundary never grows; no check that the result is finite or not zero.
#include "runtime/scaler/loss_scale.h"

#include <cfloat>
#include <cmath>

namespace mpc::rt {
namespace {

enum Event { skipped, grown, counted };

struct Transition {
  float factor;           // of the scale
  int64_t keepCounter;    // 1: the counter goes on
  int64_t appliedUpdates; // added to the iterations
};

constexpr Transition transitions[] = {
    /* skipped */ {0.5f, 0, 0},
    /* grown   */ {2.0f, 0, 1},
    /* counted */ {1.0f, 1, 1},
};

// TensorFlow's CPU kernels flush results below the smallest normal to zero: 2^-126 / 2 is 0, for
// good.
float flush(float value) { return std::fabs(value) < FLT_MIN ? std::copysign(0.0f, value) : value; }

} // namespace

LossScale advance(const LossScale &state, const LossScaleRule &rule, bool finite) {
  Event event = !finite ? skipped : state.stepCounter == rule.growthSteps - 1 ? grown : counted;
  const Transition &transition = transitions[event];
  LossScale next;
  next.stepCounter = transition.keepCounter * (state.stepCounter + 1);
  next.iterations = state.iterations + transition.appliedUpdates;
  next.scale = state.scale;
  if (event != counted) {
    next.scale = flush(flush(state.scale) * transition.factor);
    // Written so that a NaN scale stays NaN.
    if (next.scale < rule.minimum)
      next.scale = rule.minimum;
    if (next.scale > rule.maximum)
      next.scale = rule.maximum;
  }
  return next;
}

} // namespace mpc::rt
