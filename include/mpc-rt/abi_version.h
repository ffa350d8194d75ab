// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Versions of the contract between generated code and libmpcrt. */
#ifndef MPC_RT_ABI_VERSION_H
#define MPC_RT_ABI_VERSION_H

/* The newest version that the declarations in executable.h describe. */
#define MPC_RT_ABI_VERSION 22u
/* What needs at least which version; what is not listed needs 1. An executable states the highest
 * one of what it uses. */
enum {
  MPC_RT_ABI_CONVOLVE = 2,            /* services->convolve */
  MPC_RT_ABI_LARGEST = 3,             /* services->contract_with_largest */
  MPC_RT_ABI_INT8 = 4,                /* a contraction of int8 */
  MPC_RT_ABI_INT8_WEIGHTS = 5,        /* a contraction of floating numbers with int8 */
  MPC_RT_ABI_BLOCKS = 6,              /* services->contract_blocks */
  MPC_RT_ABI_LAUNCHES_ON_RESULTS = 7, /* services->contract_and_launch */
  MPC_RT_ABI_GROUPS = 8,              /* services->contract_groups */
  MPC_RT_ABI_ROWS = 9,                /* services->parallel_rows */
  MPC_RT_ABI_BITS = 10,               /* services->contract_with_bits */
  MPC_RT_ABI_BYTES_OF_GROUPS = 11,    /* services->contract_groups with a rhs that is not packed */
  MPC_RT_ABI_ATTENTION = 12,          /* services->attend and attend_gradient */
  MPC_RT_ABI_CONSUMED_RESULTS = 13,   /* services->contract_and_launch without `out` */
  MPC_RT_ABI_FLOAT8 = 14,             /* a contraction of float8 */
  MPC_RT_ABI_PREPARATION = 15,        /* services->prepare */
  MPC_RT_ABI_COLUMN_SUMS = 16,        /* services->contract_and_sum */
  MPC_RT_ABI_LAUNCH_ALL = 16,         /* services->parallel_for_all */
  MPC_RT_ABI_ROUNDED_LHS = 16,        /* a contraction that rounds its lhs */
  MPC_RT_ABI_GELU = 17,               /* services->contract_with_gelu */
  MPC_RT_ABI_ROUNDED_SUMS = 18,       /* services->contract_and_sum that rounds the sums */
  MPC_RT_ABI_REPLACED_RESULTS = 19,   /* a kernel on a contraction's result that writes it */
  MPC_RT_ABI_ATTENTION_MASK = 20,     /* services->attend_masked and attend_masked_gradient */
  MPC_RT_ABI_ATTENTION_DROPOUT = 21,  /* services->attend_dropped and attend_dropped_gradient */
  MPC_RT_ABI_HIDDEN_SCORE = 22, /* sources that do not count in an attention, but have a score */
};

#endif
