/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * tensors FOLDER: DLPack tensors through the functions of a generated header, over an allocator of
 * the program: the same numbers as through plain pointers, and exactly the bytes that were
 * foretold. Prints what went wrong and fails. */
#include "net.h"

#include "mpc-rt/dlpack_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 6, FEATURES = 10, CLASSES = 4 };

static uint64_t held, peak;

static void *allocate(size_t bytes, size_t alignment, void *user) {
  (void)user;
  char *memory = malloc(bytes + 2 * alignment), *aligned;
  if (!memory)
    return NULL;
  held += bytes;
  peak = held > peak ? held : peak;
  aligned = memory + alignment + (alignment - (uintptr_t)memory % alignment);
  memcpy(aligned - sizeof memory, &memory, sizeof memory);
  return aligned;
}

static void release(void *memory, size_t bytes, size_t alignment, void *user) {
  char *whole;
  (void)alignment, (void)user;
  memcpy(&whole, (char *)memory - sizeof whole, sizeof whole);
  held -= bytes;
  free(whole);
}

static DLManagedTensor tensor_of(void *data, DLDataTypeCode code, int32_t rank, int64_t *shape) {
  DLManagedTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.dl_tensor.data = data;
  tensor.dl_tensor.device.device_type = kDLCPU;
  tensor.dl_tensor.ndim = rank;
  tensor.dl_tensor.dtype.code = (uint8_t)code;
  tensor.dl_tensor.dtype.bits = 32;
  tensor.dl_tensor.dtype.lanes = 1;
  tensor.dl_tensor.shape = shape;
  return tensor;
}

static int failed(const char *what) {
  fprintf(stderr, "error: %s: %s\n", what, mpc_rt_last_error());
  return 1;
}

static float x[BATCH][FEATURES], weights[BATCH], y[BATCH][CLASSES];
static int32_t classes[BATCH];
static int64_t x_shape[] = {BATCH, FEATURES};

/* The same step in both contexts, once through tensors, once through pointers. */
static int steps(net_context_t *one, net_context_t *other) {
  DLManagedTensor from[] = {tensor_of(x, kDLFloat, 2, x_shape),
                            tensor_of(classes, kDLInt, 1, x_shape),
                            tensor_of(weights, kDLFloat, 1, x_shape)};
  DLManagedTensor *inputs[] = {&from[0], &from[1], &from[2]};
  DLManagedTensor *outputs[NET_TRAIN_STEP_OUTPUT_COUNT] = {NULL}, *predictions = NULL;
  const void *plain[] = {x, classes, weights};
  float loss = 0;
  unsigned char rest[NET_TRAIN_STEP_OUTPUT_COUNT][8];
  void *results[NET_TRAIN_STEP_OUTPUT_COUNT];
  for (uint32_t i = 0; i < NET_TRAIN_STEP_OUTPUT_COUNT; ++i)
    results[i] = i ? (void *)rest[i] : (void *)&loss;
  if (net_train_step_dlpack(one, inputs, outputs) || net_train_step(other, plain, results, BATCH))
    return failed("train_step");
  if (memcmp(outputs[0]->dl_tensor.data, &loss, sizeof loss) != 0 || outputs[0]->dl_tensor.ndim)
    return failed("the losses differ");
  for (uint32_t i = 0; i < NET_TRAIN_STEP_OUTPUT_COUNT; ++i)
    mpc_rt_dlpack_release(outputs[i]);
  results[0] = y;
  if (net_predict_dlpack(one, inputs, &predictions) || net_predict(other, plain, results, BATCH))
    return failed("predict");
  if (memcmp(predictions->dl_tensor.data, y, sizeof y) != 0)
    return failed("the predictions differ");
  mpc_rt_dlpack_release(predictions);
  predictions = NULL;   /* else it would be an output to write */
  inputs[0] = &from[1]; /* an int32 vector for a float32 matrix */
  if (net_predict_dlpack(one, inputs, &predictions) != MPC_RT_INVALID_ARGUMENT ||
      !strstr(mpc_rt_last_error(), "'x0' has dtype int32; expected float32"))
    return failed("a wrong dtype was not refused");
  return 0;
}

/* Gradients and variables as tensors; the custom loop takes the rest of what was foretold. */
static int loop(net_context_t *context) {
  const void *inputs[] = {x, classes, weights};
  float loss;
  void *outputs[] = {&loss, y};
  DLManagedTensor *gradient = NULL, *variable = NULL;
  if (net_forward(context, inputs, outputs, BATCH) || net_backward(context, NULL) ||
      net_unscale_gradients(context, NULL, NULL) ||
      net_gradient_dlpack(context, NET_GRADIENT_DENSE_KERNEL, &gradient) ||
      net_variable_dlpack(context, NET_VARIABLE_DENSE_KERNEL, &variable))
    return failed("the custom loop");
  if (gradient->dl_tensor.data != net_gradient(context, NET_GRADIENT_DENSE_KERNEL) ||
      gradient->dl_tensor.shape[0] != FEATURES || variable->dl_tensor.shape[0] != FEATURES)
    return failed("a tensor shows something else");
  if (net_variable_set_dlpack(context, NET_VARIABLE_DENSE_KERNEL, gradient) ||
      memcmp(variable->dl_tensor.data, gradient->dl_tensor.data, FEATURES * sizeof(float)) != 0)
    return failed("a gradient as a variable's value");
  mpc_rt_dlpack_release(gradient);
  mpc_rt_dlpack_release(variable);
  return net_apply_gradients(context, NULL, NULL) ? failed("apply_gradients") : 0;
}

int main(int argc, char **argv) {
  mpc_rt_allocator_t allocator = {sizeof(mpc_rt_allocator_t), 0, allocate, release, NULL};
  mpc_rt_workspace_t need;
  mpc_rt_context_options_t options;
  net_model_t *model = NULL;
  net_context_t *one = NULL, *other = NULL;
  mpc_rt_context_options_init(&options);
  options.allocator = &allocator;
  need.struct_size = sizeof need;
  for (int i = 0; i < BATCH * FEATURES; ++i)
    x[i / FEATURES][i % FEATURES] = (float)(i * 7 % 11) / 11;
  for (int i = 0; i < BATCH; ++i)
    weights[i] = 1, classes[i] = i % CLASSES;
  if (argc < 2 || net_model_open(argv[1], &model) || net_create(model, &options, &one) ||
      net_create(model, NULL, &other) || net_workspace(model, BATCH, &need))
    return failed("start");
  if (held != need.variable_bytes)
    return failed("the variables take other bytes than foretold");
  if (steps(one, other) || loop(one))
    return 1;
  /* Outputs that are given come from the allocator, too; they are gone again. */
  if (held > need.variable_bytes + need.arena_bytes + need.kept_bytes + need.gradient_bytes ||
      held <= need.variable_bytes + need.kept_bytes + need.gradient_bytes || !need.kept_bytes)
    return failed("a context takes other bytes than foretold");
  net_destroy(one);
  net_destroy(other);
  net_model_destroy(model);
  printf("%llu bytes at most\n", (unsigned long long)peak);
  return held != 0;
}
