// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/convolve/convolution_rules.h"
#include "runtime/drivers/cpu/convolve/image_product.h"
#include "runtime/drivers/cpu/convolve/windowed_filter_gradient.h"
#include "runtime/drivers/cpu/kernels/kernel_rule.h"

#include <algorithm>

namespace mpc::rt {
namespace convolution_rules {
namespace {

struct Traits {
  const MicroKernel &kernel;
  const Convolution &shape;
  bool widens;

  bool toFilter() const { return shape.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT; }
  bool isFloat32() const { return shape.lhs == MPC_RT_FLOAT32 && shape.rhs == MPC_RT_FLOAT32; }
  // All taps; where a step has several pixels, few of them begin and end with one.
  bool sharesRows() const {
    return kernel.depth == 1 && WindowedFilterGradient::sharesRows(kernel, shape);
  }
};

int64_t roundedUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
bool always(const Traits & /*t*/) { return true; }

bool hasFewChannels(const Traits &t) {
  constexpr int64_t fewestChannels = 16;
  return std::min(t.shape.channels, t.shape.filters) < fewestChannels;
}

// Alone oneDNN takes 0.6 of the time from 32 images of 32 x 32 on, as long as waking its threads
// (docs/decisions/0135).
bool isOfFewImages(const Traits &t) {
  constexpr int64_t fewestFilters = 16;
  constexpr double fewProducts = 1 << 25;
  return t.shape.direction == MPC_RT_CONVOLUTION_FORWARD && t.shape.filters >= fewestFilters &&
         t.shape.operations() <= 2 * fewProducts;
}

// Products for each row and column that is packed, if taps of the innermost dimension pack their
// own.
int64_t usesOfPacked(const Convolution &c) {
  return c.kernel[0] * c.kernel[1] * c.channels * c.filters / (c.channels + c.filters);
}

// ---- Tiles ----------------------------------------------------------------------------------

bool isWidened(const Traits &t) { return t.widens; }
bool isStrided(const Convolution &c) { return Convolution::product(c.strides) > 1; }

// oneDNN's tiles are the pixels of one row: what is empty of them is multiplied, too.
bool isOfNarrowOutputs(const Traits &t) {
  constexpr int64_t narrowOutputs = 8;
  return t.shape.direction == MPC_RT_CONVOLUTION_FORWARD && isStrided(t.shape) &&
         t.shape.outputs[2] <= narrowOutputs;
}
bool isFilterOfEmptyTiles(const Traits &t) {
  constexpr int64_t tilePixels = 32, fewestUses = 64, manyUses = 96;
  if (!t.toFilter())
    return false;
  const Convolution &c = t.shape;
  const bool isMuchEmpty = 10 * c.outputs[2] <= 7 * roundedUp(c.outputs[2], tilePixels);
  const int64_t uses = usesOfPacked(c);
  return (isStrided(c) && Convolution::product(c.kernel) == 1) ||
         (isMuchEmpty && uses >= fewestUses) || (isStrided(c) && uses >= manyUses);
}

// ---- Vectors --------------------------------------------------------------------------------

// Empty columns are multiplied as well: of 16, 24 or 48 with AVX-512, where oneDNN has 16 at a
// time, which is what counts unless it has to widen operands.
bool isFull(const Traits &t) {
  const int64_t columns = t.toFilter() ? t.shape.filters : t.shape.outColumns();
  return 4 * columns > 3 * roundedUp(columns, pieceKernelFor(t.kernel, columns).columns);
}
bool isFullToImages(const Traits &t) { return !t.toFilter() && isFull(t); }
bool isWidenedToImages(const Traits &t) { return !t.toFilter() && t.widens && !t.isFloat32(); }
bool isToImages(const Traits &t) { return !t.toFilter(); }
// Large samples are packed in bands; rows that are longer than these leave the caches.
bool leavesCaches(const Traits &t) {
  constexpr int64_t mostPacked = 1 << 22;
  const Convolution &c = t.shape;
  const size_t cut = c.outputs[0] > 1 ? 0 : 1;
  const int64_t bands = std::max<int64_t>(c.outputs[cut] / (2 * c.kernel[cut]), 1);
  const int64_t copies = t.sharesRows() ? 1 : c.kernel[2];
  return copies * (c.imageElements() + c.outputElements()) / bands > mostPacked;
}
// Packing has to be worth it: what is multiplied with what is packed.
bool isPackingWorthIt(const Traits &t) {
  constexpr int64_t fewestUses = 64;
  return isFull(t) && usesOfPacked(t.shape) >= fewestUses;
}
bool isSharingWorthIt(const Traits &t) {
  constexpr int64_t fewestUses = 160;
  return isFull(t) && t.sharesRows() && t.shape.kernel[2] * usesOfPacked(t.shape) >= fewestUses;
}

constexpr const char *emerald = "Emerald Rapids", *zen = "Zen 4, Emerald Rapids";

constexpr KernelRule<Traits> rules[] = {
    {zen4 | zen5, avx512Kernels, float32Operands, isOfFewImages, Taken::own,
     "few images of few channels, by one team of threads", "Zen 4 and 5"},
    {zen3, avx2Kernel, float32Operands, isOfFewImages, Taken::own,
     "few images of few channels, by one team of threads", "Zen 3"},
    {everyCpu, anyKernel, anyOperands, hasFewChannels, Taken::library, "few channels or filters",
     zen},
    {otherCpus, amxKernel, anyOperands, isWidened, Taken::own,
     "tiles have ten times the rate of float32", emerald},
    {otherCpus, amxKernel, anyOperands, isOfNarrowOutputs, Taken::own,
     "narrow outputs leave oneDNN's tiles empty", emerald},
    {otherCpus, amxKernel, anyOperands, isFilterOfEmptyTiles, Taken::own,
     "a filter's gradient that leaves oneDNN's tiles empty", emerald},
    {otherCpus, amxKernel, anyOperands, always, Taken::library, "oneDNN is as fast", emerald},
    {everyCpu, anyKernel, anyOperands, isFullToImages, Taken::own, "panels of columns are full",
     zen},
    {everyCpu, anyKernel, anyOperands, isWidenedToImages, Taken::own,
     "oneDNN widens whole operands before", zen},
    {everyCpu, anyKernel, anyOperands, isToImages, Taken::library,
     "panels of columns would be partly empty", zen},
    {everyCpu, anyKernel, anyOperands, leavesCaches, Taken::library, "packed rows leave the caches",
     zen},
    {everyCpu, shortKernels, anyOperands, always, Taken::own,
     "a filter's gradient, packed in bands", "Zen 3"},
    {everyCpu, wideKernels, anyOperands, isPackingWorthIt, Taken::own,
     "what is packed is used often", zen},
    {everyCpu, wideKernels, anyOperands, isSharingWorthIt, Taken::own,
     "all taps read what is packed", zen},
    {everyCpu, wideKernels, anyOperands, always, Taken::library, "packing costs more than it saves",
     zen},
};

// ---- All taps at once -----------------------------------------------------------------------

// Fits to what was measured (docs/decisions/0071). Of each pixel and step along k: the rows that
// are multiplied, and what packing takes; of each row, adding up. Against them what oneDNN takes
// for a tap: a vector of columns, two where it widens gradients to float32, and with AVX2 less
// where it has kernels for few channels.
struct Col2imCost {
  uint32_t kernels;
  bool toImages, isStrided; // the gradient of images; of strides
  int64_t ofTap, ofTapIfNarrow, packing;
};
constexpr Col2imCost col2imCosts[] = {
    {sse4Kernel, false, false, 12, 12, 4},     {sse4Kernel, false, true, 12, 12, 4},
    {sse4Kernel, true, false, 9, 9, 4},        {sse4Kernel, true, true, 5, 5, 4},
    {avx2Kernel, false, false, 12, 12, 8},     {avx2Kernel, false, true, 12, 12, 8},
    {avx2Kernel, true, false, 9, 9, 8},        {avx2Kernel, true, true, 5, 5, 8},
    {avx512Kernels, false, false, 14, 14, 16}, {avx512Kernels, false, true, 14, 14, 16},
    {avx512Kernels, true, false, 14, 28, 16},  {avx512Kernels, true, true, 14, 28, 16},
};

bool isCheaper(const Col2imCost &cost, const MicroKernel &kernel, const Convolution &c) {
  constexpr int64_t adding = 24;
  const int64_t ofTap = kernel.depth > 1 ? cost.ofTapIfNarrow : cost.ofTap;
  const int64_t taps = Convolution::product(c.kernel);
  const int64_t steps = (depthOf(c) + kernel.depth - 1) / kernel.depth;
  return taps * c.outColumns() * (steps + adding) + cost.packing * steps <= ofTap * taps * steps;
}

// In tenths of what multiplying a vector takes: of each pixel, its rows and its packing; oneDNN has
// a vector for each tap and channel.
struct Im2colFilterCost {
  uint32_t kernels;
  int64_t lanes, fewestChannels, ofVector;
};
constexpr Im2colFilterCost im2colFilterCosts[] = {
    {sse4Kernel, 4, 32, 14}, {avx2Kernel, 8, 32, 14}, {wideKernels, 16, 0, 19}};

bool isCheaper(const Im2colFilterCost &cost, const MicroKernel &kernel, const Convolution &c) {
  const int64_t vectors = roundedUp(c.channels, kernel.pieces[1]->columns) / cost.lanes;
  const int64_t taps = Convolution::product(c.kernel);
  return c.channels >= cost.fewestChannels && c.filters <= cost.lanes &&
         (13 * taps * c.filters + 125) * vectors * 2 <= cost.ofVector * taps * c.channels;
}

} // namespace
} // namespace convolution_rules

Verdict isWorthwhile(CpuKind cpu, const MicroKernel &kernel, const Convolution &c,
                     bool widens) noexcept {
  const convolution_rules::Traits traits{kernel, c, widens};
  return decide(convolution_rules::rules, cpu, kernel, traits.isFloat32(), traits);
}

Verdict isCol2imWorthwhile(const MicroKernel &kernel, const Convolution &c) noexcept {
  using namespace convolution_rules;
  constexpr const char *condition = "few filters, all taps at once", *measured = "Zen 4";
  if (c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT) {
    for (const Im2colFilterCost &cost : im2colFilterCosts)
      if (cost.kernels & setOf(kernel))
        return {isCheaper(cost, kernel, c), {condition, measured}};
  } else {
    for (const Col2imCost &cost : col2imCosts)
      if ((cost.kernels & setOf(kernel)) && cost.toImages == c.toImages() &&
          cost.isStrided == isStrided(c))
        return {isCheaper(cost, kernel, c), {condition, measured}};
  }
  return refused("not measured with tiles");
}

} // namespace mpc::rt
