/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Statistics of the values that a model's entries "trace_predict", "trace_step" and their float32
 * twins "twin_predict", "twin_step" report (mpcc --numerics), and those of single layers with
 * inputs of the twins, "apart_predict", "apart_step". They change no variable. */
#ifndef MPC_RT_NUMERICS_H
#define MPC_RT_NUMERICS_H

#include "mpc-rt/model.h"
#include "mpc-rt/services.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a context does with reported values, a set of bits; 0: nothing, as at first. */
enum {
  MPC_RT_TRACE_STATISTICS = 1, /* counts and sums are added to those of earlier runs */
  MPC_RT_TRACE_KEEP = 2,       /* elements are kept, as float32, until the next run that keeps */
  MPC_RT_TRACE_COMPARE = 4     /* errors against the elements kept last are added, too */
};

/* exponents[i] counts elements of the magnitude [2^e, 2^(e + 1)) with e = i + this. */
#define MPC_RT_FIRST_EXPONENT (-160)
#define MPC_RT_EXPONENT_COUNT 320 /* the first and the last one have what is beyond them */
#define MPC_RT_MAX_TRACED_ROWS 8

typedef struct mpc_rt_traced_value_t {
  uint32_t struct_size;
  uint32_t reported; /* 0: the slot was in no run; the rest is 0 */
  const mpc_rt_trace_t *descriptor;
  uint64_t count, zero;
  uint64_t underflow; /* 0 after a narrowing cast, not 0 before it */
  uint64_t subnormal, infinite, nan;
  uint64_t saturated;         /* the largest finite number of the dtype, or its negative */
  double min_magnitude;       /* of finite elements that are not 0; 0: there are none */
  double max_magnitude;       /* of finite elements */
  double sum, sum_of_squares; /* of finite elements */
  const uint64_t *exponents;  /* of finite elements that are not 0; until the next call */
  /* Against the kept elements. */
  uint64_t compared;
  uint64_t lost;       /* 0 where the kept one is not */
  uint64_t overflowed; /* infinite where the kept one is finite */
  uint64_t invalid;    /* NaN where the kept one is none */
  double max_error, max_relative_error, sum_of_squared_errors; /* where both are finite */
  double kept_sum_of_squares, product_sum, kept_max_magnitude;
  /* Rows of the batch with elements that overflowed or are invalid, the first ones of the first run
   * that had any. */
  uint32_t row_count;
  mpc_rt_dtype_t dtype; /* whose numbers the elements are, whatever dtype they lie in */
  int64_t rows[MPC_RT_MAX_TRACED_ROWS];
} mpc_rt_traced_value_t;

/* A GPU waits for each value that an entry reports while any bit is set. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_trace(mpc_rt_context_t *context, uint32_t bits);
/* Statistics begin anew; kept elements stay. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_reset_traced(mpc_rt_context_t *context);
/* One more than the largest slot reported so far. */
MPC_RT_API uint32_t mpc_rt_context_traced_count(const mpc_rt_context_t *context);
/* `value->struct_size` says how much of it the caller has. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_traced_value(const mpc_rt_context_t *context,
                                                       uint32_t slot, mpc_rt_traced_value_t *value);
/* The elements that were kept of a slot; null, and a count of 0, where there are none. */
MPC_RT_API const float *mpc_rt_context_traced_elements(const mpc_rt_context_t *context,
                                                       uint32_t slot, uint64_t *count);
/* Takes a copy of elements of another context in place of kept ones. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_expect_traced(mpc_rt_context_t *context, uint32_t slot,
                                                        const float *elements, uint64_t count);

#ifdef __cplusplus
}
#endif
#endif
