// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of int8 rows by int8 weights that are kept. Exact; sums wrap around.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_INT8_KERNEL_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_INT8_KERNEL_H

#include "runtime/drivers/contraction.h"
#include "runtime/drivers/result_kernel.h"
#include "runtime/threads/thread_team.h"

namespace mpc::rt {

// How a kernel wants the numbers of rows.
struct Int8Form {
  int64_t bytes; // of a number
  void (*write)(const int8_t *numbers, int64_t count, uint8_t *to);
};

// Rows of numbers in a kernel's form, which lie in pieces of `length`: piece p of row r begins at
// the byte lanes[r] + offsets[p]. Up to 3 numbers behind it are read, too.
struct Int8Pieces {
  const uint8_t *const *lanes;
  const int64_t *offsets;
  int64_t count, length;

  int64_t depth() const { return count * length; }
};

// Products of such rows, by one thread.
struct Int8PieceKernel {
  Int8Form form;
  // Weights [depth, columns] in the order of use; of the pieces their number and size count.
  uint64_t (*weightBytes)(const Int8Pieces &pieces, int64_t columns);
  void (*packWeights)(ThreadTeam &team, const Int8Pieces &pieces, int64_t columns,
                      const int8_t *rhs, int8_t *to);
  void (*multiply)(const Int8Pieces &pieces, int64_t rows, int64_t columns, const int8_t *weights,
                   int32_t *out);
  // multiply() whose sums stay in registers until they are numbers of 8 bits; null: it has none.
  void (*multiplyAndRequantize)(const Int8Pieces &pieces, int64_t rows, int64_t columns,
                                const int8_t *weights, const RequantizedSums &to) = nullptr;
};

// One batch, lhs not transposed, k > 0, nothing accumulated.
struct Int8Kernel {
  const char *name;
  // Weights [k, n] in the order of use.
  uint64_t (*weightBytes)(const Contraction &shape);
  void (*packWeights)(ThreadTeam &team, const Contraction &shape, const int8_t *rhs, int8_t *to);
  // The size of the memory that multiply() by a team of so many writes to beside the result.
  uint64_t (*scratchBytes)(const Contraction &shape, unsigned threads);
  void (*multiply)(ThreadTeam &team, const Contraction &shape, const int8_t *lhs,
                   const int8_t *weights, void *scratch, int32_t *out);
  // With fewer columns and many rows oneDNN's kernel is faster.
  int64_t fewestColumns;
  const Int8PieceKernel *pieces; // null: none
  // Packing is worth it for a product or two.
  bool packsQuickly = false;
  // multiply(), which requantizes as that of pieces does; null: it has none.
  void (*multiplyAndRequantize)(ThreadTeam &team, const Contraction &shape, const int8_t *lhs,
                                const int8_t *weights, void *scratch,
                                const RequantizedSums &to) = nullptr;
};

extern const Int8Kernel avx2Int8, vnniInt8, amxInt8;
extern const Int8PieceKernel vnniPieces;

// The kernel for this CPU, of those up to `isa`; null where there is none.
const Int8Kernel *int8Kernel(int isa) noexcept;

// A loop on any CPU, for any call: exact, sums wrap around. `avx2`: the CPU has it.
void contractInt8(ThreadTeam &team, bool avx2, const Contraction &shape, const int8_t *lhs,
                  const int8_t *rhs, int32_t *out);

} // namespace mpc::rt

#endif
