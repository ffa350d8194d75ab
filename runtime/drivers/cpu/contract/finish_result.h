// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps from the sums of a contraction to its result: the roundings, bias and activation of the
// contract, bits of relu, the largest magnitude, sums of columns.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_FINISH_RESULT_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_FINISH_RESULT_H

#include "runtime/drivers/cpu/contract/contraction_call.h"
#include "runtime/drivers/cpu/contract/contraction_memory.h"

namespace mpc::rt {

// All that a call asks for beside the product and its epilogue, of the whole result and rhs.
void finishResult(const ContractionCall &call, ContractionMemory &memory, void *out,
                  bool runsKernel = true);

void sumColumns(const Contraction &shape, ContractionMemory &memory, const void *rhs, void *sums);
// Bits of the rows [first, first + rows) of the result, which are at `values`.
void applyBits(const Contraction &shape, ContractionMemory &memory, const ReluBits &bits,
               int64_t first, void *values, int64_t rows);
uint32_t largestOf(mpc_rt_dtype_t dtype, ContractionMemory &memory, const void *values,
                   int64_t count);
// The low bytes: as wide as an element.
void storeLargest(mpc_rt_dtype_t dtype, uint64_t bits, void *largest);
// `sums` in float32, or null where `out` holds them rounded.
void applyEpilogue(const Contraction &shape, ContractionMemory &memory, const float *sums,
                   const float *bias, void *out, int64_t rows);

} // namespace mpc::rt

#endif
