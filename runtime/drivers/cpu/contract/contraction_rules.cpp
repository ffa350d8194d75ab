// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Feature bits tell what runs, not what is fast: what stands here was measured
// (benchmarks/contractions).
#include "runtime/drivers/cpu/contract/contraction_rules.h"
#include "runtime/drivers/cpu/kernels/kernel_rule.h"
#include "runtime/drivers/cpu/onednn/onednn.h"

namespace mpc::rt {
namespace contraction_rules {
namespace {

using Traits = ContractionTraits;

// Below, a product is over before oneDNN has woken its threads, which are not ours and wake for the
// smallest one: they take 20 to 100 us, the kernel on as many threads as there is work for 1 to 50.
constexpr int64_t fewestProducts = 1 << 21;
// Many small matrices one after the other: oneDNN packs none of them, which is worth waking its
// threads from here on (attention of 28 positions: 0.6 of our time, 2 to 5 times as fast by one
// thread).
constexpr int64_t manyMatrices = 1 << 18;
// A small product is over before oneDNN's threads, which are not ours, are awake.
constexpr int64_t smallProducts = 1 << 24;
// So many that what is packed is used often.
constexpr int64_t longSums = 512, manyColumns = 2048;

// oneDNN pays for transposed operands, 16-bit ones and rounding; the kernel does not.
bool isFloat32(const Contraction &c) { return c.lhs == MPC_RT_FLOAT32 && c.rhs == MPC_RT_FLOAT32; }
bool isSingle(const Traits &t) { return t.shape.batch == 1; }
bool isFewRows(const Traits &t) {
  constexpr int64_t fewRows = 384;
  return t.shape.m <= fewRows;
}
bool always(const Traits & /*t*/) { return true; }

// Tiles are multiplied as a whole, whatever rows and columns they have: up to eight times as many
// products as there are cost them less than waking other threads. Vectors are not that wide.
bool isSmallInPanels(const Traits &t) {
  const auto filled = [](int64_t lanes, int64_t panel) {
    return (lanes + panel - 1) / panel * panel;
  };
  const Contraction &c = t.shape;
  return &t.kernel != &amxBFloat16 ||
         c.batch * filled(c.m, t.kernel.rows) * filled(c.n, t.kernel.columns) * c.k <=
             8 * fewestProducts;
}

bool isOverSoon(const Traits &t) {
  return t.products() < fewestProducts && isSmallInPanels(t) &&
         (isSingle(t) || t.products() < manyMatrices);
}

bool isLittleWork(const Traits &t) { return t.products() < fewestProducts; }
bool isHalfPanel(const Traits &t) { return t.shape.n < t.kernel.columns / 2; }
bool isPartOfPanel(const Traits &t) { return t.shape.n < t.kernel.columns; }

// oneDNN widens float16 before, and has no blocks so narrow of bfloat16.
bool isNarrow(const Traits &t) {
  return isSingle(t) && !isFloat32(t.shape) && t.shape.m <= 128 &&
         t.shape.n <= t.kernel.pieces[1]->columns;
}
bool isHalfPanelOnly(const Traits &t) { return isHalfPanel(t) && !isNarrow(t); }
bool isNarrowPart(const Traits &t) { return isPartOfPanel(t) && isNarrow(t); }

// ---- AVX2 and SSE 4.1 -----------------------------------------------------------------------

constexpr int64_t fewTerms = 64, manyTerms = 1024;

bool isOnePanelOfLongSums(const Traits &t) {
  const Contraction &c = t.shape;
  return isPartOfPanel(t) && isSingle(t) && c.k >= fewTerms &&
         (!c.transposeLhs || c.k <= manyTerms);
}
bool isPackedOnTheWay(const Traits &t) {
  return isSingle(t) && (t.shape.transposeLhs || t.shape.k >= fewTerms || isFewRows(t));
}
// This holds only where our kernels are compiled for less than the CPU has.
bool isNativeBFloat16(const Traits &t) {
  return t.shape.lhs == MPC_RT_BFLOAT16 && t.shape.rhs == MPC_RT_BFLOAT16 &&
         onednn::hasNativeBFloat16();
}

// ---- AMD, AVX-512 ---------------------------------------------------------------------------

bool updatesWeights(const Traits &t) { return t.launches && isSingle(t) && t.shape.transposeLhs; }
// Alone oneDNN takes 0.6 to 1 of the time, but in predictions its threads are woken beside ours,
// and what follows is a pass (docs/decisions/0135).
bool isOfKept(const Traits &t) { return isSingle(t) && t.rhsKept; }
// On a Zen 4 it takes 0.93 to 1 of the time, of few terms 0.86 to 1: of larger products that is
// longer than waking them.
bool isOfKeptAndNotLarge(const Traits &t) {
  constexpr int64_t fewTermsHere = 64, manyProducts = 1 << 27, manyOfFewTerms = 1 << 25;
  return isOfKept(t) && t.products() <= (t.shape.k < fewTermsHere ? manyOfFewTerms : manyProducts);
}
bool isSmall(const Traits &t) {
  return isSingle(t) && t.products() <= smallProducts * (isFloat32(t.shape) ? 1 : 2);
}
bool isStreamed(const Traits &t) { return isSingle(t) && t.rhsKept && t.shape.m <= 64; }
bool isManyOrFewOfKept(const Traits &t) { return !isSingle(t) || (t.rhsKept && isFewRows(t)); }
// Enough columns have to use the part of lhs that is packed.
bool isLongAndWide(const Traits &t) {
  constexpr int64_t fewColumns = 256;
  const Contraction &c = t.shape;
  return c.k >= longSums &&
         (c.transposeLhs ? c.n >= fewColumns && c.m <= 2 * c.n : c.n >= manyColumns);
}
bool isFewRowsOfLongSums(const Traits &t) {
  return isFewRows(t) && !t.shape.transposeLhs && t.shape.n >= t.kernel.blockColumns &&
         t.shape.k >= 2048;
}
bool isPackedForFewColumns(const Traits &t) {
  const Contraction &c = t.shape;
  return isSingle(t) && !c.transposeLhs && !isFewRows(t) && c.n <= 2 * t.kernel.blockColumns &&
         c.k >= 256;
}

// ---- Intel ----------------------------------------------------------------------------------

bool isHalfTile(const Traits &t) { return t.rhsKept && t.shape.m <= t.kernel.rows / 2; }
// oneDNN reads lhs where it lies, unless it has to be transposed or widened.
bool isReadAsItLies(const Traits &t) {
  return isSingle(t) && !t.shape.transposeLhs && !isFewRows(t) && t.shape.n < t.kernel.blockColumns;
}

bool isManyParts(const Traits &t) { return !isSingle(t) && isPartOfPanel(t); }
bool streamsNarrow(const Traits &t) { return &t.kernel == &avx512Widened; }
bool isNarrowStream(const Traits &t) {
  constexpr int64_t mostRows = 16;
  return streamsNarrow(t) && t.rhsKept && t.shape.m <= mostRows && t.shape.n >= t.kernel.columns;
}

// ---- The table ------------------------------------------------------------------------------

constexpr const char *zen4With5 = "Zen 4 and 5",
                     *zens = "Zen 3, Zen 5 without AVX-512, Zen 4 without AVX",
                     *rapids = "Granite Rapids", *emerald = "Emerald Rapids without AMX";

constexpr KernelRule<Traits> rules[] = {
    {everyCpu, avx512Kernels, anyOperands, isNarrowStream, Taken::own,
     "at most 16 rows stream kept weights of 16 bits", emerald},
    {everyCpu, avx512Kernels, anyOperands, streamsNarrow, Taken::library,
     "more rows than stream weights of 16 bits", emerald},
    {everyCpu, anyKernel, anyOperands, isOverSoon, Taken::own,
     "over before oneDNN's threads are awake", "Zen 4"},
    {everyCpu, anyKernel, anyOperands, isLittleWork, Taken::library,
     "many small matrices, or tiles that are mostly empty", "Zen 4"},
    {zen5, avx512Kernels, float32Operands, isOfKept, Taken::own,
     "kept weights, by one team of threads", "Zen 5"},
    {zen4, avx512Kernels, float32Operands, isOfKeptAndNotLarge, Taken::own,
     "kept weights of no large product, by one team of threads", "Zen 4"},
    {otherCpus, anyKernel, anyOperands, isHalfPanel, Taken::library,
     "fewer columns than half a panel", rapids},
    {amdCpus, anyKernel, anyOperands, isHalfPanelOnly, Taken::library,
     "fewer columns than half a panel", zen4With5},

    {zen3, avx2Kernel, float32Operands, isOfKept, Taken::own,
     "kept weights, by one team of threads", "Zen 3"},
    // A Zen 3, a Zen 5 without its AVX-512, and a Zen 4 without any AVX. oneDNN packs and widens
    // whole operands.
    {everyCpu, shortKernels, float32Operands, isOnePanelOfLongSums, Taken::own,
     "one panel of columns, long sums", zens},
    {everyCpu, shortKernels, float32Operands, isPartOfPanel, Taken::library,
     "fewer columns than a panel, short sums", zens},
    {everyCpu, shortKernels, float32Operands, isPackedOnTheWay, Taken::own,
     "oneDNN packs whole operands before", zens},
    {everyCpu, shortKernels, float32Operands, always, Taken::library,
     "many matrices, or short sums", zens},
    {everyCpu, shortKernels, narrowOperands, isNativeBFloat16, Taken::library,
     "oneDNN multiplies bfloat16 as it is", zen4With5},
    {everyCpu, shortKernels, narrowOperands, always, Taken::own,
     "oneDNN widens whole operands before", zens},

    // oneDNN's rate beyond small products is the kernel's within 3 %, which packs while it
    // multiplies, and adds the bias, applies relu and stores around the caches besides: steps take
    // 0.97 of the time on a Zen 4 (docs/decisions/0065), less on a Zen 5.
    {amdCpus, wideKernels, anyOperands, isNarrowPart, Taken::own,
     "narrow panels of 16 bits, which oneDNN does not have", zen4With5},
    {amdCpus, wideKernels, anyOperands, isPartOfPanel, Taken::library, "fewer columns than a panel",
     zen4With5},
    {amdCpus, wideKernels, anyOperands, updatesWeights, Taken::own,
     "an update of weights runs on the result", zen4With5},
    {amdCpus, wideKernels, anyOperands, isSmall, Taken::own, "a small product", zen4With5},
    {amdCpus, wideKernels, anyOperands, isStreamed, Taken::own,
     "at most 64 rows stream kept weights", "Zen 4"},
    {amdCpus, wideKernels, float32Operands, isManyOrFewOfKept, Taken::library,
     "many matrices, or few rows of kept weights", zen4With5},
    {amdCpus, wideKernels, float32Operands, isLongAndWide, Taken::own,
     "long sums of enough columns, with epilogue and packing on the way", zen4With5},
    {amdCpus, wideKernels, float32Operands, isFewRowsOfLongSums, Taken::own,
     "few rows of long sums, with rhs packed on the way", zen4With5},
    {amdCpus, wideKernels, float32Operands, always, Taken::library, "oneDNN is as fast", zen4With5},
    {amdCpus, wideKernels, narrowOperands, isPackedForFewColumns, Taken::library,
     "packed rows of lhs that only a few columns use", zen4With5},
    {amdCpus, wideKernels, narrowOperands, always, Taken::own,
     "operands of 16 bits, with epilogue and packing on the way", zen4With5},

    {otherCpus, amxKernel, anyOperands, isHalfTile, Taken::library,
     "half of each tile would be zeros", rapids},
    {otherCpus, amxKernel, anyOperands, isReadAsItLies, Taken::library,
     "many rows of few columns, which oneDNN reads as they lie", rapids},
    {otherCpus, amxKernel, anyOperands, always, Taken::own,
     "tiles of AMX, with epilogue and packing on the way", "Granite and Emerald Rapids"},
    // Alone, oneDNN is up to 1.15 times as fast in single products of few columns or short sums. In
    // models its threads wait for ours, and what follows is a pass of its own.
    {intelWithBFloat16, avx512Kernels, narrowOperands, isManyParts, Taken::library,
     "many matrices of fewer columns than a panel", emerald},
    {intelWithBFloat16, avx512Kernels, narrowOperands, always, Taken::own,
     "VDPBF16PS has half of float32's rate", emerald},
    {otherCpus, avx512Kernels, narrowOperands, always, Taken::own,
     "operands of 16 bits, which oneDNN widens", rapids},
    {otherCpus, avx512Kernels, float32Operands, isSingle, Taken::own,
     "epilogue and packing on the way, by one team of threads", emerald},
    {otherCpus, avx512Kernels, float32Operands, always, Taken::library, "many matrices", emerald},
};

} // namespace
} // namespace contraction_rules

Verdict isWorthwhile(CpuKind cpu, const ContractionTraits &traits) noexcept {
  using namespace contraction_rules;
  return decide(rules, cpu, traits.kernel, isFloat32(traits.shape), traits);
}

Verdict isWorthwhileByRows(const MicroKernel &kernel, const Contraction &c) noexcept {
  const bool isSmall =
      c.n >= kernel.columns / 2 && c.m * c.n * c.k < contraction_rules::fewestProducts;
  return isSmall ? taken("one fork for all steps of a loop over time", "Zen 4")
                 : refused("large steps", "Zen 4");
}

} // namespace mpc::rt
