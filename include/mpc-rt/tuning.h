/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Choosing kernels. Large products and convolutions run on kernels of the runtime's own or on
 * oneDNN's. Rules that come with the runtime choose, or a context measures; what it found is text
 * that another context of the same model can take over. */
#ifndef MPC_RT_TUNING_H
#define MPC_RT_TUNING_H

#include "mpc-rt/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on a product or convolution that the context meets for the first time (one of the model
 * with one batch size) is run by each kernel, and the fastest is chosen. Other kernels sum in
 * another order: contexts that measured may differ in the last bits. On CUDA the algorithms of
 * cuBLASLt's heuristic are measured that give equal bytes in equal runs.
 */
MPC_RT_API mpc_rt_status_t mpc_rt_context_tune(mpc_rt_context_t *context);

/* The same for a training of `steps` steps (at least 1): measuring takes about two per cent of the
 * time that its products take in so many steps, at most. What there is no time for is left to the
 * rules. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_tune_for(mpc_rt_context_t *context, uint64_t steps);

/* 1 where the rules that choose were measured on this kind of CPU, and on other devices; 0 where
 * they are those of another kind, so that measuring may gain something; -1 where the context is
 * null. */
MPC_RT_API int32_t mpc_rt_context_has_measured_rules(mpc_rt_context_t *context);

/* The choices made so far, a line each: "ID BATCH kept|changing KERNEL" of a product,
 * "convolution ID BATCH kept|changing KERNEL", sorted; on CUDA "cublaslt LIBRARY PRODUCT
 * algorithm_RANK/BYTES/CHECKSUM". "" if nothing was measured. Valid until the next call with this
 * context. */
MPC_RT_API const char *mpc_rt_context_kernel_choices(mpc_rt_context_t *context);

/* Takes over choices. INVALID_ARGUMENT: not such a text; UNAVAILABLE: a kernel that this CPU does
 * not run, or algorithms of another GPU or cuBLASLt. Nothing is changed then. A call whose product
 * cuBLASLt then refuses fails with FAILED_PRECONDITION. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_set_kernel_choices(mpc_rt_context_t *context,
                                                             const char *kernels);

/* From now on the context notes which kernel computes each product and convolution; on the CPU
 * mpc_rt_context_plan_memory() notes which one will, too, unless their numbers decide (weights of 4
 * bits and less). */
MPC_RT_API mpc_rt_status_t mpc_rt_context_record_kernels(mpc_rt_context_t *context);

/* What was noted, a line each, in the order of the model: "LAYER MATRICESxMxNxK LHSxRHS KERNEL"
 * ("dense 1x128x10x784 bfloat16xbfloat16 avx512_bfloat16"); oneDNN's kernels have its names
 * ("brg:avx512_core"). Then "LAYER DIRECTION BATCHxIMAGExCHANNELS KERNELxCHANNELSxFILTERS LHSxRHS
 * KERNEL" for convolutions ("conv forward 32x28x28x16 3x3x16x32 float32xfloat32 avx512_float32";
 * "depthwise" and "direct" are loops of the runtime). On the CPU ": REASON" follows: why this
 * kernel was taken, and where that was measured ("avx512_bfloat16: a small product; measured on Zen
 * 4 and 5"). On CUDA kernels are "cublaslt" ("cublaslt:gelu" and "cublaslt:gelu_gradient" where it
 * applies these, too), "cudnn:ENGINE", "columns" (of a product by cuBLASLt), "product" and
 * "direct". Valid until the next call with this context. */
MPC_RT_API const char *mpc_rt_context_used_kernels(mpc_rt_context_t *context);

#ifdef __cplusplus
}
#endif
#endif
