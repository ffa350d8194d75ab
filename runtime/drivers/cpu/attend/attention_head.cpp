// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/attend/attention_head.h"
#include "runtime/base/dtype.h"
#include "runtime/drivers/cpu/attend/attention_sight.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mpc::rt {
namespace {

// Rows that a micro-kernel has at a time divide them; two matrices of scores are half a megabyte.
constexpr int64_t fewestTargets = 24, mostTargets = 96, mostScores = 65536;
constexpr int64_t vectorElements = 16, lineBytes = 64;

int64_t roundUp(int64_t a, int64_t b) { return ceilDivide(a, b) * b; }

} // namespace

int64_t AttentionHead::blockOf(const Attention &shape) {
  const int64_t rows = mostScores / shape.sources / fewestTargets * fewestTargets;
  return std::clamp(rows, fewestTargets, mostTargets);
}

AttentionHead::AttentionHead(const AttentionKernels &kernels, const Attention &shape,
                             bool isGradient, uint8_t *memory)
    : shape(shape), kernel(kernels.micro), vectors(kernels.vectors), rows(kernels.rows),
      block(std::min(blockOf(shape), shape.targets)), memory(memory) {
  layOut(isGradient);
}

uint64_t AttentionHead::bytes(const AttentionKernels &kernels, const Attention &shape,
                              bool isGradient) {
  return AttentionHead(kernels, shape, isGradient, /*memory=*/nullptr).taken;
}

// ---- Memory -------------------------------------------------------------------------------------

template <typename Type> Type *AttentionHead::take(int64_t count) {
  uint8_t *start = memory ? memory + taken : nullptr;
  taken += static_cast<uint64_t>(roundUp(count * static_cast<int64_t>(sizeof(Type)), lineBytes));
  return reinterpret_cast<Type *>(start);
}

AttentionHead::Lanes AttentionHead::takeLanes(int64_t k) {
  const int64_t stride = roundUp(stepsOf(k) * kernel.pieces[0]->laneBytes, lineBytes);
  return {take<uint8_t>(block * stride), stride};
}

AttentionHead::Panels AttentionHead::takePanels(int64_t columns, int64_t k) {
  const PieceKernel &pieces = pieceKernelFor(kernel, columns);
  const int64_t bytes =
      roundUp(columns, pieces.columns) * stepsOf(k) * static_cast<int64_t>(pieces.laneBytes);
  return {&pieces, take<uint8_t>(bytes), columns, stepsOf(k)};
}

AttentionHead::Sums AttentionHead::takeSums(int64_t count, int64_t columns) {
  const int64_t stride = roundUp(roundUp(columns, kernel.columns), vectorElements);
  return {take<float>(count * stride), stride};
}

void AttentionHead::layOut(bool isGradient) {
  keys = takePanels(shape.sources, shape.width);
  queries = takeLanes(shape.width);
  scores = takeSums(block, shape.sources);
  // Those of float32 are where their sums were.
  probabilities = isNarrow() ? takeLanes(shape.sources) : Lanes{nullptr, 0};
  if (!isGradient) {
    values = takePanels(shape.valueWidth, shape.sources);
    results = takeSums(block, shape.valueWidth);
    return;
  }
  values = takePanels(shape.sources, shape.valueWidth);
  keysOfWidth = takePanels(shape.width, shape.sources);
  cotangents = takeLanes(shape.valueWidth);
  products = takeSums(block, shape.sources);
  derivatives = isNarrow() ? takeLanes(shape.sources) : Lanes{nullptr, 0};
  results = takeSums(block, shape.width);
  keySums = takeSums(roundUp(shape.width, kernel.rows), shape.sources);
  valueSums = takeSums(roundUp(shape.valueWidth, kernel.rows), shape.sources);
  const int64_t width = std::max(shape.width, shape.valueWidth);
  // wide[0] holds the rows that are stored together.
  wide[0] = take<float>(vectorElements * width);
  wide[1] = take<float>(width);
  leftPanels = take<uint8_t>(ceilDivide(width, kernel.rows) * stepsOf(block) * kernel.lhsStepBytes);
  rightPanels = take<uint8_t>(ceilDivide(shape.sources, kernel.columns) * stepsOf(block) *
                              kernel.rhsStepBytes);
}

// ---- Operands -----------------------------------------------------------------------------------

const uint8_t *AttentionHead::at(const void *from, int64_t pair, int64_t position, int64_t length,
                                 int64_t width) const {
  const int64_t sample = pair / shape.heads, head = pair % shape.heads;
  return static_cast<const uint8_t *>(from) + ((sample * length + position) * shape.heads + head) *
                                                  width *
                                                  static_cast<int64_t>(dtypeSize(shape.dtype));
}

uint8_t *AttentionHead::at(void *to, int64_t pair, int64_t position, int64_t length,
                           int64_t width) const {
  return const_cast<uint8_t *>(at(static_cast<const void *>(to), pair, position, length, width));
}

void AttentionHead::packSources(const void *from, int64_t width, const Panels &to) const {
  const PanelSource source = {from, shape.heads * width, shape.sources, width};
  to.pieces->packRhs[shape.dtype][/*contiguous=*/1](
      source, ceilDivide(to.columns, to.pieces->columns), to.steps, to.data);
}

void AttentionHead::packWidth(const void *from, int64_t width, const Panels &to) const {
  const PanelSource source = {from, shape.heads * width, width, shape.sources};
  to.pieces->packRhs[shape.dtype][/*contiguous=*/0](
      source, ceilDivide(to.columns, to.pieces->columns), to.steps, to.data);
}

void AttentionHead::copyRows(const void *from, int64_t count, int64_t width,
                             const Lanes &to) const {
  const auto *row = static_cast<const uint8_t *>(from);
  const int64_t bytes = width * (isNarrow() ? 2 : 4);
  for (int64_t i = 0; i < count; ++i) {
    uint8_t *lane = to.data + i * to.stride;
    if (isNarrow())
      std::memcpy(lane, row, static_cast<size_t>(bytes));
    else
      widen(row, width, reinterpret_cast<float *>(lane));
    std::memset(lane + bytes, 0, static_cast<size_t>(to.stride - bytes));
    row += shape.heads * width * static_cast<int64_t>(dtypeSize(shape.dtype));
  }
}

void AttentionHead::widen(const void *from, int64_t count, float *to) const {
  const auto elements = static_cast<size_t>(count);
  if (shape.dtype == MPC_RT_FLOAT32)
    std::memcpy(to, from, elements * sizeof(float));
  else
    (shape.dtype == MPC_RT_BFLOAT16 ? vectors.widenBFloat16 : vectors.widenFloat16)(
        static_cast<const uint16_t *>(from), to, elements);
}

void AttentionHead::round(const float *from, int64_t count, void *to) const {
  const auto elements = static_cast<size_t>(count);
  if (shape.dtype == MPC_RT_FLOAT32)
    std::memcpy(to, from, elements * sizeof(float));
  else
    (shape.dtype == MPC_RT_BFLOAT16 ? vectors.roundBFloat16 : vectors.roundFloat16)(
        from, static_cast<uint16_t *>(to), elements);
}

AttentionHead::Lanes AttentionHead::lanesOf(const Sums &sums, const Lanes &own, int64_t count,
                                            int64_t columns) const {
  if (!isNarrow())
    return {reinterpret_cast<uint8_t *>(sums.data),
            sums.stride * static_cast<int64_t>(sizeof(float))};
  const int64_t bytes = 2 * columns, end = stepsOf(columns) * kernel.pieces[0]->laneBytes;
  for (int64_t i = 0; i < count; ++i) {
    uint8_t *lane = own.data + i * own.stride;
    vectors.roundBFloat16(sums.row(i), reinterpret_cast<uint16_t *>(lane),
                          static_cast<size_t>(columns));
    std::memset(lane + bytes, 0, static_cast<size_t>(end - bytes));
  }
  return own;
}

// ---- Products -----------------------------------------------------------------------------------

void AttentionHead::multiply(const Lanes &lanes, int64_t count, const Panels &panels,
                             int64_t columns, int64_t steps, const Sums &sums) const {
  const PieceKernel &pieces = *panels.pieces;
  PieceTile tile = {};
  tile.lhsStepBytes = tile.lastStepBytes = pieces.laneBytes;
  tile.sumStride = sums.stride;
  tile.first = true;
  for (int64_t column = 0; column < columns; column += pieces.columns) {
    const Piece piece = {0, panels.data + column * panels.steps * pieces.laneBytes, steps};
    tile.pieces = &piece;
    tile.count = 1;
    for (int64_t row = 0; row < count; row += pieces.rows) {
      const uint8_t *starts[mostPieceRows];
      tile.rows = std::min(pieces.rows, count - row);
      for (int64_t i = 0; i < tile.rows; ++i)
        starts[i] = lanes.data + (row + i) * lanes.stride;
      tile.lanes = starts;
      tile.sums = sums.row(row) + column;
      pieces.multiply(tile);
    }
  }
}

void AttentionHead::accumulate(const Lanes &left, int64_t width, const Lanes &right,
                               int64_t sources, int64_t count, const Sums &sums) const {
  const int64_t bytes = isNarrow() ? 2 : 4, steps = stepsOf(count);
  const int64_t rowPanels = ceilDivide(width, kernel.rows),
                columnPanels = ceilDivide(sources, kernel.columns);
  kernel.packLhs[laneType()][0]({left.data, left.stride / bytes, width, count}, rowPanels, steps,
                                leftPanels);
  kernel.packRhs[laneType()][0]({right.data, right.stride / bytes, sources, count}, columnPanels,
                                steps, rightPanels);
  MicroTile tile = {};
  tile.steps = steps;
  tile.sumStride = sums.stride;
  for (int64_t column = 0; column < columnPanels; ++column)
    for (int64_t row = 0; row < rowPanels; ++row) {
      tile.lhs = leftPanels + row * steps * kernel.lhsStepBytes;
      tile.rhs = rightPanels + column * steps * kernel.rhsStepBytes;
      tile.sums = sums.row(row * kernel.rows) + column * kernel.columns;
      tile.nextSums = row + 1 < rowPanels ? tile.sums + kernel.rows * sums.stride : nullptr;
      kernel.multiply(tile);
    }
}

void AttentionHead::storeTransposed(const Sums &sums, int64_t width, int64_t pair, void *to) const {
  for (int64_t first = 0; first < shape.sources; first += vectorElements) {
    const int64_t count = std::min(vectorElements, shape.sources - first);
    for (int64_t w = 0; w < width; ++w)
      for (int64_t i = 0; i < count; ++i)
        wide[0][i * width + w] = sums.row(w)[first + i];
    for (int64_t i = 0; i < count; ++i)
      round(wide[0] + i * width, width, at(to, pair, first + i, shape.sources, width));
  }
}

// ---- Attention ----------------------------------------------------------------------------------

const uint8_t *AttentionHead::keptOf(const AttentionDropout &dropout, int64_t pair,
                                     int64_t target) const {
  return dropout.drops ? dropout.kept + (pair * shape.targets + target) * shape.sources : nullptr;
}

void AttentionHead::attend(const AttentionOperands &operands, int64_t pair, int64_t first,
                           int64_t end) {
  const AttentionSight sights(shape, operands.mask);
  packSources(at(operands.key, pair, 0, shape.sources, shape.width), shape.width, keys);
  packWidth(at(operands.value, pair, 0, shape.sources, shape.valueWidth), shape.valueWidth, values);
  for (int64_t target = first; target < end; target += block) {
    const int64_t count = std::min(block, end - target),
                  seen = sights.seenFrom(pair, target, count);
    copyRows(at(operands.query, pair, target, shape.targets, shape.width), count, shape.width,
             queries);
    multiply(queries, count, keys, seen, keys.steps, scores);
    for (int64_t i = 0; i < count; ++i) {
      float largest, sum;
      const Sight sight = sights.of(pair, target + i);
      if (sight.isHidden)
        std::fill_n(scores.row(i), sight.seen, 0.0f);
      rows.softmax(scores.row(i), sight.mask, keptOf(operands.dropout, pair, target + i),
                   sight.seen, static_cast<float>(shape.scale),
                   static_cast<float>(operands.dropout.scale), &largest, &sum);
      if (shape.hiddenScore)
        sights.shareWithHidden(sight, scores.row(i), &largest, &sum);
      std::fill(scores.row(i) + sight.seen, scores.row(i) + seen, 0.0f);
      static_cast<float *>(operands.logSums)[pair * shape.targets + target + i] =
          largest + std::log(sum);
    }
    multiply(lanesOf(scores, probabilities, count, seen), count, values, shape.valueWidth,
             stepsOf(seen), results);
    for (int64_t i = 0; i < count; ++i)
      round(results.row(i), shape.valueWidth,
            at(operands.out, pair, target + i, shape.targets, shape.valueWidth));
  }
}

void AttentionHead::differentiate(const AttentionGradientOperands &operands, int64_t pair) {
  const uint8_t *key = at(operands.key, pair, 0, shape.sources, shape.width);
  packSources(key, shape.width, keys);
  packWidth(key, shape.width, keysOfWidth);
  packSources(at(operands.value, pair, 0, shape.sources, shape.valueWidth), shape.valueWidth,
              values);
  const auto clear = [&](const Sums &sums, int64_t width) {
    std::fill_n(sums.data, roundUp(width, kernel.rows) * sums.stride, 0.0f);
  };
  clear(keySums, shape.width);
  clear(valueSums, shape.valueWidth);
  for (int64_t target = 0; target < shape.targets; target += block)
    differentiateBlock(operands, pair, target, std::min(block, shape.targets - target));
  storeTransposed(keySums, shape.width, pair, operands.keyGradient);
  storeTransposed(valueSums, shape.valueWidth, pair, operands.valueGradient);
}

void AttentionHead::differentiateBlock(const AttentionGradientOperands &operands, int64_t pair,
                                       int64_t first, int64_t count) {
  const AttentionSight sights(shape, operands.mask);
  const int64_t seen = sights.seenFrom(pair, first, count);
  copyRows(at(operands.query, pair, first, shape.targets, shape.width), count, shape.width,
           queries);
  copyRows(at(operands.cotangent, pair, first, shape.targets, shape.valueWidth), count,
           shape.valueWidth, cotangents);
  multiply(queries, count, keys, seen, keys.steps, scores);
  multiply(cotangents, count, values, seen, values.steps, products);
  const auto *logSums = static_cast<const float *>(operands.logSums);
  for (int64_t i = 0; i < count; ++i) {
    widen(at(operands.cotangent, pair, first + i, shape.targets, shape.valueWidth),
          shape.valueWidth, wide[0]);
    widen(at(operands.out, pair, first + i, shape.targets, shape.valueWidth), shape.valueWidth,
          wide[1]);
    const Sight sight = sights.of(pair, first + i);
    if (sight.isHidden)
      std::fill_n(scores.row(i), sight.seen, 0.0f);
    rows.differentiate(scores.row(i), products.row(i), sight.mask,
                       keptOf(operands.dropout, pair, first + i), sight.seen,
                       static_cast<float>(shape.scale), static_cast<float>(operands.dropout.scale),
                       logSums[pair * shape.targets + first + i],
                       rows.multiply(wide[0], wide[1], shape.valueWidth));
    if (sight.isHidden)
      std::fill_n(products.row(i), sight.seen, 0.0f);
    for (const Sums &sums : {scores, products})
      std::fill(sums.row(i) + sight.seen, sums.row(i) + seen, 0.0f);
  }
  const Lanes weights = lanesOf(scores, probabilities, count, seen),
              changes = lanesOf(products, derivatives, count, seen);
  multiply(changes, count, keysOfWidth, shape.width, stepsOf(seen), results);
  for (int64_t i = 0; i < count; ++i)
    round(results.row(i), shape.width,
          at(operands.queryGradient, pair, first + i, shape.targets, shape.width));
  accumulate(cotangents, shape.valueWidth, weights, seen, count, valueSums);
  accumulate(queries, shape.width, changes, seen, count, keySums);
}

} // namespace mpc::rt
