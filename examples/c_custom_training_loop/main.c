/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The custom training loop of Keras's guide to mixed precision, call by call:
 *
 *   with tf.GradientTape() as tape:
 *     predictions = model(x, training=True)                         blobs_forward
 *     loss = loss_object(y, predictions)                            blobs_forward
 *     scaled_loss = optimizer.get_scaled_loss(loss)                 blobs_backward
 *   scaled_gradients = tape.gradient(scaled_loss, variables)        blobs_backward
 *   gradients = optimizer.get_unscaled_gradients(scaled_gradients)  blobs_unscale_gradients
 *   optimizer.apply_gradients(zip(gradients, variables))            blobs_apply_gradients */
#include "blobs.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 64, STEPS = 150, FEATURES = 4, CLASSES = 3 };

static uint32_t state = 1;
static float uniform(void) {
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 16777216.0f;
}

/* Points around one corner for each class. */
static void draw_batch(float x[BATCH][FEATURES], int32_t y[BATCH]) {
  for (int i = 0; i < BATCH; ++i) {
    y[i] = (int32_t)(uniform() * CLASSES);
    for (int j = 0; j < FEATURES; ++j)
      x[i][j] = (j == y[i] ? 1.0f : 0.0f) + uniform() - 0.5f;
  }
}

static int fail(void) {
  fprintf(stderr, "error: %s\n", mpc_rt_last_error());
  return 1;
}

/* One step; 0 on success. */
static int train(blobs_context_t *context, int step, int *skipped) {
  float x[BATCH][FEATURES], weights[BATCH], predictions[BATCH][CLASSES], loss = 0;
  int32_t y[BATCH], finite = 0;
  const void *inputs[BLOBS_TRAIN_STEP_INPUT_COUNT] = {x, y, weights};
  void *outputs[] = {&loss, predictions};
  mpc_rt_applied_t applied = {sizeof(applied), 0, 0, 0};
  mpc_rt_loss_scale_t scale = {sizeof(scale), 0, 0, 0, 0};

  draw_batch(x, y);
  for (int i = 0; i < BATCH; ++i)
    weights[i] = 1;
  if (blobs_get_loss_scale(context, &scale) || blobs_forward(context, inputs, outputs, BATCH) ||
      blobs_backward(context, NULL) || blobs_unscale_gradients(context, NULL, &finite) ||
      blobs_apply_gradients(context, NULL, &applied))
    return fail();
  *skipped += !applied.applied;
  if (step < 16 || step % 50 == 49)
    printf("step %3d  loss %.4f  loss scale %8.0f  %s\n", step, (double)loss, (double)scale.scale,
           finite ? "applied" : "skipped");
  return 0;
}

/* How many of a batch are right; negative on failure. */
static int count_right(blobs_context_t *context) {
  float x[BATCH][FEATURES], predictions[BATCH][CLASSES];
  int32_t y[BATCH];
  const void *inputs[] = {x};
  void *outputs[] = {predictions};
  int right = 0;
  state = 99;
  draw_batch(x, y);
  if (blobs_predict(context, inputs, outputs, BATCH))
    return -1;
  for (int i = 0; i < BATCH; ++i) {
    int best = 0;
    for (int j = 1; j < CLASSES; ++j)
      if (predictions[i][j] > predictions[i][best])
        best = j;
    right += best == y[i];
  }
  return right;
}

int main(int argc, char **argv) {
  const char *file = argc > 1 ? argv[1] : "blobs.state";
  blobs_model_t *model = NULL;
  blobs_context_t *context = NULL, *restored = NULL;
  int skipped = 0;
  if (blobs_model_create(&model) || blobs_create(model, NULL, &context))
    return fail();
  for (int step = 0; step < STEPS; ++step)
    if (train(context, step, &skipped))
      return 1;
  int right = count_right(context);
  printf("skipped %d steps, %d of %d right\n", skipped, right, BATCH);

  if (blobs_save(context, file) || blobs_create(model, NULL, &restored) ||
      blobs_load(restored, file))
    return fail();
  float kernel[FEATURES * 32], again[FEATURES * 32];
  if (blobs_variable_get(context, BLOBS_VARIABLE_DENSE_1_KERNEL, MPC_RT_FLOAT32, kernel,
                         sizeof kernel) ||
      blobs_variable_get(restored, BLOBS_VARIABLE_DENSE_1_KERNEL, MPC_RT_FLOAT32, again,
                         sizeof again))
    return fail();
  printf("restored: %s\n", memcmp(kernel, again, sizeof kernel) ? "different" : "the same bytes");
  blobs_destroy(restored);
  blobs_destroy(context);
  blobs_model_destroy(model);
  return right * 10 < BATCH * 9;
}
