// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Micro-kernels of float32 whose 16-bit operands are widened while they are packed, on CPUs with 16
// vector registers.
//
// `Vectors` is what vector_panels.h asks of a vector. Each of the elements has Storage, and
// load(from, count): a vector of float32 of which `count` elements may be read; the others are
// zeros.
//
// This header is for files compiled for one kind of CPU: nothing here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_WIDENED_PANELS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_WIDENED_PANELS_H

#include "runtime/drivers/cpu/kernels/vector_panels.h"

namespace mpc::rt {
namespace {

// How an operand's elements become float32; the rest is the same for all of them.
template <typename Vectors, typename Element> struct Widened : Vectors {
  static constexpr int64_t depth = 1;
  using Storage = typename Element::Storage;
  using Words = typename Vectors::Words;
  static Words alongDepth(const Storage *from, int64_t count) { return Element::load(from, count); }
  static Words acrossDepth(const Storage *from, int64_t, int64_t count, int64_t existing) {
    return Element::load(from, count > 0 ? existing : 0);
  }
};

// The elements are in the order of PackTable.
template <typename Vectors, typename... Elements> struct WidenedPacks {
  template <int64_t width> struct Packs {
    static constexpr PackPanels of[sizeof...(Elements)][2] = {
        {packAcrossDepth<Widened<Vectors, Elements>, width>,
         packAlongDepth<Widened<Vectors, Elements>, width>}...};
  };
};

// A unit is a step of all panels of a group whose lanes are contiguous.
template <typename Operand, int64_t width> class StepsOfPanels {
public:
  explicit StepsOfPanels(const PackedSteps &packed)
      : from(static_cast<const typename Operand::Storage *>(packed.from)), stride(packed.stride),
        to(static_cast<int32_t *>(packed.to)), panels(packed.panels),
        panelWords(packed.panelBytes / stepBytesPerLane) {}
  static int64_t countOf(const PackedSteps &packed) { return packed.steps; }
  void pack() {
    const auto *source = from;
    int32_t *target = to;
    for (int64_t panel = 0; panel < panels; ++panel) {
      packStep<Operand, width>(source, stride, target);
      source += width;
      target += panelWords;
    }
    from += stride;
    to += width;
  }

private:
  const typename Operand::Storage *from;
  int64_t stride;
  int32_t *to;
  int64_t panels, panelWords;
};

template <typename Step, template <int64_t> typename Packs> struct WidenedPieces {
  static constexpr PieceKernel ofManyColumns =
      pieceKernel<Step, Packs, Step::panelColumns>(UpTo6{});
  // Where addresses of more rows than ten are in use they leave the registers.
  static constexpr PieceKernel ofFewColumns = pieceKernel<Step, Packs, Step::lanes>(UpTo10{});
  // With eight lanes a step loads 7 numbers and vectors for 12 products, not 11 for 10.
  static constexpr PieceKernel ofThreeVectors = pieceKernel<Step, Packs, 3 * Step::lanes>(UpTo4{});
};

// The sizes of blocks fit a second-level cache of 512 KiB (Zen 3, docs/decisions/0067).
template <typename Step, template <int64_t> typename Packs>
constexpr MicroKernel widenedKernel(const char *name, int64_t groupPanels) {
  using Pieces = WidenedPieces<Step, Packs>;
  return {name,
          Step::panelRows,
          Step::panelColumns,
          /*depth=*/1,
          Step::panelRows * stepBytesPerLane,
          Step::panelColumns * stepBytesPerLane,
          /*steps=*/256,
          /*blockRows=*/384,
          /*blockColumns=*/256,
          /*longRows=*/24,
          /*longColumns=*/4096,
          /*acrossSteps=*/16,
          /*alongSteps=*/0,
          groupPanels,
          Packs<Step::panelRows>::of,
          Packs<Step::panelColumns>::of,
          nothing,
          nothing,
          multiplyPanels<Step>,
          {&Pieces::ofManyColumns, &Pieces::ofFewColumns},
          /*weights=*/nullptr,
          /*multiplyAndPack=*/nullptr,
          &Pieces::ofThreeVectors,
          /*piecesOfVector=*/nullptr,
          {Step::lhsCopies == 1 ? &Pieces::ofThreeVectors : nullptr}};
}

} // namespace
} // namespace mpc::rt

#endif
