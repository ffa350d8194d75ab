// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* The version of the contract between generated code and libmpcrt. */
#ifndef MPC_RT_ABI_VERSION_H
#define MPC_RT_ABI_VERSION_H

/* A runtime loads libraries of its version alone. What is only added (a service, a field, a value
 * of an enumeration) does not change it: docs/abi.md. */
#define MPC_RT_ABI_VERSION 1u

#endif
