// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some rows by weights that are packed already, whose reading takes the time: a piece of a panel of
// columns is read once, and multiplied by all rows while it is in the second-level cache. Meanwhile
// the next one is fetched. Threads share the columns, or the rows where columns are few; sums go
// along k as in other products.
#include "runtime/drivers/cpu/contract/blocked_product_plan.h"

namespace mpc::rt {
namespace {

// Their sums of one panel stay in the first-level cache.
constexpr int64_t mostStreamedRows = 64, mostStreamedColumns = 64;
// Only kernels with panels of at most this many columns were measured (AVX2, docs/decisions/0067).
constexpr int64_t mostColumnsOfOnePanel = 16;
// The rows multiply this many bytes of a panel at a time while the next ones are fetched
// (docs/decisions/0063).
constexpr int64_t bytesAtOnce = 128 << 10, mostChunksAtOnce = 4;
// Panels of so many steps have half of the bytes that others have.
constexpr int64_t shortSteps = 128;

} // namespace

// Rows of lhs, some of the shape's: where they lie, or packed.
struct BlockedProduct::StreamedRows {
  int64_t first, count;
  const uint8_t *data; // of `first`
  int64_t laneBytes;   // from a row to the next one of the same panel
  int64_t panelRows, panelBytes;
  int64_t stepBytes, lastStepBytes;
  bool areCopies = false; // for PieceKernel::multiplyCopies

  const uint8_t *lane(int64_t row) const {
    const int64_t own = row - first;
    return data + own / panelRows * panelBytes + own % panelRows * laneBytes;
  }
};

// Some of those rows by some panels of weights.
struct BlockedProduct::StreamedBlock {
  const StreamedRows &rows;
  const Panels &weights;
  int64_t row, count, panel;
  bool fetchesNext; // the panel after this one
};

bool BlockedProduct::streamsWeights(const Contraction &shape, bool rhsIsPacked) const {
  if (isNarrow(shape))
    return true;
  // One panel, which is all that is packed.
  if (shape.batch == 1 && shape.n <= kernel.columns && kernel.columns <= mostColumnsOfOnePanel &&
      readsLanes(shape))
    return true;
  // AMX tiles are left out because nobody has measured them.
  return rhsIsPacked && shape.batch == 1 && shape.m <= mostStreamedRows &&
         &kernel != &amxBFloat16 && kernel.columns <= mostStreamedColumns;
}

// Rows that are packed at a time.
int64_t BlockedProduct::streamedStrip(const Contraction &shape) const {
  const int64_t panelBytes = stepsOf(shape.k) * kernel.lhsStepBytes;
  return std::min(shape.m, std::max<int64_t>(stripBytes / panelBytes, 1) * kernel.rows);
}

// To make copies takes as long as some columns.
bool BlockedProduct::streamsRowsAsTheyLie(const Contraction &shape) const {
  constexpr int64_t fewestColumns = 32;
  const bool copies = kernel.lhsCopies > 1 && shape.m > 1 && shape.n >= fewestColumns;
  return readsLanes(shape) && !copies;
}

void BlockedProduct::reserveStreamed(const Contraction &shape, bool rhsIsPacked) {
  if (!rhsIsPacked)
    reserve(rhsPanels, packedBytes(shape));
  if (!streamsRowsAsTheyLie(shape))
    reserve(lhsPanels,
            ceilDivide(streamedStrip(shape), kernel.rows) * stepsOf(shape.k) * kernel.lhsStepBytes);
}

void BlockedProduct::streamWeights(const Contraction &shape, const void *lhs, const void *rhs,
                                   const void *packedRhs, const float *bias, const Result &result) {
  const int64_t steps = stepsOf(shape.k), panels = panelsOf(shape);
  reserveStreamed(shape, packedRhs != nullptr);
  if (!packedRhs) {
    packAll(rhsOf(shape, rhs, isNarrow(shape)), 0, panels, rhsPanels.data(), result.rhsSums);
    packedRhs = rhsPanels.data();
  }
  std::atomic<uint32_t> most{0};
  const Panels weights{static_cast<const uint8_t *>(packedRhs), 0, panels};
  const int64_t laneBytes = lanePieces(shape).laneBytes;
  if (streamsRowsAsTheyLie(shape)) {
    const int64_t rowBytes = shape.k * elementBytes(shape.lhs);
    const int64_t missing = (steps * kernel.depth - shape.k) * elementBytes(shape.lhs);
    multiplyStreamed(shape,
                     {0, shape.m, static_cast<const uint8_t *>(lhs), rowBytes, shape.m, 0,
                      laneBytes, laneBytes - missing},
                     weights, bias, result, most);
  } else {
    const PanelOperand left = lhsOf(shape, lhs);
    const int64_t panelBytes = steps * kernel.lhsStepBytes, strip = streamedStrip(shape);
    uint8_t *packed = lhsPanels.data();
    for (int64_t row = 0; row < shape.m; row += strip) {
      const int64_t rows = std::min(strip, shape.m - row), panel = row / kernel.rows;
      team.forRange(ceilDivide(rows, kernel.rows),
                    ceilDivide(conversionGrain, shape.k * kernel.rows),
                    [&](int64_t begin, int64_t end) {
                      left.pack(panel + begin, end - begin, 0, steps, packed + begin * panelBytes);
                    });
      multiplyStreamed(shape,
                       {row, rows, packed, laneBytes * kernel.lhsCopies, kernel.rows, panelBytes,
                        kernel.lhsStepBytes, laneBytes, /*areCopies=*/kernel.lhsCopies > 1},
                       weights, bias, result, most);
    }
  }
  if (result.largest)
    *result.largest = most.load(std::memory_order_relaxed);
}

void BlockedProduct::multiplyStreamed(const Contraction &shape, const StreamedRows &rows,
                                      const Panels &weights, const float *bias,
                                      const Result &result, std::atomic<uint32_t> &most) {
  const int64_t threads = threadsFor(shape), panels = weights.panels;
  int64_t rowParts = ceilDivide(rows.count, mostStreamedRows);
  if (panels * rowParts < threads)
    rowParts =
        std::min(ceilDivide(threads, panels), ceilDivide(rows.count, lanePieces(shape).rows));
  const int64_t blocks = panels * rowParts;
  team.shareOut(blocks, threads, [&](Turns &turns) {
    alignas(64) uint8_t state[microKernelStateBytes];
    kernel.enter(state);
    for (int64_t i; turns.take(i);) {
      alignas(cacheLine) float sums[mostStreamedRows * mostStreamedColumns];
      const int64_t part = i % rowParts, row = rows.count * part / rowParts;
      const StreamedBlock block{rows,
                                weights,
                                rows.first + row,
                                rows.count * (part + 1) / rowParts - row,
                                i / rowParts,
                                rowParts == 1 && i + 1 < blocks};
      multiplyStreamedBlock(shape, block, sums);
      finishStreamedBlock(shape, block, sums, bias, result, most);
    }
    kernel.leave(state);
  });
}

void BlockedProduct::multiplyStreamedBlock(const Contraction &shape, const StreamedBlock &block,
                                           float *sums) const {
  const PieceKernel &pieces = lanePieces(shape);
  const PanelOperand right = rhsOf(shape, nullptr, isNarrow(shape));
  const int64_t steps = stepsOf(shape.k), chunks = ceilDivide(steps, kernel.steps);
  const EvenTiles tiles(block.count, pieces.rows);
  const int64_t groups = tiles.count();
  // Groups of rows share the fetching.
  const int64_t allLines = ceilDivide(right.stepBytes * pieces.fetchingSteps, cacheLine);
  const int64_t linesAtOnce = ceilDivide(allLines, groups);
  const int64_t fetchingGroups = ceilDivide(allLines, linesAtOnce);
  const uint8_t *lanes[mostStreamedRows];
  for (int64_t i = 0; i < block.count; ++i)
    lanes[i] = block.rows.lane(block.row + i);
  const int64_t chunksAtOnce =
      std::clamp<int64_t>(bytesAtOnce / (kernel.steps * right.stepBytes), 1,
                          kernel.steps == shortSteps ? mostChunksAtOnce : 2);
  Piece piece[mostChunksAtOnce];
  PieceTile tile = {};
  tile.lhsStepBytes = block.rows.stepBytes;
  tile.pieces = piece;
  tile.sumStride = pieces.columns;
  for (int64_t first = 0; first < chunks; first += chunksAtOnce) {
    tile.first = first == 0;
    tile.count = std::min(chunksAtOnce, chunks - first);
    const bool isEnd = first + tile.count == chunks;
    tile.lastStepBytes = isEnd ? block.rows.lastStepBytes : pieces.laneBytes;
    for (int64_t row = 0, group = 0; group < groups; row += tiles.rowsOf(group++)) {
      const bool fetches = group < fetchingGroups && (!isEnd || block.fetchesNext);
      tile.nextLines = fetches ? linesAtOnce : 0;
      for (int64_t i = 0; i < tile.count; ++i) {
        const int64_t chunk = first + i;
        const int64_t ownSteps = std::min(kernel.steps, steps - chunk * kernel.steps);
        piece[i] = {chunk * kernel.steps * block.rows.stepBytes,
                    chunkOf(right, block.weights, chunk, block.panel), ownSteps};
        if (fetches)
          piece[i].next =
              chunkOf(right, block.weights, isEnd ? i : std::min(chunk + chunksAtOnce, chunks - 1),
                      block.panel + isEnd) +
              group * linesAtOnce * cacheLine * (ownSteps / pieces.fetchingSteps);
      }
      tile.rows = tiles.rowsOf(group);
      tile.lanes = lanes + row;
      tile.sums = sums + row * pieces.columns;
      (block.rows.areCopies ? pieces.multiplyCopies : pieces.multiply)(tile);
    }
  }
}

void BlockedProduct::finishStreamedBlock(const Contraction &shape, const StreamedBlock &block,
                                         const float *sums, const float *bias, const Result &result,
                                         std::atomic<uint32_t> &most) const {
  const EpilogueRow finish = vectors.epilogue[shape.out][epilogueFlags(shape)];
  const int64_t width = lanePieces(shape).columns, column = block.panel * width;
  const int64_t columns = std::min(width, shape.n - column);
  const bool isConsumed = result.kernel && result.isConsumed && !shape.accumulate;
  alignas(cacheLine) uint8_t staged[mostStreamedColumns * sizeof(float)];
  uint32_t own = 0;
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t row = block.row + i, first = row * shape.n + column;
    uint8_t *target = isConsumed ? staged : const_cast<uint8_t *>(at(result.out, first, shape.out));
    const auto count = static_cast<size_t>(columns);
    finish(sums + i * width, bias ? bias + column : nullptr, target, count);
    own = std::max(own, completeRow(shape, result, row, column, target, count));
    if (result.kernel)
      result.kernel->run(target, shape.out, first, first + columns);
  }
  raise(most, own);
}

} // namespace mpc::rt
