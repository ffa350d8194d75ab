/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Two models in one program, each trained by a thread of its own. */
#include "blobs.h"
#include "ring.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { BATCH = 32, STEPS = 200 };

typedef struct result_t {
  float first, last; /* loss */
  char message[512]; /* "" when all went well */
} result_t;

static float uniform(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / 16777216.0f;
}

/* The message is the thread's own: it is taken where the call failed. */
static void note(result_t *result) {
  snprintf(result->message, sizeof result->message, "%s", mpc_rt_last_error());
}

static void *train_blobs(void *argument) {
  result_t *result = argument;
  uint32_t state = 1;
  float x[BATCH][4], weights[BATCH], loss = 0, rate = 0;
  int32_t y[BATCH];
  const void *inputs[BLOBS_TRAIN_STEP_INPUT_COUNT] = {x, y, weights};
  void *outputs[BLOBS_TRAIN_STEP_OUTPUT_COUNT] = {&loss, &rate};
  blobs_model_t *model = NULL;
  blobs_context_t *context = NULL;
  if (blobs_model_create(&model) || blobs_create(model, NULL, &context))
    note(result);
  for (int step = 0; step < STEPS && !result->message[0]; ++step) {
    for (int i = 0; i < BATCH; ++i) {
      weights[i] = 1;
      y[i] = (int32_t)(uniform(&state) * 3);
      for (int j = 0; j < 4; ++j)
        x[i][j] = (j == y[i] ? 1.0f : 0.0f) + uniform(&state) - 0.5f;
    }
    if (blobs_train_step(context, inputs, outputs, BATCH))
      note(result);
    if (step == 0)
      result->first = loss;
  }
  result->last = loss;
  blobs_destroy(context);
  blobs_model_destroy(model);
  return NULL;
}

static void *train_ring(void *argument) {
  result_t *result = argument;
  uint32_t state = 2;
  float x[BATCH][2], weights[BATCH], loss = 0, rate = 0;
  int32_t y[BATCH];
  const void *inputs[RING_TRAIN_STEP_INPUT_COUNT] = {x, y, weights};
  void *outputs[RING_TRAIN_STEP_OUTPUT_COUNT] = {&loss, &rate};
  ring_model_t *model = NULL;
  ring_context_t *context = NULL;
  if (ring_model_create(&model) || ring_create(model, NULL, &context))
    note(result);
  for (int step = 0; step < STEPS && !result->message[0]; ++step) {
    for (int i = 0; i < BATCH; ++i) {
      weights[i] = 1;
      x[i][0] = 2 * uniform(&state) - 1;
      x[i][1] = 2 * uniform(&state) - 1;
      y[i] = x[i][0] * x[i][0] + x[i][1] * x[i][1] > 0.5f;
    }
    if (ring_train_step(context, inputs, outputs, BATCH))
      note(result);
    if (step == 0)
      result->first = loss;
  }
  result->last = loss;
  ring_destroy(context);
  ring_model_destroy(model);
  return NULL;
}

int main(void) {
  result_t blobs = {0, 0, ""}, ring = {0, 0, ""};
  pthread_t threads[2];
  if (pthread_create(&threads[0], NULL, train_blobs, &blobs) ||
      pthread_create(&threads[1], NULL, train_ring, &ring))
    return 1;
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  if (blobs.message[0] || ring.message[0]) {
    fprintf(stderr, "error: %s%s\n", blobs.message, ring.message);
    return 1;
  }
  printf("blobs (%s): loss %.4f, then %.4f\n", BLOBS_POLICY, (double)blobs.first,
         (double)blobs.last);
  printf("ring (%s): loss %.4f, then %.4f\n", RING_POLICY, (double)ring.first, (double)ring.last);
  return !(blobs.last < blobs.first && ring.last < ring.first);
}
