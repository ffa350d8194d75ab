// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bfloat16 on AMX: tiles of 16 rows of 64 bytes, 2 x 2 of them at a time.
//
// A step is 32 k. Of lhs it is two tiles [16 rows, 32 k]; of rhs two tiles [16 pairs of k,
// 16 columns] whose elements are the two k of a pair. TDPBF16PS sums in float32, rounds to nearest
// even and takes subnormal numbers for zero (Intel's Architecture Instruction Set Extensions
// Programming Reference, chapter 3).
#include "runtime/drivers/cpu/kernels/line_fetcher.h"
#include "runtime/drivers/cpu/kernels/tile_shapes.h"
#include "runtime/drivers/cpu/kernels/transpose16.h"

namespace mpc::rt {
namespace {

constexpr int64_t depth = 32, tileBytes = 1024, stepBytes = 2 * tileBytes;
constexpr int64_t lineBytes = 64, tileRows = 16, tileColumns = 16;

static_assert(sizeof(TileShapes) == microKernelStateBytes);

__mmask32 firstOf(int64_t count) {
  return count >= 32 ? ~__mmask32{0} : count <= 0 ? 0 : (__mmask32{1} << count) - 1;
}

inline const uint16_t *at(const PanelSource &source, int64_t stride, int64_t contiguous) {
  return static_cast<const uint16_t *>(source.data) + stride * source.stride + contiguous;
}

inline const uint16_t *at(const PixelSource &source, int64_t k, int64_t lane) {
  return reinterpret_cast<const uint16_t *>(source.pixels[k] + source.bytes) + lane;
}

// 16 rows of 16 pairs of k, from the memory of 16 lanes that begins with `lane`.
inline void loadLanes(const PanelSource &source, int64_t lane, int64_t k, __m512i (&rows)[16]) {
  const __mmask32 mask = firstOf(source.depth - k);
  for (int i = 0; i < 16; ++i)
    rows[i] = lane + i < source.lanes ? _mm512_maskz_loadu_epi16(mask, at(source, lane + i, k))
                                      : _mm512_setzero_si512();
}

// 16 pairs of k of 32 lanes, from memory where lanes are contiguous: `low` the first 16 lanes.
template <typename Source>
inline void loadPairs(const Source &source, int64_t lane, int64_t k, __m512i (&low)[16],
                      __m512i (&high)[16]) {
  alignas(64) static const uint16_t order[2][32] = {
      {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
       8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47},
      {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
       24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63}};
  const __m512i first = _mm512_load_si512(order[0]), second = _mm512_load_si512(order[1]);
  const __mmask32 mask = firstOf(source.lanes - lane);
  for (int i = 0; i < 16; ++i) {
    __m512i even = _mm512_setzero_si512(), odd = even;
    if (k + 2 * i < source.depth)
      even = _mm512_maskz_loadu_epi16(mask, at(source, k + 2 * i, lane));
    if (k + 2 * i + 1 < source.depth)
      odd = _mm512_maskz_loadu_epi16(mask, at(source, k + 2 * i + 1, lane));
    low[i] = _mm512_permutex2var_epi16(even, first, odd);
    high[i] = _mm512_permutex2var_epi16(even, second, odd);
  }
}

// Operands are read in short pieces far from each other, which no CPU foresees: of the tiles after
// these, rows [first, first + count) in memory, if they exist.
template <typename Source>
inline void fetchRows(const Source &source, int64_t first, int64_t count, int64_t existing,
                      int64_t contiguous) {
  const int64_t last = first + count < existing ? first + count : existing;
  for (int64_t row = first; row < last; ++row)
    _mm_prefetch(reinterpret_cast<const char *>(at(source, row, contiguous)), _MM_HINT_T0);
}

inline void storeTile(const __m512i (&rows)[16], uint8_t *to) {
  for (int i = 0; i < 16; ++i)
    _mm512_store_si512(to + i * lineBytes, rows[i]);
}

// Tiles that lie in memory as they are, but for their distance.
void packLanes(const PanelSource &source, int64_t panels, int64_t steps, void *to) {
  for (int64_t lane = 0; lane < panels * 32; ++lane) {
    uint8_t *line =
        static_cast<uint8_t *>(to) + lane / 32 * steps * stepBytes + lane % 32 * lineBytes;
    const bool exists = lane < source.lanes;
    for (int64_t step = 0; step < steps; ++step, line += stepBytes) {
      _mm_prefetch(reinterpret_cast<const char *>(at(source, lane + 2, step * depth)), _MM_HINT_T0);
      _mm512_store_si512(line, exists
                                   ? _mm512_maskz_loadu_epi16(firstOf(source.depth - step * depth),
                                                              at(source, lane, step * depth))
                                   : _mm512_setzero_si512());
    }
  }
}

void packLanesAsPairs(const PanelSource &source, int64_t panels, int64_t steps, void *to) {
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t step = 0; step < steps; ++step) {
        const int64_t lane = panel * 32 + half * 16, k = step * depth;
        fetchRows(source, lane + 16, 16, source.lanes, k);
        __m512i rows[16];
        loadLanes(source, lane, k, rows);
        transpose16(rows);
        storeTile(rows, static_cast<uint8_t *>(to) + (panel * steps + step) * stepBytes +
                            half * tileBytes);
      }
}

// Steps outside: memory is read along its rows.
template <bool transposed, typename Source>
void packPairs(const Source &source, int64_t panels, int64_t steps, void *to) {
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t panel = 0; panel < panels; ++panel) {
      const int64_t lane = panel * 32, k = step * depth;
      fetchRows(source, k + depth, depth, source.depth, lane);
      __m512i low[16], high[16];
      loadPairs(source, lane, k, low, high);
      if (transposed) {
        transpose16(low);
        transpose16(high);
      }
      uint8_t *tiles = static_cast<uint8_t *>(to) + (panel * steps + step) * stepBytes;
      storeTile(low, tiles);
      storeTile(high, tiles + tileBytes);
    }
}

void enter(void *state) {
  _tile_storeconfig(state);
  const TileShapes shapes;
  _tile_loadconfig(&shapes);
}

// oneDNN may take its own configuration for still there.
void leave(const void *state) {
  if (static_cast<const TileShapes *>(state)->palette)
    _tile_loadconfig(state);
  else
    _tile_release();
}

// The tiles of lhs and the sums come from the second-level cache and are not used again soon: the
// hint of TILELOADDT1 leaves the first to the panel of rhs.
void multiply(const MicroTile &tile) {
  uint8_t *sums = reinterpret_cast<uint8_t *>(tile.sums);
  const int64_t stride = tile.sumStride * static_cast<int64_t>(sizeof(float));
  if (tile.first) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_stream_loadd(0, sums, stride);
    _tile_stream_loadd(1, sums + lineBytes, stride);
    _tile_stream_loadd(2, sums + 16 * stride, stride);
    _tile_stream_loadd(3, sums + 16 * stride + lineBytes, stride);
  }
  const uint8_t *lhs = tile.lhs, *rhs = tile.rhs;
  LineFetcher nextLhs(tile.nextLhs, tile.steps), nextRhs(tile.nextRhs, tile.steps);
  const uint8_t *nextSums = reinterpret_cast<const uint8_t *>(tile.nextSums);
  const int64_t sumRows = (32 + tile.steps - 1) / tile.steps;
  for (int64_t step = 0; step < tile.steps; ++step) {
    _tile_stream_loadd(4, lhs, lineBytes);
    _tile_loadd(6, rhs, lineBytes);
    _tile_stream_loadd(5, lhs + tileBytes, lineBytes);
    _tile_loadd(7, rhs + tileBytes, lineBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    nextLhs.fetch();
    nextRhs.fetch();
    if (nextSums)
      for (int64_t i = 0; i < sumRows; ++i, nextSums += stride) {
        _mm_prefetch(reinterpret_cast<const char *>(nextSums), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char *>(nextSums + lineBytes), _MM_HINT_T0);
      }
    lhs += stepBytes;
    rhs += stepBytes;
  }
  _tile_stored(0, sums, stride);
  _tile_stored(1, sums + lineBytes, stride);
  _tile_stored(2, sums + 16 * stride, stride);
  _tile_stored(3, sums + 16 * stride + lineBytes, stride);
}

// ---- Lanes where they lie -----------------------------------------------------------------------

// Up to 16 lanes of a PieceTile as a tile. Tiles are loaded from rows that are equally far from
// each other. Lanes that are not, and steps of which a part exists, are copied to lines of such a
// tile; of the two the next step takes the other, so that no copy waits for a load.
class TileLanes {
public:
  TileLanes(const uint8_t *const *lanes, int64_t count) : lanes(lanes), count(count) {
    distance = count == tileRows ? lanes[1] - lanes[0] : 0;
    for (int64_t i = 2; i < count; ++i)
      if (lanes[i] - lanes[i - 1] != distance)
        distance = 0;
    if (count % tileRows)
      __builtin_memset(lines, 0, sizeof lines);
  }

  struct Rows {
    const uint8_t *first;
    int64_t distance;
  };
  Rows step(int64_t offset, int64_t bytes) {
    if (distance && bytes == lineBytes)
      return {lanes[0] + offset, distance};
    next = 1 - next;
    const __mmask32 mask = firstOf(bytes / 2);
    for (int64_t i = 0; i < count; ++i)
      _mm512_store_si512(lines[next] + i * lineBytes,
                         _mm512_maskz_loadu_epi16(mask, lanes[i] + offset));
    return {lines[next], lineBytes};
  }

private:
  const uint8_t *const *lanes;
  int64_t count, distance, next = 0;
  alignas(64) uint8_t lines[2][tileBytes];
};

// Two rows of tiles, or the upper one alone.
template <bool both> void multiplyLanes(const PieceTile &tile, float *sums, int64_t sumStride) {
  TileLanes upper(tile.lanes, both ? tileRows : tile.rows);
  TileLanes lower(tile.lanes + (both ? tileRows : 0), both ? tile.rows - tileRows : 0);
  const int64_t stride = sumStride * static_cast<int64_t>(sizeof(float));
  float *lowerSums = sums + tileRows * sumStride;
  if (tile.first) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, sums, stride);
    _tile_loadd(1, sums + tileColumns, stride);
    if (both) {
      _tile_loadd(2, lowerSums, stride);
      _tile_loadd(3, lowerSums + tileColumns, stride);
    }
  }
  for (int64_t i = 0; i < tile.count; ++i) {
    const Piece &piece = tile.pieces[i];
    const uint8_t *rhs = piece.rhs;
    for (int64_t step = 0; step < piece.steps; ++step, rhs += stepBytes) {
      const int64_t offset = piece.lhs + step * tile.lhsStepBytes;
      const int64_t bytes = step + 1 < piece.steps ? lineBytes : tile.lastStepBytes;
      _tile_loadd(6, rhs, lineBytes);
      _tile_loadd(7, rhs + tileBytes, lineBytes);
      const TileLanes::Rows rows = upper.step(offset, bytes);
      _tile_loadd(4, rows.first, rows.distance);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      if (both) {
        const TileLanes::Rows more = lower.step(offset, bytes);
        _tile_loadd(5, more.first, more.distance);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
    }
  }
  _tile_stored(0, sums, stride);
  _tile_stored(1, sums + tileColumns, stride);
  if (both) {
    _tile_stored(2, lowerSums, stride);
    _tile_stored(3, lowerSums + tileColumns, stride);
  }
}

// Sums of lanes that are not there go nowhere.
void multiplyPieces(const PieceTile &tile) {
  constexpr int64_t rows = 2 * tileRows, columns = 2 * tileColumns;
  if (tile.rows == rows)
    return multiplyLanes<true>(tile, tile.sums, tile.sumStride);
  alignas(64) float sums[rows * columns];
  if (!tile.first) {
    __builtin_memset(sums, 0, sizeof sums);
    for (int64_t i = 0; i < tile.rows; ++i)
      __builtin_memcpy(sums + i * columns, tile.sums + i * tile.sumStride, columns * sizeof(float));
  }
  (tile.rows > tileRows ? multiplyLanes<true> : multiplyLanes<false>)(tile, sums, columns);
  for (int64_t i = 0; i < tile.rows; ++i)
    __builtin_memcpy(tile.sums + i * tile.sumStride, sums + i * columns, columns * sizeof(float));
}

constexpr PackPanels packsOfLhs[3][2] = {
    {nullptr, nullptr}, {packPairs<true, PanelSource>, packLanes}, {nullptr, nullptr}};
constexpr PackPanels packsOfRhs[3][2] = {
    {nullptr, nullptr}, {packPairs<false, PanelSource>, packLanesAsPairs}, {nullptr, nullptr}};

constexpr PieceKernel pieces = {/*rows=*/32,
                                /*columns=*/32,
                                lineBytes,
                                /*multiple=*/1,
                                /*fetchingSteps=*/1,
                                packsOfLhs,
                                packsOfRhs,
                                multiplyPieces,
                                packPairs<true, PixelSource>,
                                packPairs<false, PixelSource>};

} // namespace

const MicroKernel amxBFloat16 = {
    "amx_bfloat16",
    /*rows=*/32,
    /*columns=*/32,       depth,      stepBytes,  stepBytes,
    /*steps=*/16,
    /*blockRows=*/384,
    /*blockColumns=*/512,
    /*longRows=*/48,
    /*longColumns=*/4096,
    /*acrossSteps=*/16,
    /*alongSteps=*/16,
    /*groupPanels=*/8,    packsOfLhs, packsOfRhs, enter,     leave, multiply, {&pieces, &pieces}};

} // namespace mpc::rt
