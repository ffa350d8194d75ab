// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strip of 32 columns at a time: each step widens 32 rows of it to two tiles of bfloat16 while
// the tiles of the step before are multiplied, by up to 32 rows of the left operand. More rows meet
// the strip again, as bfloat16 in the second-level cache.
#include "runtime/drivers/cpu/contract/amx_weights.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/drivers/cpu/kernels/tile_shapes.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <utility>

#define MPC_AMX                                                                                    \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")))
#define MPC_AMX_INLINE MPC_AMX __attribute__((always_inline)) inline

namespace mpc::rt::amx {
namespace {

constexpr int64_t tileRows = 16, tileColumns = 16, stripColumns = 2 * tileColumns;
constexpr int64_t tileNumbers = tileRows * 2 * tileColumns; // of bfloat16: 32 rows by 16 columns
constexpr int64_t tileSums = tileRows * tileColumns;
constexpr int64_t rowsAtOnce = 2 * tileRows;
// Widened steps that are kept when no further rows will ask for them.
constexpr int64_t ringSteps = 4;

int64_t stepsOf(const Contraction &c) { return ceilDivide(c.k, stepRows); }
int64_t stripsOf(const Contraction &c) { return ceilDivide(c.n, stripColumns); }
// Packed bytes of one tile.
int64_t tileBytes(const Contraction &c) { return c.packedRhs ? tileNumbers / 2 : tileNumbers; }

// bfloat16 numbers whose sum is one of lhs.
int64_t partsOf(const Contraction &c) {
  return c.lhs == MPC_RT_BFLOAT16 ? 1 : c.lhs == MPC_RT_FLOAT16 ? 2 : 3;
}

int8_t numberAt(const Contraction &c, const int8_t *rhs, const WeightScales *blocks, int64_t index,
                int64_t n) {
  if (n >= c.n)
    return 0;
  if (index < c.k)
    return weightAt(c, rhs, blocks ? blocks->rowAt(index) : index, n);
  return blocks ? blocks->fillingNumber(n) : int8_t{0};
}

// A row of a tile holds two rows of the matrix, column by column: its number e is of row e % 2 and
// column e / 2. In bytes they follow each other. Of 4 bits, the four bytes of lane j have the two
// numbers of column j of four rows of the tile.
void packTile(const Contraction &c, const int8_t *rhs, const WeightScales *blocks, int64_t k,
              int64_t n, int8_t *to) {
  if (c.packedRhs)
    std::memset(to, 0, tileNumbers / 2);
  for (int64_t row = 0; row < tileRows; ++row)
    for (int64_t e = 0; e < 2 * tileColumns; ++e) {
      const int8_t number = numberAt(c, rhs, blocks, k + 2 * row + e % 2, n + e / 2);
      if (!c.packedRhs)
        to[row * 2 * tileColumns + e] = number;
      else
        to[64 * (row / 4) + 4 * (e / 2) + row % 4] |=
            static_cast<int8_t>((number & 15) << (e % 2 * 4));
    }
}

// ---- Rows ---------------------------------------------------------------------------------------

// The upper halves of 32 float32 bit patterns.
MPC_AMX_INLINE __m512i upperHalves(__m512i low, __m512i high) {
  const __m512i odd =
      _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                       25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  return _mm512_permutex2var_epi16(low, odd, high);
}

// The part of x that bfloat16 holds, towards zero; x becomes the rest. Infinities and NaN have no
// rest.
MPC_AMX_INLINE __m512i takePart(__m512 &x) {
  const __mmask16 isNaN = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  __m512i part =
      _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(static_cast<int>(0xFFFF0000u)));
  part = _mm512_mask_or_epi32(part, isNaN, part, _mm512_set1_epi32(0x7FC00000));
  const __m512 rest = _mm512_sub_ps(x, _mm512_castsi512_ps(part));
  x = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(rest, rest, _CMP_ORD_Q), rest);
  return part;
}

// 16 numbers of lhs as float32, of which `mask` are there.
MPC_AMX_INLINE __m512 loadWide(mpc_rt_dtype_t dtype, const void *lhs, int64_t first,
                               __mmask16 mask) {
  if (dtype == MPC_RT_FLOAT32)
    return _mm512_maskz_loadu_ps(mask, static_cast<const float *>(lhs) + first);
  return _mm512_cvtph_ps(
      _mm256_maskz_loadu_epi16(mask, static_cast<const uint16_t *>(lhs) + first));
}

// Packs the 32 numbers of one row from k on: each part goes to its index in the tiles of the step.
MPC_AMX void packNumbers(const Contraction &c, const void *lhs, int64_t row, int64_t k,
                         int64_t parts, uint8_t *to, int64_t partBytes) {
  const int64_t count = std::min<int64_t>(stepRows, c.k - k);
  const auto mask = static_cast<__mmask32>((uint64_t{1} << count) - 1);
  const int64_t first = row * c.k + k;
  if (parts == 1) {
    _mm512_storeu_si512(to,
                        _mm512_maskz_loadu_epi16(mask, static_cast<const uint16_t *>(lhs) + first));
    return;
  }
  __m512 low = loadWide(c.lhs, lhs, first, static_cast<__mmask16>(mask));
  __m512 high = loadWide(c.lhs, lhs, first + 16, static_cast<__mmask16>(mask >> 16));
  for (int64_t part = 0; part < parts; ++part) {
    const __m512i lowPart = takePart(low), highPart = takePart(high);
    _mm512_storeu_si512(to + part * partBytes, upperHalves(lowPart, highPart));
  }
}

// ---- Weights ------------------------------------------------------------------------------------

enum class Form {
  numbers, // as they are
  shifted, // minus the zero of the block; its sums are multiplied by the scale
  scaled   // times the scale, too, and rounded
};

// The zeros and scales of 16 columns.
struct Adjustment {
  __m512 zero, scale;
};

// Two rows of the matrix as one of a tile. What bfloat16 holds is the upper half of its float32.
MPC_AMX_INLINE __m512i interleave(__m512 even, __m512 odd) {
  return _mm512_mask_blend_epi16(0xAAAAAAAA, _mm512_srli_epi32(_mm512_castps_si512(even), 16),
                                 _mm512_castps_si512(odd));
}

MPC_AMX_INLINE __m512i roundAndInterleave(__m512 even, __m512 odd) {
  const __m512i indices =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512bh rounded = _mm512_cvtne2ps_pbh(odd, even);
  return _mm512_permutexvar_epi16(indices, reinterpret_cast<const __m512i &>(rounded));
}

// One row of a tile from numbers in the low four bits of each lane.
template <Form form>
MPC_AMX_INLINE __m512i widenPairs(__m512i low, __m512i high, const Adjustment &by) {
  if (form == Form::numbers) {
    // The bfloat16 patterns of the numbers that 4 bits stand for.
    const __m512i even =
        _mm512_set_epi32(0xBF80, 0xC000, 0xC040, 0xC080, 0xC0A0, 0xC0C0, 0xC0E0, 0xC100, 0x40E0,
                         0x40C0, 0x40A0, 0x4080, 0x4040, 0x4000, 0x3F80, 0);
    return _mm512_or_si512(_mm512_permutexvar_epi32(low, even),
                           _mm512_permutexvar_epi32(high, _mm512_slli_epi32(even, 16)));
  }
  const __m512 table = _mm512_set_ps(-1, -2, -3, -4, -5, -6, -7, -8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512 even = _mm512_sub_ps(_mm512_permutexvar_ps(low, table), by.zero);
  const __m512 odd = _mm512_sub_ps(_mm512_permutexvar_ps(high, table), by.zero);
  if (form == Form::shifted)
    return interleave(even, odd);
  return roundAndInterleave(_mm512_mul_ps(even, by.scale), _mm512_mul_ps(odd, by.scale));
}

// Four rows of a tile.
template <Form form, unsigned... rows>
MPC_AMX_INLINE void widenQuads(__m512i quads, const Adjustment &by, uint16_t *to,
                               std::integer_sequence<unsigned, rows...>) {
  (_mm512_storeu_si512(to + 32 * rows,
                       widenPairs<form>(_mm512_srli_epi32(quads, 8 * rows),
                                        _mm512_srli_epi32(quads, 8 * rows + 4), by)),
   ...);
}

template <bool isInt4, Form form>
MPC_AMX_INLINE void widenTile(const int8_t *from, const Adjustment &by, uint16_t *to) {
  if (isInt4) {
    for (int quad = 0; quad < 4; ++quad)
      widenQuads<form>(_mm512_loadu_si512(from + 64 * quad), by, to + 128 * quad,
                       std::make_integer_sequence<unsigned, 4>());
    return;
  }
  for (int row = 0; row < tileRows; ++row) {
    const auto *bytes = reinterpret_cast<const __m128i *>(from + 32 * row);
    const __m512 low = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(bytes)));
    const __m512 high = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(bytes + 1)));
    const __m512bh row32 = _mm512_cvtne2ps_pbh(high, low);
    _mm512_storeu_si512(to + 32 * row, reinterpret_cast<const __m512i &>(row32));
  }
}

__mmask16 columnMask(const Contraction &c, int64_t first) {
  const int64_t count = std::clamp<int64_t>(c.n - first, 0, tileColumns);
  return static_cast<__mmask16>((1u << count) - 1);
}

// Loads the zeros and scales of the 16 columns from `column` on.
MPC_AMX_INLINE Adjustment loadAdjustment(const Scales &scales, int64_t block, int64_t column) {
  constexpr auto together = static_cast<int64_t>(mpc::rt::tileColumns);
  const float *zero =
      scales.blocks->adjustmentsOf(column / together) + block * 2 * together + column % together;
  return {_mm512_load_ps(zero), _mm512_load_ps(zero + together)};
}

// ---- Products -----------------------------------------------------------------------------------

MPC_AMX_INLINE void clearSums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

MPC_AMX_INLINE void storeSums(float *to, bool both) {
  _tile_stored(0, to, 64);
  _tile_stored(1, to + tileSums, 64);
  if (both) {
    _tile_stored(2, to + 2 * tileSums, 64);
    _tile_stored(3, to + 3 * tileSums, 64);
  }
}

struct Scratch {
  uint16_t *widened; // steps of two tiles
  float *tiles;      // four tiles of sums
  float *totals;     // the same
};

struct Work {
  const Contraction &c;
  const uint8_t *rows;
  const int8_t *weights;
  const Scales &scales;
  float *sums;
};

// A strip of weights, and what is the same for all its steps.
template <bool isInt4, Form form> struct Strip {
  Strip(const Work &work, int64_t strip)
      : work(work), steps(stepsOf(work.c)), parts(partsOf(work.c)), bytes(tileBytes(work.c)),
        column(strip * stripColumns),
        stepsOfBlock(form == Form::numbers ? steps : work.scales.blockRows / stepRows),
        weights(work.weights + strip * steps * 2 * bytes) {}

  const Work &work;
  int64_t steps, parts, bytes; // of a tile
  int64_t column, stepsOfBlock;
  const int8_t *weights;

  MPC_AMX_INLINE Adjustment adjustmentOf(int64_t step, int tile) const {
    return loadAdjustment(work.scales, step / stepsOfBlock, column + tile * tileColumns);
  }
  bool endsBlock(int64_t step) const { return (step + 1) % stepsOfBlock == 0 || step + 1 == steps; }
  // Two tiles of weights; `by` is of the block before where this one does not begin another.
  MPC_AMX_INLINE void widen(int64_t step, Adjustment (&by)[2], uint16_t *to) const {
    if (form != Form::numbers && step % stepsOfBlock == 0)
      for (int tile = 0; tile < 2; ++tile)
        by[tile] = adjustmentOf(step, tile);
    const int8_t *from = weights + step * 2 * bytes;
    for (int64_t line = 0; line < 2 * bytes; line += 64)
      _mm_prefetch(reinterpret_cast<const char *>(from + 16 * bytes + line), _MM_HINT_T0);
    widenTile<isInt4, form>(from, by[0], to);
    widenTile<isInt4, form>(from + bytes, by[1], to + tileNumbers);
  }
};

// Up to 32 rows of lhs, whose sums are in two or four tiles.
struct Rows {
  Rows(const Work &work, int64_t first, int64_t stepBytes)
      : first(first), upper(std::min(tileRows, work.c.m - first)),
        lower(std::clamp<int64_t>(work.c.m - first - tileRows, 0, tileRows)),
        upperAt(work.rows + first * stepBytes), lowerAt(upperAt + tileRows * stepBytes) {}

  int64_t first, upper, lower;
  const uint8_t *upperAt, *lowerAt;

  // The offset of the sums of a row and one of the two tiles of columns among the sums of all
  // tiles.
  static int64_t offsetOf(int64_t row, int tile) {
    return (row / tileRows * 2 + tile) * tileSums + row % tileRows * 16;
  }
  // Multiplies lhs, which has `parts` tiles for each step, by two tiles of weights.
  MPC_AMX_INLINE void multiply(const uint16_t *widened, int64_t step, int64_t parts) const {
    _tile_loadd(6, widened, 64);
    _tile_loadd(7, widened + tileNumbers, 64);
    for (int64_t part = 0; part < parts; ++part) {
      _tile_loadd(4, upperAt + (step * parts + part) * upper * 64, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      if (lower) {
        _tile_loadd(5, lowerAt + (step * parts + part) * lower * 64, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
    }
  }
  // The sums of a block, times its scales, onto the totals.
  MPC_AMX_INLINE void addScaled(const Scratch &scratch, const Adjustment &by, int tile) const {
    for (int64_t row = 0; row < upper + lower; ++row) {
      float *total = scratch.totals + offsetOf(row, tile);
      _mm512_store_ps(total, _mm512_fmadd_ps(_mm512_load_ps(scratch.tiles + offsetOf(row, tile)),
                                             by.scale, _mm512_load_ps(total)));
    }
  }
  MPC_AMX_INLINE void store(const Work &work, const float *totals, int64_t column) const {
    for (int tile = 0; tile < 2; ++tile) {
      const int64_t at = column + tile * tileColumns;
      const __mmask16 mask = columnMask(work.c, at);
      for (int64_t row = 0; mask && row < upper + lower; ++row)
        _mm512_mask_storeu_ps(work.sums + (first + row) * work.c.n + at, mask,
                              _mm512_load_ps(totals + offsetOf(row, tile)));
    }
  }
};

// One strip by all rows.
template <bool isInt4, Form form>
MPC_AMX void multiplyStrip(const Work &work, int64_t number, const Scratch &scratch) {
  const Strip<isInt4, form> strip(work, number);
  const int64_t steps = strip.steps;
  const bool keepAll = work.c.m > rowsAtOnce;
  auto widenedAt = [&](int64_t step) {
    return scratch.widened + (keepAll ? step : step % ringSteps) * 2 * tileNumbers;
  };
  for (int64_t first = 0; first < work.c.m; first += rowsAtOnce) {
    const Rows rows(work, first, steps * strip.parts * 64);
    const TileShapes shapes(rows.upper, rows.lower);
    _tile_loadconfig(&shapes);
    clearSums();
    if (form == Form::shifted)
      std::memset(scratch.totals, 0, 4 * tileSums * sizeof(float));
    Adjustment by[2];
    // One step ahead of the products: the two take turns in no unit of the core.
    if (first == 0)
      strip.widen(0, by, widenedAt(0));
    for (int64_t step = 0; step < steps; ++step) {
      if (first == 0 && step + 1 < steps)
        strip.widen(step + 1, by, widenedAt(step + 1));
      rows.multiply(widenedAt(step), step, strip.parts);
      if (form != Form::shifted || !strip.endsBlock(step))
        continue;
      storeSums(scratch.tiles, rows.lower != 0);
      clearSums();
      for (int tile = 0; tile < 2; ++tile)
        rows.addScaled(scratch, strip.adjustmentOf(step, tile), tile);
    }
    if (form != Form::shifted)
      storeSums(scratch.totals, rows.lower != 0);
    rows.store(work, scratch.totals, strip.column);
  }
}

using MultiplyStrip = void (*)(const Work &, int64_t, const Scratch &);

MultiplyStrip chooseKernel(const Contraction &c, const Scales &scales) {
  if (!c.packedRhs)
    return multiplyStrip<false, Form::numbers>;
  return !scales.blockRows          ? multiplyStrip<true, Form::numbers>
         : c.lhs == MPC_RT_BFLOAT16 ? multiplyStrip<true, Form::scaled>
                                    : multiplyStrip<true, Form::shifted>;
}

} // namespace

uint64_t weightBytes(const Contraction &c) {
  return static_cast<uint64_t>(stripsOf(c) * stepsOf(c) * 2 * tileBytes(c));
}

void packWeights(ThreadTeam &team, const Contraction &c, const int8_t *rhs,
                 const WeightScales *blocks, int8_t *to) {
  const int64_t steps = stepsOf(c), bytes = tileBytes(c);
  team.forRange(stripsOf(c), 1, [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip)
      for (int64_t tile = 0; tile < 2 * steps; ++tile)
        packTile(c, rhs, blocks, tile / 2 * stepRows, strip * stripColumns + tile % 2 * tileColumns,
                 to + (strip * steps * 2 + tile) * bytes);
  });
}

uint64_t rowBytes(const Contraction &c) {
  return static_cast<uint64_t>(c.m * stepsOf(c) * partsOf(c) * 64);
}

void packRows(ThreadTeam &team, const Contraction &c, const void *lhs, uint8_t *to) {
  const int64_t steps = stepsOf(c), parts = partsOf(c);
  team.forRange(c.m, std::max<int64_t>(65536 / c.k, 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row / tileRows * tileRows;
      const int64_t rowsOfTile = std::min(tileRows, c.m - first);
      uint8_t *tile = to + first * steps * parts * 64 + row % tileRows * 64;
      for (int64_t step = 0; step < steps; ++step)
        packNumbers(c, lhs, row, step * stepRows, parts, tile + step * parts * rowsOfTile * 64,
                    rowsOfTile * 64);
    }
  });
}

bool findScales(const Contraction &c, const WeightScales &blocks, Scales &scales) {
  if (c.lhs == MPC_RT_FLOAT16 || !blocks.divisors.empty())
    return false;
  auto blockOf = [&](int64_t index) { return blocks.blockOfRow[static_cast<size_t>(index)]; };
  int64_t rows = 0;
  while (rows < c.k && blockOf(rows) == 0)
    ++rows;
  if (rows == c.k)
    rows = stepsOf(c) * stepRows;
  if (rows == 0 || rows % stepRows)
    return false;
  for (int64_t index = 0; index < c.k; ++index)
    if (blockOf(index) != index / rows)
      return false;
  scales = {rows, &blocks};
  return true;
}

uint64_t scratchBytes(const Contraction &c) {
  const int64_t steps = c.m > rowsAtOnce ? stepsOf(c) : ringSteps;
  return static_cast<uint64_t>(steps * 2 * tileNumbers) * sizeof(uint16_t) +
         8 * tileSums * sizeof(float);
}

void multiply(ThreadTeam &team, const Contraction &c, const uint8_t *rows, const int8_t *weights,
              const Scales &scales, float *sums, uint8_t *scratch) {
  const Work work{c, rows, weights, scales, sums};
  const MultiplyStrip kernel = chooseKernel(c, scales);
  const int64_t strips = stripsOf(c), threads = team.threads();
  const uint64_t own = scratchBytes(c);
  const int64_t parts = std::min(strips, threads);
  team.forRange(parts, 1, [&](int64_t begin, int64_t end) {
    alignas(64) uint8_t before[microKernelStateBytes];
    amxBFloat16.enter(before);
    for (int64_t part = begin; part < end; ++part) {
      auto *base = scratch + static_cast<uint64_t>(part) * own;
      auto *tiles = reinterpret_cast<float *>(base);
      const Scratch ownScratch{reinterpret_cast<uint16_t *>(tiles + 8 * tileSums), tiles,
                               tiles + 4 * tileSums};
      for (int64_t strip = strips * part / parts; strip < strips * (part + 1) / parts; ++strip)
        kernel(work, strip, ownScratch);
    }
    amxBFloat16.leave(before);
  });
}

} // namespace mpc::rt::amx
