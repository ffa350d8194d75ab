/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Custom training loops, and the state of training.
 *
 * The entry "train_step" in four calls, for loops that look at, clip, add or drop gradients:
 *
 *   mpc_rt_context_forward            loss and predictions; keeps what the backward pass needs
 *   mpc_rt_context_backward           gradients of the loss times the loss scale
 *   mpc_rt_context_unscale_gradients  divides them by it, says whether all are finite
 *   mpc_rt_context_apply_gradients    updates the variables, or skips; moves the loss scale
 *
 * The four in a row leave the same bytes in every variable as one train_step. All work on one
 * context, which one thread uses at a time, and return MPC_RT_FAILED_PRECONDITION when called out
 * of this order or on a model without "train_step". Between forward and backward the variables must
 * not be changed. */
#ifndef MPC_RT_TRAINING_H
#define MPC_RT_TRAINING_H

#include "mpc-rt/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The four calls -----------------------------------------------------------------------------
 */

typedef struct mpc_rt_gradient_info_t {
  uint32_t struct_size; /* set by the caller to sizeof(mpc_rt_gradient_info_t) */
  uint32_t variable;    /* index of the trainable variable */
  const char *path;     /* its path */
  mpc_rt_dtype_t dtype; /* float64 for float64 variables, else float32 */
  uint32_t rank;
  const int64_t *dims; /* those of the variable */
  uint64_t bytes;
} mpc_rt_gradient_info_t;

/* Gradients, in the order of the trainable variables; variables that the loss does not depend on
 * have none. 0 for a model without "train_step". A gradient has the variable's shape and float32,
 * or float64 for float64 variables: a 16-bit gradient, which is what Keras's tape gives for 16-bit
 * variables, is widened (exactly), because unscaling happens in float32. */
MPC_RT_API uint32_t mpc_rt_model_gradient_count(const mpc_rt_model_t *model);
MPC_RT_API mpc_rt_status_t mpc_rt_model_gradient_info(const mpc_rt_model_t *model,
                                                      uint32_t gradient,
                                                      mpc_rt_gradient_info_t *info);

/* Inputs: as of "train_step" (the model's inputs, the targets, the sample weights). Outputs: the
 * loss (float32 scalar, unscaled), then the predictions in training mode, as the outputs of
 * "predict". The buffers are not used after the call. Metrics, batch statistics and random states
 * advance here. INVALID_ARGUMENT for a batch below 1. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_forward(mpc_rt_context_t *context,
                                                  const void *const *inputs, void *const *outputs,
                                                  int64_t batch);

/* In the next three, `gradients` is an array of as many buffers of the caller as there are
 * gradients, 64-byte aligned for best speed; or null for the context's own buffers. */

/* Gradients of the loss of the last forward call times the loss scale. One call per forward. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_backward(mpc_rt_context_t *context,
                                                   void *const *gradients);

/* Divides each gradient in place by the scale that the last backward call used, in the gradient's
 * dtype. `finite` (may be null): 1 when every still scaled value was finite, else 0. Without a loss
 * scale nothing is divided. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_unscale_gradients(mpc_rt_context_t *context,
                                                            void *const *gradients,
                                                            int32_t *finite);

typedef struct mpc_rt_applied_t {
  uint32_t struct_size; /* sizeof(mpc_rt_applied_t) */
  int32_t applied;      /* 0: the gradients were not finite, and no variable has changed */
  float learning_rate;  /* the rate that was used, or would have been */
  uint32_t reserved;
} mpc_rt_applied_t;

/* What the optimizer does with unscaled gradients: clipping, decay, accumulation, update. With a
 * dynamic loss scale gradients that are not finite skip the update and lower the scale; without
 * one they are applied, as in Keras. `applied` may be null. A gradient of an embedding under an
 * optimizer that squares rows one by one (Adagrad, Adam and others) brings its rows along from
 * backward: changes to the buffer do not reach those. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_apply_gradients(mpc_rt_context_t *context,
                                                          void *const *gradients,
                                                          mpc_rt_applied_t *applied);

/* The context's own buffer of a gradient, 64-byte aligned; null when out of range or no memory. */
MPC_RT_API void *mpc_rt_context_gradient(mpc_rt_context_t *context, uint32_t gradient);

/* ---- State of training --------------------------------------------------------------------------
 */

typedef struct mpc_rt_loss_scale_t {
  uint32_t struct_size;    /* sizeof(mpc_rt_loss_scale_t) */
  int32_t dynamic;         /* 1: moves with the gradients; 0: fixed */
  float scale;             /* 1 without loss scaling */
  uint32_t reserved;       /* 0 */
  int64_t dynamic_counter; /* finite steps since the scale last changed */
} mpc_rt_loss_scale_t;

MPC_RT_API mpc_rt_status_t mpc_rt_context_get_loss_scale(mpc_rt_context_t *context,
                                                         mpc_rt_loss_scale_t *loss_scale);
/* Sets `scale` and `dynamic_counter` of a dynamic loss scale. FAILED_PRECONDITION for a model
 * without one; INVALID_ARGUMENT for a scale that is not positive and finite or a negative counter.
 */
MPC_RT_API mpc_rt_status_t mpc_rt_context_set_loss_scale(mpc_rt_context_t *context,
                                                         const mpc_rt_loss_scale_t *loss_scale);

/* The optimizer's variable. FAILED_PRECONDITION where a schedule decides, which is part of the
 * compiled model, and for a model without an optimizer. `set` takes any finite rate, as Keras does:
 * a negative one ascends; INVALID_ARGUMENT for others. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_get_learning_rate(mpc_rt_context_t *context, float *rate);
MPC_RT_API mpc_rt_status_t mpc_rt_context_set_learning_rate(mpc_rt_context_t *context, float rate);

/* Seed and counter (calls so far) of random layers, all alike. `get` reads the first random layer;
 * a model without any has {0, 0} and takes whatever is set. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_get_random(mpc_rt_context_t *context, uint64_t *seed,
                                                     uint64_t *counter);
MPC_RT_API mpc_rt_status_t mpc_rt_context_set_random(mpc_rt_context_t *context, uint64_t seed,
                                                     uint64_t counter);

/* ---- Files --------------------------------------------------------------------------------------
 */

/* Writes model variables, optimizer variables (with the loss scale), metrics and random states as
 * safetensors with a CRC-32C. Atomic: a kill or a full disk leaves the file as it was. The message
 * names the path and what the system said. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_save(mpc_rt_context_t *context, const char *path);

/* Reads what mpc_rt_context_save wrote, or a weights file (NAME.safetensors of mpcc, `mpc-run train
 * --save`, mpc-convert): tensors by path, which must have the variables' shapes and dtypes and be
 * all model variables. A file without a state of the optimizer leaves it as it is, and so metrics
 * and random states. A model without an optimizer takes any. NOT_FOUND: no such file; DATA_LOSS:
 * damaged; FAILED_PRECONDITION: of another model, or with the state of another optimizer. On
 * failure nothing has changed. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_load(mpc_rt_context_t *context, const char *path);

typedef struct mpc_rt_loaded_t {
  uint32_t struct_size;         /* sizeof(mpc_rt_loaded_t) */
  uint32_t variables;           /* that have the file's values now */
  uint32_t optimizer_variables; /* those of them that are the optimizer's */
  uint32_t optimizer_missing;   /* that stay: the file has others of an optimizer */
  uint32_t optimizer_ignored;   /* the file's that the model's optimizer has not */
  uint32_t reserved;
} mpc_rt_loaded_t;

/* The same, but the state may be of another optimizer: the variables that both have by their names
 * are taken, the others stay. `loaded` (may be null) counts them, all 0 on failure. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_load_weights(mpc_rt_context_t *context, const char *path,
                                                       mpc_rt_loaded_t *loaded);

/* The values that mpcc found in the model file: those in the library (--weights=embedded), else
 * those of NAME.safetensors beside it, which stays mapped: large variables are read there until
 * something writes them, and the file must be replaced by renaming only. `loaded` (may be null): 0
 * when the model was compiled without any, and the initializers' values stay. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_load_initial(mpc_rt_context_t *context, int32_t *loaded);

#ifdef __cplusplus
}
#endif
#endif
