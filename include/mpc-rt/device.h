/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Devices: what this machine can run, and what each policy gains there. */
#ifndef MPC_RT_DEVICE_H
#define MPC_RT_DEVICE_H

#include "mpc-rt/executable.h"
#include "mpc-rt/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of mpc_rt_device_info_t.features. */
enum {
  MPC_RT_FEATURE_AVX2 = 1 << 0,
  MPC_RT_FEATURE_FMA = 1 << 1,
  MPC_RT_FEATURE_F16C = 1 << 2,
  MPC_RT_FEATURE_AVX512F = 1 << 3,
  MPC_RT_FEATURE_AVX512_V4 = 1 << 4, /* F, BW, CD, DQ and VL: x86-64-v4 */
  MPC_RT_FEATURE_AVX512_VNNI = 1 << 5,
  MPC_RT_FEATURE_AVX512_BF16 = 1 << 6,
  MPC_RT_FEATURE_AVX512_FP16 = 1 << 7,
  MPC_RT_FEATURE_AMX_BF16 = 1 << 8,
  MPC_RT_FEATURE_AMX_INT8 = 1 << 9
};

typedef struct mpc_rt_device_info_t {
  uint32_t struct_size; /* set by the caller to sizeof(mpc_rt_device_info_t) */
  int32_t available;    /* 0: `advice` says what is missing */
  const char *name;     /* "cpu", "cuda:0"; what mpc_rt_context_options_t.device takes */
  const char *kind;     /* "cpu", "cuda", "null" */
  const char *model;    /* as the hardware names itself */
  const char *isa;      /* cpu: "x86-64-v4"; null when not available */
  int32_t isa_level;    /* cpu: mpc_rt_isa_t that contexts choose by default, else -1 */
  uint32_t cores;       /* cpu: CPUs that this process may run on */
  uint64_t features;    /* MPC_RT_FEATURE_* */
  uint64_t memory_bytes;
  const char *advice; /* what is missing and what to do; of an available device a hint, or "" */
  /* cpu: the kind whose measured rules choose kernels ("zen3", "intel-amx"; "unknown"), else null;
   * not set where struct_size ends before it */
  const char *cpu_kind;
} mpc_rt_device_info_t;

/* Devices that this version knows, available or not: the first is "cpu". Strings live as long as
 * the process. INVALID_ARGUMENT: `index` is not below the count, or info->struct_size is not set.
 */
MPC_RT_API uint32_t mpc_rt_device_count(void);
MPC_RT_API mpc_rt_status_t mpc_rt_device_info(uint32_t index, mpc_rt_device_info_t *info);

/* One policy name ("mixed_bfloat16", "mixed_float16", "bfloat16", "float16", "float32") on one
 * device. */
typedef struct mpc_rt_policy_gain_t {
  uint32_t struct_size; /* set by the caller to sizeof(mpc_rt_policy_gain_t) */
  int32_t native;    /* 1: the device multiplies that dtype in hardware; 0: computed through f32 */
  double peak_ratio; /* contraction speed over float32 by the hardware's peak; 1 = none */
  double memory_ratio; /* bytes of activations over float32 */
  const char *summary; /* one sentence */
  /* What Keras's device compatibility check would say
   * (keras/mixed_precision, device_compatibility_check), "" when it has no complaint. */
  const char *warning;
} mpc_rt_policy_gain_t;

/* NOT_FOUND: a policy name that is not in the list above. UNAVAILABLE: the device is not there.
 * INVALID_ARGUMENT: no such index, or gain->struct_size is not set. */
MPC_RT_API mpc_rt_status_t mpc_rt_device_policy_gain(uint32_t device_index, const char *policy,
                                                     mpc_rt_policy_gain_t *gain);

/* 0 if a context can be made on `name`, else UNAVAILABLE or NOT_FOUND with advice. */
MPC_RT_API mpc_rt_status_t mpc_rt_device_check(const char *name);

#ifdef __cplusplus
}
#endif
#endif
