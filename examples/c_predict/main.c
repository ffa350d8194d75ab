/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Predicts with a model that is linked into the program. */
#include "blobs.h"

#include <stdio.h>

enum { SAMPLES = 3, FEATURES = 4, CLASSES = 3 };

int main(void) {
  const float x[SAMPLES][FEATURES] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 1}};
  float probabilities[SAMPLES][CLASSES];
  const void *inputs[BLOBS_PREDICT_INPUT_COUNT] = {x};
  void *outputs[BLOBS_PREDICT_OUTPUT_COUNT] = {probabilities};
  blobs_model_t *model = NULL;
  blobs_context_t *context = NULL;

  if (blobs_model_create(&model) || blobs_create(model, NULL, &context) ||
      blobs_predict(context, inputs, outputs, SAMPLES)) {
    fprintf(stderr, "error: %s\n", mpc_rt_last_error());
    blobs_destroy(context);
    blobs_model_destroy(model);
    return 1;
  }
  printf("model %s, policy %s\n", mpc_rt_model_executable(model)->model_name, BLOBS_POLICY);
  for (int i = 0; i < SAMPLES; ++i)
    printf("sample %d: %.4f %.4f %.4f\n", i, (double)probabilities[i][0],
           (double)probabilities[i][1], (double)probabilities[i][2]);
  blobs_destroy(context);
  blobs_model_destroy(model);
  return 0;
}
