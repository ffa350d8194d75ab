/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The seal at the end of every libNAME.so that mpcc writes: how long the library is and a checksum
 * of it. The system's loader trusts what it maps, so that a damaged library would end the process
 * instead of giving an error. Tools that drop what follows an ELF file (strip) take the seal off.
 */
#ifndef MPC_RT_SEAL_H
#define MPC_RT_SEAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MPC_RT_SEAL_MAGIC "MPC-SEAL" /* 8 bytes, without the null */

/* The last bytes of the file, little-endian. */
typedef struct mpc_rt_seal_t {
  uint64_t bytes;    /* of the file before the seal */
  uint64_t checksum; /* of these, mpc_rt_seal_checksum */
  char magic[8];     /* MPC_RT_SEAL_MAGIC */
} mpc_rt_seal_t;

/* Of a longer library the first and the last so many bytes count: the middle is weights, which are
 * not checked beside the library either. */
#define MPC_RT_SEAL_CHECKED ((size_t)4 << 20)

/* Each step is invertible, so that no change of one place goes unnoticed. */
static inline uint64_t mpc_rt_seal_extend(uint64_t state, const unsigned char *data, size_t size) {
  while (size) {
    const size_t taken = size < 8 ? size : 8;
    uint64_t word = 0;
    memcpy(&word, data, taken);
    state = (state ^ word) * 0x9E3779B97F4A7C15u;
    state = (state << 29) | (state >> 35);
    data += taken;
    size -= taken;
  }
  return state;
}

static inline uint64_t mpc_rt_seal_checksum(const unsigned char *data, size_t size) {
  if (size <= 2 * MPC_RT_SEAL_CHECKED)
    return mpc_rt_seal_extend(size, data, size);
  return mpc_rt_seal_extend(mpc_rt_seal_extend(size, data, MPC_RT_SEAL_CHECKED),
                            data + size - MPC_RT_SEAL_CHECKED, MPC_RT_SEAL_CHECKED);
}

#endif
