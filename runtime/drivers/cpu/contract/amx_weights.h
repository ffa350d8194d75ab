// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of floating rows by integer weights on AMX. The weights stay 4 or 8 bits wide in memory
// and become bfloat16, which holds them exactly, on their way into a tile. A float32 row is the sum
// of three bfloat16 rows, exactly, and is multiplied as these.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_AMX_WEIGHTS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_AMX_WEIGHTS_H

#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/contract/weight_scales.h"
#include "runtime/threads/thread_team.h"

namespace mpc::rt::amx {

// Rows of weights that one tile of products takes: a block of scales is a multiple of it.
constexpr int64_t stepRows = 32;

// Integer weights [k, n] in the order of use; their rows in that of `blocks`, which may be null.
uint64_t weightBytes(const Contraction &shape);
void packWeights(ThreadTeam &team, const Contraction &shape, const int8_t *rhs,
                 const WeightScales *blocks, int8_t *to);

// Left operands as tiles: `rowBytes` bytes, for `multiply`. Not for a transposed lhs.
uint64_t rowBytes(const Contraction &shape);
void packRows(ThreadTeam &team, const Contraction &shape, const void *lhs, uint8_t *to);

// (weight - zero) * scale in place of each weight; in the type of lhs, which is float32 or
// bfloat16. Of bfloat16 each product is rounded, as Keras does.
struct Scales {
  int64_t blockRows = 0; // rows that share a scale: a multiple of stepRows; 0 = all, no scales
  const WeightScales *blocks = nullptr;
};

// False where tiles cannot take them: a block is not a multiple of stepRows, weights are divided,
// or lhs is float16.
bool findScales(const Contraction &shape, const WeightScales &blocks, Scales &scales);

// Bytes that each thread needs.
uint64_t scratchBytes(const Contraction &shape);
// sums[m, n] in float32; the order of summation depends on k alone.
void multiply(ThreadTeam &team, const Contraction &shape, const uint8_t *rows,
              const int8_t *weights, const Scales &scales, float *sums, uint8_t *scratch);

} // namespace mpc::rt::amx

#endif
