/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Dynamic loss scaling: Keras's state machine (keras/optimizers/loss_scale_optimizer.py) as a pure
 * object, and the diagnosis of runs that skip step after step. Compiled train steps keep their own
 * state in variables; this one is the reference that they equal, and the watcher beside them. */
#ifndef MPC_RT_SCALER_H
#define MPC_RT_SCALER_H

#include "mpc-rt/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpc_rt_scaler_t mpc_rt_scaler_t;

typedef struct mpc_rt_scaler_options_t {
  uint32_t struct_size;   /* sizeof(mpc_rt_scaler_options_t) */
  uint32_t patience;      /* consecutive skipped steps before a diagnosis; 0: 100 */
  float initial_scale;    /* not validated, as in Keras */
  float minimum, maximum; /* limits of the scale; 0 and infinity = none, as in Keras */
  uint32_t reserved;
  int64_t growth_steps; /* finite steps before the scale doubles; <= 0 never */
} mpc_rt_scaler_options_t;

typedef struct mpc_rt_scaler_state_t {
  float scale; /* dynamic_scale */
  uint32_t reserved;
  int64_t step_counter; /* finite steps since the last change */
  int64_t iterations;   /* applied steps */
} mpc_rt_scaler_state_t;

/* 2^15, 2000 steps, no limits: Keras's defaults. */
MPC_RT_API void mpc_rt_scaler_options_init(mpc_rt_scaler_options_t *options);
/* `options` may be null: the defaults. INVALID_ARGUMENT: options->struct_size is not set, or the
 * minimum is above the maximum. *scaler is the caller's, who gives it back with
 * mpc_rt_scaler_release; null after an error. */
MPC_RT_API mpc_rt_status_t mpc_rt_scaler_create(const mpc_rt_scaler_options_t *options,
                                                mpc_rt_scaler_t **scaler);
MPC_RT_API void mpc_rt_scaler_release(mpc_rt_scaler_t *scaler);

MPC_RT_API mpc_rt_status_t mpc_rt_scaler_get_state(const mpc_rt_scaler_t *scaler,
                                                   mpc_rt_scaler_state_t *state);
MPC_RT_API mpc_rt_status_t mpc_rt_scaler_set_state(mpc_rt_scaler_t *scaler,
                                                   const mpc_rt_scaler_state_t *state);

/* One step whose scaled gradients were all finite or not. `applied` (may be null): 0 when the step
 * is skipped. */
MPC_RT_API mpc_rt_status_t mpc_rt_scaler_advance(mpc_rt_scaler_t *scaler, int32_t finite,
                                                 int32_t *applied);

/* What a train step did, as its outputs and variables say. */
typedef struct mpc_rt_scaler_step_t {
  uint32_t struct_size; /* sizeof(mpc_rt_scaler_step_t) */
  int32_t finite;       /* all scaled gradients finite: the step was applied */
  float scale;          /* after the step */
  float loss;           /* unscaled, before the update */
  /* Optional: per trainable variable, in forward order, whether its gradient was finite. */
  const uint8_t *gradient_finite;
  const char *const *gradient_names; /* variable paths */
  uint32_t gradient_count;
  uint32_t reserved;
} mpc_rt_scaler_step_t;

/* Watches a compiled model's step without changing the state. `diagnosed` (may be null) becomes 1
 * when mpc_rt_scaler_diagnosis has something new to say: once per run of skipped steps (after 3
 * when their losses are not finite either, else after `patience`), once when the scale becomes 0 or
 * infinite. */
MPC_RT_API mpc_rt_status_t mpc_rt_scaler_observe(mpc_rt_scaler_t *scaler,
                                                 const mpc_rt_scaler_step_t *step,
                                                 int32_t *diagnosed);

/* The latest diagnosis: what happens, since when, which layer first, what to do. "" when none. */
MPC_RT_API const char *mpc_rt_scaler_diagnosis(const mpc_rt_scaler_t *scaler);

/* Steps skipped so far, and skipped in a row up to now. */
MPC_RT_API uint64_t mpc_rt_scaler_skipped(const mpc_rt_scaler_t *scaler);
MPC_RT_API uint64_t mpc_rt_scaler_consecutive_skips(const mpc_rt_scaler_t *scaler);

#ifdef __cplusplus
}
#endif
#endif
