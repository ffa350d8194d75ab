// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's side of mpc-rt/struct_sizes.inc.
#include "mpc-rt/executable.h"

#define MPC_RT_STRUCT(type, size) static_assert(sizeof(type) == (size), #type);
#include "mpc-rt/struct_sizes.inc"
#undef MPC_RT_STRUCT
