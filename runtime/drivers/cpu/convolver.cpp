// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions on the CPU. The sums are float32 sums by a micro-kernel of ours or by oneDNN; what
// the contract of mpc_rt_convolution_t asks beyond oneDNN's (rounding to the out dtype before and
// after the bias, a relu that keeps NaN) is one vectorised pass per block of samples, while the
// block is still in cache.
#include "runtime/drivers/cpu/convolver.h"
#include "runtime/base/status.h"
#include "runtime/drivers/cpu/block_passes.h"
#include "runtime/drivers/cpu/blocking.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
uint64_t Convolver::bytes() const noexcept {
  uint64_t total = lhsBlock.size() + rhsWhole.size() + packedOnce.size() + sumBlock.size() +
                   biasWide.size() + libraryScratch.size() + filterScratch.size();
  for (auto &entry : weights)
    total += entry.second.buffer.size();
  for (auto &entry : plans) {
    if (entry.second->depthwise)
      total += entry.second->depthwise->bytes();
    if (entry.second->product)
      total += entry.second->product->bytes();
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
  const bool keep = weightsConstant && descriptor.rhs_variable >= 0;
  if (choices.toBeMeasured({KernelChoices::Operation::convolution, descriptor.id, batch, keep}))
    measure(descriptor, shape, lhs, rhs, bias, batch);
  Plan &plan = findPlan(descriptor, shape, batch);
  run(plan, descriptor, lhs, rhs, bias, out);
  products.note(descriptor.id, batch, descriptor.layer, shape, plan.kernel());
  return MPC_RT_OK;
}

void Convolver::run(Plan &plan, const mpc_rt_convolution_t &descriptor, const void *lhs,
                    const void *rhs, const void *bias, void *out) {
  if (plan.depthwise) {
    plan.depthwise->run(lhs, rhs, bias, out);
  } else if (plan.filterGradient) {
    plan.filterGradient->run(lhs, rhs, out);
  } else if (plan.product) {
    execute(plan, descriptor, lhs, rhs, bias, out);
  } else if (plan.body) {
    team.prepareWorkers();
    execute(plan, descriptor, lhs, rhs, bias, out);
  } else {
    convolveDirectly(team, plan.shape, lhs, rhs, bias, out);
  }
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
  products.note(descriptor.id, batch, descriptor.layer, c, plan.kernel());
  if (plan.depthwise || plan.filterGradient || (!plan.product && !plan.body))
    return MPC_RT_OK; // has its memory, needs none
  const bool isWhole = c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  const int64_t samples = isWhole ? c.batch : plan.block;
  if (plan.widenLhs)
    reserveFloats(lhsBlock, c.lhsElements() / c.batch * samples);
  if (plan.throughScratch)
    reserveFloats(sumBlock, isWhole ? c.outElements() : c.outElements() / c.batch * samples);
  if (c.hasBias && c.bias != MPC_RT_FLOAT32)
    reserveFloats(biasWide, c.outColumns());
  if (plan.body)
    plan.body->reserveFor(libraryScratch, filterScratch);
  if (isWhole) {
    if (plan.widenRhs)
      reserveFloats(rhsWhole, c.rhsElements());
    return MPC_RT_OK;
  }
  const void *layout = plan.product ? plan.product->filterLayout() : plan.body->filterLayout();
  PackedFilter *kept = nullptr;
  if (weightsConstant && descriptor.rhs_variable >= 0 && (layout || plan.widenRhs))
    kept = &weights[{descriptor.rhs_variable, plan.element, c.direction, layout}];
  if (plan.widenRhs)
    reserveFloats(kept && !layout ? kept->buffer : rhsWhole, c.rhsElements());
  if (layout)
    reserve(kept ? kept->buffer : packedOnce,
            plan.product ? plan.product->filterBytes() : plan.body->filterBytes());
  return MPC_RT_OK;
}

void Convolver::execute(Plan &plan, const mpc_rt_convolution_t &descriptor, const void *lhs,
                        const void *rhs, const void *bias, void *out) {
  const Convolution &c = plan.shape;
  if (c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT) {
    lhs = prepareImages(plan.widenLhs, c.lhs, lhs, 0, c.lhsElements(), lhsBlock);
    rhs = prepareImages(plan.widenRhs, c.rhs, rhs, 0, c.rhsElements(), rhsWhole);
    auto *sums =
        plan.throughScratch ? reserveFloats(sumBlock, c.outElements()) : static_cast<float *>(out);
    plan.body->run(lhs, rhs, nullptr, sums, libraryScratch, filterScratch);
    if (plan.throughScratch)
      applyEpilogue(c, sums, nullptr, out, c.outElements());
    return;
  }
  const void *filter = prepareFilter(plan, descriptor.rhs_variable, rhs);
  const float *wideBias = prepareBias(c, bias);
  int64_t lhsSample = c.lhsElements() / c.batch, outSample = c.outElements() / c.batch;
  float *block = plan.throughScratch ? reserveFloats(sumBlock, plan.block * outSample) : nullptr;
  for (int64_t first = 0; first < c.batch; first += plan.block) {
    int64_t samples = std::min(plan.block, c.batch - first);
    auto *target = const_cast<uint8_t *>(at(out, first * outSample, c.out));
    auto *sums = block ? block : reinterpret_cast<float *>(target);
    const void *images =
        prepareImages(plan.widenLhs, c.lhs, lhs, first * lhsSample, samples * lhsSample, lhsBlock);
    if (plan.product) {
      plan.product->run(images, filter, wideBias, target, samples);
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
  const void *layout = plan.product ? plan.product->filterLayout() : plan.body->filterLayout();
  PackedFilter *kept = nullptr;
  if (weightsConstant && variable >= 0 && (layout || plan.widenRhs)) {
    kept = &weights[{variable, plan.element, c.direction, layout}];
    if (kept->version == weightVersion)
      return kept->buffer.data();
  }
  if (plan.widenRhs) {
    float *wide = reserveFloats(kept && !layout ? kept->buffer : rhsWhole, c.rhsElements());
    widenElements(team, kernels, c.rhs, filter, wide, c.rhsElements());
    filter = wide;
  }
  if (layout) {
    Buffer &target = kept ? kept->buffer : packedOnce;
    if (plan.product) {
      reserve(target, plan.product->filterBytes());
      plan.product->packFilter(filter, target.data());
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
  float *to = reserveFloats(buffer, elements);
  widenElements(team, kernels, dtype, block, to, elements);
  return to;
}

const float *Convolver::prepareBias(const Convolution &c, const void *bias) {
  if (!c.hasBias || c.bias == MPC_RT_FLOAT32)
    return static_cast<const float *>(bias);
  float *wide = reserveFloats(biasWide, c.outColumns());
  widenElements(team, kernels, c.bias, bias, wide, c.outColumns());
  return wide;
}

void Convolver::applyEpilogue(const Convolution &c, const float *sums, const float *bias, void *out,
                              int64_t elements) {
  uint32_t flags = (c.hasBias ? epilogueBias : 0u) | (c.relu ? epilogueRelu : 0u);
  applyToRows(team, kernels.epilogue[c.out][flags], sums, c.hasBias ? bias : nullptr, c.out, out,
              elements / c.outColumns(), c.outColumns());
}

} // namespace mpc::rt
