// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a convolution is done: by loops for depthwise ones, a micro-kernel of ours, or oneDNN where
// it is right and has a kernel; else directly.
#include "runtime/drivers/cpu/convolve/convolution_rules.h"
#include "runtime/drivers/cpu/convolve/convolver.h"
#include "runtime/drivers/cpu/convolve/gemm_col2im.h"
#include "runtime/drivers/cpu/convolve/im2col_filter_gradient.h"
#include "runtime/drivers/cpu/convolve/integer_convolution.h"
#include "runtime/drivers/cpu/convolve/windowed_filter_gradient.h"
#include "runtime/drivers/cpu/convolve/windowed_product.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>

namespace mpc::rt {
namespace {

using onednn::Element;

bool toFilter(const Convolution &c) { return c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT; }

// Whether oneDNN's bfloat16 kernels would take an element that no sum asks for. They multiply in
// pairs along the sum, and the one that an odd sum lacks is a neighbour, times zero: NaN, if that
// is infinite.
bool pairsWithStrangers(const Convolution &c) {
  const size_t last = c.images.size() - 1;
  if (toFilter(c)) { // sums over the pixels; one behind the last window may be in no sum at all
    const int64_t end = (c.outputs[last] - 1) * c.strides[last] - c.low[last] +
                        (c.kernel[last] - 1) * c.dilations[last] + 1;
    return c.outputs[last] % 2 && end < c.images[last];
  }
  // Sums over the channels; of more taps oneDNN has kernels that keep the pixels apart.
  return c.direction == MPC_RT_CONVOLUTION_FORWARD && c.channels / c.groups % 2 &&
         Convolution::product(c.kernel) == 1;
}

// Whether some element of the kernel meets padding only, along dimension `d`.
bool hasUnusedTap(const Convolution &c, size_t d) {
  for (int64_t tap = 0; tap < c.kernel[d]; ++tap) {
    bool used = false;
    for (int64_t output = 0; output < c.outputs[d] && !used; ++output) {
      int64_t at = output * c.strides[d] - c.low[d] + tap * c.dilations[d];
      used = at >= 0 && at < c.images[d];
    }
    if (!used)
      return true;
  }
  return false;
}

// oneDNN 2.6 gets a filter's gradient wrong in these cases, found by comparing drawn shapes with
// exact sums (runtime/cts/convolve_test.cpp).

// Volumes whose first dimension is strided and padded at both ends, the low end by more than
// `low`.
bool isPaddedVolume(const Convolution &c, int64_t low) {
  int64_t reach = (c.outputs[0] - 1) * c.strides[0] + (c.kernel[0] - 1) * c.dilations[0] + 1;
  return c.spatial == 3 && c.strides[0] > 1 && c.low[0] > low && reach > c.low[0] + c.images[0];
}

// One tap whose strides divide the images of few channels: each thread gathers what the tap meets
// into memory of its own, `block` elements a pixel though a pixel has but the channels, and so
// writes over the next thread's and beyond the last one's
// (oneDNN's src/cpu/x64/jit_avx2_1x1_convolution.cpp and jit_avx512_common_1x1_convolution.cpp).
bool isGatheredBeyondItsMemory(const Convolution &c) {
  constexpr int64_t block = 16; // of AVX-512; 8 of AVX2
  if (c.spatial > 2 || c.groups > 1 || c.channels >= block || Convolution::product(c.kernel) != 1 ||
      Convolution::product(c.strides) == 1)
    return false;
  for (size_t d = 0; d < c.images.size(); ++d)
    if (c.low[d] != 0 || c.outputs[d] * c.strides[d] != c.images[d])
      return false;
  return true;
}

// Windows whose rows lie apart, of channels that leave a register of AVX-512 partly empty: from row
// to row of the filter the kernel for wide images goes on twice as far as it should
// (compute_oh_step_common in oneDNN's src/cpu/x64/jit_avx512_core_bf16_conv_kernel.cpp). With tiles
// images of any width are wrong.
bool isDilatedTwice(const Convolution &c) {
  constexpr int64_t lanes = 16, mostPixels = 28; // narrower images have another kernel
  return c.dilations[1] > 1 && c.channels / c.groups % lanes != 0 &&
         (c.outputs[2] > mostPixels || onednn::hasAmx());
}

// Whether some output's window meets padding only, along dimension `d`.
bool hasEmptyWindow(const Convolution &c, size_t d) {
  for (int64_t output = 0; output < c.outputs[d]; ++output) {
    bool isEmpty = true;
    for (int64_t tap = 0; tap < c.kernel[d] && isEmpty; ++tap) {
      const int64_t at = output * c.strides[d] - c.low[d] + tap * c.dilations[d];
      isEmpty = at < 0 || at >= c.images[d];
    }
    if (isEmpty)
      return true;
  }
  return false;
}

// Forward with tiles ("brgconv", "brgconv_1x1"): windows that meet padding only end the program,
// which has no kernel for them; where windows skip pixels, sums are wrong now and then.
bool isWrongWithTiles(const Convolution &c) {
  if (c.direction != MPC_RT_CONVOLUTION_FORWARD || !onednn::hasAmx())
    return false;
  for (size_t d = 0; d < c.images.size(); ++d)
    if (hasEmptyWindow(c, d) || c.strides[d] > (c.kernel[d] - 1) * c.dilations[d] + 1)
      return true;
  return false;
}

bool isWrongInFloat32(const Convolution &c) {
  return toFilter(c) && (isPaddedVolume(c, c.strides[0]) || isGatheredBeyondItsMemory(c));
}

// "jit_bf16" of AVX-512 gets these wrong, too, and those where an element of the kernel meets
// padding only: its sum is not 0, or the program ends.
bool isWrongInBFloat16(const Convolution &c) {
  if (!toFilter(c))
    return isWrongWithTiles(c);
  for (size_t d = 0; d < c.images.size(); ++d)
    if (hasUnusedTap(c, d))
      return true;
  return isPaddedVolume(c, 0) || isGatheredBeyondItsMemory(c) || isDilatedTwice(c);
}

bool isBFloat16(const Convolution &c) {
  return c.lhs == MPC_RT_BFLOAT16 && c.rhs == MPC_RT_BFLOAT16;
}

bool hasFloat64(const Convolution &c) {
  return c.lhs == MPC_RT_FLOAT64 || c.rhs == MPC_RT_FLOAT64 || c.out == MPC_RT_FLOAT64 ||
         c.bias == MPC_RT_FLOAT64;
}

// Whether oneDNN may multiply bfloat16 as it is.
bool isNative(const Convolution &c, bool nativeBFloat16) {
  return nativeBFloat16 && isBFloat16(c) && !pairsWithStrangers(c) && !isWrongInBFloat16(c);
}

// Whether all taps at once are faster than windows, by the kernel's means for that direction.
Verdict isCol2imCheaper(const MicroKernel &kernel, const Convolution &c) {
  const bool computes =
      toFilter(c) ? Im2colFilterGradient::multiplies(kernel, c) : GemmCol2im::multiplies(kernel, c);
  return computes ? isCol2imWorthwhile(kernel, c) : Verdict{};
}

// Samples that are converted at a time, of so many float32 elements each.
int64_t blockOf(const Convolution &c, int64_t sampleElements) {
  return std::clamp<int64_t>(blockBytes / std::max<int64_t>(4 * sampleElements, 1), 1, c.batch);
}

} // namespace

Convolver::Plan &Convolver::findPlan(const mpc_rt_convolution_t &descriptor,
                                     const Convolution &shape, int64_t batch) {
  const bool keep = weightsConstant && descriptor.rhs_variable >= 0;
  const PlanKey key{descriptor.id, batch, keep};
  auto found = plans.find(key);
  // The comparison guards against two descriptors with one id: a wrong plan would write out of
  // bounds.
  if (found != plans.end() && found->second->shape == shape)
    return *found->second;
  auto plan = makePlan(
      shape, choices.find({KernelChoices::Operation::convolution, descriptor.id, batch, keep}));
  if (plans.size() >= mostPlans)
    plans.clear();
  return *(plans[key] = std::move(plan));
}

std::unique_ptr<Convolver::Plan> Convolver::makePlan(const Convolution &shape,
                                                     const std::string *kernel) {
  auto plan = std::make_unique<Plan>();
  plan->shape = shape;
  if (kernel && take(*plan, *kernel))
    plan->reason = {"measured by --tune"};
  else
    takeByRules(*plan);
  return plan;
}

bool Convolver::take(Plan &plan, const std::string &kernel) {
  if (hasFloat64(plan.shape) || plan.shape.isInteger())
    return false;
  if (kernel == depthwiseKernel)
    return takeDepthwise(plan);
  if (kernel == libraryKernel)
    return takeLibrary(plan, /*native=*/true) || takeLibrary(plan, /*native=*/false);
  const MicroKernel *own = findMicroKernel(plan.shape);
  return own && kernel == own->name && takeMicroKernel(plan, own);
}

void Convolver::takeByRules(Plan &plan) {
  if (plan.shape.isInteger() && takeDepthwise(plan)) {
    plan.reason = {"a filter for each channel, whose sums float32 holds"};
    return;
  }
  if (plan.shape.isInteger()) {
    const bool inPieces = int8 && int8->pieces;
    plan.product = inPieces ? makeIntegerWindows(team, *int8->pieces, plan.shape)
                            : makeIntegerColumns(team, int8, hasAvx2, plan.shape);
    plan.integerKernel = int8 ? int8->name : "loop";
    plan.block = plan.shape.batch;
    plan.reason = inPieces ? Reason{"windows are read where they lie", "Zen 3 and Emerald Rapids"}
                           : Reason{"windows are gathered for the product's kernel"};
    return;
  }
  if (hasFloat64(plan.shape)) {
    plan.reason = {"no other kernel sums in float64"};
    return; // directly
  }
  const bool native = isNative(plan.shape, nativeBFloat16);
  if (takeOwnByRules(plan, /*widens=*/!native) || takeLibrary(plan, native))
    return;
  // oneDNN 2.6 on AMX has no strided gradients of images in bfloat16, for one.
  if (native && (takeOwnByRules(plan, /*widens=*/true) || takeLibrary(plan, /*native=*/false)))
    return;
  // Only our kernel gets the rest right; done directly it takes several times as long (decision
  // 0040).
  const MicroKernel *kernel = findMicroKernel(plan.shape);
  if (kernel && takeMicroKernel(plan, kernel))
    plan.reason = {"oneDNN gets it wrong"};
  else
    plan.reason = {"no other kernel computes it"};
}

bool Convolver::takeOwnByRules(Plan &plan, bool widens) {
  // oneDNN reads what large windows share from registers, as our strips do.
  constexpr int64_t mostTapsAlone = 25;
  const Convolution &c = plan.shape;
  const bool isShared = c.direction == MPC_RT_CONVOLUTION_FORWARD          ? c.lhs != MPC_RT_FLOAT16
                        : c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT ? c.lhs == MPC_RT_FLOAT32
                                                                           : false;
  const bool isLarge = isShared && Convolution::product(c.kernel) > mostTapsAlone;
  if ((!isLarge || DepthwiseConvolution::isInStrips(depthwise, c)) && takeDepthwise(plan)) {
    plan.reason = {"a filter for each channel", "Zen 3 and 4"};
    return true;
  }
  const MicroKernel *kernel = findMicroKernel(c);
  if (!kernel) {
    plan.reason = {"no micro-kernel for this CPU"};
    return false;
  }
  // GEMM + col2im is left out where oneDNN multiplies bfloat16 as it is and our kernel would widen
  // it.
  const Verdict col2im = widens || kernel == bfloat16 ? isCol2imCheaper(*kernel, c) : Verdict{};
  const Verdict verdict = col2im.isTaken ? col2im : isWorthwhile(cpuKind(), *kernel, c, widens);
  plan.reason = verdict.reason;
  return verdict.isTaken && takeMicroKernel(plan, kernel);
}

bool Convolver::takeDepthwise(Plan &plan) {
  if (!DepthwiseConvolution::multiplies(depthwise, plan.shape))
    return false;
  plan.depthwise = std::make_unique<DepthwiseConvolution>(team, depthwise, plan.shape);
  return true;
}

const MicroKernel *Convolver::findMicroKernel(const Convolution &c) const {
  return isBFloat16(c) && bfloat16 ? bfloat16 : float32;
}

bool Convolver::takeMicroKernel(Plan &plan, const MicroKernel *kernel) {
  const Convolution &c = plan.shape;
  const bool usesCol2im = isCol2imCheaper(*kernel, c).isTaken;
  if (usesCol2im && toFilter(c))
    plan.filterGradient = std::make_unique<Im2colFilterGradient>(team, kernels, *kernel, c);
  else if (WindowedFilterGradient::multiplies(*kernel, c))
    plan.filterGradient = std::make_unique<WindowedFilterGradient>(team, kernels, *kernel, c);
  if (usesCol2im && !toFilter(c))
    plan.product = std::make_unique<GemmCol2im>(team, kernels, *kernel, c);
  else if (WindowedProduct::multiplies(*kernel, c))
    plan.product = std::make_unique<WindowedProduct>(team, kernels, *kernel, c);
  if (plan.product) {
    const bool pairs = kernel == bfloat16;
    plan.element = pairs ? Element::bfloat16 : Element::float32;
    plan.widenLhs = !pairs && c.lhs != MPC_RT_FLOAT32;
    plan.padsChannels = plan.roundsSums = false;
    plan.widenRhs = plan.throughScratch = plan.epilogue = false; // done on the way
    plan.block = plan.widenLhs ? blockOf(c, c.lhsElements() / c.batch) : c.batch;
  }
  plan.micro = kernel;
  return plan.filterGradient || plan.product;
}

bool Convolver::takeLibrary(Plan &plan, bool native) {
  const Convolution &c = plan.shape;
  if (native ? !isNative(c, nativeBFloat16) : isWrongInFloat32(c))
    return false;
  plan.element = native ? Element::bfloat16 : Element::float32;
  plan.widenLhs = !native && c.lhs != MPC_RT_FLOAT32;
  plan.widenRhs = !native && c.rhs != MPC_RT_FLOAT32;
  const bool forward = c.direction == MPC_RT_CONVOLUTION_FORWARD;
  // oneDNN's kernels with tiles want pairs (leavePairs in onednn_convolution.cpp), those without
  // take five times as long.
  plan.padsChannels = native && forward && c.groups == 1 && c.channels % 2 && onednn::hasAmx();
  plan.roundsSums = native && forward && c.out == MPC_RT_BFLOAT16;
  plan.throughScratch = c.out != MPC_RT_FLOAT32 && !plan.roundsSums;
  plan.epilogue = plan.throughScratch || c.relu || (c.hasBias && !(forward && !plan.roundsSums));
  plan.addBias = c.hasBias && !plan.epilogue;
  plan.block = c.batch;
  const bool copiesLhs = plan.widenLhs || plan.padsChannels;
  if (!toFilter(c) && (copiesLhs || plan.epilogue)) {
    int64_t lhs = plan.librarySize(c.lhsElements()) / c.batch, out = c.outElements() / c.batch;
    plan.block = blockOf(c, (copiesLhs ? lhs : 0) + (plan.epilogue ? out : 0));
  }
  makePrimitives(plan);
  return plan.body != nullptr;
}

void Convolver::makePrimitives(Plan &plan) {
  Convolution shape = plan.shape;
  if (plan.padsChannels)
    ++shape.channels;
  auto make = [&](int64_t samples, const onednn::ConvolutionPrimitive *like) {
    return std::make_unique<onednn::ConvolutionPrimitive>(
        shape, samples, plan.element, plan.roundsSums ? Element::bfloat16 : Element::float32,
        plan.addBias, layouts, like);
  };
  plan.body = make(plan.block, nullptr);
  int64_t rest = plan.shape.batch % plan.block;
  if (rest && plan.body->isSupported())
    plan.tail = make(rest, plan.body.get());
  if (!plan.body->isSupported() || (plan.tail && !plan.tail->isSupported()))
    plan.body.reset(), plan.tail.reset();
}

} // namespace mpc::rt
