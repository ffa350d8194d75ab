// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/part_products.h"

#include "runtime/drivers/cpu/contract/blocked_product_plan.h"
#include "runtime/drivers/cpu/contract/finish_result.h"
#include "runtime/rules/batch_parts.h"

#include <cmath>
#include <cstring>
#include <emmintrin.h>
#include <limits>

namespace mpc::rt {
namespace {

// A sum of all parts stands on a level of its own above each halving, and a part below the last.
constexpr int64_t mostSums = 12;
static_assert(rules::mostBatchParts <= int64_t(1) << (mostSums - 1));
// The levels of eight parts and a panel of rhs are in the first-level cache together.
constexpr int64_t bytesOfRows = 6144;
// A row of them is some whole lines of memory.
constexpr int64_t panelsTogether = 8;
// Rows of a block: those of all parts are in the second-level cache while the columns change.
constexpr int64_t rowsOfBlock = 192;

} // namespace

// The operands of one part in panels. Blocks are some rows of one panel of columns.
class BlockedPart final : public BlockedLayout, public PartProduct {
public:
  using BlockedLayout::BlockedLayout;

  bool takes(const Contraction &shape) const {
    const int64_t widest = std::max(leftBytes(shape), rightBytes(shape));
    // Larger operands would be packed in strips.
    return multiplies(shape) && widest <= stripBytes;
  }
  void prepare(const Contraction &given, const void *lhs, const void *rhs, bool packs) {
    shape = given;
    reserve(leftPanels, static_cast<uint64_t>(leftBytes(shape)));
    reserve(rightPanels, static_cast<uint64_t>(rightBytes(shape)));
    reserve(levels, mostSums * levelElements() * sizeof(float));
    if (!packs)
      return;
    pack(lhsOf(shape, lhs), leftPanels.data());
    pack(rhsOf(shape, rhs), rightPanels.data());
  }
  uint64_t bytes() const noexcept { return leftPanels.size() + rightPanels.size() + levels.size(); }

  bool goesWith(const PartProduct &other) const override {
    const auto &part = static_cast<const BlockedPart &>(other); // a device has one kind
    return &kernel == &part.kernel && shape.m == part.shape.m && shape.n == part.shape.n;
  }
  size_t blocks() const override {
    return static_cast<size_t>(ceilDivide(shape.m, blockRows()) * columnPanels());
  }
  void sum(const std::vector<const PartProduct *> &parts, size_t block, float *out) override {
    alignas(64) uint8_t state[microKernelStateBytes];
    kernel.enter(state);
    const auto index = static_cast<int64_t>(block);
    const int64_t first = index / columnPanels() * blockRows();
    const int64_t end = std::min(first + blockRows(), shape.m);
    Rows rows = {first, 0, index % columnPanels()};
    for (; rows.first < end; rows.first += rows.count) {
      rows.count = std::min(rowsAtOnce(), end - rows.first);
      store(rows, sumOf(parts, 0, parts.size(), rows, levels.floats()), out);
    }
    kernel.leave(state);
    _mm_sfence(); // before other threads read what was stored around the caches
  }

private:
  // They are of one panel of columns, and begin with a panel of lhs.
  struct Rows {
    int64_t first, count, panel;
  };
  int64_t rowsAtOnce() const {
    const int64_t rowBytes = kernel.columns * static_cast<int64_t>(sizeof(float));
    return std::max<int64_t>(bytesOfRows / (kernel.rows * rowBytes), 1) * kernel.rows;
  }
  int64_t blockRows() const { return ceilDivide(rowsOfBlock, rowsAtOnce()) * rowsAtOnce(); }
  int64_t levelElements() const { return rowsAtOnce() * kernel.columns; }
  int64_t columnPanels() const { return ceilDivide(shape.n, kernel.columns); }
  int64_t rowPanels() const { return ceilDivide(shape.m, kernel.rows); }
  int64_t leftBytes(const Contraction &of) const {
    return ceilDivide(of.m, kernel.rows) * stepsOf(of.k) * kernel.lhsStepBytes;
  }
  int64_t rightBytes(const Contraction &of) const {
    return ceilDivide(of.n, kernel.columns) * stepsOf(of.k) * kernel.rhsStepBytes;
  }

  // Chunk after chunk, as chunkOf() finds them.
  void pack(const PanelOperand &side, uint8_t *to) const {
    const int64_t panels = ceilDivide(side.lanes, side.panelLanes), all = side.steps();
    for (int64_t step = 0; step < all; step += kernel.steps) {
      const int64_t steps = std::min(kernel.steps, all - step);
      for (int64_t panel = 0, some; panel < panels; panel += some) {
        some = std::min(panelsTogether, panels - panel);
        side.pack(panel, some, step, steps, to);
        to += some * steps * side.stepBytes;
      }
    }
  }

  // The sum of `many` parts; the levels below stand behind it.
  float *sumOf(const std::vector<const PartProduct *> &parts, size_t first, size_t many,
               const Rows &rows, float *level) const {
    const auto count = static_cast<size_t>(levelElements());
    if (many == 1) {
      if (const auto *part = static_cast<const BlockedPart *>(parts[first]))
        part->multiply(rows, level);
      else
        std::memset(level, 0, count * sizeof(float));
      return level;
    }
    float *left = sumOf(parts, first, many / 2, rows, level);
    const float *right = sumOf(parts, first + many / 2, many / 2, rows, level + count);
    const int64_t used = ceilDivide(rows.count, kernel.rows) * kernel.rows * kernel.columns;
    vectors.addRows[MPC_RT_FLOAT32](right, /*stride=*/0, /*rows=*/1, left,
                                    static_cast<size_t>(used));
    return left;
  }

  // As a blocked product goes along k: the chunks are the same.
  void multiply(const Rows &rows, float *to) const {
    const PanelOperand left = lhsOf(shape, nullptr), right = rhsOf(shape, nullptr);
    const Panels leftSide{leftPanels.data(), 0, rowPanels()};
    const Panels rightSide{rightPanels.data(), 0, columnPanels()};
    const int64_t all = stepsOf(shape.k), chunks = ceilDivide(all, kernel.steps);
    const int64_t firstPanel = rows.first / kernel.rows;
    const int64_t panels = ceilDivide(rows.count, kernel.rows);
    MicroTile tile = {};
    tile.sumStride = kernel.columns;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      tile.first = chunk == 0;
      tile.steps = std::min(kernel.steps, all - chunk * kernel.steps);
      tile.lhs = chunkOf(left, leftSide, chunk, firstPanel);
      tile.rhs = chunkOf(right, rightSide, chunk, rows.panel);
      tile.sums = to;
      for (int64_t panel = 0; panel < panels; ++panel) {
        tile.missingRows = panel + 1 == panels ? panels * kernel.rows - rows.count : int64_t{0};
        kernel.multiply(tile);
        tile.lhs += tile.steps * kernel.lhsStepBytes;
        tile.sums += kernel.rows * kernel.columns;
      }
    }
  }

  void store(const Rows &rows, float *sums, float *out) const {
    const int64_t column = rows.panel * kernel.columns;
    const auto count = static_cast<size_t>(std::min(kernel.columns, shape.n - column));
    const size_t bytes = count * sizeof(float);
    const bool streams = streamsResult(shape, out) && bytes % cacheLine == 0;
    for (int64_t row = 0; row < rows.count; ++row, sums += kernel.columns) {
      keepOneNaN(sums, count);
      float *to = out + (rows.first + row) * shape.n + column;
      if (streams)
        vectors.storeAroundCaches(sums, to, bytes);
      else
        std::memcpy(to, sums, bytes);
    }
  }

  // As additions between ranks do.
  void keepOneNaN(float *sums, size_t count) const {
    constexpr uint32_t infinity = 0x7f800000;
    const void *bits = sums;
    if (vectors.largest32(static_cast<const uint32_t *>(bits), count) <= infinity)
      return;
    for (size_t i = 0; i != count; ++i)
      if (std::isnan(sums[i]))
        sums[i] = std::numeric_limits<float>::quiet_NaN();
  }

  Contraction shape;
  Buffer leftPanels, rightPanels, levels;
};

PartProducts::PartProducts(ContractionMemory &memory) : memory(memory) {}
PartProducts::~PartProducts() = default;

PartProduct *PartProducts::prepare(const ContractionCall &call, const BlockedProduct &product,
                                   bool packs) {
  const Contraction &c = call.shape;
  const ContractionExtras &extras = call.extras;
  const bool isAlone = !c.accumulate && !c.hasBias && !c.relu && !c.makesMask && !c.readsMask &&
                       !c.gelu && !c.geluGradient && !c.roundsSums && !extras.largest &&
                       !extras.kernel;
  // Other products take rows of lhs where they lie, or panels of few columns.
  if (!isAlone || c.out != MPC_RT_FLOAT32 || c.batch != 1 || !c.transposeLhs ||
      product.streamsWeights(c, /*rhsIsPacked=*/false))
    return nullptr;
  const MicroKernel &kernel = product.microKernel();
  std::unique_ptr<BlockedPart> &part = parts[&kernel];
  if (!part)
    part = std::make_unique<BlockedPart>(memory.team, memory.vectors, kernel, /*packsOnce=*/false);
  if (!part->takes(c))
    return nullptr;
  part->prepare(c, call.lhs, call.rhs, packs);
  if (packs && extras.rhsSums)
    sumColumns(c, memory, call.rhs, extras.rhsSums);
  return part.get();
}

uint64_t PartProducts::bytes() const noexcept {
  uint64_t total = 0;
  for (const auto &[kernel, part] : parts)
    total += part->bytes();
  return total;
}

} // namespace mpc::rt
