// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions on the CPU. The sums are float32 sums by a micro-kernel of ours or by oneDNN; what
// the contract of mpc_rt_convolution_t asks beyond oneDNN's (rounding to the out dtype before and
// after the bias, a relu that keeps NaN) is one vectorised pass per block of samples, while the
// block is still in cache.
#include "runtime/drivers/cpu/convolver.h"
#include "runtime/base/status.h"
#include "runtime/drivers/cpu/blocking.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

using onednn::Element;

float *floats(Buffer &buffer, int64_t count) {
  reserve(buffer, static_cast<uint64_t>(count) * sizeof(float));
  return reinterpret_cast<float *>(buffer.data());
}

bool toFilter(const Convolution &c) { return c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT; }

// Whether oneDNN's bfloat16 kernels would take an element that no sum asks for. They multiply in
// pairs along the sum, and the one that an odd sum lacks is a neighbour, times zero: NaN, if that
// is infinite.
bool pairsWithStrangers(const Convolution &c) {
  const size_t last = c.images.size() - 1;
  if (toFilter(c)) { // sums over the places; one behind the last window may be in no sum at all
    const int64_t end = (c.outputs[last] - 1) * c.strides[last] - c.low[last] +
                        (c.kernel[last] - 1) * c.dilations[last] + 1;
    return c.outputs[last] % 2 && end < c.images[last];
  }
  // Sums over the channels; of more taps oneDNN has kernels that keep the places apart.
  return c.direction == MPC_RT_CONVOLUTION_FORWARD && c.channels / c.groups % 2 &&
         Convolution::product(c.kernel) == 1;
}

/// Whether some element of the kernel meets padding only, along dimension `d`.
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

// Where oneDNN 2.6 gets a filter's gradient wrong, found by comparing drawn shapes with exact sums
// (runtime/cts/convolve_test.cpp).

/// Volumes whose first dimension is strided and padded at both ends, the low end by more than
/// `low`.
bool isPaddedVolume(const Convolution &c, int64_t low) {
  int64_t reach = (c.outputs[0] - 1) * c.strides[0] + (c.kernel[0] - 1) * c.dilations[0] + 1;
  return c.spatial == 3 && c.strides[0] > 1 && c.low[0] > low && reach > c.low[0] + c.images[0];
}

bool isWrongInFloat32(const Convolution &c) {
  return toFilter(c) && isPaddedVolume(c, c.strides[0]);
}

/// By "jit_bf16" of AVX-512, also where an element of the kernel meets padding only: its sum is not
/// 0, or the program ends.
bool isWrongInBFloat16(const Convolution &c) {
  if (!toFilter(c))
    return false;
  for (size_t d = 0; d < c.images.size(); ++d)
    if (hasUnusedTap(c, d))
      return true;
  return isPaddedVolume(c, 0);
}

// Samples that are converted at a time, of so many float32 elements each.
int64_t blockOf(const Convolution &c, int64_t sampleElements) {
  return std::clamp<int64_t>(blockBytes / std::max<int64_t>(4 * sampleElements, 1), 1, c.batch);
}

} // namespace

uint64_t Convolver::bytes() const noexcept {
  uint64_t total = lhsBlock.size() + rhsWhole.size() + packedOnce.size() + sumBlock.size() +
                   biasWide.size() + libraryScratch.size() + filterScratch.size();
  for (auto &entry : weights)
    total += entry.second.buffer.size();
  for (auto &entry : plans) {
    if (entry.second->depthwise)
      total += entry.second->depthwise->bytes();
    if (entry.second->filterGradient)
      total += entry.second->filterGradient->bytes();
  }
  return total;
}

mpc_rt_status_t Convolver::convolve(const mpc_rt_convolution_t &descriptor, const void *lhs,
                                    const void *rhs, const void *bias, void *out, int64_t batch) {
  Convolution shape;
  if (auto status = resolveConvolution(descriptor, lhs, rhs, bias, out, batch, shape))
    return status;
  if (shape.outElements() == 0)
    return MPC_RT_OK;
  if (shape.batch == 0) { // a filter's gradient: an empty sum
    std::memset(out, 0, static_cast<size_t>(shape.outElements()) * dtypeSize(shape.out));
    return MPC_RT_OK;
  }
  Plan &plan = findPlan(descriptor, shape, batch);
  if (plan.depthwise) {
    plan.depthwise->run(lhs, rhs, bias, out);
  } else if (plan.filterGradient) {
    plan.filterGradient->run(lhs, rhs, out);
  } else if (plan.windowed) {
    execute(plan, descriptor, lhs, rhs, bias, out);
  } else if (plan.body) {
    team.prepareWorkers();
    execute(plan, descriptor, lhs, rhs, bias, out);
  } else {
    convolveDirectly(team, shape, lhs, rhs, bias, out);
  }
  return MPC_RT_OK;
}

// ---- Planning -----------------------------------------------------------------------------------

Convolver::Plan &Convolver::findPlan(const mpc_rt_convolution_t &descriptor,
                                     const Convolution &shape, int64_t batch) {
  auto key = std::make_pair(descriptor.id, batch);
  auto found = plans.find(key);
  // The comparison guards against two descriptors with one id: a wrong plan would write out of
  // bounds.
  if (found != plans.end() && found->second->shape == shape)
    return *found->second;
  auto plan = std::make_unique<Plan>();
  plan->shape = shape;
  bool native = shape.lhs == MPC_RT_BFLOAT16 && shape.rhs == MPC_RT_BFLOAT16 && nativeBFloat16 &&
                !pairsWithStrangers(shape) && !isWrongInBFloat16(shape);
  choose(*plan, native);
  bool direct = shape.lhs == MPC_RT_FLOAT64 || shape.rhs == MPC_RT_FLOAT64 ||
                shape.out == MPC_RT_FLOAT64 || shape.bias == MPC_RT_FLOAT64 ||
                isWrongInFloat32(shape);
  if (!direct && !chooseOwn(*plan, /*widens=*/!native)) {
    makePrimitives(*plan);
    // oneDNN 2.6 on AMX has no strided gradients of images in bfloat16, for one.
    if (native && !plan->body && !chooseOwn(*plan, /*widens=*/true)) {
      choose(*plan, /*native=*/false);
      makePrimitives(*plan);
    }
  }
  if (plans.size() >= mostPlans)
    plans.clear();
  return *(plans[key] = std::move(plan));
}

bool Convolver::chooseOwn(Plan &plan, bool widens) {
  // oneDNN reads what large windows share from registers.
  constexpr int64_t mostForwardTaps = 25;
  const Convolution &c = plan.shape;
  const bool isLarge = c.direction == MPC_RT_CONVOLUTION_FORWARD && c.lhs != MPC_RT_FLOAT16 &&
                       Convolution::product(c.kernel) > mostForwardTaps;
  if (isLarge || !DepthwiseConvolution::multiplies(depthwise, c))
    return chooseMicroKernel(plan, widens);
  plan.depthwise = std::make_unique<DepthwiseConvolution>(team, depthwise, plan.shape);
  return true;
}

bool Convolver::chooseMicroKernel(Plan &plan, bool widens) {
  const Convolution &c = plan.shape;
  const bool pairs = c.lhs == MPC_RT_BFLOAT16 && c.rhs == MPC_RT_BFLOAT16 && bfloat16;
  const MicroKernel *kernel = pairs ? bfloat16 : float32;
  if (!kernel || !isWorthwhile(*kernel, c, widens))
    return false;
  if (WindowedFilterGradient::multiplies(*kernel, c))
    plan.filterGradient = std::make_unique<WindowedFilterGradient>(team, kernels, *kernel, c);
  if (WindowedProduct::multiplies(*kernel, c)) {
    plan.windowed = std::make_unique<WindowedProduct>(team, kernels, *kernel, c);
    plan.element = pairs ? Element::bfloat16 : Element::float32;
    plan.widenLhs = !pairs && c.lhs != MPC_RT_FLOAT32;
    plan.widenRhs = plan.throughScratch = plan.epilogue = false; // done on the way
    plan.block = plan.widenLhs ? blockOf(c, c.lhsElements() / c.batch) : c.batch;
  }
  return plan.filterGradient || plan.windowed;
}

void Convolver::choose(Plan &plan, bool native) {
  const Convolution &c = plan.shape;
  plan.element = native ? Element::bfloat16 : Element::float32;
  plan.widenLhs = !native && c.lhs != MPC_RT_FLOAT32;
  plan.widenRhs = !native && c.rhs != MPC_RT_FLOAT32;
  plan.throughScratch = c.out != MPC_RT_FLOAT32;
  bool forward = c.direction == MPC_RT_CONVOLUTION_FORWARD;
  plan.epilogue = plan.throughScratch || c.relu || (c.hasBias && !forward);
  plan.addBias = c.hasBias && !plan.epilogue;
  plan.block = c.batch;
  if (!toFilter(c) && (plan.widenLhs || plan.epilogue)) {
    int64_t lhs = c.lhsElements() / c.batch, out = c.outElements() / c.batch;
    plan.block = blockOf(c, (plan.widenLhs ? lhs : 0) + (plan.epilogue ? out : 0));
  }
}

void Convolver::makePrimitives(Plan &plan) {
  auto make = [&](int64_t samples, const onednn::ConvolutionPrimitive *like) {
    return std::make_unique<onednn::ConvolutionPrimitive>(plan.shape, samples, plan.element,
                                                          plan.addBias, layouts, like);
  };
  plan.body = make(plan.block, nullptr);
  int64_t rest = plan.shape.batch % plan.block;
  if (rest && plan.body->isSupported())
    plan.tail = make(rest, plan.body.get());
  if (!plan.body->isSupported() || (plan.tail && !plan.tail->isSupported()))
    plan.body.reset(), plan.tail.reset();
}

mpc_rt_status_t Convolver::reserveFor(const mpc_rt_convolution_t &descriptor, const void *lhs,
                                      const void *rhs, const void *bias, const void *out,
                                      int64_t batch) {
  Convolution c;
  if (auto status = resolveConvolution(descriptor, lhs, rhs, bias, out, batch, c))
    return status;
  if (c.outElements() == 0 || c.batch == 0)
    return MPC_RT_OK;
  const Plan &plan = findPlan(descriptor, c, batch);
  if (plan.depthwise || plan.filterGradient || (!plan.windowed && !plan.body))
    return MPC_RT_OK; // has its memory, needs none
  const bool isWhole = toFilter(c);
  const int64_t samples = isWhole ? c.batch : plan.block;
  if (plan.widenLhs)
    floats(lhsBlock, c.lhsElements() / c.batch * samples);
  if (plan.throughScratch)
    floats(sumBlock, isWhole ? c.outElements() : c.outElements() / c.batch * samples);
  if (c.hasBias && c.bias != MPC_RT_FLOAT32)
    floats(biasWide, c.outColumns());
  if (plan.body)
    plan.body->reserveFor(libraryScratch, filterScratch);
  if (isWhole) {
    if (plan.widenRhs)
      floats(rhsWhole, c.rhsElements());
    return MPC_RT_OK;
  }
  const void *layout = plan.windowed ? plan.windowed->filterLayout() : plan.body->filterLayout();
  PackedFilter *kept = nullptr;
  if (weightsConstant && descriptor.rhs_variable >= 0 && (layout || plan.widenRhs))
    kept = &weights[{descriptor.rhs_variable, plan.element, c.direction, layout}];
  if (plan.widenRhs)
    floats(kept && !layout ? kept->buffer : rhsWhole, c.rhsElements());
  if (layout)
    reserve(kept ? kept->buffer : packedOnce,
            plan.windowed ? plan.windowed->filterBytes() : plan.body->filterBytes());
  return MPC_RT_OK;
}

// ---- Execution ----------------------------------------------------------------------------------

void Convolver::execute(Plan &plan, const mpc_rt_convolution_t &descriptor, const void *lhs,
                        const void *rhs, const void *bias, void *out) {
  const Convolution &c = plan.shape;
  if (toFilter(c)) {
    lhs = prepareImages(plan.widenLhs, c.lhs, lhs, 0, c.lhsElements(), lhsBlock);
    rhs = prepareImages(plan.widenRhs, c.rhs, rhs, 0, c.rhsElements(), rhsWhole);
    auto *sums =
        plan.throughScratch ? floats(sumBlock, c.outElements()) : static_cast<float *>(out);
    plan.body->run(lhs, rhs, nullptr, sums, libraryScratch, filterScratch);
    if (plan.throughScratch)
      applyEpilogue(c, sums, nullptr, out, c.outElements());
    return;
  }
  const void *filter = prepareFilter(plan, descriptor.rhs_variable, rhs);
  const float *wideBias = prepareBias(c, bias);
  int64_t lhsSample = c.lhsElements() / c.batch, outSample = c.outElements() / c.batch;
  float *block = plan.throughScratch ? floats(sumBlock, plan.block * outSample) : nullptr;
  for (int64_t first = 0; first < c.batch; first += plan.block) {
    int64_t samples = std::min(plan.block, c.batch - first);
    auto *target = const_cast<uint8_t *>(at(out, first * outSample, c.out));
    auto *sums = block ? block : reinterpret_cast<float *>(target);
    const void *images =
        prepareImages(plan.widenLhs, c.lhs, lhs, first * lhsSample, samples * lhsSample, lhsBlock);
    if (plan.windowed) {
      plan.windowed->run(images, filter, wideBias, target, samples);
      continue;
    }
    auto &primitive = samples == plan.block ? *plan.body : *plan.tail;
    primitive.run(images, filter, wideBias, sums, libraryScratch, filterScratch);
    if (plan.epilogue)
      applyEpilogue(c, sums, wideBias, target, samples * outSample);
  }
}

const void *Convolver::prepareFilter(Plan &plan, int32_t variable, const void *filter) {
  const Convolution &c = plan.shape;
  const void *layout = plan.windowed ? plan.windowed->filterLayout() : plan.body->filterLayout();
  PackedFilter *kept = nullptr;
  if (weightsConstant && variable >= 0 && (layout || plan.widenRhs)) {
    kept = &weights[{variable, plan.element, c.direction, layout}];
    if (kept->version == weightVersion)
      return kept->buffer.data();
  }
  if (plan.widenRhs) {
    float *wide = floats(kept && !layout ? kept->buffer : rhsWhole, c.rhsElements());
    widen(c.rhs, filter, wide, c.rhsElements());
    filter = wide;
  }
  if (layout) {
    Buffer &target = kept ? kept->buffer : packedOnce;
    if (plan.windowed) {
      reserve(target, plan.windowed->filterBytes());
      plan.windowed->packFilter(filter, target.data());
    } else {
      reserve(target, plan.body->filterBytes());
      plan.body->packFilter(filter, target.data(), libraryScratch);
    }
    filter = target.data();
  }
  if (kept)
    kept->version = weightVersion;
  return filter;
}

const void *Convolver::prepareImages(bool wide, mpc_rt_dtype_t dtype, const void *from,
                                     int64_t first, int64_t elements, Buffer &buffer) {
  const void *block = at(from, first, dtype);
  if (!wide)
    return block;
  float *to = floats(buffer, elements);
  widen(dtype, block, to, elements);
  return to;
}

const float *Convolver::prepareBias(const Convolution &c, const void *bias) {
  if (!c.hasBias || c.bias == MPC_RT_FLOAT32)
    return static_cast<const float *>(bias);
  float *wide = floats(biasWide, c.outColumns());
  widen(c.bias, bias, wide, c.outColumns());
  return wide;
}

void Convolver::applyEpilogue(const Convolution &c, const float *sums, const float *bias, void *out,
                              int64_t elements) {
  uint32_t flags = (c.hasBias ? epilogueBias : 0u) | (c.relu ? epilogueRelu : 0u);
  EpilogueRow row = kernels.epilogue[c.out][flags];
  auto run = [&](int64_t begin, int64_t end) {
    row(sums + begin, bias, const_cast<uint8_t *>(at(out, begin, c.out)),
        static_cast<size_t>(end - begin));
  };
  if (!c.hasBias) { // no row structure needed
    team.forRange(elements, conversionGrain, run);
    return;
  }
  int64_t columns = c.outColumns();
  team.forRange(elements / columns, std::max<int64_t>(conversionGrain / columns, 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t m = begin; m < end; ++m)
                    run(m * columns, (m + 1) * columns);
                });
}

void Convolver::widen(mpc_rt_dtype_t dtype, const void *from, float *to, int64_t count) {
  team.forRange(count, conversionGrain, [&](int64_t begin, int64_t end) {
    auto length = static_cast<size_t>(end - begin);
    if (dtype == MPC_RT_FLOAT32)
      std::memcpy(to + begin, static_cast<const float *>(from) + begin, length * sizeof(float));
    else
      (dtype == MPC_RT_BFLOAT16 ? kernels.widenBFloat16 : kernels.widenFloat16)(
          static_cast<const uint16_t *>(from) + begin, to + begin, length);
  });
}

} // namespace mpc::rt
