/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * mpc-test-parts LIB: steps of a model in parts of the batch. The four calls of a training loop
 * leave the bytes of whole steps, parts that have no rows change nothing of what is asked for,
 * memory is planned for each part, and what is called wrongly, or after a fork, is refused. */
#include "mpc-rt/collectives.h"
#include "mpc-rt/device.h"
#include "mpc-rt/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARTS = 4, STEPS = 5, ROWS = 10, MOST = 16 };

static int failures = 0;

static void expect(int holds, const char *what) {
  if (holds)
    return;
  ++failures;
  fprintf(stderr, "FAILED: %s: %s\n", what, mpc_rt_last_error());
}

static size_t bytes_of(const mpc_rt_tensor_info_t *tensor, int64_t rows) {
  size_t bytes = mpc_rt_dtype_size(tensor->dtype);
  for (uint32_t d = 0; d != tensor->rank; ++d)
    bytes *= (size_t)(tensor->dims[d] == MPC_RT_DYNAMIC ? rows : tensor->dims[d]);
  return bytes;
}

/* Numbers that follow from the step. */
static void fill(const mpc_rt_tensor_info_t *tensor, void *data, size_t bytes, uint32_t state) {
  for (size_t i = 0; i != bytes / 4; ++i) {
    state = state * 1664525u + 1013904223u;
    if (tensor->dtype == MPC_RT_FLOAT32)
      ((float *)data)[i] = (float)(state >> 8) * 0x1p-23f - 1;
    else
      ((int32_t *)data)[i] = (int32_t)(state >> 16) % 3;
  }
}

/* With parts from its creation on, or from a call. */
static mpc_rt_context_t *create(mpc_rt_model_t *model, uint32_t parts, int by_options) {
  mpc_rt_context_options_t options;
  mpc_rt_context_t *context = NULL;
  mpc_rt_context_options_init(&options);
  options.threads = 2;
  options.seed = 7;
  options.batch_parts = PARTS - 1;
  expect(mpc_rt_context_create(model, &options, &context) == MPC_RT_INVALID_ARGUMENT && !context,
         "no such parts");
  options.batch_parts = by_options ? parts : 0;
  expect(mpc_rt_context_create(model, &options, &context) == MPC_RT_OK, "a context");
  if (!by_options)
    expect(mpc_rt_context_set_parts(context, NULL, parts) == MPC_RT_OK, "parts");
  return context;
}

static int same_variables(mpc_rt_context_t *a, mpc_rt_context_t *b) {
  const mpc_rt_executable_t *tables = mpc_rt_model_executable(mpc_rt_context_model(a));
  int same = 1;
  for (uint32_t i = 0; i != tables->variable_count; ++i) {
    size_t bytes = 0;
    const void *left = mpc_rt_context_variable(a, i, &bytes);
    const void *right = mpc_rt_context_variable(b, i, NULL);
    if (memcmp(left, right, bytes) != 0) {
      fprintf(stderr, "%s differs\n", tables->variables[i].tensor.name);
      same = 0;
    }
  }
  return same;
}

/* Calls that a caller must not make are refused, and change nothing. */
static void misuse(mpc_rt_context_t *context, void *const *inputs, void *const *results) {
  const void *none[MOST] = {NULL};
  const void *const *given = (const void *const *)inputs;
  expect(mpc_rt_context_backward(context, NULL) == MPC_RT_FAILED_PRECONDITION,
         "backward needs a forward pass");
  expect(mpc_rt_context_apply_gradients(context, NULL, NULL) == MPC_RT_FAILED_PRECONDITION,
         "apply needs gradients");
  expect(mpc_rt_context_forward(context, NULL, results, ROWS) == MPC_RT_INVALID_ARGUMENT,
         "an array of inputs");
  expect(mpc_rt_context_forward(context, none, results, ROWS) == MPC_RT_INVALID_ARGUMENT,
         "an input");
  expect(mpc_rt_context_forward(context, given, NULL, ROWS) == MPC_RT_INVALID_ARGUMENT,
         "an array of outputs");
  expect(mpc_rt_context_forward(context, given, results, -1) == MPC_RT_INVALID_ARGUMENT,
         "a batch below 0");
  expect(mpc_rt_context_forward(context, given, results, 0) == MPC_RT_INVALID_ARGUMENT,
         "a forward pass of one rank alone needs rows");
  expect(mpc_rt_context_forward(context, given, results, INT64_MAX / 2) != MPC_RT_OK,
         "rows beyond any memory");
}

/* A child of a fork is told that it has no threads, and can give the context back. */
static void forked(mpc_rt_context_t *context, uint32_t step, void *const *inputs,
                   void *const *outputs) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const mpc_rt_status_t run =
        mpc_rt_context_run(context, step, (const void *const *)inputs, outputs, ROWS);
    const mpc_rt_status_t parts = mpc_rt_context_set_parts(context, NULL, PARTS);
    mpc_rt_context_release(context);
    _exit(run == MPC_RT_FAILED_PRECONDITION && parts == MPC_RT_OK ? 0 : 1);
  }
  expect(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
             WEXITSTATUS(status) == 0,
         "a child of a fork goes on");
}

static uint64_t planned(mpc_rt_context_t *context, uint32_t entry) {
  mpc_rt_memory_t memory = {0};
  memory.struct_size = sizeof memory;
  expect(mpc_rt_context_plan_memory(context, entry, 1000, &memory) == MPC_RT_OK, "a plan");
  return memory.arena_planned_bytes;
}

int main(int argc, char **argv) {
  mpc_rt_model_t *model = NULL;
  uint32_t step = 0, predict = 0;
  if (argc < 2 || mpc_rt_model_load(argv[1], &model) ||
      mpc_rt_find_entry(model, "train_step", &step) ||
      mpc_rt_find_entry(model, "predict", &predict)) {
    fprintf(stderr, "%s\n", mpc_rt_last_error());
    return 1;
  }
  const mpc_rt_entry_info_t *entries = mpc_rt_model_executable(model)->entries;
  const mpc_rt_entry_info_t *entry = &entries[step];
  void *inputs[MOST], *outputs[MOST], *results[MOST];
  for (uint32_t i = 0; i != entry->input_count; ++i)
    inputs[i] = malloc(bytes_of(&entry->inputs[i], ROWS));
  for (uint32_t i = 0; i != entry->output_count; ++i)
    outputs[i] = malloc(bytes_of(&entry->outputs[i], ROWS));
  float loss = 0;
  results[0] = &loss;
  for (uint32_t i = 0; i != entries[predict].output_count; ++i)
    results[1 + i] = malloc(bytes_of(&entries[predict].outputs[i], ROWS));

  mpc_rt_context_t *steps = create(model, PARTS, 0), *calls = create(model, PARTS, 1);
  misuse(calls, inputs, results);
  for (int64_t i = 0; i != STEPS; ++i) {
    const int64_t rows = i == STEPS - 1 ? 3 : ROWS; /* one part of four has none */
    for (uint32_t t = 0; t != entry->input_count; ++t)
      fill(&entry->inputs[t], inputs[t], bytes_of(&entry->inputs[t], rows), (uint32_t)(31 * i + t));
    expect(mpc_rt_context_run(steps, step, (const void *const *)inputs, outputs, rows) == MPC_RT_OK,
           "train_step");
    int32_t finite = 0;
    mpc_rt_applied_t applied = {0};
    applied.struct_size = sizeof applied;
    expect(mpc_rt_context_forward(calls, (const void *const *)inputs, results, rows) == MPC_RT_OK,
           "forward");
    expect(mpc_rt_context_backward(calls, NULL) == MPC_RT_OK, "backward");
    expect(mpc_rt_context_unscale_gradients(calls, NULL, &finite) == MPC_RT_OK, "unscale");
    expect(mpc_rt_context_apply_gradients(calls, NULL, &applied) == MPC_RT_OK, "apply");
    expect(memcmp(&loss, outputs[0], sizeof loss) == 0, "both have one loss");
  }
  expect(same_variables(steps, calls), "four calls leave the bytes of a step");
  forked(calls, step, inputs, outputs);

  expect(mpc_rt_context_run(steps, step, (const void *const *)inputs, outputs, 0) ==
             MPC_RT_INVALID_ARGUMENT,
         "one rank alone needs rows");
  expect(same_variables(steps, calls), "and nothing has changed");
  const uint64_t inParts = planned(steps, step);
  expect(mpc_rt_context_set_parts(steps, NULL, 0) == MPC_RT_OK, "no parts again");
  const uint64_t whole = planned(steps, step);
  expect(inParts != 0 && whole != 0, "plans of memory");
  printf("%llu bytes planned in %d parts, %llu as a whole\n", (unsigned long long)inParts, PARTS,
         (unsigned long long)whole);
  expect(mpc_rt_context_run(steps, step, (const void *const *)inputs, outputs, 3) == MPC_RT_OK,
         "a step as a whole");
  mpc_rt_context_release(steps);
  mpc_rt_context_release(calls);
  mpc_rt_model_release(model);
  return failures != 0;
}
