/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * misuse MODEL STATE: what a program can do wrong with a model's header; STATE is of another
 * optimizer. Every call is refused with a status and a message; none crashes, and the context goes
 * on working. */
#include "net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int faults = 0;

static void refused(mpc_rt_status_t got, mpc_rt_status_t expected, const char *text, int line) {
  if (got == expected && strstr(mpc_rt_last_error(), text))
    return;
  fprintf(stderr, "line %d: status %d, expected %d with '%s': %s\n", line, (int)got, (int)expected,
          text, mpc_rt_last_error());
  ++faults;
}
#define REFUSED(status, text, call) refused(call, MPC_RT_##status, text, __LINE__)

static void expected(int condition, const char *text, int line) {
  if (condition)
    return;
  fprintf(stderr, "line %d: not %s: %s\n", line, text, mpc_rt_last_error());
  ++faults;
}
#define EXPECT(condition) expected(condition, #condition, __LINE__)

static void models(const char *path) {
  net_model_t *model = NULL;
  REFUSED(INVALID_ARGUMENT, "null", net_model_open(NULL, &model));
  REFUSED(INVALID_ARGUMENT, "null", net_model_open(path, NULL));
  REFUSED(NOT_FOUND, "expected a compiled model", net_model_open("", &model));
  REFUSED(INVALID_ARGUMENT, "null", net_model_create(NULL));
  REFUSED(INVALID_ARGUMENT, "null", net_create(NULL, NULL, NULL));
  EXPECT(net_variable_info(NULL, 0) == NULL);
  EXPECT(net_description(NULL) == NULL);
  EXPECT(net_workspace_bytes(NULL, 0, 1) == 0);
  net_model_destroy(NULL);
  net_destroy(NULL);
}

static void options(net_model_t *model) {
  net_context_t *context = NULL;
  mpc_rt_context_options_t given;
  memset(&given, 0, sizeof given);
  REFUSED(INVALID_ARGUMENT, "struct_size is 0", net_create(model, &given, &context));
  mpc_rt_context_options_init(&given);
  given.device = "gpu";
  REFUSED(NOT_FOUND, "no device 'gpu'", net_create(model, &given, &context));
  mpc_rt_context_options_init(&given);
  given.isa = 77;
  REFUSED(FAILED_PRECONDITION, "ISA level 77", net_create(model, &given, &context));
  mpc_rt_context_options_init(&given);
  given.threads = 100000;
  REFUSED(INVALID_ARGUMENT, "at most 4096", net_create(model, &given, &context));
  EXPECT(context == NULL);
}

static void runs(net_context_t *context) {
  float rows[4][10] = {{0}}, out[4][4];
  const void *inputs[] = {rows}, *noInput[] = {NULL};
  void *outputs[] = {out}, *noOutput[] = {NULL};
  REFUSED(INVALID_ARGUMENT, "context is null", net_predict(NULL, inputs, outputs, 4));
  REFUSED(INVALID_ARGUMENT, "null", net_predict(context, NULL, outputs, 4));
  REFUSED(INVALID_ARGUMENT, "null", net_predict(context, inputs, NULL, 4));
  REFUSED(INVALID_ARGUMENT, "input 'x0' is null", net_predict(context, noInput, outputs, 4));
  REFUSED(INVALID_ARGUMENT, "output 'out0' is null", net_predict(context, inputs, noOutput, 4));
  REFUSED(INVALID_ARGUMENT, "batch -1", net_predict(context, inputs, outputs, -1));
  REFUSED(INVALID_ARGUMENT, "overflows", net_predict(context, inputs, outputs, INT64_MAX));
  REFUSED(INVALID_ARGUMENT, "no entry 99", mpc_rt_context_run(context, 99, inputs, outputs, 1));
  REFUSED(INVALID_ARGUMENT, "array of inputs or outputs is null",
          net_predict_dlpack(context, NULL, NULL));
  EXPECT(net_predict(context, noInput, noOutput, 0) == MPC_RT_OK);
  EXPECT(net_predict(context, inputs, outputs, 4) == MPC_RT_OK);
}

static void variables(net_model_t *model, net_context_t *context) {
  float kernel[160];
  uint32_t index;
  REFUSED(INVALID_ARGUMENT, "null", net_variable_find(model, NULL, &index));
  REFUSED(INVALID_ARGUMENT, "null", net_variable_find(model, "dense/kernel", NULL));
  REFUSED(NOT_FOUND, "no variable 'dense/kernels'; it has: dense/kernel",
          net_variable_find(model, "dense/kernels", &index));
  EXPECT(net_variable_info(model, NET_VARIABLE_COUNT) == NULL);
  REFUSED(INVALID_ARGUMENT, "dtype float16 given; expected float32",
          net_variable_get(context, 0, MPC_RT_FLOAT16, kernel, 320));
  REFUSED(INVALID_ARGUMENT, "8 bytes given; expected 640",
          net_variable_set(context, 0, MPC_RT_FLOAT32, kernel, 8));
  REFUSED(INVALID_ARGUMENT, "data is null",
          net_variable_set(context, 0, MPC_RT_FLOAT32, NULL, sizeof kernel));
  REFUSED(INVALID_ARGUMENT, "no variable 99",
          net_variable_get(context, 99, MPC_RT_FLOAT32, kernel, sizeof kernel));
  REFUSED(INVALID_ARGUMENT, "null", net_variable_dlpack(context, 0, NULL));
  REFUSED(INVALID_ARGUMENT, "null", net_variable_set_dlpack(context, 0, NULL));
}

static void training(net_model_t *model, net_context_t *context) {
  float rows[4][10] = {{0}}, weights[4] = {1, 1, 1, 1}, loss, predictions[4][4];
  const float wrong[] = {NAN, INFINITY, -INFINITY};
  float rate, kept;
  int32_t labels[4] = {0};
  const void *inputs[] = {rows, labels, weights};
  void *outputs[] = {&loss, predictions};
  mpc_rt_applied_t applied;
  mpc_rt_gradient_info_t info;
  mpc_rt_loss_scale_t scale;
  memset(&applied, 0, sizeof applied);
  memset(&info, 0, sizeof info);
  REFUSED(FAILED_PRECONDITION, "expected a call of forward", net_backward(context, NULL));
  REFUSED(FAILED_PRECONDITION, "expected a call of backward",
          net_unscale_gradients(context, NULL, NULL));
  REFUSED(FAILED_PRECONDITION, "expected forward", net_apply_gradients(context, NULL, NULL));
  EXPECT(net_forward(context, inputs, outputs, 4) == MPC_RT_OK);
  REFUSED(FAILED_PRECONDITION, "expected forward", net_apply_gradients(context, NULL, NULL));
  EXPECT(net_backward(context, NULL) == MPC_RT_OK);
  EXPECT(net_unscale_gradients(context, NULL, NULL) == MPC_RT_OK);
  REFUSED(INVALID_ARGUMENT, "struct_size", net_apply_gradients(context, NULL, &applied));
  EXPECT(net_apply_gradients(context, NULL, NULL) == MPC_RT_OK);
  EXPECT(net_gradient(context, 99) == NULL && net_gradient(NULL, 0) == NULL);
  REFUSED(INVALID_ARGUMENT, "struct_size", net_gradient_info(model, 0, &info));
  info.struct_size = sizeof info;
  REFUSED(NOT_FOUND, "no gradient 99; the model has 6", net_gradient_info(model, 99, &info));
  scale.struct_size = sizeof scale;
  EXPECT(net_get_loss_scale(context, &scale) == MPC_RT_OK);
  scale.scale = -1;
  REFUSED(INVALID_ARGUMENT, "expected a finite scale of at least 1.18e-38",
          net_set_loss_scale(context, &scale));
  scale.scale = 1e-39f; /* zero where gradients are divided by it */
  REFUSED(INVALID_ARGUMENT, "loss scale 1e-39", net_set_loss_scale(context, &scale));
  EXPECT(mpc_rt_context_get_learning_rate(context, &rate) == MPC_RT_OK);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    REFUSED(INVALID_ARGUMENT, "expected a finite number",
            mpc_rt_context_set_learning_rate(context, wrong[i]));
  EXPECT(mpc_rt_context_get_learning_rate(context, &kept) == MPC_RT_OK && kept == rate);
  EXPECT(mpc_rt_context_set_learning_rate(context, -rate) == MPC_RT_OK);
  EXPECT(mpc_rt_context_set_learning_rate(context, rate) == MPC_RT_OK);
}

static void otherOptimizer(net_context_t *context, const char *state) {
  float before[160], after[160];
  float rate, kept;
  mpc_rt_loaded_t loaded;
  memset(&loaded, 0, sizeof loaded);
  EXPECT(net_variable_get(context, 0, MPC_RT_FLOAT32, before, sizeof before) == MPC_RT_OK);
  EXPECT(mpc_rt_context_get_learning_rate(context, &rate) == MPC_RT_OK);
  REFUSED(FAILED_PRECONDITION, "the state of another optimizer", net_load(context, state));
  REFUSED(FAILED_PRECONDITION, "it has 'optimizer/sgd/", net_load(context, state));
  REFUSED(FAILED_PRECONDITION, "lacks 'optimizer/adam/", net_load(context, state));
  REFUSED(INVALID_ARGUMENT, "struct_size", net_load_weights(context, state, &loaded));
  EXPECT(net_variable_get(context, 0, MPC_RT_FLOAT32, after, sizeof after) == MPC_RT_OK);
  EXPECT(memcmp(before, after, sizeof before) == 0);
  loaded.struct_size = sizeof loaded;
  EXPECT(net_load_weights(context, state, &loaded) == MPC_RT_OK);
  EXPECT(loaded.variables > loaded.optimizer_variables);
  EXPECT(loaded.optimizer_missing > 0 && loaded.optimizer_ignored > 0);
  EXPECT(net_variable_get(context, 0, MPC_RT_FLOAT32, after, sizeof after) == MPC_RT_OK);
  EXPECT(memcmp(before, after, sizeof before) != 0);
  EXPECT(mpc_rt_context_get_learning_rate(context, &kept) == MPC_RT_OK && kept == rate);
  EXPECT(net_load_weights(context, state, NULL) == MPC_RT_OK);
  REFUSED(NOT_FOUND, "expected a safetensors file",
          net_load_weights(context, "/nonexistent/state", &loaded));
  EXPECT(loaded.variables == 0 && loaded.optimizer_ignored == 0);
}

static void files(net_context_t *context) {
  REFUSED(INVALID_ARGUMENT, "null", net_save(context, NULL));
  REFUSED(UNAVAILABLE, "expected a place that can be written",
          net_save(context, "/nonexistent/state"));
  REFUSED(INVALID_ARGUMENT, "null", net_load(context, NULL));
  REFUSED(NOT_FOUND, "expected a safetensors file", net_load(context, "/nonexistent/state"));
}

int main(int argc, char **argv) {
  net_model_t *model = NULL;
  net_context_t *context = NULL;
  if (argc < 3)
    return 2;
  models(argv[1]);
  if (net_model_open(argv[1], &model) || net_create(model, NULL, &context)) {
    fprintf(stderr, "%s\n", mpc_rt_last_error());
    return 1;
  }
  options(model);
  runs(context);
  variables(model, context);
  training(model, context);
  files(context);
  otherOptimizer(context, argv[2]);
  /* A context keeps its model. */
  net_model_destroy(model);
  runs(context);
  net_destroy(context);
  return faults != 0;
}
