// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API of loss scaling.
#include "mpc-rt/scaler.h"
#include "runtime/base/status.h"
#include "runtime/scaler/diagnosis.h"
#include "runtime/scaler/loss_scale.h"

#include <cmath>
#include <cstring>

using namespace mpc::rt;

struct mpc_rt_scaler_t {
  LossScaleRule rule;
  LossScale state;
  ScaleWatcher watcher;
};

namespace {
constexpr uint32_t defaultPatience = 100;
} // namespace

extern "C" {

void mpc_rt_scaler_options_init(mpc_rt_scaler_options_t *options) {
  if (!options)
    return;
  std::memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
  options->patience = defaultPatience;
  options->initial_scale = LossScale().scale;
  options->maximum = LossScaleRule().maximum;
  options->growth_steps = LossScaleRule().growthSteps;
}

mpc_rt_status_t mpc_rt_scaler_create(const mpc_rt_scaler_options_t *options,
                                     mpc_rt_scaler_t **scaler) {
  if (!scaler)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_scaler_create: scaler is null");
  *scaler = nullptr;
  mpc_rt_scaler_options_t used;
  mpc_rt_scaler_options_init(&used);
  if (options) {
    if (options->struct_size < sizeof(used))
      return fail(MPC_RT_INVALID_ARGUMENT,
                  "mpc_rt_scaler_create: options.struct_size is %u; expected %zu; call "
                  "mpc_rt_scaler_options_init first",
                  options->struct_size, sizeof(used));
    used = *options;
  }
  if (!(used.minimum <= used.maximum))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_scaler_create: limits %g to %g; expected minimum <= maximum",
                static_cast<double>(used.minimum), static_cast<double>(used.maximum));
  return guard("mpc_rt_scaler_create", [&]() -> mpc_rt_status_t {
    *scaler = new mpc_rt_scaler_t{{used.growth_steps, used.minimum, used.maximum},
                                  {used.initial_scale, 0, 0},
                                  ScaleWatcher(used.patience ? used.patience : defaultPatience)};
    return MPC_RT_OK;
  });
}

void mpc_rt_scaler_release(mpc_rt_scaler_t *scaler) { delete scaler; }

mpc_rt_status_t mpc_rt_scaler_get_state(const mpc_rt_scaler_t *scaler,
                                        mpc_rt_scaler_state_t *state) {
  if (!scaler || !state)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_scaler_get_state: a null argument");
  *state = {scaler->state.scale, 0, scaler->state.stepCounter, scaler->state.iterations};
  return MPC_RT_OK;
}

mpc_rt_status_t mpc_rt_scaler_set_state(mpc_rt_scaler_t *scaler,
                                        const mpc_rt_scaler_state_t *state) {
  if (!scaler || !state)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_scaler_set_state: a null argument");
  if (!scaler->rule.allows(state->scale))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_scaler_set_state: scale %g; expected %g to %g, the scaler's limits",
                static_cast<double>(state->scale), static_cast<double>(scaler->rule.minimum),
                static_cast<double>(scaler->rule.maximum));
  scaler->state = {state->scale, state->step_counter, state->iterations};
  return MPC_RT_OK;
}

mpc_rt_status_t mpc_rt_scaler_advance(mpc_rt_scaler_t *scaler, int32_t finite, int32_t *applied) {
  if (!scaler)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_scaler_advance: scaler is null");
  scaler->state = advance(scaler->state, scaler->rule, finite != 0);
  if (applied)
    *applied = finite != 0;
  return MPC_RT_OK;
}

mpc_rt_status_t mpc_rt_scaler_observe(mpc_rt_scaler_t *scaler, const mpc_rt_scaler_step_t *step,
                                      int32_t *diagnosed) {
  if (!scaler || !step || step->struct_size < sizeof(*step))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_scaler_observe: a null argument, or step.struct_size is not set");
  return guard("mpc_rt_scaler_observe", [&]() -> mpc_rt_status_t {
    bool fresh = scaler->watcher.observe(*step);
    if (diagnosed)
      *diagnosed = fresh;
    return MPC_RT_OK;
  });
}

const char *mpc_rt_scaler_diagnosis(const mpc_rt_scaler_t *scaler) {
  return scaler ? scaler->watcher.text().c_str() : "";
}
uint64_t mpc_rt_scaler_skipped(const mpc_rt_scaler_t *scaler) {
  return scaler ? scaler->watcher.skipped() : 0;
}
uint64_t mpc_rt_scaler_consecutive_skips(const mpc_rt_scaler_t *scaler) {
  return scaler ? scaler->watcher.consecutive() : 0;
}

} // extern "C"
