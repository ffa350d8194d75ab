/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * DLPack tensors (https://dmlc.github.io/dlpack) in and out: memory shared with NumPy, PyTorch,
 * JAX, TensorFlow, without a copy.
 *
 * This header declares `struct DLManagedTensor` alone, so that it stands beside any version of
 * <dlpack/dlpack.h>. Programs that do not have that header include "mpc-rt/dlpack_types.h".
 *
 * Tensors that are taken must be dense and row-major (null strides say the same), of one lane, with
 * data at a multiple of the element's size, in memory that the host reads (kDLCPU, kDLCUDAHost,
 * kDLCUDAManaged); contexts of a GPU also take kDLCUDA of that GPU, which stays on it (but for ids,
 * whose values the host checks). A call waits for what is queued on CUDA's default stream before it
 * touches them; other streams are the caller's to wait for. They stay the caller's, and nothing of
 * them is remembered after the call, which returns when the outputs are there. bool is kDLBool.
 *
 * Tensors that are given are kDLCPU, 64-byte aligned, and belong to the receiver, who calls their
 * deleter (any thread may). They keep alive what they point to: the context's memory stays until
 * the last of them is gone, the context itself is to be released as ever. */
#ifndef MPC_RT_DLPACK_H
#define MPC_RT_DLPACK_H

#include "mpc-rt/model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;

/* Runs an entry as mpc_rt_context_run_checked does. An output that is null is made, with the shape
 * that the table and the batch say, and given to the caller; another one is written in place. On
 * failure none is given. INVALID_ARGUMENT names the tensor and what is wrong with it. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_run_dlpack(mpc_rt_context_t *context, uint32_t entry,
                                                     struct DLManagedTensor *const *inputs,
                                                     uint32_t input_count,
                                                     struct DLManagedTensor **outputs,
                                                     uint32_t output_count);

/* A variable's own memory, as mpc_rt_context_variable gives it: runs change it, and after writing
 * into it call mpc_rt_context_variables_changed. On a GPU it is the host's copy: ask again after a
 * run. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_variable_dlpack(mpc_rt_context_t *context,
                                                          uint32_t variable,
                                                          struct DLManagedTensor **tensor);

/* Copies a tensor of the variable's dtype and shape into it. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_set_variable_dlpack(mpc_rt_context_t *context,
                                                              uint32_t variable,
                                                              const struct DLManagedTensor *tensor);

/* The context's own buffer of a gradient (mpc_rt_context_gradient). */
MPC_RT_API mpc_rt_status_t mpc_rt_context_gradient_dlpack(mpc_rt_context_t *context,
                                                          uint32_t gradient,
                                                          struct DLManagedTensor **tensor);

/* A tensor of host memory as what mpc_rt_context_run_checked takes and mpc_rt_context_forward's
 * arrays hold; the view is of the same memory. */
MPC_RT_API mpc_rt_status_t mpc_rt_buffer_from_dlpack(const struct DLManagedTensor *tensor,
                                                     mpc_rt_buffer_t *buffer);

/* Calls the tensor's deleter, where it has one. Null is allowed. */
MPC_RT_API void mpc_rt_dlpack_release(struct DLManagedTensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
