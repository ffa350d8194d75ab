/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Looking for the layer whose values overflow. A context that watches runs its entries as ever and
 * looks at what each product, convolution and attention reads and gives. */
#ifndef MPC_RT_WATCH_H
#define MPC_RT_WATCH_H

#include "mpc-rt/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on, or with `watches` 0 no longer, runs of the context look for the first value that is
 * not finite; forgets what an earlier one found. They give the same results, more slowly.
 * UNAVAILABLE: devices other than the CPU. */
MPC_RT_API mpc_rt_status_t mpc_rt_context_watch(mpc_rt_context_t *context, int32_t watches);

/* The path of the layer that had the first one, null when there was none. `*is_computed` (may be
 * null): 1 when the layer computed it of finite values, 0 when it read it already. Valid until the
 * next call with this context. */
MPC_RT_API const char *mpc_rt_context_watched_layer(mpc_rt_context_t *context,
                                                    int32_t *is_computed);

#ifdef __cplusplus
}
#endif
#endif
