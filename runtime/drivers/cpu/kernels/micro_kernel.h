// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a blocked product on one kind of CPU: how operands are packed into panels, and the
// loop that multiplies two of them (the micro-kernel of Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication", 2008).
//
// A panel holds `rows` rows of lhs, or `columns` columns of rhs, step by step along k; a step is
// `depth` k. What lies in a step is the kernel's own business. Lanes and k that the operand does
// not have are zeros.
//
// Each kernel is a file of its own, compiled for its CPU: like vector_kernels.cpp it must not
// include anything that defines inline functions with external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_MICRO_KERNEL_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_MICRO_KERNEL_H

#include <stddef.h>
#include <stdint.h>

namespace mpc::rt {

// A part of an operand as it lies in memory, from the first lane and k of the panels on. A lane is
// a row of lhs or a column of rhs.
struct PanelSource {
  const void *data;
  int64_t stride;       // elements from one lane to the next, or from one k to the next
  int64_t lanes, depth; // that exist from here on
};

// Writes `panels` panels of `steps` steps each, one after the other.
using PackPanels = void (*)(const PanelSource &source, int64_t panels, int64_t steps, void *to);
// The indices are the dtype (MPC_RT_FLOAT32, _BFLOAT16, _FLOAT16) and whether k is contiguous in
// memory; null for a dtype that the kernel does not multiply.
using PackTable = const PackPanels (*)[2];

using PrepareLanes = void (*)(const void *from, int64_t count, float *to);

// An operand whose k are pixels anywhere in memory; the first lane is `bytes` behind the start of
// each.
struct PixelSource {
  const uint8_t *const *pixels;
  int64_t bytes;
  int64_t lanes, depth; // that exist from here on
};
using PackPixels = void (*)(const PixelSource &source, int64_t panels, int64_t steps, void *to);

// Memory that somebody will read: `rows` rows of `bytes`, `stride` bytes from each to the next.
struct MemoryRows {
  const uint8_t *first;
  int64_t bytes, stride, rows;
};

// Steps of rhs that a tile packs while it multiplies other ones; all of their lanes and k exist.
// Where lanes are contiguous they are all of `panels` panels. Where k is, they are `vectorLanes` of
// one panel from `from` on, and the steps are a multiple of `stepsAtOnce`.
struct PackedSteps {
  static constexpr int64_t vectorLanes = 16, stepsAtOnce = 8;
  const void *from = nullptr; // the first lane and k
  int64_t stride = 0;         // as in PanelSource
  int64_t steps = 0;          // 0: nothing is packed
  void *to = nullptr;         // where the first lane of the first step goes
  int64_t panels = 1;         // of a kernel with MicroKernel::groupPanels
  int64_t panelBytes = 0;     // from a panel to the next one
};

struct MicroTile {
  const uint8_t *lhs, *rhs; // panels
  int64_t steps;
  float *sums; // [rows, columns]: replaced when `first`, otherwise added to
  int64_t sumStride;
  bool first;
  // The tiles after this one read this memory, which is fetched into the second-level cache
  // meanwhile.
  MemoryRows nextLhs, nextRhs;
  // The sums that the next tile adds to, which are fetched into the first-level cache; null where
  // it replaces them.
  const float *nextSums;
  // Rows at the end of the panel that the operand does not have: their sums may be left out.
  int64_t missingRows = 0;
  PackedSteps packed = {}; // MicroKernel::multiplyAndPack alone does so
};

using MultiplyTiles = void (*)(const MicroTile &tile);

// Lanes of lhs that are read where they lie in memory, k by k in pieces: what a window of an image
// meets, row by row.
struct Piece {
  int64_t lhs;        // bytes from where a lane starts to the first step
  const uint8_t *rhs; // a panel
  int64_t steps;
  const uint8_t *next = nullptr; // fetched into the second-level cache meanwhile
};

// Rows of a result that a tile writes in the place of its sums, as VectorKernels::epilogue would:
// rounded, bias (null: none) added, rounded, then relu, which keeps NaN.
struct FinishedRows {
  uint8_t *const *rows;
  int64_t columns; // that exist of the panel
  const float *bias;
  bool relu;
};

struct PieceTile {
  const uint8_t *const *lanes;
  int64_t rows; // lanes
  int64_t lhsStepBytes;
  int64_t lastStepBytes; // that exist of a lane in the last step of each piece
  const Piece *pieces;
  int64_t count;
  float *sums; // as in MicroTile
  int64_t sumStride;
  bool first;
  int64_t nextLines; // of 64 bytes that are fetched from Piece::next on before `fetchingSteps`
  // Only for kernels that finish tiles; null: sums are left in `sums`, else they may be.
  const FinishedRows *finished = nullptr;
};

// `rows` times `columns` sums are in the registers.
constexpr int64_t mostPieceRows = 32, mostPieceSums = 1024;

struct PieceKernel {
  int64_t rows, columns;
  int64_t laneBytes;                       // of a step of a lane
  int64_t multiple;                        // of which the k of a lane in memory are one
  int64_t fetchingSteps;                   // of PieceTile::nextLines
  PackTable packLhs, packRhs;              // panels of `columns`
  void (*multiply)(const PieceTile &tile); // of up to `rows` lanes
  // Both read the dtype that panels hold, if a step is longer than many rows of pixels.
  PackPixels packLhsPixels = nullptr, packRhsPixels = nullptr;
  int finishedDtype = -1; // of the rows that its tiles finish; -1: they leave sums
  // Multiplies lanes each of whose steps stands MicroKernel::lhsCopies times, which is faster where
  // it is not `multiply`; null: there is none.
  void (*multiplyCopies)(const PieceTile &tile) = nullptr;
};

struct WeightKernel;

struct MicroKernel {
  const char *name;
  int64_t rows, columns, depth;
  int64_t lhsStepBytes, rhsStepBytes;
  // The sizes of one block were measured rather than computed (docs/decisions/0034, 0065): `steps`
  // of its panels at a time, so that sums are seldom loaded and stored, while all that its tiles
  // read again still comes from near caches. They are multiples of `rows` and `columns`.
  int64_t steps, blockRows, blockColumns;
  // The size of a block that a kernel on the result reads, which wants long rows.
  int64_t longRows, longColumns;
  // The steps of rhs that a block packs between two tiles at the least, where columns or k lie
  // together in memory; 0: the whole group at its turn (docs/decisions/0065).
  int64_t acrossSteps, alongSteps;
  // Panels of rhs that a block packs together while it multiplies: pieces of rows in memory are
  // whole lines, and not too short.
  int64_t groupPanels;
  PackTable packLhs, packRhs;
  // Around all calls of `multiply` on a thread. `state` keeps what was there before.
  void (*enter)(void *state);
  void (*leave)(const void *state);
  MultiplyTiles multiply;
  // One kernel is for many columns, the other for few.
  const PieceKernel *pieces[2];
  // The kernel of these tiles that multiplies integer weights as they are stored; null: none.
  const WeightKernel *weights = nullptr;
  // These multiply as `multiply` does, and pack a part of the next panel of rhs in the shadow of
  // the multiplications (docs/decisions/0119). The indices are those of PackTable; null: operands
  // are packed between tiles.
  const MultiplyTiles (*multiplyAndPack)[2] = nullptr;
  // For as many columns as it fills and the kernel for many does not; null: none.
  const PieceKernel *piecesBetween = nullptr;
  // For at most as many columns as it has, of one vector; null: none.
  const PieceKernel *piecesOfVector = nullptr;
  // Kernels of other widths for products of short rows by packed weights alone; null: there are
  // fewer, or such products have no way of their own.
  const PieceKernel *ofShortRows[2] = {};
  // How often each step of a row stands in panels of lhs; above 1, lanes that are prepared are for
  // PieceKernel::multiplyCopies.
  int64_t lhsCopies = 1;
  // Makes lanes for pieces of numbers that lie together in rows, where many panels read them:
  // widened, and as often as in panels of lhs. The index is the dtype; null: such lanes are read
  // as they lie, or not at all.
  PrepareLanes prepareLanes[3] = {};
};

// out = round(activation(round(round(sum) + bias))) for the channels of each pixel, as
// VectorKernels::epilogue has it of rows; bias is null where there is none. Sums may be read up to
// a whole vector.
using FinishPixels = void (*)(const float *sums, int64_t stride, int64_t pixels, int64_t channels,
                              const float *bias, bool relu, void *out, int64_t outStride);
// To bfloat16 by the CPU's instruction, which takes subnormal numbers for zero, as the arithmetic
// of a context does.
extern const FinishPixels avx512FinishBFloat16;
// Null where the CPU has none, or vectors of another length.
FinishPixels nativeFinishOfBFloat16(int64_t lanes) noexcept;

// The level of x86-64 that it needs (mpc_rt_isa_t).
int isaOf(const MicroKernel &kernel) noexcept;

// The dtype that its panels hold.
int packedDtype(const MicroKernel &kernel) noexcept;

// The kernel for pieces that leaves the fewest columns empty.
const PieceKernel &pieceKernelFor(const MicroKernel &kernel, int64_t columns) noexcept;

constexpr size_t microKernelStateBytes = 64;

// The second of float32 on AVX-512 asks for lhs and sums ahead of its tiles, in shorter panels: for
// CPUs whose second-level cache does not foresee them (docs/decisions/0102).
extern const MicroKernel amxBFloat16, avx512BFloat16, avx512Float32, avx512Float32Ahead,
    avx512Widened, avx2Float32, sse4Float32;

// Threads of a blocked product pack the columns that they multiply, instead of all of them before
// the first block.
bool packsColumnsOnce(const MicroKernel &kernel) noexcept;

// The kernel for operands of that dtype on this CPU, of those up to `isa` (mpc_rt_isa_t); null
// where oneDNN's products are as fast.
const MicroKernel *bfloat16MicroKernel(int isa) noexcept;
const MicroKernel *float32MicroKernel(int isa) noexcept;
// Whether oneDNN convolves bfloat16 faster as it is than widened to float32.
bool convolvesBFloat16() noexcept;
// The kernel for a few rows of bfloat16 by weights that stay, whose panels it alone reads; null
// where there is none.
const MicroKernel *streamedMicroKernel(int isa) noexcept;

} // namespace mpc::rt

#endif
