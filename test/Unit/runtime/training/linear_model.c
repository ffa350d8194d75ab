/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A compiled model written by hand, small enough to recompute in a few lines of NumPy: softmax
 * regression (3 features, 4 classes) with SGD and momentum under a loss scaler. Its parts are there
 * to be tested, not to be useful: a moving mean that only training changes, a random state whose
 * counter reaches the bias gradient, sample weights, an integer target with a limit. A feature that
 * is not finite makes the gradients so, and the step is skipped. */
#include "mpc-rt/executable.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { FEATURES = 3, CLASSES = 4, GROWTH_STEPS = 3 };

enum {
  KERNEL,
  BIAS,
  MOVING_MEAN,
  OUTER_ITERATION,
  OUTER_RATE,
  STEP_COUNTER,
  SCALE,
  ITERATION,
  RATE,
  KERNEL_MOMENTUM,
  BIAS_MOMENTUM,
  RANDOM,
  LOSS_TOTAL,
  LOSS_COUNT,
  ACCURACY_TOTAL,
  ACCURACY_COUNT
};

static const int64_t kernel_dims[] = {FEATURES, CLASSES}, bias_dims[] = {CLASSES};
static const int64_t feature_dims[] = {FEATURES}, random_dims[] = {2};
static const int64_t x_dims[] = {MPC_RT_DYNAMIC, FEATURES}, y_dims[] = {MPC_RT_DYNAMIC};
static const int64_t out_dims[] = {MPC_RT_DYNAMIC, CLASSES};

#define VARIABLE(name, dtype, rank, dims, role, initializer, a, b)                                 \
  {{name, MPC_RT_##dtype, rank, dims, 0},                                                          \
   MPC_RT_ROLE_##role,                                                                             \
   MPC_RT_INIT_##initializer,                                                                      \
   a,                                                                                              \
   b,                                                                                              \
   __COUNTER__,                                                                                    \
   -1,                                                                                             \
   0}

static const mpc_rt_variable_info_t variables[] = {
    VARIABLE("dense/kernel", FLOAT32, 2, kernel_dims, TRAINABLE, UNIFORM, -1, 1),
    VARIABLE("dense/bias", FLOAT32, 1, bias_dims, TRAINABLE, ZEROS, 0, 0),
    VARIABLE("norm/moving_mean", FLOAT32, 1, feature_dims, NON_TRAINABLE, ZEROS, 0, 0),
    VARIABLE("loss_scale_optimizer/iteration", INT64, 0, 0, OPTIMIZER, ZEROS, 0, 0),
    VARIABLE("loss_scale_optimizer/learning_rate", FLOAT32, 0, 0, OPTIMIZER, ZEROS, 0, 0),
    VARIABLE("loss_scale_optimizer/step_counter", INT64, 0, 0, OPTIMIZER, ZEROS, 0, 0),
    VARIABLE("loss_scale_optimizer/dynamic_scale", FLOAT32, 0, 0, OPTIMIZER, CONSTANT, 1024, 0),
    VARIABLE("sgd/iteration", INT64, 0, 0, OPTIMIZER, ZEROS, 0, 0),
    VARIABLE("sgd/learning_rate", FLOAT32, 0, 0, OPTIMIZER, CONSTANT, 0.125, 0),
    VARIABLE("sgd/dense_kernel_momentum", FLOAT32, 2, kernel_dims, OPTIMIZER, ZEROS, 0, 0),
    VARIABLE("sgd/dense_bias_momentum", FLOAT32, 1, bias_dims, OPTIMIZER, ZEROS, 0, 0),
    VARIABLE("random/state", INT64, 1, random_dims, RANDOM, ZEROS, 0, 0),
    VARIABLE("loss/total", FLOAT32, 0, 0, METRIC, ZEROS, 0, 0),
    VARIABLE("loss/count", FLOAT32, 0, 0, METRIC, ZEROS, 0, 0),
    VARIABLE("accuracy/total", FLOAT32, 0, 0, METRIC, ZEROS, 0, 0),
    VARIABLE("accuracy/count", FLOAT32, 0, 0, METRIC, ZEROS, 0, 0),
};

static float *variable(const mpc_rt_call_t *call, int index) { return call->variables[index]; }

/* Class probabilities of one row. */
static void forward(const mpc_rt_call_t *call, const float *x, float *probabilities) {
  const float *kernel = variable(call, KERNEL), *bias = variable(call, BIAS);
  float largest = -INFINITY, sum = 0;
  int c, f;
  for (c = 0; c < CLASSES; ++c) {
    probabilities[c] = bias[c];
    for (f = 0; f < FEATURES; ++f)
      probabilities[c] += x[f] * kernel[f * CLASSES + c];
    if (!(probabilities[c] <= largest)) /* NaN wins */
      largest = probabilities[c];
  }
  for (c = 0; c < CLASSES; ++c)
    sum += probabilities[c] = expf(probabilities[c] - largest);
  for (c = 0; c < CLASSES; ++c)
    probabilities[c] /= sum;
}

/* Loss of the batch; metrics are updated; with `gradient` ([kernel, bias] flat) it is filled, and
 * with `x_gradient` the one of the input. */
static float lossOf(const mpc_rt_call_t *call, float *gradient, float *x_gradient, float *out) {
  const float *x = call->inputs[0], *weights = call->inputs[2], *kernel = variable(call, KERNEL);
  const int32_t *labels = call->inputs[1];
  float loss = 0, correct = 0, batch = (float)call->batch;
  int64_t i;
  int c, f;
  if (gradient)
    memset(gradient, 0, sizeof(float) * (FEATURES + 1) * CLASSES);
  for (i = 0; i < call->batch; ++i) {
    float p[CLASSES];
    int best = 0;
    forward(call, x + i * FEATURES, p);
    if (out)
      memcpy(out + i * CLASSES, p, sizeof p);
    loss += -logf(p[labels[i]] < 1e-7f ? 1e-7f : p[labels[i]]) * weights[i] / batch;
    for (c = 1; c < CLASSES; ++c)
      if (p[c] > p[best])
        best = c;
    correct += best == labels[i];
    for (c = 0; c < CLASSES && gradient; ++c) {
      float delta = (p[c] - (c == labels[i])) * weights[i] / batch;
      for (f = 0; f < FEATURES; ++f) {
        gradient[f * CLASSES + c] += x[i * FEATURES + f] * delta;
        if (x_gradient)
          x_gradient[i * FEATURES + f] =
              (c ? x_gradient[i * FEATURES + f] : 0) + delta * kernel[f * CLASSES + c];
      }
      gradient[FEATURES * CLASSES + c] += delta;
    }
  }
  *variable(call, LOSS_TOTAL) += loss * batch;
  *variable(call, LOSS_COUNT) += batch;
  *variable(call, ACCURACY_TOTAL) += correct;
  *variable(call, ACCURACY_COUNT) += batch;
  return loss;
}

static void updateMovingMean(const mpc_rt_call_t *call, float *moving) {
  const float *x = call->inputs[0];
  int64_t i;
  int f;
  for (f = 0; f < FEATURES; ++f) {
    float mean = 0;
    for (i = 0; i < call->batch; ++i)
      mean += x[i * FEATURES + f] / (float)call->batch;
    moving[f] = moving[f] * 0.75f + mean * 0.25f;
  }
}

static int32_t predict(const mpc_rt_call_t *call) {
  const float *x = call->inputs[0];
  float *out = call->outputs[0];
  int64_t i;
  for (i = 0; i < call->batch; ++i)
    forward(call, x + i * FEATURES, out + i * CLASSES);
  return 0;
}

static int32_t evaluate(const mpc_rt_call_t *call) {
  *(float *)call->outputs[0] = lossOf(call, 0, 0, 0);
  return 0;
}

static int32_t gradients(const mpc_rt_call_t *call) {
  float gradient[(FEATURES + 1) * CLASSES];
  float moving[FEATURES];
  *(float *)call->outputs[0] = lossOf(call, gradient, call->outputs[3], call->outputs[4]);
  memcpy(call->outputs[1], gradient, sizeof(float) * FEATURES * CLASSES);
  memcpy(call->outputs[2], gradient + FEATURES * CLASSES, sizeof(float) * CLASSES);
  memcpy(moving, variable(call, MOVING_MEAN), sizeof moving);
  updateMovingMean(call, moving);
  memcpy(call->outputs[5], moving, sizeof moving);
  return 0;
}

static int32_t train_step(const mpc_rt_call_t *call) {
  float gradient[(FEATURES + 1) * CLASSES];
  float *scale = variable(call, SCALE);
  int64_t *random = call->variables[RANDOM], *counter = call->variables[STEP_COUNTER];
  int finite = 1, i;
  *(float *)call->outputs[0] = lossOf(call, gradient, 0, 0);
  updateMovingMean(call, variable(call, MOVING_MEAN));
  gradient[FEATURES * CLASSES] += (float)((random[0] * 31 + random[1]) % 7) * 0.001953125f;
  ++random[1];
  for (i = 0; i < (FEATURES + 1) * CLASSES; ++i)
    finite &= isfinite(gradient[i]) != 0;
  *(uint8_t *)call->outputs[1] = (uint8_t)finite;
  if (!finite) {
    *scale /= 2;
    *counter = 0;
    return 0;
  }
  for (i = 0; i < (FEATURES + 1) * CLASSES; ++i) {
    int isBias = i >= FEATURES * CLASSES, at = isBias ? i - FEATURES * CLASSES : i;
    float *momentum = variable(call, isBias ? BIAS_MOMENTUM : KERNEL_MOMENTUM) + at;
    *momentum = 0.5f * *momentum - *variable(call, RATE) * gradient[i];
    variable(call, isBias ? BIAS : KERNEL)[at] += *momentum;
  }
  ++*(int64_t *)call->variables[ITERATION];
  if (++*counter == GROWTH_STEPS) {
    *scale *= 2;
    *counter = 0;
  }
  return 0;
}

#define TENSOR(name, dtype, rank, dims, limit) {name, MPC_RT_##dtype, rank, dims, limit}
static const mpc_rt_tensor_info_t inputs[] = {TENSOR("features", FLOAT32, 2, x_dims, 0),
                                              TENSOR("y0", INT32, 1, y_dims, CLASSES),
                                              TENSOR("sample_weight", FLOAT32, 1, y_dims, 0)};
static const mpc_rt_tensor_info_t predict_outputs[] = {TENSOR("out0", FLOAT32, 2, out_dims, 0)};
static const mpc_rt_tensor_info_t step_outputs[] = {TENSOR("loss", FLOAT32, 0, 0, 0),
                                                    TENSOR("finite", BOOL, 0, 0, 0)};
static const mpc_rt_tensor_info_t gradient_outputs[] = {
    TENSOR("loss", FLOAT32, 0, 0, 0),
    TENSOR("grad:dense/kernel", FLOAT32, 2, kernel_dims, 0),
    TENSOR("grad:dense/bias", FLOAT32, 1, bias_dims, 0),
    TENSOR("gradx:features", FLOAT32, 2, x_dims, 0),
    TENSOR("out0", FLOAT32, 2, out_dims, 0),
    TENSOR("after:norm/moving_mean", FLOAT32, 1, feature_dims, 0)};

static const mpc_rt_entry_info_t entries[] = {
    {"predict", predict, 1, 1, inputs, predict_outputs, 0, 0},
    {"evaluate", evaluate, 3, 1, inputs, step_outputs, 0, 0},
    {"train_step", train_step, 3, 2, inputs, step_outputs, 0, 0},
    {"gradients", gradients, 3, 6, inputs, gradient_outputs, 0, 0},
};

static const uint32_t loss_states[] = {LOSS_TOTAL, LOSS_COUNT};
static const uint32_t accuracy_states[] = {ACCURACY_TOTAL, ACCURACY_COUNT};
static const mpc_rt_metric_info_t metrics[] = {{"loss", 0, 2, loss_states},
                                               {"accuracy", 0, 2, accuracy_states}};

/* Generated code always has kernels; here the entries do the work themselves. */
static void nothing(void *const *arguments, int64_t begin, int64_t end) {
  (void)arguments;
  (void)begin;
  (void)end;
}
static const mpc_rt_kernel_fn kernels[] = {nothing};
static const char *const kernel_names[] = {"nothing"};

static const mpc_rt_kernel_table_t kernel_tables[] = {{MPC_RT_ISA_X86_64_V2, 0, kernels}};

static const mpc_rt_executable_t executable = {
    sizeof(mpc_rt_executable_t),
    MPC_RT_ABI_VERSION,
    "linear",
    "0",
    "0123",
    "{\"name\": \"linear\", \"outputs\": [{\"name\": \"out0\", \"alias\": \"probabilities\"}],"
    " \"layers\": {\"dense\": {\"policy\": \"float32\"}}}",
    COUNT(variables),
    COUNT(entries),
    COUNT(metrics),
    COUNT(kernels),
    variables,
    entries,
    metrics,
    kernel_tables,
    COUNT(kernel_tables),
    sizeof(mpc_rt_services_t),
    sizeof(mpc_rt_call_t),
    0,
    kernel_names,
    "",
    "float32",
    "",
    NULL,
    0,
    1,
    0,
    0,
    0,
    NULL,
    0,
    0};

__attribute__((visibility("default"))) const mpc_rt_executable_t *
mpc_rt_executable_query(uint32_t max_abi_version) {
  return max_abi_version >= MPC_RT_ABI_VERSION ? &executable : 0;
}
