// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Status codes of the runtime. A failing call also leaves a message for mpc_rt_last_error(). */
#ifndef MPC_RT_STATUS_H
#define MPC_RT_STATUS_H

#include <stdint.h>

#ifdef _WIN32
#define MPC_RT_API
#else
#define MPC_RT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mpc_rt_status_code_t {
  MPC_RT_OK = 0,
  MPC_RT_INVALID_ARGUMENT = 1,    /* the caller's fault: wrong shape, dtype, name, null */
  MPC_RT_NOT_FOUND = 2,           /* no such file, entry, variable */
  MPC_RT_UNAVAILABLE = 3,         /* a device or library is missing; the message says what to do */
  MPC_RT_FAILED_PRECONDITION = 4, /* ABI, hash or ISA mismatch */
  MPC_RT_RESOURCE_EXHAUSTED = 5,  /* out of memory, with the bytes wanted */
  MPC_RT_DATA_LOSS = 6,           /* a damaged file */
  MPC_RT_INTERNAL = 7
} mpc_rt_status_code_t;

typedef int32_t mpc_rt_status_t; /* an mpc_rt_status_code_t */

/* The message of this thread's last failing call: what was attempted, the offending value, what to
 * do. Valid until the thread's next failing call; never null. */
MPC_RT_API const char *mpc_rt_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
