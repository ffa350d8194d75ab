// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which micro-kernel multiplies on which CPU. Feature bits tell what runs, not what is fast: what
// stands here was measured (benchmarks/contractions).
#include "runtime/drivers/cpu/micro_kernel.h"
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/cpuid.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/int8_kernel.h"
#include "runtime/drivers/cpu/onednn.h"
#include "runtime/drivers/cpu/weight_kernel.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

bool has(uint64_t features) { return (cpu().features & features) == features; }

bool isAmd() {
  static const bool amd = std::strncmp(cpu().model, "AMD", 3) == 0;
  return amd;
}

} // namespace

bool mayUseTiles() noexcept {
  static const bool granted = has(MPC_RT_FEATURE_AMX_BF16) && requestTiles();
  return granted;
}

// Measured on Zen 4 and 5, where AVX2 gains nothing, and on Intel's (Emerald Rapids), where a step
// in float32 is as fast and takes 0.8 of the memory; with tiles it was not, whose products of 1024
// rows spent a quarter of their time on packing all of rhs before (docs/decisions/0034).
bool packsColumnsOnce(const MicroKernel &kernel) noexcept { return &kernel != &avx2Float32; }

const MicroKernel *bfloat16MicroKernel(int isa) noexcept {
  if (isa < MPC_RT_ISA_X86_64_V4)
    return nullptr;
  if (mayUseTiles() && onednn::hasAmx())
    return &amxBFloat16;
  // Twice as fast as float32 there; on Intel's CPUs half as fast (Granite Rapids).
  return has(MPC_RT_FEATURE_AVX512_BF16) && isAmd() ? &avx512BFloat16 : nullptr;
}

const MicroKernel *float32MicroKernel(int isa) noexcept {
  if (isa >= MPC_RT_ISA_X86_64_V4 && has(MPC_RT_FEATURE_AVX512_V4))
    return &avx512Float32;
  return isa >= MPC_RT_ISA_X86_64_V3 ? &avx2Float32 : nullptr;
}

const WeightKernel *weightKernel(int isa, int dtype) noexcept {
  if (dtype == MPC_RT_BFLOAT16)
    return bfloat16MicroKernel(isa) == &avx512BFloat16 ? &avx512BFloat16Weights : nullptr;
  return float32MicroKernel(isa) == &avx512Float32 ? &avx512Float32Weights : nullptr;
}

const Int8Kernel *int8Kernel(int isa) noexcept {
  // oneDNN's kernels are as fast, but its threads are not ours, and a few rows wait for them.
  if (isa < MPC_RT_ISA_X86_64_V4)
    return nullptr;
  if (has(MPC_RT_FEATURE_AMX_INT8) && mayUseTiles() && onednn::hasAmx())
    return &amxInt8;
  return has(MPC_RT_FEATURE_AVX512_VNNI) ? &vnniInt8 : nullptr;
}

namespace {

// Below, a product is over before oneDNN has woken its threads, which are not ours and wake for the
// smallest one: they take 20 to 100 us, the kernel on as many threads as there is work for 1 to 50
// (Zen 4, with AVX2 alone, too).
constexpr int64_t fewestProducts = 1 << 21;
// Many small matrices one after the other: oneDNN packs none of them, which is worth waking its
// threads from here on (attention of 28 places: 0.6 of our time, 2 to 5 times as fast by one
// thread).
constexpr int64_t manyMatrices = 1 << 18;
// A small product is over before oneDNN's threads, which are not ours, are awake.
constexpr int64_t smallProducts = 1 << 24;

// What oneDNN pays for and the kernel does not: transposed operands, 16-bit ones, rounding.
bool isFloat32(const Contraction &c) { return c.lhs == MPC_RT_FLOAT32 && c.rhs == MPC_RT_FLOAT32; }

// So many that what is packed is used often.
constexpr int64_t longSums = 512, manyColumns = 2048;

// oneDNN's rate beyond small products is the kernel's within 3 %, which packs while it multiplies,
// and adds the bias, applies relu and stores around the caches besides: steps take 0.97 of the time
// on a Zen 4 (docs/decisions/0065), less on a Zen 5.
bool isFloat32WorthwhileOnAmd(const MicroKernel &kernel, const Contraction &c, bool rhsKept) {
  constexpr int64_t fewColumns = 256;
  const bool isFew = c.m <= kernel.blockRows;
  if (c.batch > 1 || (rhsKept && isFew))
    return false;
  // What is packed of lhs has to be used by enough columns.
  if (c.k >= longSums &&
      (c.transposeLhs ? c.n >= fewColumns && c.m <= 2 * c.n : c.n >= manyColumns))
    return true;
  // Of few rows: rhs is packed on the way.
  return isFew && !c.transposeLhs && c.n >= kernel.blockColumns && c.k >= 2048;
}

// Of 16 bits: oneDNN widens float16 before, and has no blocks so narrow of bfloat16.
bool isNarrowOnAmd(const MicroKernel &kernel, const Contraction &c) {
  return isAmd() && c.batch == 1 && !isFloat32(c) && c.m <= 128 && c.n <= kernel.pieces[1]->columns;
}

bool isWorthwhileOnAmd(const MicroKernel &kernel, const Contraction &c, bool rhsKept,
                       bool launches) {
  const bool single = c.batch == 1;
  if (c.n < kernel.columns)
    return isNarrowOnAmd(kernel, c);
  if (launches && single && c.transposeLhs)
    return true;
  if (single && c.m * c.n * c.k <= smallProducts * (isFloat32(c) ? 1 : 2))
    return true;
  // Weights are streamed: 0.5 to 1.0 of oneDNN's time on a Zen 4.
  if (single && rhsKept && c.m <= 64)
    return true;
  if (isFloat32(c))
    return isFloat32WorthwhileOnAmd(kernel, c, rhsKept);
  // Packed rows of lhs that only a few columns use.
  return !(single && !c.transposeLhs && c.m > kernel.blockRows && c.n <= 2 * kernel.blockColumns &&
           c.k >= 256);
}

// A Zen 3, and a Zen 5 without its AVX-512. oneDNN packs and widens whole operands.
bool isWorthwhileOnAvx2(const MicroKernel &kernel, const Contraction &c) {
  constexpr int64_t fewTerms = 64, manyTerms = 1024;
  if (isFloat32(c) && c.n < kernel.columns) // one panel
    return c.batch == 1 && c.k >= fewTerms && (!c.transposeLhs || c.k <= manyTerms);
  if (isFloat32(c))
    return c.batch == 1 && (c.transposeLhs || c.k >= fewTerms || c.m <= kernel.blockRows);
  // Where only this library is compiled for less than the CPU has.
  return c.lhs != MPC_RT_BFLOAT16 || c.rhs != MPC_RT_BFLOAT16 || !onednn::hasNativeBFloat16();
}

// Granite Rapids; long sums of many columns on Emerald Rapids, where both are at the registers'
// rate and steps take 0.96 of the time by the kernel, which stores through the epilogue.
bool isWorthwhileOnIntel(const MicroKernel &kernel, const Contraction &c, bool rhsKept) {
  const bool single = c.batch == 1;
  // oneDNN reads lhs where it lies, unless it has to be transposed or widened.
  const bool lhsAsItLies = !c.transposeLhs;
  if (&kernel == &amxBFloat16) {
    if (rhsKept && c.m <= kernel.rows / 2)
      return false; // half of each tile would be zeros
    return !(single && lhsAsItLies && c.m > kernel.blockRows && c.n < kernel.blockColumns);
  }
  if (!isFloat32(c))
    return true;
  if (single && !rhsKept && c.n >= kernel.columns && c.m * c.n * c.k <= smallProducts)
    return true;
  const bool isFewOfKept = rhsKept && c.m <= kernel.blockRows;
  if (single && !isFewOfKept && c.k >= longSums && c.n >= manyColumns)
    return true;
  // What is left is the packing: ours of rhs is done on the way when there is one block of rows.
  return single && c.n >= kernel.columns &&
         (!lhsAsItLies || (!rhsKept && c.m <= kernel.blockRows && c.n >= kernel.blockColumns));
}

} // namespace

// Tiles are multiplied as a whole, whatever rows and columns they have: up to eight times as many
// products as there are cost them less than waking other threads. Vectors are not that wide.
bool isSmallInPanels(const MicroKernel &kernel, const Contraction &c) {
  const auto filled = [](int64_t lanes, int64_t panel) {
    return (lanes + panel - 1) / panel * panel;
  };
  return &kernel != &amxBFloat16 ||
         c.batch * filled(c.m, kernel.rows) * filled(c.n, kernel.columns) * c.k <=
             8 * fewestProducts;
}

bool isWorthwhile(const MicroKernel &kernel, const Contraction &c, bool rhsKept,
                  bool launches) noexcept {
  const int64_t products = c.batch * c.m * c.n * c.k;
  if (products < fewestProducts)
    return isSmallInPanels(kernel, c) && (c.batch == 1 || products < manyMatrices);
  if (c.n < kernel.columns / 2 && !isNarrowOnAmd(kernel, c))
    return false;
  if (&kernel == &avx2Float32)
    return isWorthwhileOnAvx2(kernel, c);
  return isAmd() ? isWorthwhileOnAmd(kernel, c, rhsKept, launches)
                 : isWorthwhileOnIntel(kernel, c, rhsKept);
}

bool isWorthwhileByRows(const MicroKernel &kernel, const Contraction &c) noexcept {
  // There is one fork for all steps.
  return c.n >= kernel.columns / 2 && c.m * c.n * c.k < fewestProducts;
}

// Products for each row and column that is packed: taps of the innermost dimension pack their own.
static int64_t usesOfPacked(const Convolution &c) {
  return c.kernel[0] * c.kernel[1] * c.channels * c.filters / (c.channels + c.filters);
}

// Beside oneDNN's tiles, which are the places of one row: what is empty of them is multiplied, too.
// Emerald Rapids (docs/decisions/0040).
static bool isWorthwhileInTiles(const Convolution &c) noexcept {
  constexpr int64_t tilePlaces = 32, fewestUses = 64, manyUses = 96, narrowOutputs = 8;
  const bool isStrided = Convolution::product(c.strides) > 1;
  switch (c.direction) {
  case MPC_RT_CONVOLUTION_FORWARD:
    return isStrided && c.outputs[2] <= narrowOutputs;
  case MPC_RT_CONVOLUTION_FILTER_GRADIENT: {
    const int64_t places = (c.outputs[2] + tilePlaces - 1) / tilePlaces * tilePlaces;
    const bool isMuchEmpty = 10 * c.outputs[2] <= 7 * places;
    const int64_t uses = usesOfPacked(c);
    return (isStrided && Convolution::product(c.kernel) == 1) ||
           (isMuchEmpty && uses >= fewestUses) || (isStrided && uses >= manyUses);
  }
  default:
    return false;
  }
}

bool isWorthwhile(const MicroKernel &kernel, const Convolution &c, bool widens) noexcept {
  constexpr int64_t fewestChannels = 16, mostPacked = 1 << 22;
  if (std::min(c.channels, c.filters) < fewestChannels)
    return false;
  // Tiles have ten times the rate of float32.
  if (!isAmd() && &kernel != &avx2Float32)
    return &kernel == &amxBFloat16 && (widens || isWorthwhileInTiles(c));
  // Empty columns are multiplied as well: of 16, 24 or 48 with AVX-512, where oneDNN has 16 at a
  // time, which is what counts unless it has to widen operands.
  const bool toFilter = c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  const int64_t columns = toFilter ? c.filters : c.outColumns();
  const int64_t panel = pieceKernelFor(kernel, columns).columns;
  const bool isFull = 4 * columns > 3 * ((columns + panel - 1) / panel * panel);
  const bool isFloat32 = c.lhs == MPC_RT_FLOAT32 && c.rhs == MPC_RT_FLOAT32;
  if (!toFilter)
    return isFull || (widens && !isFloat32);
  // Large samples are packed in bands; rows that are longer than these leave the caches.
  const size_t cut = c.outputs[0] > 1 ? 0 : 1;
  const int64_t bands = std::max<int64_t>(c.outputs[cut] / (2 * c.kernel[cut]), 1);
  if (c.kernel[2] * (c.imageElements() + c.outputElements()) / bands > mostPacked)
    return false;
  // With AVX2 oneDNN takes 1.4 times as long and more; with AVX-512 packing has to be worth it:
  // what is multiplied with what is packed.
  constexpr int64_t fewestUses = 64;
  return &kernel == &avx2Float32 || (isFull && usesOfPacked(c) >= fewestUses);
}

int packedDtype(const MicroKernel &kernel) noexcept {
  constexpr int64_t bytesOfBFloat16 = 2;
  return kernel.pieces[0]->laneBytes == kernel.depth * bytesOfBFloat16 ? MPC_RT_BFLOAT16
                                                                       : MPC_RT_FLOAT32;
}

const PieceKernel &pieceKernelFor(const MicroKernel &kernel, int64_t columns) noexcept {
  const PieceKernel &many = *kernel.pieces[0], &few = *kernel.pieces[1];
  return columns % many.columns == 0 || columns % many.columns > few.columns ? many : few;
}

} // namespace mpc::rt
