/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The linear model of the unit tests with tables that fuzz targets may write to. */
#define mpc_rt_executable_query query_linear_model
#include "test/Unit/runtime/training/linear_model.c"
#undef mpc_rt_executable_query

static mpc_rt_executable_t fuzzed;

__attribute__((visibility("default"))) const mpc_rt_executable_t *
mpc_rt_executable_query(uint32_t max_abi_version) {
  fuzzed = *query_linear_model(max_abi_version);
  return &fuzzed;
}
