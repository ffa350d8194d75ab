// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of integers (int8, 4 bits; with scales per block or none) as contractions read them:
// in tiles that lie in the order of use, for few rows and for AMX, or as a copy in the dtype of
// lhs. All of it is made at the first use, and again when the variables have other values.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_INTEGER_WEIGHTS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_INTEGER_WEIGHTS_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/contract/packed_weights.h"
#include "runtime/drivers/cpu/contract/weight_scales.h"
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/weight_kernel.h"
#include "runtime/drivers/kernel_reason.h"
#include "runtime/threads/thread_team.h"

#include <map>
#include <tuple>
#include <utility>

namespace mpc::rt {

class IntegerWeights {
public:
  // `ownKernels`: AMX and AVX-512 where they are there; without, the vectors of vector_kernels.h.
  IntegerWeights(ThreadTeam &team, int isa, const WeightState &state, bool ownKernels);

  // Whether multiply() takes these weights of a floating lhs: more than a few rows only where AMX
  // multiplies them with these scales, which may be null.
  Verdict readsTiles(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                     const BlockScales *scales);
  // Rows of lhs by weights that readsTiles() is true of: [m, n] sums in float32.
  void multiply(const mpc_rt_contract_t &descriptor, const Contraction &shape, const void *lhs,
                const void *rhs, const BlockScales *scales, float *sums);

  // Takes the memory that multiply() needs without scales, and computes nothing.
  void reserveFor(const mpc_rt_contract_t &descriptor, const Contraction &shape);

  // The weights [k, n] in the dtype of lhs. `scales` may be null.
  const void *findCopy(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                       const void *rhs, const BlockScales *scales);
  // The memory for them, which holds nothing yet.
  Buffer &reserveCopy(const mpc_rt_contract_t &descriptor, const Contraction &shape);

  // The weights as `kernel` reads them; of null weights the memory alone.
  const int8_t *findTiles(const Int8Kernel &kernel, const mpc_rt_contract_t &descriptor,
                          const Contraction &shape, const int8_t *rhs);

  // Whether all numbers of a variable with one per byte (gptq of 2 or 3 bits) fit 4 bits.
  bool haveFourBits(const mpc_rt_contract_t &descriptor, const Contraction &shape, const void *rhs);

  // Tiles of a variable that nothing reads any more.
  void dropTiles(int32_t variable);
  uint64_t bytes() const noexcept;

private:
  // How weights lie in the copy that is kept.
  enum class Layout { vectors, pairs, columns, amx, int8 };
  // The copy in this layout, which `pack` writes into memory of `bytes` if there is an `rhs`.
  template <typename Pack>
  const int8_t *findTiles(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                          const int8_t *rhs, Layout layout, uint64_t bytes, const Pack &pack);
  const int8_t *findVectorTiles(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                const int8_t *rhs, const WeightScales *blocks);
  const WeightScales &findBlocks(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                 const BlockScales &scales);

  // Does the same as multiply() with rows in the order of the tiles. Without `sums` it takes the
  // memory, and reads and computes nothing.
  void multiplyOrReserve(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                         const void *lhs, const int8_t *rhs, const WeightScales *blocks,
                         float *sums);
  // The ways to do so: `blocks` may be null.
  void multiplyAmx(const mpc_rt_contract_t &descriptor, const Contraction &shape, const void *lhs,
                   const int8_t *rhs, const WeightScales *blocks, float *sums);
  // Multiplies columns whose numbers are contiguous.
  void multiplyColumns(const ColumnKernel &kernel, const mpc_rt_contract_t &descriptor,
                       const Contraction &shape, const void *lhs, const int8_t *rhs,
                       const WeightScales *blocks, float *sums);
  // Panels of rows by tiles as panels.
  void multiplyPanels(const WeightKernel &kernel, const mpc_rt_contract_t &descriptor,
                      const Contraction &shape, const void *lhs, const int8_t *rhs,
                      const WeightScales *blocks, float *sums);
  void multiplyVectors(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                       const void *lhs, const int8_t *rhs, const WeightScales *blocks, float *sums);
  // Null where panels or tiles are multiplied instead.
  const ColumnKernel *findColumnKernel(const Contraction &shape, const WeightScales *blocks) const;

  // Rows of lhs in the order of the tiles' rows.
  const void *orderRows(const Contraction &shape, const void *lhs, const WeightScales &blocks);
  // Rows of lhs in steps of columnStep.
  void orderSteps(const ColumnKernel &kernel, const Contraction &shape, const void *lhs);
  // In float32; null of null.
  const float *widenRows(const Contraction &shape, const void *lhs);

  ThreadTeam &team;
  const VectorKernels &kernels;
  const WeightState &state;
  bool useAmx;
  const WeightKernel *weightKernels[3] = {}; // by dtype; null: tiles are multiplied otherwise

  // The keys are the variable, k, n, how the descriptor says that rhs is stored, and the layout of
  // the kernel.
  std::map<std::tuple<int32_t, int64_t, int64_t, bool, bool, Layout>, PackedWeights> tiles;
  // The keys are the variable and its dtype.
  std::map<std::pair<int32_t, mpc_rt_dtype_t>, PackedWeights> copies;
  std::map<std::pair<int32_t, mpc_rt_dtype_t>, WeightScales> weightScales;
  std::map<int32_t, std::pair<uint64_t, bool>> fourBits; // by variable: of which version, whether
  Buffer preparedRows, orderedRows, scratch;
};

template <typename Pack>
const int8_t *IntegerWeights::findTiles(const mpc_rt_contract_t &descriptor, const Contraction &c,
                                        const int8_t *rhs, Layout layout, uint64_t bytes,
                                        const Pack &pack) {
  PackedWeights &kept =
      tiles[{descriptor.rhs_variable, c.k, c.n, c.transposeRhs, c.packedRhs, layout}];
  if (kept.keptVersion != state.version) {
    reserve(kept.buffer, bytes);
    if (rhs) {
      pack(reinterpret_cast<int8_t *>(kept.buffer.data()));
      kept.keptVersion = state.version;
    }
  }
  return reinterpret_cast<const int8_t *>(kept.buffer.data());
}

// Integers as float32, row by row as they lie.
void widenIntegers(ThreadTeam &team, const Contraction &shape, const int8_t *rhs, float *to);

} // namespace mpc::rt

#endif
