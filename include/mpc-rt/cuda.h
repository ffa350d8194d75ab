/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a library compiled for CUDA exports beside its executable: the kernels, compiled for some
 * compute capabilities, and their source. */
#ifndef MPC_RT_CUDA_H
#define MPC_RT_CUDA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPC_RT_CUDA_VERSION 7u

/* How products of float32 are multiplied: as they are; with operands that may be rounded to TF32;
 * or as three products of operands that are each the sum of two numbers of TF32. */
#define MPC_RT_FP32_IEEE 0u
#define MPC_RT_FP32_TF32 1u
#define MPC_RT_FP32_TF32X3 2u

/* What cuModuleLoadData takes. A cubin runs on its compute capability and later ones of the same
 * major number, PTX on every later one. */
typedef struct mpc_rt_cuda_image_t {
  uint32_t architecture; /* 90: compute capability 9.0 */
  uint32_t is_ptx;       /* 0: a cubin; 1: PTX, terminated by zero */
  const void *data;
  uint64_t bytes;
} mpc_rt_cuda_image_t;

/* A launch of so many threads, counting the lanes of its iterations, runs faster by itself than as
 * a stage of others: where it can be that wide, its kernel is both. */
#define MPC_RT_CUDA_WIDE_THREADS 65536

/* `void name(arguments..., long long count)`: each thread, or each warp (`lanes`), does iterations
 * of [0, count) in steps of the whole grid, so any number of blocks gives the same result. */
typedef struct mpc_rt_cuda_kernel_t {
  const char *name;
  /* One character per argument without the count: 'p' for a buffer, else the size of a scalar in
   * bytes. */
  const char *arguments;
  uint32_t block_threads;
  uint32_t is_stage; /* 1: only part of groups; the images have no kernel of this name */
  uint32_t lanes;    /* threads that take an iteration together: 1, or a warp's 32 */
} mpc_rt_cuda_kernel_t;

/* A kernel with stages that does the work of launches that follow each other. Its parameters are
 * theirs, one after the other, each with its count, and two of int: the first stage that runs, and
 * the one before which it ends. Before a stage that `waits` the whole grid waits for those before
 * it: the kernel must be launched cooperatively. One that does not is for a launch of
 * services->parallel_for_all alone, which is no fork's first. */
typedef struct mpc_rt_cuda_group_t {
  const char *name;
  const uint32_t *kernels; /* indices of kernels, in the order of the launches */
  const uint32_t *waits;   /* of each 1 or 0; of the first one 1 */
  uint32_t kernel_count;   /* at least 2 */
  uint32_t block_threads;
} mpc_rt_cuda_group_t;

typedef struct mpc_rt_cuda_program_t {
  uint32_t struct_size;
  uint32_t version; /* MPC_RT_CUDA_VERSION */
  uint32_t image_count;
  uint32_t kernel_count; /* as the executable's, in the same order */
  const mpc_rt_cuda_image_t *images;
  const mpc_rt_cuda_kernel_t *kernels;
  /* The CUDA C++ that the images were made of, compressed by zlib; null when it was dropped. */
  const void *source;
  uint64_t source_bytes;      /* compressed */
  uint64_t source_text_bytes; /* uncompressed */
  const char *source_hash;    /* SHA-256 of the text, hex */
  uint32_t fp32_precision;    /* MPC_RT_FP32_... */
  uint32_t group_count;
  const mpc_rt_cuda_group_t *groups;
} mpc_rt_cuda_program_t;

/* Exported under this name by libraries for CUDA only. */
typedef const mpc_rt_cuda_program_t *(*mpc_rt_cuda_query_fn)(void);
#define MPC_RT_CUDA_QUERY_SYMBOL "mpc_rt_cuda_query"

#ifdef __cplusplus
}
#endif
#endif
