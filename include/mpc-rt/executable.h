// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* The contract between code that mpcc generates and libmpcrt: the only thing that both sides share.
 *
 * A compiled model exports `mpc_rt_executable_query`, which returns one immutable, statically
 * initialised mpc_rt_executable_t. Every table of it lives in the library's read-only data.
 *
 * Versioning: `struct_size` comes first in every struct that may grow, and fields are only appended
 * there. Structs without it are elements of tables and never grow. */
#ifndef MPC_RT_EXECUTABLE_H
#define MPC_RT_EXECUTABLE_H

#include "mpc-rt/abi_version.h"
#include "mpc-rt/dtype.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPC_RT_MAX_RANK 8
#define MPC_RT_MAX_SPATIAL 3           /* spatial dimensions of a convolution */
#define MPC_RT_MAX_KERNEL_ARGUMENTS 32 /* of a kernel on parts of a contraction's result */
#define MPC_RT_DYNAMIC (-1)            /* a dimension that equals the batch of the call */

/* ---- Tables ------------------------------------------------------------------------------ */

typedef struct mpc_rt_tensor_info_t {
  const char *name; /* input, output, target or variable path; UTF-8 */
  mpc_rt_dtype_t dtype;
  uint32_t rank;
  const int64_t *dims; /* `rank` extents; MPC_RT_DYNAMIC only first */
  /* Values, of floating ones the whole parts, must lie in [0, index_limit); 0 = unrestricted.
   * Checked before a call. */
  int64_t index_limit;
} mpc_rt_tensor_info_t;

typedef enum mpc_rt_role_t {
  MPC_RT_ROLE_TRAINABLE = 0,     /* model variable that training updates */
  MPC_RT_ROLE_NON_TRAINABLE = 1, /* model variable that only the forward pass may change */
  MPC_RT_ROLE_OPTIMIZER = 2,     /* slots, iteration, learning_rate, and the loss-scale state */
  MPC_RT_ROLE_METRIC = 3,        /* running totals of the loss and of metrics; reset each epoch */
  MPC_RT_ROLE_RANDOM = 4,        /* int64[2]: Philox seed, counter (calls so far) */
  MPC_RT_ROLE_SHADOW = 5 /* low-precision copy of a trainable variable; derived, never saved */
} mpc_rt_role_t;

typedef enum mpc_rt_initializer_kind_t {
  MPC_RT_INIT_ZEROS = 0,
  MPC_RT_INIT_ONES = 1,
  MPC_RT_INIT_CONSTANT = 2,         /* a = value */
  MPC_RT_INIT_UNIFORM = 3,          /* [a, b) */
  MPC_RT_INIT_NORMAL = 4,           /* mean a, standard deviation b */
  MPC_RT_INIT_TRUNCATED_NORMAL = 5, /* the same, redrawn outside 2 standard deviations */
  MPC_RT_INIT_ORTHOGONAL = 6,       /* a = gain */
  MPC_RT_INIT_IDENTITY = 7,         /* a = gain */
  MPC_RT_INIT_UNIT_FORGET = 8,      /* a; 1 in the second quarter (LSTM: the forget gate's bias); */
                                    /* b != 0: of the second half (cuDNN's LSTM has two biases) */
  /* [frame, 1, bins], Keras's STFT initializer: a = mpc_rt_window_t, b = MPC_RT_WINDOW_* options */
  MPC_RT_INIT_FOURIER_COSINE = 9,
  MPC_RT_INIT_FOURIER_SINE = 10
} mpc_rt_initializer_kind_t;

/* Windows of scipy.signal.get_window. */
typedef enum mpc_rt_window_t {
  MPC_RT_WINDOW_NONE = 0,
  MPC_RT_WINDOW_BOXCAR = 1,
  MPC_RT_WINDOW_HANN = 2,
  MPC_RT_WINDOW_HAMMING = 3,
  MPC_RT_WINDOW_BLACKMAN = 4,
  MPC_RT_WINDOW_NUTTALL = 5,
  MPC_RT_WINDOW_BLACKMAN_HARRIS = 6,
  MPC_RT_WINDOW_FLATTOP = 7
} mpc_rt_window_t;

enum {
  MPC_RT_WINDOW_PERIODIC = 1, /* for spectra, not for filters */
  MPC_RT_WINDOW_DENSITY = 2,  /* divided by the root of the sum of its squares */
  MPC_RT_WINDOW_SPECTRUM = 4  /* divided by the sum of its magnitudes */
};

enum {
  /* Of a shadow: the entries that change no weights ("predict", "evaluate", "metric_results") read
   * it as the rhs of contractions alone, so that the runtime may have it made later, or never. */
  MPC_RT_VARIABLE_ONLY_CONTRACTED = 1
};

typedef struct mpc_rt_variable_info_t {
  mpc_rt_tensor_info_t tensor; /* dims are all static */
  uint32_t role;               /* mpc_rt_role_t */
  uint32_t initializer;        /* mpc_rt_initializer_kind_t */
  double init_a, init_b;
  uint64_t init_stream; /* Philox stream of this variable, distinct per variable */
  /* Optimizer variables: Keras's short name in `tensor.name` (for example
   * "dense_kernel_momentum"). Shadows: index of the variable they copy, else -1. */
  int32_t shadow_of;
  uint32_t flags; /* MPC_RT_VARIABLE_* */
} mpc_rt_variable_info_t;

typedef struct mpc_rt_call_t mpc_rt_call_t;
/* Runs an entry. 0 on success, else an mpc_rt_status_code_t. */
typedef int32_t (*mpc_rt_entry_fn)(const mpc_rt_call_t *call);

/* One compiled function of the model. Names: "predict", "evaluate", "gradients", "train_step",
 * the three stages of the latter ("train_forward", "train_backward", "train_apply", which go
 * together through mpc-rt/training.h only) and, for metrics of kind 2, "metric_results", which
 * takes no inputs and returns their results by name.
 * inputs:  model inputs, then (not for predict) targets "y0".., then optionally for each target the
 *          weights of the elements of its loss: "sample_weight", or with several "sample_weight0"..
 * outputs: predict "out0"..; evaluate and train_step "loss" (f32 scalar: this call's value,
 * regularisers included, unscaled), then train_step "learning_rate" (f32 scalar: the rate used) and
 * with loss scaling "finite" (bool scalar);
 *          gradients: "loss", "grad:<path>", "gradx:<input>", "out0".., "after:<path>". */
typedef struct mpc_rt_entry_info_t {
  const char *name;
  mpc_rt_entry_fn fn;
  uint32_t input_count, output_count;
  const mpc_rt_tensor_info_t *inputs;
  const mpc_rt_tensor_info_t *outputs;
  /* Scratch memory of one call: arena_fixed + batch * arena_per_sample bytes, 64-byte aligned. */
  uint64_t arena_fixed, arena_per_sample;
} mpc_rt_entry_info_t;

/* Results come from variables that runs add to; the first metric is the loss. */
typedef struct mpc_rt_metric_info_t {
  const char *name; /* as Keras prints it: "loss", "accuracy" */
  /* 0: divide_no_nan(total, count) of two states; 1: its square root; 2: the output of this name of
   * the entry "metric_results", a float32 scalar or vector */
  uint32_t kind;
  uint32_t state_count;
  const uint32_t *states; /* indices into the variables */
} mpc_rt_metric_info_t;

typedef enum mpc_rt_isa_t {
  MPC_RT_ISA_X86_64_V2 = 0,
  MPC_RT_ISA_X86_64_V3 = 1,
  MPC_RT_ISA_X86_64_V4 = 2,
  MPC_RT_ISA_COUNT = 3
} mpc_rt_isa_t;

/* The outlined body of a parallel loop: does the iterations [begin, end). Pure but for its buffers.
 */
typedef void (*mpc_rt_kernel_fn)(void *const *arguments, int64_t begin, int64_t end);

typedef struct mpc_rt_executable_t {
  uint32_t struct_size;
  uint32_t abi_version;
  const char *model_name;
  const char *compiler_version;
  const char *source_hash; /* of the model file, hex */
  const char *manifest;    /* NAME.json, verbatim */
  uint32_t variable_count, entry_count, metric_count, kernel_count;
  const mpc_rt_variable_info_t *variables;
  const mpc_rt_entry_info_t *entries;
  const mpc_rt_metric_info_t *metrics;
  /* kernels[isa] is a table of kernel_count functions, or null when not compiled for it. */
  const mpc_rt_kernel_fn *kernels[MPC_RT_ISA_COUNT];
  const char *const *kernel_names; /* kernel_count names, for profiles */
  const char *weights_hash;        /* of NAME.safetensors as written, hex; "" when none */
  /* From here on only where struct_size says so (MPC_RT_EXECUTABLE_HAS). */
  const char *policy;      /* of most layers with variables, Keras's name: "mixed_bfloat16" */
  const char *header_hash; /* of what NAME.h says about the model, hex */
  const void *weights;     /* NAME.safetensors, 64-byte aligned; null unless embedded */
  uint64_t weights_bytes;
  float loss_scale; /* what losses are multiplied with when training starts; 1 = nothing */
  uint32_t reserved;
  float loss_scale_minimum, loss_scale_maximum; /* of a dynamic one; 0 and infinity: no bounds */
} mpc_rt_executable_t;

/* Tables up to `weights_hash`, which every library has. */
#define MPC_RT_EXECUTABLE_MINIMUM offsetof(mpc_rt_executable_t, policy)
#define MPC_RT_EXECUTABLE_HAS(executable, field)                                                   \
  ((executable)->struct_size >= offsetof(mpc_rt_executable_t, field) + sizeof((executable)->field))

/* Exported by every libNAME.so under this name; null if max_abi_version is too old for it. */
typedef const mpc_rt_executable_t *(*mpc_rt_executable_query_fn)(uint32_t max_abi_version);
#define MPC_RT_EXECUTABLE_QUERY_SYMBOL "mpc_rt_executable_query"

/* ---- Services that the runtime gives to generated code ------------------------------------ */

/* An extent of a contraction or convolution: fixed + per_sample * batch (one of them is 0). */
typedef struct mpc_rt_extent_t {
  int64_t fixed, per_sample;
} mpc_rt_extent_t;

typedef enum mpc_rt_activation_t {
  MPC_RT_ACTIVATION_NONE = 0,
  MPC_RT_ACTIVATION_RELU = 1 /* NaN stays NaN, as in Keras */
} mpc_rt_activation_t;

enum {
  MPC_RT_CONTRACT_TRANSPOSE_LHS = 1, /* lhs is stored [batch, k, m] instead of [batch, m, k] */
  MPC_RT_CONTRACT_TRANSPOSE_RHS = 2, /* rhs is stored [batch, n, k] instead of [batch, k, n] */
  MPC_RT_CONTRACT_ACCUMULATE = 4,    /* out += instead of out = */
  /* Since version 5. The int8 rhs [k, (n + 1) / 2] holds two signed 4-bit numbers per byte, the low
   * half first; of an odd n the last high half does not count. Batch 1, transposed for
   * contract_groups alone. */
  MPC_RT_CONTRACT_PACKED_RHS = 8,
  /* Since version 7, of contract_and_launch: what `out` holds afterwards is undefined. Since
   * version 13 `out` may then be null. */
  MPC_RT_CONTRACT_CONSUMED = 16,
  /* Since version 16. The lhs is float32 and rounded to the rhs dtype, bfloat16 or float16, before
   * it is multiplied. */
  MPC_RT_CONTRACT_ROUND_LHS = 32,
  /* Since version 18, of contract_and_sum: the sums are rounded once, to the out dtype, which is
   * bfloat16 or float16, and `sums` has that dtype. */
  MPC_RT_CONTRACT_ROUND_SUMS = 64
};

/* out[b,m,n] = round(activation(round(round(sum_k lhs[b,m,k] * rhs[b,k,n]) + bias[n]))), row-major,
 * dense; the sum in float32 (float64 for float64 operands), each round to the out dtype, as Keras's
 * op-by-op execution. `id` is unique in the executable and keys the primitive cache together with
 * the batch. Of int8 operands the out dtype is int32 and the sum exact, without bias, activation or
 * rounding (since version 4). Of float8 operands, at most one of them MPC_RT_FLOAT8_E5M2, the out
 * dtype is float32, without bias, activation or MPC_RT_CONTRACT_ACCUMULATE (since version 14). Of a
 * floating lhs the rhs may be int8, numbers like others (since version 5). `rhs_variable` >= 0 says
 * that rhs is that variable's buffer: between two changes of it the runtime may keep a packed copy.
 */
typedef struct mpc_rt_contract_t {
  uint32_t struct_size;
  uint32_t id;
  mpc_rt_dtype_t lhs_dtype, rhs_dtype, out_dtype, bias_dtype;
  uint32_t flags;      /* MPC_RT_CONTRACT_* */
  uint32_t activation; /* mpc_rt_activation_t */
  mpc_rt_extent_t batch, m, n, k;
  int32_t rhs_variable;
  uint32_t has_bias;
  const char *layer; /* layer path, for messages and profiles */
} mpc_rt_contract_t;

typedef enum mpc_rt_convolution_direction_t {
  MPC_RT_CONVOLUTION_FORWARD = 0,        /* lhs images, rhs filter, out outputs */
  MPC_RT_CONVOLUTION_INPUT_GRADIENT = 1, /* lhs outputs, rhs filter, out images */
  MPC_RT_CONVOLUTION_FILTER_GRADIENT = 2 /* lhs images, rhs outputs, out filter */
} mpc_rt_convolution_direction_t;

/* Since version 2. A convolution of images [batch, images..., channels] with a filter
 * [kernel..., channels / groups, filters] to outputs [batch, outputs..., filters], all row-major
 * and dense: outputs[b, o, f] = sum_k,c images[b, o * stride - padding_low + k * dilation, c] *
 * filter[k, c, f] over the channels c of the group of f, with zeros outside; or one of the two
 * adjoints of this map. The sums are in float32 (float64 for float64). What is computed is rounded
 * to the out dtype, then bias (along the last dimension) is added and the result rounded, then
 * comes the activation. `id` is unique among the convolutions of the executable; `rhs_variable` as
 * in mpc_rt_contract_t. Only the first `spatial_rank` entries of the arrays count. */
typedef struct mpc_rt_convolution_t {
  uint32_t struct_size;
  uint32_t id;
  mpc_rt_dtype_t lhs_dtype, rhs_dtype, out_dtype, bias_dtype;
  uint32_t direction;    /* mpc_rt_convolution_direction_t */
  uint32_t activation;   /* mpc_rt_activation_t */
  uint32_t spatial_rank; /* 1 to MPC_RT_MAX_SPATIAL */
  uint32_t has_bias;     /* not for the filter's gradient */
  int32_t rhs_variable;
  uint32_t reserved;
  mpc_rt_extent_t batch;
  int64_t groups, channels, filters;
  int64_t images[MPC_RT_MAX_SPATIAL], kernel[MPC_RT_MAX_SPATIAL], outputs[MPC_RT_MAX_SPATIAL];
  int64_t strides[MPC_RT_MAX_SPATIAL], dilations[MPC_RT_MAX_SPATIAL];
  int64_t padding_low[MPC_RT_MAX_SPATIAL], padding_high[MPC_RT_MAX_SPATIAL];
  const char *layer;
} mpc_rt_convolution_t;

enum {
  MPC_RT_ATTENTION_CAUSAL = 1, /* sources u > t do not count for target t */
  /* Since version 20: there is a mask, and which extents of [batch, heads, targets, sources] it
   * has; the others are 1, but for sources. Not with MPC_RT_ATTENTION_CAUSAL. */
  MPC_RT_ATTENTION_MASK = 2,
  MPC_RT_ATTENTION_MASK_OF_SAMPLE = 4,
  MPC_RT_ATTENTION_MASK_OF_HEAD = 8,
  MPC_RT_ATTENTION_MASK_OF_TARGET = 16,
  /* Since version 22: sources that do not count, by a mask or by MPC_RT_ATTENTION_CAUSAL, have
   * `hidden_score` as s in the softmax and in log_sums; then their probability is 0. Of a target
   * for which none counts `out` is 0, and p and d are. A GPU has no such attention. */
  MPC_RT_ATTENTION_HIDDEN_SCORE = 32
};

/* Since version 12. Attention of queries [batch, targets, heads, width] to keys [batch, sources,
 * heads, width] and values [batch, sources, heads, value_width], all row-major, dense and of one
 * floating dtype: with the scores s[b, h, t, u] = scale * sum_w query[b, t, h, w] * key[b, u, h,
 * w], out[b, t, h, v] = sum_u softmax_u(s)[b, h, t, u] * value[b, u, h, v] and log_sums[b, h, t] =
 * log(sum_u e^s[b, h, t, u]), which is float32 (float64 for float64). Sums are in float32 (float64
 * for float64), results round once; the scores may be rounded before they are scaled, and the
 * softmax before the second product. `id` is unique among the attentions and derivatives of
 * attentions of the executable. */
typedef struct mpc_rt_attention_t {
  uint32_t struct_size;
  uint32_t id;
  mpc_rt_dtype_t dtype;
  uint32_t flags; /* MPC_RT_ATTENTION_* */
  mpc_rt_extent_t batch;
  int64_t targets, sources, heads, width, value_width;
  double scale;
  const char *layer;
  double hidden_score; /* finite; with MPC_RT_ATTENTION_HIDDEN_SCORE. Since version 22 */
} mpc_rt_attention_t;

/* A contraction that a loop over time computes again and again, rows at a time, with the same rhs
 * and bias. */
typedef struct mpc_rt_rows_product_t {
  const mpc_rt_contract_t *descriptor; /* batch 1, lhs not transposed */
  const void *rhs, *bias;
} mpc_rt_rows_product_t;

/* Does what an entry does to the rows [begin, end), of all steps. 0 or a status code. */
typedef int32_t (*mpc_rt_rows_fn)(const mpc_rt_call_t *call, int64_t begin, int64_t end);

/* Writes to `memory` what an entry derives from its weights alone. 0 or a status code. */
typedef int32_t (*mpc_rt_prepare_fn)(const mpc_rt_call_t *call, void *memory);
/* A kernel whose iteration i reads element i of a contraction's result and no other one, as
 * services->contract_and_launch takes it; since version 19 it may write that element, too, through
 * the same argument, and `out` then has what it wrote. */
typedef struct mpc_rt_result_kernel_t {
  mpc_rt_kernel_fn function;
  void *const *arguments;
  uint32_t argument_count, result;
  int64_t grain;
} mpc_rt_result_kernel_t;

/* A call of services->parallel_for. */
typedef struct mpc_rt_launch_t {
  mpc_rt_kernel_fn kernel;
  void *const *arguments;
  int64_t count, grain;
} mpc_rt_launch_t;

typedef struct mpc_rt_services_t {
  uint32_t struct_size;
  uint32_t reserved;
  /* Splits [0, count) into chunks of at least `grain` iterations over the context's threads. The
   * split depends on count, grain and the number of threads alone. */
  void (*parallel_for)(void *context, mpc_rt_kernel_fn kernel, void *const *arguments,
                       int64_t count, int64_t grain);
  /* 0 or a status code. */
  int32_t (*contract)(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                      const void *rhs, const void *bias, void *out, int64_t batch);
  /* The same. Since version 2. */
  int32_t (*convolve)(void *context, const mpc_rt_convolution_t *descriptor, const void *lhs,
                      const void *rhs, const void *bias, void *out, int64_t batch);
  /* contract, and writes to `largest` the largest element of `out` without its sign, as the bit
   * pattern of the out dtype (an unsigned integer of its width; 0 when out is empty). Infinities
   * and NaN have the largest patterns. Since version 3. */
  int32_t (*contract_with_largest)(void *context, const mpc_rt_contract_t *descriptor,
                                   const void *lhs, const void *rhs, const void *bias, void *out,
                                   void *largest, int64_t batch);
  /* contract with a packed rhs that has scales: in place of the number at (k, n) stands
   * (number - zero[p, n]) * scale[p, n] with p = places[k] (whole numbers), rounded to the lhs
   * dtype; scale and zero are [blocks, n]. Not with MPC_RT_CONTRACT_ACCUMULATE. Since version 6. */
  int32_t (*contract_blocks)(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                             const void *rhs, const void *bias, const void *scale,
                             const int8_t *zero, const float *places, int64_t blocks, void *out,
                             int64_t batch);
  /* contract, and parallel_for of a kernel whose iteration i reads, and may replace, element i of
   * `out` and no other one: it runs on ranges that cover all elements, each as soon as these are
   * there.
   * arguments[result] (of argument_count <= MPC_RT_MAX_KERNEL_ARGUMENTS) is `out`; the kernel may
   * get another address there, at which the elements [begin, end) of its call are found. Neither
   * writes what the other one reads. Since version 7. With MPC_RT_CONTRACT_CONSUMED `out` and
   * arguments[result] may both be null, since version 13: the runtime then has memory for the
   * result where it needs some. */
  int32_t (*contract_and_launch)(void *context, const mpc_rt_contract_t *descriptor,
                                 const void *lhs, const void *rhs, const void *bias, void *out,
                                 mpc_rt_kernel_fn kernel, void *const *arguments,
                                 uint32_t argument_count, uint32_t result, int64_t grain,
                                 int64_t batch);
  /* contract_blocks of weights as gptq and awq store them, with both MPC_RT_CONTRACT_PACKED_RHS and
   * _TRANSPOSE_RHS: rhs is [(n + 1) / 2, k], a byte having the numbers of two columns, 0 to 15;
   * scale and zero are [n, groups]. `divisors` [k] may be null; else the rounded (number -
   * zero[n, p]) * scale[n, p] is divided by divisors[k], which the lhs dtype holds, and rounded
   * again. Since version 8. Without MPC_RT_CONTRACT_PACKED_RHS, since version 11, rhs is [n, k], a
   * byte having one number, 0 to 255. */
  int32_t (*contract_groups)(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                             const void *rhs, const void *bias, const void *scale,
                             const uint8_t *zero, const float *places, int64_t groups,
                             const float *divisors, void *out, int64_t batch);
  /* Runs body(call, begin, end) on ranges that cover [0, count), each on one thread; or once on all
   * rows, where its products are better computed by all threads together. The rows are those of
   * each product (m = count). A body calls launch_rows and contract_rows alone, and with its own
   * bounds. Results do not depend on how rows are split. The three since version 9. */
  int32_t (*parallel_rows)(void *context, const mpc_rt_call_t *call, mpc_rt_rows_fn body,
                           int64_t count, const mpc_rt_rows_product_t *products,
                           uint32_t product_count, int64_t batch);
  /* The iterations [begin, end) of a kernel, those of the body's rows. */
  void (*launch_rows)(void *context, mpc_rt_kernel_fn kernel, void *const *arguments, int64_t begin,
                      int64_t end, int64_t grain);
  /* The rows [begin, end) of products[product]; `lhs` and `out` are where row 0 is. */
  int32_t (*contract_rows)(void *context, uint32_t product, const void *lhs, void *out,
                           int64_t begin, int64_t end);
  /* contract of one matrix, with a bit per element of the result: bit j % 8 of byte j / 8 of row i,
   * each row padded to a multiple of 128 bits. Exactly one of the two is not null. `mask`, with the
   * activation relu, receives whether the result is positive (or the sum before it was rounded);
   * what it holds in the padding is undefined. Where a bit of `where`, without bias and activation,
   * is not set, 0 is written instead of the sum. Not with MPC_RT_CONTRACT_ACCUMULATE. Since
   * version 10. */
  int32_t (*contract_with_bits)(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                                const void *rhs, const void *bias, const uint8_t *where, void *out,
                                uint8_t *mask, int64_t batch);
  /* 0 or a status code. The two since version 12. */
  int32_t (*attend)(void *context, const mpc_rt_attention_t *descriptor, const void *query,
                    const void *key, const void *value, void *out, void *log_sums, int64_t batch);
  /* The derivatives with respect to query, key and value: `cotangent` is that of `out`, which with
   * `log_sums` is what attend gave for the same operands. With p = e^(s - log_sums) and
   * d[b, h, t, u] = scale * p[b, h, t, u] * sum_v cotangent[b, t, h, v] *
   * (value[b, u, h, v] - out[b, t, h, v]) they are d key, d^T query and p^T cotangent; p and d may
   * be rounded for these products. */
  int32_t (*attend_gradient)(void *context, const mpc_rt_attention_t *descriptor,
                             const void *cotangent, const void *out, const void *log_sums,
                             const void *query, const void *key, const void *value,
                             void *query_gradient, void *key_gradient, void *value_gradient,
                             int64_t batch);
  /* Gives `bytes` of memory, at a multiple of 64, that stay with the entry of this call, after
   * `fill` has written it for the variables as they are. `fill` reads variables that the entry does
   * not write, and the memory; it is called unless it has been for these values. 0 or a status
   * code. Since version 15. */
  int32_t (*prepare)(void *context, const mpc_rt_call_t *call, mpc_rt_prepare_fn fill,
                     uint64_t bytes, void **memory);
  /* contract of one matrix without bias, whose rhs is float32, bfloat16 or float16 and not
   * transposed; and to sums[n] the float32 sum of column n of rhs, from 0 on and row by row (a GPU:
   * in an order of its own, the same for equal calls).
   * `largest` (as in contract_with_largest) and `kernel` (as in contract_and_launch) may be null.
   * Since version 16. */
  int32_t (*contract_and_sum)(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                              const void *rhs, void *out, void *largest, float *sums,
                              const mpc_rt_result_kernel_t *kernel, int64_t batch);
  /* parallel_for of kernels none of which reads or writes what another one writes, in any order or
   * at once. Grains say how much the iterations of one cost beside those of the others. Since
   * version 16. */
  void (*parallel_for_all)(void *context, const mpc_rt_launch_t *launches, uint32_t launch_count);
  /* contract of one matrix of floating numbers without activation and without
   * MPC_RT_CONTRACT_ACCUMULATE, and gelu(x) = 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) or
   * its derivative. Without `at`, gelu(x) of each result x is written instead, and x goes to `kept`
   * where that is not null; with it, which excludes `kept` and a bias, each result times the
   * derivative at the element of `at` in its place is written. Both are computed from the result or
   * from the sum before it was rounded, and rounded to the out dtype, which `at` and `kept` have.
   * Since version 17. */
  int32_t (*contract_with_gelu)(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                                const void *rhs, const void *bias, const void *at, void *out,
                                void *kept, int64_t batch);
  /* attend and attend_gradient with a mask of bytes, row-major and dense: the sources count where
   * it is not 0, whatever the scores of the others are. Where a target has none, all its scores are
   * 0 instead, and d too. A GPU has no such service. The two since version 20. */
  int32_t (*attend_masked)(void *context, const mpc_rt_attention_t *descriptor, const void *query,
                           const void *key, const void *value, void *out, void *log_sums,
                           const uint8_t *mask, int64_t batch);
  int32_t (*attend_masked_gradient)(void *context, const mpc_rt_attention_t *descriptor,
                                    const void *cotangent, const void *out, const void *log_sums,
                                    const void *query, const void *key, const void *value,
                                    void *query_gradient, void *key_gradient, void *value_gradient,
                                    const uint8_t *mask, int64_t batch);
  /* The same with dropout of probabilities, and a `mask` that is null where the descriptor has no
   * flag of one: the probability of a target and a source is multiplied by `keep_scale` for `out`
   * where the byte of kept[batch, heads, targets, sources] is not 0, and is 0 elsewhere, whatever
   * it was. In the derivative values count `keep_scale` times, or as 0, in d, and p does in p^T
   * cotangent; log_sums knows nothing of it. A GPU has no such service. The two since version 21.
   */
  int32_t (*attend_dropped)(void *context, const mpc_rt_attention_t *descriptor, const void *query,
                            const void *key, const void *value, void *out, void *log_sums,
                            const uint8_t *mask, const uint8_t *kept, double keep_scale,
                            int64_t batch);
  int32_t (*attend_dropped_gradient)(void *context, const mpc_rt_attention_t *descriptor,
                                     const void *cotangent, const void *out, const void *log_sums,
                                     const void *query, const void *key, const void *value,
                                     void *query_gradient, void *key_gradient, void *value_gradient,
                                     const uint8_t *mask, const uint8_t *kept, double keep_scale,
                                     int64_t batch);
} mpc_rt_services_t;

/* What an entry receives. Pointers are 64-byte aligned for variables and arena. */
struct mpc_rt_call_t {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t batch;
  const void *const *inputs;       /* as entry.inputs */
  void *const *outputs;            /* as entry.outputs */
  void *const *variables;          /* all variables of the executable, updated in place */
  uint8_t *arena;                  /* undefined content */
  const mpc_rt_kernel_fn *kernels; /* the table of the chosen ISA */
  const mpc_rt_services_t *services;
  void *context; /* first argument of every service */
};

#ifdef __cplusplus
}
#endif
#endif
