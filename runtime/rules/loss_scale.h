// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rule of dynamic loss scaling, stated once: the runtime's state machine, the value that the
// compiler's reference gives mpc.loss_scale_update, and the code of a compiled step are all made of
// it. It is Keras 3's (keras/src/optimizers/loss_scale_optimizer.py, _stateful_handle_finite_grads
// and its opposite), with bounds besides.
#ifndef MPC_RUNTIME_RULES_LOSS_SCALE_H
#define MPC_RUNTIME_RULES_LOSS_SCALE_H

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mpc::rules {

struct LossScaleRule {
  int64_t growthSteps = 2000; // <= 0 never grows
  // 0 and infinity are no bounds: Keras has none.
  float minimum = 0.0f;
  float maximum = std::numeric_limits<float>::infinity();

  // Whether a scale that somebody restores may be in use. The rule itself bounds a scale only when
  // it changes.
  bool allows(float scale) const { return !(minimum > 0 && scale < minimum) && !(scale > maximum); }
};

template <typename Scale, typename Counter> struct LossScaleState {
  Scale scale;
  Counter counter; // finite steps since the scale changed or a step was skipped
};

// The state after a step. Deliberately as Keras: growth compares with ==, so that a restored
// counter beyond the boundary never grows; no check that the result is finite or not zero. NaN
// stays NaN.
//
// `Arithmetic` computes on whatever stands for float32, int64 and truth: numbers, or values of IR.
template <typename Arithmetic, typename Scale, typename Counter, typename Truth>
LossScaleState<Scale, Counter> advanceLossScale(Arithmetic &a, Scale scale, Counter counter,
                                                Truth finite, const LossScaleRule &rule) {
  // TensorFlow's CPU kernels flush results below the smallest normal to zero: 2^-126 / 2 is 0, for
  // good.
  auto flush = [&](Scale value) {
    return a.select(a.less(a.magnitude(value), a.number(FLT_MIN)), a.multiply(value, a.number(0)),
                    value);
  };
  Scale factor = a.select(finite, a.number(2), a.number(0.5f));
  Scale changed = flush(a.multiply(flush(scale), factor));
  if (rule.minimum > 0)
    changed = a.select(a.less(changed, a.number(rule.minimum)), a.number(rule.minimum), changed);
  if (rule.maximum < std::numeric_limits<float>::infinity())
    changed = a.select(a.less(a.number(rule.maximum), changed), a.number(rule.maximum), changed);
  const auto last = static_cast<int64_t>(static_cast<uint64_t>(rule.growthSteps) - 1);
  Truth grows = a.equal(counter, a.integer(last));
  return {a.select(finite, a.select(grows, changed, scale), changed),
          a.select(finite, a.select(grows, a.integer(0), a.successor(counter)), a.integer(0))};
}

// The arithmetic of plain numbers.
struct HostArithmetic {
  static float number(float value) { return value; }
  static int64_t integer(int64_t value) { return value; }
  static float multiply(float one, float other) { return one * other; }
  static float magnitude(float value) { return std::fabs(value); }
  static bool less(float one, float other) { return one < other; }
  static bool equal(int64_t one, int64_t other) { return one == other; }
  static int64_t successor(int64_t value) {
    return static_cast<int64_t>(static_cast<uint64_t>(value) + 1);
  }
  template <typename T> static T select(bool truth, T one, T other) { return truth ? one : other; }
};

} // namespace mpc::rules

#endif
