/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A compiled model written by hand: one Dense layer (3 inputs, 2 outputs, relu) with a bfloat16
 * shadow of its kernel, momentum slots, a random state and a loss metric. "predict" runs the layer,
 * "train_step" adds 1 to the kernel, "evaluate" counts rows, "fail" fails. Built both into the test
 * and as a loadable libfake.so; and as libraries of other versions of mpc-rt's headers: with
 * FAKE_SMALLER structs end where the optional fields begin, with FAKE_LARGER they have a field
 * more, of that value. */
#include "mpc-rt/executable.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct product_t {
  mpc_rt_contract_call_t known;
  uint64_t later;
} product_t;
#if defined(FAKE_SMALLER)
/* What is behind is no part of the struct, whatever it holds. */
#define PRODUCT_SIZE MPC_RT_CONTRACT_CALL_MINIMUM
#define EXECUTABLE_SIZE MPC_RT_EXECUTABLE_MINIMUM
#define LATER(product)                                                                             \
  memset((char *)&(product) + PRODUCT_SIZE, 255, sizeof(product) - PRODUCT_SIZE)
#elif defined(FAKE_LARGER)
#define PRODUCT_SIZE sizeof(product_t)
#define EXECUTABLE_SIZE sizeof(larger_t)
#define LATER(product) ((product).later = FAKE_LARGER)
#else
#define PRODUCT_SIZE sizeof(mpc_rt_contract_call_t)
#define EXECUTABLE_SIZE sizeof(mpc_rt_executable_t)
#define LATER(product) ((product).later = 0)
#endif

static const int64_t kernel_dims[] = {3, 2}, bias_dims[] = {2}, state_dims[] = {2};
static const int64_t x_dims[] = {MPC_RT_DYNAMIC, 3}, y_dims[] = {MPC_RT_DYNAMIC, 2};
static const int64_t id_dims[] = {MPC_RT_DYNAMIC, 4};

enum { KERNEL, BIAS, KERNEL_MOMENTUM, ITERATION, BIAS_MOMENTUM, SHADOW, RANDOM, TOTAL, SEEN };

#define TENSOR(name, dtype, rank, dims) {name, dtype, rank, dims, 0}
static const mpc_rt_variable_info_t variables[] = {
    {TENSOR("dense/kernel", MPC_RT_FLOAT32, 2, kernel_dims), MPC_RT_ROLE_TRAINABLE,
     MPC_RT_INIT_UNIFORM, -1.0, 1.0, 1, -1, 0},
    {TENSOR("dense/bias", MPC_RT_FLOAT32, 1, bias_dims), MPC_RT_ROLE_TRAINABLE,
     MPC_RT_INIT_CONSTANT, 0.5, 0, 2, -1, 0},
    {TENSOR("dense_kernel_momentum", MPC_RT_FLOAT32, 2, kernel_dims), MPC_RT_ROLE_OPTIMIZER,
     MPC_RT_INIT_ZEROS, 0, 0, 3, -1, 0},
    {TENSOR("iteration", MPC_RT_INT64, 0, 0), MPC_RT_ROLE_OPTIMIZER, MPC_RT_INIT_CONSTANT, 7, 0, 4,
     -1, 0},
    {TENSOR("dense_bias_momentum", MPC_RT_FLOAT32, 1, bias_dims), MPC_RT_ROLE_OPTIMIZER,
     MPC_RT_INIT_ZEROS, 0, 0, 5, -1, 0},
    {TENSOR("dense/kernel:bfloat16", MPC_RT_BFLOAT16, 2, kernel_dims), MPC_RT_ROLE_SHADOW,
     MPC_RT_INIT_ZEROS, 0, 0, 6, KERNEL, 0},
    {TENSOR("seed_generator_state", MPC_RT_INT64, 1, state_dims), MPC_RT_ROLE_RANDOM,
     MPC_RT_INIT_ZEROS, 0, 0, 7, -1, 0},
    {TENSOR("loss/total", MPC_RT_FLOAT32, 0, 0), MPC_RT_ROLE_METRIC, MPC_RT_INIT_ZEROS, 0, 0, 8, -1,
     0},
    {TENSOR("loss/count", MPC_RT_FLOAT32, 0, 0), MPC_RT_ROLE_METRIC, MPC_RT_INIT_ZEROS, 0, 0, 9, -1,
     0},
};

/* arguments: values, addend; adds to each of [begin, end). */
static void add_kernel(void *const *arguments, int64_t begin, int64_t end) {
  float *values = (float *)arguments[0];
  const float *addend = (const float *)arguments[1];
  for (int64_t i = begin; i < end; ++i)
    values[i] += *addend;
}
static const mpc_rt_kernel_fn kernels[] = {add_kernel};
static const char *const kernel_names[] = {"add"};

static int32_t predict(const mpc_rt_call_t *call) {
  static const mpc_rt_contract_t dense = {sizeof(mpc_rt_contract_t),
                                          1,
                                          MPC_RT_FLOAT32,
                                          MPC_RT_FLOAT32,
                                          MPC_RT_FLOAT32,
                                          MPC_RT_FLOAT32,
                                          0,
                                          MPC_RT_ACTIVATION_RELU,
                                          {1, 0},
                                          {0, 1},
                                          {2, 0},
                                          {3, 0},
                                          KERNEL,
                                          1,
                                          "dense"};
  product_t product;
  memset(&product, 0, sizeof product);
  product.known.struct_size = PRODUCT_SIZE;
  product.known.batch = call->batch;
  product.known.lhs = call->inputs[0];
  product.known.rhs = call->variables[KERNEL];
  product.known.bias = call->variables[BIAS];
  product.known.out = call->outputs[0];
  LATER(product);
  return call->services->contract(call->context, &dense, &product.known);
}

static int32_t train_step(const mpc_rt_call_t *call) {
  float *one = (float *)call->arena;
  void *arguments[2];
  *one = 1.0f;
  arguments[0] = call->variables[KERNEL];
  arguments[1] = one;
  call->services->parallel_for(call->context, call->kernels[0], arguments, 6, 2);
  return 0;
}

static int32_t evaluate(const mpc_rt_call_t *call) {
  float *total = (float *)call->variables[TOTAL], *seen = (float *)call->variables[SEEN];
  const int32_t *ids = (const int32_t *)call->inputs[0];
  for (int64_t i = 0; i < call->batch * 4; ++i)
    *total += (float)ids[i];
  *seen += (float)call->batch;
  *(float *)call->outputs[0] = *total;
  return 0;
}

/* Multiplies the smallest normal by one half: 0 when denormals are flushed. */
static int32_t flush(const mpc_rt_call_t *call) {
  volatile float tiny = 1.17549435e-38f, half = 0.5f;
  *(float *)call->outputs[0] = tiny * half;
  return 0;
}

/* The total twice, and total and count as a vector. */
static int32_t metric_results(const mpc_rt_call_t *call) {
  float *parts = (float *)call->outputs[1];
  parts[0] = *(float *)call->variables[TOTAL];
  parts[1] = *(float *)call->variables[SEEN];
  *(float *)call->outputs[0] = 2 * parts[0];
  return 0;
}

static int32_t failing(const mpc_rt_call_t *call) {
  (void)call;
  return 7;
}

static const mpc_rt_tensor_info_t x_info[] = {{"x", MPC_RT_FLOAT32, 2, x_dims, 0}};
static const mpc_rt_tensor_info_t ids_info[] = {{"ids", MPC_RT_INT32, 2, id_dims, 10}};
/* Rows of an Embedding behind floating Inputs: limits of whole parts. */
static const mpc_rt_tensor_info_t float32_info[] = {{"ids", MPC_RT_FLOAT32, 2, id_dims, 10}};
static const mpc_rt_tensor_info_t float64_info[] = {{"ids", MPC_RT_FLOAT64, 2, id_dims, 10}};
static const mpc_rt_tensor_info_t float16_info[] = {{"ids", MPC_RT_FLOAT16, 2, id_dims, 10}};
static const mpc_rt_tensor_info_t bfloat16_info[] = {{"ids", MPC_RT_BFLOAT16, 2, id_dims, 10}};
static const mpc_rt_tensor_info_t y_info[] = {{"out0", MPC_RT_FLOAT32, 2, y_dims, 0}};
static const mpc_rt_tensor_info_t loss_info[] = {{"loss", MPC_RT_FLOAT32, 0, 0, 0}};

static const int64_t two[] = {2};
static const mpc_rt_tensor_info_t result_infos[] = {{"twice", MPC_RT_FLOAT32, 0, 0, 0},
                                                    {"parts", MPC_RT_FLOAT32, 1, two, 0}};

/* "predict" for rows of another length, which only come alone. */
static const int64_t six_dims[] = {1, 6}, pair_dims[] = {1, 2};
static const mpc_rt_tensor_info_t six_info[] = {TENSOR("x", MPC_RT_FLOAT32, 2, six_dims)};
static const mpc_rt_tensor_info_t pair_info[] = {TENSOR("out0", MPC_RT_FLOAT32, 2, pair_dims)};

static int32_t predict_of_six(const mpc_rt_call_t *call) {
  const float *x = (const float *)call->inputs[0];
  float *y = (float *)call->outputs[0];
  y[0] = x[0] + x[5];
  y[1] = 6;
  return 0;
}

static const mpc_rt_entry_info_t entries[] = {
    {"predict", predict, 1, 1, x_info, y_info, 0, 0},
    {"train_step", train_step, 0, 0, 0, 0, 64, 128},
    {"evaluate", evaluate, 1, 1, ids_info, loss_info, 0, 0},
    {"flush", flush, 0, 1, 0, loss_info, 0, 0},
    {"fail", failing, 0, 0, 0, 0, 0, 0},
    {"huge", failing, 0, 0, 0, 0, 0, UINT64_MAX},
    {"metric_results", metric_results, 0, 2, 0, result_infos, 0, 0},
    {"rows_of_float32", flush, 1, 1, float32_info, loss_info, 0, 0},
    {"rows_of_float64", flush, 1, 1, float64_info, loss_info, 0, 0},
    {"rows_of_float16", flush, 1, 1, float16_info, loss_info, 0, 0},
    {"rows_of_bfloat16", flush, 1, 1, bfloat16_info, loss_info, 0, 0},
    {"predict_shape_2", predict_of_six, 1, 1, six_info, pair_info, 0, 0},
};

static const uint32_t loss_states[] = {TOTAL, SEEN};
static const mpc_rt_metric_info_t metrics[] = {{"loss", 0, 2, loss_states},
                                               {"rmse", 1, 2, loss_states},
                                               {"twice", 2, 2, loss_states},
                                               {"parts", 2, 2, loss_states}};

static const mpc_rt_kernel_table_t kernel_tables[] = {{MPC_RT_ISA_X86_64_V2, 0, kernels},
                                                      {MPC_RT_ISA_X86_64_V4, 0, kernels}};

typedef struct larger_t {
  mpc_rt_executable_t known;
  uint64_t later;
} larger_t;

static const larger_t executable = {{EXECUTABLE_SIZE,
                                     MPC_RT_ABI_VERSION,
                                     "fake",
                                     "0",
                                     "",
                                     "{}",
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
                                     MPC_RT_EXECUTABLE_DISTRIBUTED,
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
                                     0},
                                    1};

__attribute__((visibility("default"))) const mpc_rt_executable_t *
mpc_rt_executable_query(uint32_t max_abi_version) {
  return max_abi_version >= MPC_RT_ABI_VERSION ? &executable.known : 0;
}
