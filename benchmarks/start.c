/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The shortest program with a compiled model: loads it, predicts one sample, prints when that was
 * done (nanoseconds of CLOCK_MONOTONIC), so that whoever started it knows what the start took.
 *   mpc-benchmark-start libNAME.so */
#include "mpc-rt/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static size_t bytesOf(const mpc_rt_tensor_info_t *tensor) {
  size_t bytes = mpc_rt_dtype_size(tensor->dtype);
  for (uint32_t i = 0; i < tensor->rank; ++i)
    bytes *= tensor->dims[i] == MPC_RT_DYNAMIC ? 1 : (size_t)tensor->dims[i];
  return bytes;
}

int main(int argc, char **argv) {
  mpc_rt_model_t *model = NULL;
  mpc_rt_context_t *context = NULL;
  uint32_t entry = 0;
  void *inputs[64] = {0}, *outputs[64] = {0};
  struct timespec now;
  if (argc != 2 || mpc_rt_model_load(argv[1], &model) ||
      mpc_rt_context_create(model, NULL, &context) || mpc_rt_context_load_initial(context, NULL) ||
      mpc_rt_find_entry(model, "predict", &entry))
    goto failed;
  const mpc_rt_entry_info_t *predict = &mpc_rt_model_executable(model)->entries[entry];
  if (predict->input_count > 64 || predict->output_count > 64)
    return 1;
  for (uint32_t i = 0; i < predict->input_count; ++i)
    inputs[i] = calloc(1, bytesOf(&predict->inputs[i]));
  for (uint32_t i = 0; i < predict->output_count; ++i)
    outputs[i] = calloc(1, bytesOf(&predict->outputs[i]));
  if (mpc_rt_context_run(context, entry, (const void *const *)inputs, outputs, 1))
    goto failed;
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
  return 0;
failed:
  fprintf(stderr, "error: %s\n", mpc_rt_last_error());
  return 1;
}
