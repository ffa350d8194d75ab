// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Micro-kernels whose sums are vectors: some rows by some vectors of columns, and how their panels
// are packed. A step holds 32 bits of each lane, one k or two.
//
// `Step` and `Operand` are the kernel's, and have what its vectors are: Words, `lanes` lanes of a
// step, and Sums, as many sums; how both are loaded, stored and transposed; `parts`, into which
// part<index>() takes the words of a step apart (1: not at all); panelRows and panelColumns;
// fetchingSteps and tileFetchingSteps, before which multiplyPieces() and multiplyPanels() fetch
// lines; stepsSideBySide, of the loop of multiplyPieces(); and lhsStepsAhead, which
// multiplyPanels() fetches into the first-level cache, with the next sums; 0: neither; and
// finishedDtype, that of what Step::Finish makes of sums for PieceTile::finished; -1: there is
// none; and lhsCopies, how often each word stands in panels of lhs: where no instruction repeats
// one word of memory in all lanes, loadCopies() does so with two.
//
// This header is for files compiled for one kind of CPU: nothing here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_VECTOR_PANELS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_VECTOR_PANELS_H

#include "runtime/drivers/cpu/kernels/line_fetcher.h"

#include <immintrin.h>

namespace mpc::rt {
namespace {

constexpr int64_t stepBytesPerLane = 4, wordsOfLine = 16;

template <typename Operand>
const typename Operand::Storage *at(const PanelSource &source, int64_t stride, int64_t contiguous) {
  return static_cast<const typename Operand::Storage *>(source.data) + stride * source.stride +
         contiguous;
}

// Operands that lie in memory are read in short pieces far from each other, which no CPU foresees.
// Behind the end nothing is read.
template <int hint> void fetch(const void *from) {
  _mm_prefetch(static_cast<const char *>(from), hint);
}
constexpr int64_t stepsAhead = 8;

// Packs an operand whose k is contiguous. `Operand::alongDepth(from, count)` has as many steps of a
// lane as a vector has lanes, of whose k `count` exist.
template <typename Operand, int64_t width>
void packAlongDepth(const PanelSource &source, int64_t panels, int64_t steps, void *to) {
  constexpr int64_t lanes = Operand::lanes;
  static_assert(width < lanes || width % lanes == 0);
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t group = 0; group < width; group += lanes) {
      const int64_t lane = panel * width + group;
      int32_t *target =
          static_cast<int32_t *>(to) + (panel * steps * width + group) * Operand::copies;
      for (int64_t step = 0; step < steps; step += lanes) {
        const int64_t k = step * Operand::depth;
        typename Operand::Words lines[lanes];
        for (int64_t i = 0; i < lanes; ++i) {
          fetch<_MM_HINT_T1>(at<Operand>(source, lane + lanes + i, k));
          lines[i] = i < width - group && lane + i < source.lanes
                         ? Operand::alongDepth(at<Operand>(source, lane + i, k), source.depth - k)
                         : Operand::noWords();
        }
        Operand::transpose(lines);
        for (int64_t i = 0; i < lanes && step + i < steps; ++i)
          Operand::template storeLanes<width % lanes ? width : lanes>(
              target + (step + i) * width * Operand::copies, lines[i], step + i + 1 < steps);
      }
    }
}

// Packs an operand whose lanes are contiguous. `Operand::acrossDepth(from, stride, count,
// existing)` has one step of a vector's lanes, of which `existing` may be read, and of whose k
// `count`. The loop over steps is outside, so that memory is read along its rows.
template <typename Operand, int64_t width>
void packAcrossDepth(const PanelSource &source, int64_t panels, int64_t steps, void *to) {
  constexpr int64_t lanes = Operand::lanes;
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t group = 0; group < width; group += lanes) {
        const int64_t lane = panel * width + group, k = step * Operand::depth;
        // Whole vectors are faster to load than parts of them, but where loads are masked.
        const int64_t left = source.lanes - lane;
        const int64_t taken = Operand::masksLoads ? width - group : lanes;
        for (int64_t i = 0; i < Operand::depth; ++i)
          fetch<_MM_HINT_T0>(at<Operand>(source, k + stepsAhead * Operand::depth + i, lane));
        Operand::template storeLanes<width % lanes ? width : lanes>(
            static_cast<int32_t *>(to) + ((panel * steps + step) * width + group) * Operand::copies,
            Operand::acrossDepth(at<Operand>(source, k, lane), source.stride, source.depth - k,
                                 left < taken ? left : taken),
            step + 1 < steps);
      }
}

// How multiplyPanels() packs meanwhile: `call` is called with each of `calls` parts of the loop,
// and packs as many units then as keep pace. `run` runs the loop, from one call to another.
template <typename Units> class PackingMeanwhile {
public:
  PackingMeanwhile(const PackedSteps &packed, int64_t calls)
      : units(packed), count(Units::countOf(packed)), left(count), calls(calls) {}
  template <typename Loop> void run(const Loop &loop) { loop(0, calls); }
  void call() {
    for (due += count; due >= calls && left > 0; due -= calls)
      pack();
  }
  void finish() {
    while (left > 0)
      pack();
  }

private:
  void pack() {
    units.pack();
    --left;
  }
  Units units;
  int64_t count, left, calls, due = 0;
};

// The loop is cut where a unit is packed, since the compiler would otherwise keep sums in memory
// all along: for vectors whose sums leave few registers.
template <typename Units> class PackingBetween {
public:
  PackingBetween(const PackedSteps &packed, int64_t calls)
      : units(packed), count(Units::countOf(packed)), calls(calls) {}
  template <typename Loop> void run(const Loop &loop) {
    const int64_t between = calls / (count + 1);
    for (int64_t unit = 0, call = 0; unit <= count; ++unit, call += between) {
      loop(call, unit == count ? calls : call + between);
      if (unit < count)
        units.pack();
    }
  }
  void call() {}
  void finish() {}

private:
  Units units;
  int64_t count, calls;
};

class PacksNothing {
public:
  PacksNothing(const PackedSteps &, int64_t calls) : calls(calls) {}
  template <typename Loop> void run(const Loop &loop) { loop(0, calls); }
  void call() {}
  void finish() {}

private:
  int64_t calls;
};

// Packs a step of a panel whose lanes are contiguous, all of which exist.
template <typename Operand, int64_t width>
inline void packStep(const typename Operand::Storage *from, int64_t stride, int32_t *to) {
  static_assert(Operand::depth == 1 && width % Operand::lanes == 0);
  for (int64_t group = 0; group < width; group += Operand::lanes)
    Operand::template storeLanes<Operand::lanes>(
        to + group, Operand::acrossDepth(from + group, stride, 1, Operand::lanes), true);
}

// A unit is a step of a panel whose lanes are contiguous.
template <typename Operand, int64_t width> class StepsAcross {
public:
  explicit StepsAcross(const PackedSteps &packed)
      : from(static_cast<const typename Operand::Storage *>(packed.from)), stride(packed.stride),
        to(static_cast<int32_t *>(packed.to)) {}
  static int64_t countOf(const PackedSteps &packed) { return packed.steps; }
  void pack() {
    packStep<Operand, width>(from, stride, to);
    from += stride;
    to += width;
  }

private:
  const typename Operand::Storage *from;
  int64_t stride;
  int32_t *to;
};

// Adds the k of a step one after the other, or all at once where the kernel's instruction does.
// `Step::add(sums, factors, row)` adds them of a vector of columns; `factors` has those of one row
// of lhs in every lane, as factorOf(row) finds them.
template <typename Step, int64_t rows, int64_t vectors, int64_t part = 0, typename FactorOf>
inline void addParts(typename Step::Sums (&sums)[rows][vectors], const void *rhs,
                     const FactorOf &factorOf) {
  typename Step::Words row[vectors];
  for (int64_t j = 0; j < vectors; ++j)
    row[j] = Step::template part<part>(
        Step::loadWords(static_cast<const uint8_t *>(rhs) + stepBytesPerLane * Step::lanes * j));
  for (int64_t i = 0; i < rows; ++i) {
    const typename Step::Words factors = Step::template part<part>(factorOf(i));
    for (int64_t j = 0; j < vectors; ++j)
      sums[i][j] = Step::add(sums[i][j], factors, row[j]);
  }
  if constexpr (part + 1 < Step::parts) {
    // Words are loaded again: kept, they would displace sums from the registers.
    asm volatile("" ::: "memory");
    addParts<Step, rows, vectors, part + 1>(sums, rhs, factorOf);
  }
}

// The factor of a row of lhs whose word stands `copies` times at `at`.
template <typename Step, int64_t copies> typename Step::Words factorAt(const void *at) {
  if constexpr (copies > 1) {
    return Step::loadCopies(at);
  } else {
    int32_t word;
    __builtin_memcpy(&word, at, sizeof word);
    return Step::broadcast(word);
  }
}

// The first `rows` of the tile's rows are multiplied.
template <typename Step, int64_t rows = Step::panelRows, typename Packing = PacksNothing>
void multiplyPanels(const MicroTile &tile) {
  constexpr int64_t lanes = Step::lanes, vectors = Step::panelColumns / lanes,
                    copies = Step::lhsCopies;
  // Stores of sums might change the tile, as far as the compiler knows.
  float *const sumsAt = tile.sums;
  const int64_t sumStride = tile.sumStride;
  typename Step::Sums sums[rows][vectors];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      sums[i][j] = tile.first ? Step::zero() : Step::load(sumsAt + i * sumStride + lanes * j);
  const int32_t *lhs = reinterpret_cast<const int32_t *>(tile.lhs);
  const int32_t *rhs = reinterpret_cast<const int32_t *>(tile.rhs);
  const auto addStep = [&] {
    addParts<Step, rows, vectors>(
        sums, rhs, [&](int64_t i) { return factorAt<Step, copies>(lhs + i * copies); });
    lhs += Step::panelRows * copies;
    rhs += Step::panelColumns;
  };
  constexpr int64_t fetchingSteps = Step::tileFetchingSteps;
  const int64_t calls = tile.steps / fetchingSteps;
  LineFetcher nextLhs(tile.nextLhs, calls), nextRhs(tile.nextRhs, calls);
  const float *nextSums = tile.nextSums;
  Packing packing(tile.packed, calls);
  packing.run([&](int64_t begin, int64_t end) {
    for (int64_t call = begin; call < end; ++call) {
      nextLhs.fetch();
      nextRhs.fetch();
      packing.call();
      if constexpr (Step::lhsStepsAhead > 0) {
        for (int64_t i = 0; i < fetchingSteps * Step::panelRows; i += wordsOfLine)
          fetch<_MM_HINT_T0>(lhs + Step::lhsStepsAhead * Step::panelRows + i);
        if (nextSums && call < rows) {
          for (int64_t j = 0; j < Step::panelColumns; j += wordsOfLine)
            fetch<_MM_HINT_T0>(nextSums + j);
          nextSums += sumStride;
        }
      }
      for (int64_t i = 0; i < fetchingSteps; ++i)
        addStep();
    }
  });
  for (int64_t i = calls * fetchingSteps; i < tile.steps; ++i)
    addStep();
  packing.finish();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      Step::store(sumsAt + i * sumStride + lanes * j, sums[i][j]);
}

// Multiplies the rows that exist; `missing` lists how many rows of a panel may not.
template <typename Step, int64_t... missing> void multiplyExistingRows(const MicroTile &tile) {
  static constexpr void (*ofMissing[])(const MicroTile &) = {
      multiplyPanels<Step, Step::panelRows - missing>...};
  ofMissing[tile.missingRows](tile);
}

// Words of lanes stand `copies` times.
template <typename Step, int64_t rows, int64_t vectors, int64_t copies = 1>
void multiplyPieces(const PieceTile &tile) {
  constexpr int64_t lanes = Step::lanes;
  typename Step::Sums sums[rows][vectors];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      sums[i][j] =
          tile.first ? Step::zero() : Step::load(tile.sums + i * tile.sumStride + lanes * j);
  for (int64_t piece = 0; piece < tile.count; ++piece) {
    const uint8_t *rowsAt[rows], *rhs = tile.pieces[piece].rhs, *next = tile.pieces[piece].next;
    for (int64_t i = 0; i < rows; ++i)
      rowsAt[i] = tile.lanes[i] + tile.pieces[piece].lhs;
    int64_t at = 0;
    const auto addStep = [&] {
      addParts<Step, rows, vectors>(
          sums, rhs, [&](int64_t i) { return factorAt<Step, copies>(rowsAt[i] + at); });
      at += tile.lhsStepBytes;
      rhs += stepBytesPerLane * lanes * vectors;
    };
    const int64_t steps = tile.pieces[piece].steps, calls = steps / Step::fetchingSteps;
    for (int64_t call = 0; call < calls; ++call) {
      for (int64_t i = 0; i < tile.nextLines; ++i, next += 64)
        fetch<_MM_HINT_T1>(next);
      // This stays a loop: on AVX2, where the steps of six rows stand side by side it takes 1.1 of
      // the time (docs/decisions/0067).
#pragma clang loop unroll(disable)
      for (int64_t i = 0; i < Step::fetchingSteps; i += Step::stepsSideBySide)
#pragma clang loop unroll(full)
        for (int64_t j = 0; j < Step::stepsSideBySide; ++j)
          addStep();
    }
    for (int64_t i = calls * Step::fetchingSteps; i < steps; ++i)
      addStep();
  }
  if constexpr (Step::finishedDtype >= 0) {
    if (tile.finished && tile.finished->columns >= lanes * vectors)
      return Step::Finish::storeSums(sums, *tile.finished);
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      Step::store(tile.sums + i * tile.sumStride + lanes * j, sums[i][j]);
  if constexpr (Step::finishedDtype >= 0) {
    if (tile.finished)
      Step::Finish::storeRows(tile.sums, tile.sumStride, rows, *tile.finished);
  }
}

template <int64_t... count> struct Counts {};
using UpTo4 = Counts<1, 2, 3, 4>;
using UpTo6 = Counts<1, 2, 3, 4, 5, 6>;
using UpTo8 = Counts<1, 2, 3, 4, 5, 6, 7, 8>;
using UpTo10 = Counts<1, 2, 3, 4, 5, 6, 7, 8, 9, 10>;
using UpTo12 = Counts<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>;

template <typename Step, int64_t vectors, int64_t copies, int64_t... rows>
void multiplyLanes(const PieceTile &tile) {
  static constexpr void (*ofRows[])(const PieceTile &) = {
      multiplyPieces<Step, rows, vectors, copies>...};
  ofRows[tile.rows - 1](tile);
}

// Null for a kernel that reads no copies. Few columns gain too little for code of their own: the
// first copy is read.
template <typename Step, int64_t vectors, int64_t... rows> constexpr auto ofCopies() {
  void (*multiply)(const PieceTile &) = nullptr;
  constexpr bool isWide = vectors * Step::lanes == Step::panelColumns;
  if constexpr (Step::lhsCopies > 1)
    multiply = multiplyLanes < Step, vectors, isWide ? Step::lhsCopies : 1, rows... > ;
  return multiply;
}

template <typename Step, template <int64_t> typename Packs, int64_t columns, int64_t... rows>
constexpr PieceKernel pieceKernel(Counts<rows...>) {
  return {sizeof...(rows),
          columns,
          stepBytesPerLane,
          Step::depth,
          Step::fetchingSteps,
          Packs<columns>::of,
          Packs<columns>::of,
          multiplyLanes<Step, columns / Step::lanes, /*copies=*/1, rows...>,
          nullptr,
          nullptr,
          Step::finishedDtype,
          ofCopies<Step, columns / Step::lanes, rows...>()};
}

inline void nothing(void *) {}
inline void nothing(const void *) {}

} // namespace
} // namespace mpc::rt

#endif
