// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* What the runtime does for generated code, and how a call of an entry looks to it.
 *
 * Each service takes a descriptor, which is constant, and a struct of the call, which the code
 * fills anew. Both say in `struct_size` how much of them there is. A service takes what is missing
 * for 0 and null; it refuses what it does not know unless that is 0 and null. */
#ifndef MPC_RT_SERVICES_H
#define MPC_RT_SERVICES_H

#include "mpc-rt/dtype.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPC_RT_MAX_SPATIAL 3           /* spatial dimensions of a convolution */
#define MPC_RT_MAX_KERNEL_ARGUMENTS 32 /* of a kernel on parts of a contraction's result */

typedef struct mpc_rt_call_t mpc_rt_call_t;

/* The outlined body of a parallel loop: does the iterations [begin, end). Pure but for its buffers.
 */
typedef void (*mpc_rt_kernel_fn)(void *const *arguments, int64_t begin, int64_t end);

/* An extent of a contraction or convolution: fixed + per_sample * batch (one of them is 0). */
typedef struct mpc_rt_extent_t {
  int64_t fixed, per_sample;
} mpc_rt_extent_t;

/* One of these is applied to each number of a result. */
typedef enum mpc_rt_activation_t {
  MPC_RT_ACTIVATION_NONE = 0,
  MPC_RT_ACTIVATION_RELU = 1, /* NaN stays NaN, as in Keras */
  /* The others of contractions alone. gelu(x) = 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
   * of the number or of the sum before it was rounded, rounded to the out dtype. */
  MPC_RT_ACTIVATION_GELU = 2,
  /* 0 where a bit of call->where is not set, also if the number is NaN. */
  MPC_RT_ACTIVATION_RELU_GRADIENT = 3,
  /* The number, rounded before or not, times the derivative of gelu at the element of call->gelu_at
   * in its place, rounded to the out dtype. */
  MPC_RT_ACTIVATION_GELU_GRADIENT = 4
} mpc_rt_activation_t;

/* ---- Contractions ------------------------------------------------------------------------ */

enum {
  MPC_RT_CONTRACT_TRANSPOSE_LHS = 1, /* lhs is stored [batch, k, m] instead of [batch, m, k] */
  MPC_RT_CONTRACT_TRANSPOSE_RHS = 2, /* rhs is stored [batch, n, k] instead of [batch, k, n] */
  MPC_RT_CONTRACT_ACCUMULATE = 4,    /* out += instead of out = */
  /* The int8 rhs [k, (n + 1) / 2] holds two signed 4-bit numbers per byte, the low half first; of
   * an odd n the last high half does not count. Batch 1, transposed only with call->scale. */
  MPC_RT_CONTRACT_PACKED_RHS = 8,
  /* With call->kernel: what `out` holds afterwards is undefined, and it may be null. */
  MPC_RT_CONTRACT_CONSUMED = 16,
  /* The lhs is float32 and rounded to the rhs dtype, bfloat16 or float16, before it is multiplied.
   */
  MPC_RT_CONTRACT_ROUND_LHS = 32,
  /* With call->sums: they are rounded once, to the out dtype, which is bfloat16 or float16, and
   * have it. */
  MPC_RT_CONTRACT_ROUND_SUMS = 64,
  /* Of `out` nothing is read but what comes of its reduction, a float32 sum with
   * MPC_RT_ALL_REDUCE_FOR_RESULTS that follows: parts of a batch may compute that together, and
   * leave `out` of all but the first of them as it is. */
  MPC_RT_CONTRACT_SUMMED_BY_PARTS = 128
};

/* out[b,m,n] = activation(round(round(sum_k lhs[b,m,k] * rhs[b,k,n]) + bias[n])), row-major, dense;
 * the sum in float32 (float64 for float64 operands), each round to the out dtype, as Keras's
 * op-by-op execution. `id` is unique in the executable and keys the primitive cache together with
 * the batch. `rhs_variable` >= 0 says that rhs is that variable's buffer: between two changes of it
 * the runtime may keep a packed copy.
 *
 * With int8 operands the out dtype is int32 and the sum exact; with float8 operands, at most one of
 * them MPC_RT_FLOAT8_E5M2, the out dtype is float32: both without bias and activation, float8
 * without MPC_RT_CONTRACT_ACCUMULATE, too. Of a floating lhs the rhs may be int8, numbers like
 * others. */
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

/* A kernel whose iteration i reads, and may replace, element i of the result of a contraction or
 * convolution and no other one: it runs on ranges that cover all elements, each as soon as these
 * are there. arguments[result] (of argument_count <= MPC_RT_MAX_KERNEL_ARGUMENTS) is `out`; the
 * kernel may get another address there, at which the elements [begin, end) of its call are found.
 * Neither writes what the other one reads. With MPC_RT_CONTRACT_CONSUMED, and of a convolution
 * always, `out` and arguments[result] may both be null: the runtime then has memory for the result
 * where it needs some. */
typedef struct mpc_rt_result_kernel_t {
  mpc_rt_kernel_fn function;
  void *const *arguments;
  uint32_t argument_count, result;
  int64_t grain;
} mpc_rt_result_kernel_t;

/* What is optional goes together in any way, unless it says otherwise: what no kernel does in one
 * go, the runtime composes. A GPU has no `largest`, `kernel` and `scale`, nor
 * MPC_RT_CONTRACT_ROUND_LHS, and adds (MPC_RT_CONTRACT_ACCUMULATE) only what has no activation, or
 * relu without `mask`. */
typedef struct mpc_rt_contract_call_t {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t batch; /* of the call */
  const void *lhs, *rhs;
  const void *bias; /* with has_bias */
  void *out;
  /* ---- optional from here on: null for nothing ---- */
  /* Receives the largest element of `out` without its sign, as the bit pattern of the out dtype (an
   * unsigned integer of its width; 0 when out is empty). Infinities and NaN have the largest
   * patterns. Not of int32. */
  void *largest;
  const mpc_rt_result_kernel_t *kernel; /* runs on `out`, after all else */
  /* [n]: receives the float32 sum of column n of rhs, from 0 on and row by row (a GPU: in an order
   * of its own, the same for equal calls). Of one matrix rhs of float32, bfloat16 or float16 that
   * is not transposed. */
  void *sums;
  /* A bit per element of the result, which is one floating matrix: bit j % 8 of byte j / 8 of row
   * i, each row padded to a multiple of 128 bits. */
  const uint8_t *where; /* with MPC_RT_ACTIVATION_RELU_GRADIENT, and only there */
  /* With MPC_RT_ACTIVATION_RELU: receives whether the result is positive (or the sum before it was
   * rounded); what it holds in the padding is undefined. Not with MPC_RT_CONTRACT_ACCUMULATE. */
  uint8_t *mask;
  /* Like the result, which is one floating matrix. */
  const void *gelu_at; /* with MPC_RT_ACTIVATION_GELU_GRADIENT, and only there */
  void *kept;          /* with MPC_RT_ACTIVATION_GELU: receives what gelu is applied to */
  /* Scales of an int8 rhs: in place of the number at (k, n) stands (number - zero[p, n]) *
   * scale[p, n] with p = places[k] (whole numbers), rounded to the lhs dtype; scale (of the lhs
   * dtype) and zero (int8) are [blocks, n]. Of a packed rhs; or, with
   * MPC_RT_CONTRACT_TRANSPOSE_RHS, of weights as gptq and awq store them: rhs is [(n + 1) / 2, k],
   * a byte having the numbers of two columns, 0 to 15, or without MPC_RT_CONTRACT_PACKED_RHS [n,
   * k], a byte having one number, 0 to 255; zero is uint8, scale and zero are [n, blocks]. */
  const void *scale, *zero;
  const float *places;
  /* [k], with MPC_RT_CONTRACT_TRANSPOSE_RHS: the rounded (number - zero) * scale is divided by
   * divisors[k], which the lhs dtype holds, and rounded again. */
  const float *divisors;
  int64_t blocks;
  /* What `kernel` computes, as runtime/rules/requantization.h packs it; 0: anything. The runtime
   * may do it in the kernel's place where nothing else reads `out`. */
  uint64_t requantization;
} mpc_rt_contract_call_t;

/* What every call has. */
#define MPC_RT_CONTRACT_CALL_MINIMUM offsetof(mpc_rt_contract_call_t, largest)

/* ---- Convolutions ------------------------------------------------------------------------ */

typedef enum mpc_rt_convolution_direction_t {
  MPC_RT_CONVOLUTION_FORWARD = 0,        /* lhs images, rhs filter, out outputs */
  MPC_RT_CONVOLUTION_INPUT_GRADIENT = 1, /* lhs outputs, rhs filter, out images */
  MPC_RT_CONVOLUTION_FILTER_GRADIENT = 2 /* lhs images, rhs outputs, out filter */
} mpc_rt_convolution_direction_t;

/* A convolution of images [batch, images..., channels] with a filter
 * [kernel..., channels / groups, filters] to outputs [batch, outputs..., filters], all row-major
 * and dense: outputs[b, o, f] = sum_k,c images[b, o * stride - padding_low + k * dilation, c] *
 * filter[k, c, f] over the channels c of the group of f, with zeros outside; or one of the two
 * adjoints of this map. The sums are in float32 (float64 for float64). What is computed is rounded
 * to the out dtype, then bias (along the last dimension) is added and the result rounded, then
 * comes the activation, none or relu. Of int8 images and filters the outputs are int32, exact (sums
 * wrap around), with `border` outside of the images instead of zeros: on CPUs, forward, in one
 * group, without bias and activation. `id` is unique among the convolutions of the executable;
 * `rhs_variable` as in mpc_rt_contract_t. Only the first `spatial_rank` entries of the arrays
 * count. */
typedef struct mpc_rt_convolution_t {
  uint32_t struct_size;
  uint32_t id;
  mpc_rt_dtype_t lhs_dtype, rhs_dtype, out_dtype, bias_dtype;
  uint32_t direction;    /* mpc_rt_convolution_direction_t */
  uint32_t activation;   /* mpc_rt_activation_t */
  uint32_t spatial_rank; /* 1 to MPC_RT_MAX_SPATIAL */
  uint32_t has_bias;     /* not for the filter's gradient */
  int32_t rhs_variable;
  int32_t border; /* of int8 */
  mpc_rt_extent_t batch;
  int64_t groups, channels, filters;
  int64_t images[MPC_RT_MAX_SPATIAL], kernel[MPC_RT_MAX_SPATIAL], outputs[MPC_RT_MAX_SPATIAL];
  int64_t strides[MPC_RT_MAX_SPATIAL], dilations[MPC_RT_MAX_SPATIAL];
  int64_t padding_low[MPC_RT_MAX_SPATIAL], padding_high[MPC_RT_MAX_SPATIAL];
  const char *layer;
} mpc_rt_convolution_t;

typedef struct mpc_rt_convolve_call_t {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t batch;
  const void *lhs, *rhs;
  const void *bias; /* with has_bias */
  void *out;
  /* ---- optional from here on: null for nothing ---- */
  /* Runs on `out`, after all else; on CPUs, and not for the filter's gradient. */
  const mpc_rt_result_kernel_t *kernel;
  uint64_t requantization; /* as of a contraction */
} mpc_rt_convolve_call_t;

/* What every call has. */
#define MPC_RT_CONVOLVE_CALL_MINIMUM offsetof(mpc_rt_convolve_call_t, kernel)

/* ---- Attention --------------------------------------------------------------------------- */

enum {
  MPC_RT_ATTENTION_CAUSAL = 1, /* sources u > t do not count for target t */
  /* There is a mask, and which extents of [batch, heads, targets, sources] it has; the others are
   * 1, but for sources. Not with MPC_RT_ATTENTION_CAUSAL. */
  MPC_RT_ATTENTION_MASK = 2,
  MPC_RT_ATTENTION_MASK_OF_SAMPLE = 4,
  MPC_RT_ATTENTION_MASK_OF_HEAD = 8,
  MPC_RT_ATTENTION_MASK_OF_TARGET = 16,
  /* Sources that do not count, by a mask or by MPC_RT_ATTENTION_CAUSAL, have `hidden_score` as s in
   * the softmax and in log_sums; then their probability is 0. Of a target for which none counts
   * `out` is 0, and p and d are. */
  MPC_RT_ATTENTION_HIDDEN_SCORE = 32,
  MPC_RT_ATTENTION_DROPOUT = 64,  /* of probabilities */
  MPC_RT_ATTENTION_GRADIENT = 128 /* the derivatives instead */
};

/* Attention of queries [batch, targets, heads, width] to keys [batch, sources, heads, width] and
 * values [batch, sources, heads, value_width], all row-major, dense and of one floating dtype: with
 * the scores s[b, h, t, u] = scale * sum_w query[b, t, h, w] * key[b, u, h, w],
 * out[b, t, h, v] = sum_u softmax_u(s)[b, h, t, u] * value[b, u, h, v] and log_sums[b, h, t] =
 * log(sum_u e^s[b, h, t, u]), which is float32 (float64 for float64). Sums are in float32 (float64
 * for float64), results round once; the scores may be rounded before they are scaled, and the
 * softmax before the second product. `id` is unique among the attentions and derivatives of
 * attentions of the executable. A GPU has no mask, no hidden score and no dropout.
 *
 * With MPC_RT_ATTENTION_GRADIENT the derivatives with respect to query, key and value: `cotangent`
 * is that of `out`, which with `log_sums` is what the attention gave for the same operands. With
 * p = e^(s - log_sums) and d[b, h, t, u] = scale * p[b, h, t, u] * sum_v cotangent[b, t, h, v] *
 * (value[b, u, h, v] - out[b, t, h, v]) they are d key, d^T query and p^T cotangent; p and d may be
 * rounded for these products. */
typedef struct mpc_rt_attention_t {
  uint32_t struct_size;
  uint32_t id;
  mpc_rt_dtype_t dtype;
  uint32_t flags; /* MPC_RT_ATTENTION_* */
  mpc_rt_extent_t batch;
  int64_t targets, sources, heads, width, value_width;
  double scale;
  const char *layer;
  double hidden_score; /* finite; with MPC_RT_ATTENTION_HIDDEN_SCORE */
  double keep_scale;   /* at least 1; with MPC_RT_ATTENTION_DROPOUT */
} mpc_rt_attention_t;

typedef struct mpc_rt_attend_call_t {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t batch;
  const void *query, *key, *value;
  void *out, *log_sums; /* with MPC_RT_ATTENTION_GRADIENT only read */
  /* ---- optional from here on ---- */
  /* With MPC_RT_ATTENTION_MASK: bytes, row-major and dense; the sources count where it is not 0,
   * whatever the scores of the others are. Where a target has none, all its scores are 0 instead,
   * and d too. */
  const uint8_t *mask;
  /* With MPC_RT_ATTENTION_DROPOUT: the probability of a target and a source is multiplied by
   * `keep_scale` for `out` where the byte of kept[batch, heads, targets, sources] is not 0, and is
   * 0 elsewhere, whatever it was. In the derivative values count `keep_scale` times, or as 0, in d,
   * and p does in p^T cotangent; log_sums knows nothing of it. */
  const uint8_t *kept;
  /* With MPC_RT_ATTENTION_GRADIENT. */
  const void *cotangent;
  void *query_gradient, *key_gradient, *value_gradient;
} mpc_rt_attend_call_t;

/* What every call has. */
#define MPC_RT_ATTEND_CALL_MINIMUM offsetof(mpc_rt_attend_call_t, mask)

/* ---- Traces ------------------------------------------------------------------------------ */

#define MPC_RT_MAX_TRACE_SOURCES 6

typedef enum mpc_rt_trace_direction_t {
  MPC_RT_TRACE_FORWARD = 0,
  MPC_RT_TRACE_BACKWARD = 1,
  MPC_RT_TRACE_OPTIMIZER = 2
} mpc_rt_trace_direction_t;

enum {
  MPC_RT_TRACE_SCALED = 1, /* the loss scale is in it */
  MPC_RT_TRACE_ROWS = 2,   /* its first extent counts the rows of the batch */
  MPC_RT_TRACE_CHANGE = 4, /* it minus the value before it, of its dtype, is reported as float32,
                              of float64 after a subtraction in it */
  /* Its elements are numbers of float8; the value before it, of its dtype, was rounded to these. */
  MPC_RT_TRACE_FLOAT8_E4M3FN = 8,
  MPC_RT_TRACE_FLOAT8_E5M2 = 16
};

/* A value that an entry reports, dense and row-major. `slot` is its rank among those of the entry,
 * by execution; an entry and its twin in float32 have the same slots. */
typedef struct mpc_rt_trace_t {
  uint32_t struct_size;
  uint32_t slot;
  mpc_rt_dtype_t dtype, before_dtype; /* floating */
  uint32_t direction;                 /* mpc_rt_trace_direction_t */
  uint32_t flags;                     /* MPC_RT_TRACE_* */
  mpc_rt_extent_t count;              /* of elements; both parts may be there */
  const char *layer, *op;
  /* Slots of the traced values that it was computed of. */
  uint32_t source_count;
  uint32_t reserved;
  int64_t sources[MPC_RT_MAX_TRACE_SOURCES];
} mpc_rt_trace_t;

typedef struct mpc_rt_trace_call_t {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t batch;
  const void *value;
  const void *before; /* what was rounded, or what it was before a change; or null */
} mpc_rt_trace_call_t;

/* What every call has. */
#define MPC_RT_TRACE_CALL_MINIMUM sizeof(mpc_rt_trace_call_t)

/* ---- Ranks ------------------------------------------------------------------------------- */

enum {
  MPC_RT_ALL_REDUCE_ENDS_BUCKET = 1, /* the arrays of this bucket are all there: they go now */
  /* Each rank needs the part of the reduction that it owns (own_part) alone. In the rest are sums
   * of some ranks, in which an infinity or a NaN is one of the whole sum. */
  MPC_RT_ALL_REDUCE_TO_PARTS = 2,
  /* Nothing is reduced: the parts of the array, of any dtype, that ranks own go to all of them. */
  MPC_RT_ALL_REDUCE_GATHERS = 4,
  /* A rank without rows takes part like the others: the array is not made of rows. */
  MPC_RT_ALL_REDUCE_ALWAYS = 8,
  /* Results of the entry and updates of variables are all that comes of the array: a part of a
   * batch whose results nobody reads does not need it. */
  MPC_RT_ALL_REDUCE_FOR_RESULTS = 16,
  /* A sum of float32 that goes between ranks in bfloat16: operands and sums are rounded to it at
   * every node of the tree, and added in float32. All arrays of a bucket have it, or none. */
  MPC_RT_ALL_REDUCE_IN_BFLOAT16 = 32
};

/* The reduction of an array over the ranks of a job, in place (mpc-rt/collectives.h); without ranks
 * the array itself. Arrays of one bucket have one dtype and one reduction. */
typedef struct mpc_rt_all_reduce_t {
  uint32_t struct_size;
  uint32_t bucket; /* counted from 0 in each entry */
  mpc_rt_dtype_t dtype;
  uint32_t reduction; /* mpc_rt_reduction_t */
  uint32_t flags;     /* MPC_RT_ALL_REDUCE_* */
  uint32_t reserved;
  int64_t count; /* elements */
  const char *layer;
} mpc_rt_all_reduce_t;

typedef struct mpc_rt_all_reduce_call_t {
  uint32_t struct_size;
  uint32_t reserved;
  void *data;
} mpc_rt_all_reduce_call_t;

/* What every call has. */
#define MPC_RT_ALL_REDUCE_CALL_MINIMUM sizeof(mpc_rt_all_reduce_call_t)

/* ---- Loops ------------------------------------------------------------------------------- */

/* A call of services->parallel_for. */
typedef struct mpc_rt_launch_t {
  mpc_rt_kernel_fn kernel;
  void *const *arguments;
  int64_t count, grain;
} mpc_rt_launch_t;

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

typedef struct mpc_rt_services_t {
  uint32_t struct_size;
  uint32_t reserved;
  /* Splits [0, count) into chunks of at least `grain` iterations over the context's threads. The
   * split depends on count, grain and the number of threads alone. */
  void (*parallel_for)(void *context, mpc_rt_kernel_fn kernel, void *const *arguments,
                       int64_t count, int64_t grain);
  /* parallel_for of kernels none of which reads or writes what another one writes, in any order or
   * at once. Grains say how much the iterations of one cost beside those of the others. */
  void (*parallel_for_all)(void *context, const mpc_rt_launch_t *launches, uint32_t launch_count);
  /* The three give 0 or a status code. */
  int32_t (*contract)(void *context, const mpc_rt_contract_t *descriptor,
                      const mpc_rt_contract_call_t *call);
  int32_t (*convolve)(void *context, const mpc_rt_convolution_t *descriptor,
                      const mpc_rt_convolve_call_t *call);
  int32_t (*attend)(void *context, const mpc_rt_attention_t *descriptor,
                    const mpc_rt_attend_call_t *call);
  /* Runs body(call, begin, end) on ranges that cover [0, count), each on one thread; or once on all
   * rows, where its products are better computed by all threads together. The rows are those of
   * each product (m = count). A body calls launch_rows and contract_rows alone, and with its own
   * bounds. Results do not depend on how rows are split. */
  int32_t (*parallel_rows)(void *context, const mpc_rt_call_t *call, mpc_rt_rows_fn body,
                           int64_t count, const mpc_rt_rows_product_t *products,
                           uint32_t product_count, int64_t batch);
  /* The iterations [begin, end) of a kernel, those of the body's rows. */
  void (*launch_rows)(void *context, mpc_rt_kernel_fn kernel, void *const *arguments, int64_t begin,
                      int64_t end, int64_t grain);
  /* The rows [begin, end) of products[product]; `lhs` and `out` are where row 0 is. */
  int32_t (*contract_rows)(void *context, uint32_t product, const void *lhs, void *out,
                           int64_t begin, int64_t end);
  /* Gives `bytes` of memory, at a multiple of 64, that stay with the entry of this call, after
   * `fill` has written it for the variables as they are. `fill` reads variables that the entry does
   * not write, and the memory; it is called unless it has been for these values. 0 or a status
   * code. */
  int32_t (*prepare)(void *context, const mpc_rt_call_t *call, mpc_rt_prepare_fn fill,
                     uint64_t bytes, void **memory);
  /* Adds to the context's record of the value what its elements are (mpc-rt/numerics.h); nothing
   * when the context keeps none. 0 or a status code. */
  int32_t (*trace)(void *context, const mpc_rt_trace_t *descriptor,
                   const mpc_rt_trace_call_t *call);
  /* Begins a reduction over ranks; until wait_for_ranks of the bucket the array is the runtime's. 0
   * or a status code, as of the next one. */
  int32_t (*all_reduce)(void *context, const mpc_rt_all_reduce_t *descriptor,
                        const mpc_rt_all_reduce_call_t *call);
  /* Returns when the arrays of descriptor->bucket hold their reductions. */
  int32_t (*wait_for_ranks)(void *context, const mpc_rt_all_reduce_t *descriptor,
                            const mpc_rt_all_reduce_call_t *call);
  /* Which of `count` elements this rank owns: part[1] of them from part[0] on, a multiple of 64;
   * without ranks all. 0 or a status code. */
  int32_t (*own_part)(void *context, int64_t count, int64_t *part);
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
