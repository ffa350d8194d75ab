// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions on the CPU. The sums are float32 sums by a micro-kernel of ours or by oneDNN; what
// the contract of mpc_rt_convolution_t asks beyond oneDNN's (rounding to the out dtype before and
// after the bias, a relu that keeps NaN) is one vectorised pass per block of samples, while the
// block is still in cache.
#include "runtime/drivers/cpu/convolve/convolver.h"
#include "runtime/base/status.h"
#include "runtime/drivers/cpu/kernels/row_passes.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

// Elements of 16 bits, `count` of each row and then `zeros`.
void padRows(ThreadTeam &team, const uint16_t *from, int64_t rows, int64_t count, int64_t zeros,
             uint16_t *to) {
  team.forRange(rows, std::max<int64_t>(conversionGrain / (count + zeros), 1),
                [&](int64_t begin, int64_t end) {
                  const uint16_t *source = from + begin * count;
                  uint16_t *target = to + begin * (count + zeros);
                  for (int64_t row = begin; row < end; ++row) {
                    if (count == 3) // of a picture's pixel: moves, not a call
                      std::memcpy(target, source, 3 * sizeof(uint16_t));
                    else
                      std::memcpy(target, source, static_cast<size_t>(count) * sizeof(uint16_t));
                    std::fill_n(target + count, zeros, uint16_t{0});
                    source += count;
                    target += count + zeros;
                  }
                });
}

uint16_t *reserveElements(Buffer &buffer, int64_t count) {
  reserve(buffer, static_cast<uint64_t>(count) * sizeof(uint16_t));
  return reinterpret_cast<uint16_t *>(buffer.data());
}

// `out`, or memory for a result that its kernel consumes, unless parts of it are enough.
template <typename Plan> void *resultMemory(Plan &plan, void *out, Buffer &consumed) {
  if (out)
    return out;
  if (plan.depthwise) {
    plan.depthwise->reserveParts();
    return nullptr;
  }
  if (plan.product && plan.product->reserveParts())
    return nullptr;
  reserve(consumed, static_cast<uint64_t>(plan.shape.outElements()) * dtypeSize(plan.shape.out));
  return consumed.data();
}

} // namespace

uint64_t Convolver::bytes() const noexcept {
  uint64_t total = lhsBlock.size() + rhsWhole.size() + packedOnce.size() + sumBlock.size() +
                   biasWide.size() + libraryScratch.size() + filterScratch.size() +
                   consumedResult.size();
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

mpc_rt_status_t Convolver::convolve(const mpc_rt_convolution_t &descriptor,
                                    const mpc_rt_convolve_call_t &call) {
  Convolution shape;
  if (auto status = resolveConvolution(descriptor, call, shape))
    return status;
  if (shape.outElements() == 0)
    return MPC_RT_OK;
  if (shape.batch == 0) { // a filter's gradient: an empty sum
    std::memset(call.out, 0, static_cast<size_t>(shape.outElements()) * dtypeSize(shape.out));
    return MPC_RT_OK;
  }
  const bool keep = weightsConstant && descriptor.rhs_variable >= 0;
  // Integers are convolved in one way on each CPU.
  if (!shape.isInteger() && choices.toBeMeasured({KernelChoices::Operation::convolution,
                                                  descriptor.id, call.batch, keep}))
    measure(descriptor, shape, call);
  Plan &plan = findPlan(descriptor, shape, call.batch);
  const ResultKernel kernel = resultKernelOf(call);
  run(plan, descriptor, call,
      {shape.out, resultMemory(plan, call.out, consumedResult), /*first=*/0,
       call.kernel ? &kernel : nullptr});
  log.note(descriptor.id, call.batch, descriptor.layer, shape, plan.kernel(), plan.reason);
  return MPC_RT_OK;
}

void Convolver::run(Plan &plan, const mpc_rt_convolution_t &descriptor,
                    const mpc_rt_convolve_call_t &call, const ConvolutionResult &result) {
  if (plan.depthwise) {
    plan.depthwise->run(call.lhs, call.rhs, call.bias, result);
  } else if (plan.filterGradient) {
    plan.filterGradient->run(call.lhs, call.rhs, result.values);
  } else if (plan.product) {
    execute(plan, descriptor, call, result);
  } else if (plan.body) {
    team.prepareWorkers();
    execute(plan, descriptor, call, result);
  } else {
    convolveDirectly(team, plan.shape, call.lhs, call.rhs, call.bias, result.values);
    result.finishAll(team, plan.shape.outElements());
  }
}

mpc_rt_status_t Convolver::reserveFor(const mpc_rt_convolution_t &descriptor,
                                      const mpc_rt_convolve_call_t &call) {
  Convolution c;
  if (auto status = resolveConvolution(descriptor, call, c))
    return status;
  if (c.outElements() == 0 || c.batch == 0)
    return MPC_RT_OK;
  Plan &plan = findPlan(descriptor, c, call.batch);
  log.note(descriptor.id, call.batch, descriptor.layer, c, plan.kernel(), plan.reason);
  resultMemory(plan, call.out, consumedResult);
  if (plan.depthwise || plan.filterGradient || (!plan.product && !plan.body))
    return MPC_RT_OK; // has its memory, needs none
  const bool isWhole = c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  const int64_t samples = isWhole ? c.batch : plan.block;
  if (plan.widenLhs)
    reserveFloats(lhsBlock, c.lhsElements() / c.batch * samples);
  if (plan.padsChannels)
    reserveElements(lhsBlock, plan.librarySize(c.lhsElements()) / c.batch * samples);
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
  if (weightsConstant && descriptor.rhs_variable >= 0 && (layout || plan.copiesFilter()))
    kept = &weights[{descriptor.rhs_variable, plan.element, c.direction, layout}];
  Buffer &copy = kept && !layout ? kept->buffer : rhsWhole;
  if (plan.widenRhs)
    reserveFloats(copy, c.rhsElements());
  if (plan.padsChannels)
    reserveElements(copy, plan.librarySize(c.rhsElements()));
  if (layout)
    reserve(kept ? kept->buffer : packedOnce,
            plan.product ? plan.product->filterBytes() : plan.body->filterBytes());
  return MPC_RT_OK;
}

void Convolver::execute(Plan &plan, const mpc_rt_convolution_t &descriptor,
                        const mpc_rt_convolve_call_t &call, const ConvolutionResult &result) {
  const Convolution &c = plan.shape;
  const void *lhs = call.lhs, *rhs = call.rhs;
  if (c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT) {
    lhs = prepareOperand(plan.widenLhs, c.lhs, lhs, c.lhsElements(), lhsBlock);
    rhs = prepareOperand(plan.widenRhs, c.rhs, rhs, c.rhsElements(), rhsWhole);
    auto *sums = plan.throughScratch ? reserveFloats(sumBlock, c.outElements())
                                     : static_cast<float *>(result.values);
    plan.body->run(lhs, rhs, nullptr, sums, libraryScratch, filterScratch);
    if (plan.throughScratch)
      applyEpilogue(c, sums, nullptr, result.values, c.outElements());
    return;
  }
  const void *filter = prepareFilter(plan, descriptor.rhs_variable, rhs);
  const float *wideBias = prepareBias(c, call.bias);
  int64_t outSample = c.outElements() / c.batch;
  float *block = plan.throughScratch ? reserveFloats(sumBlock, plan.block * outSample) : nullptr;
  for (int64_t first = 0; first < c.batch; first += plan.block) {
    int64_t samples = std::min(plan.block, c.batch - first);
    const ConvolutionResult target = result.from(first * outSample);
    const void *images = prepareImages(plan, lhs, first, samples);
    if (plan.product) {
      plan.product->run(images, filter, wideBias, target, samples);
      continue;
    }
    auto &primitive = samples == plan.block ? *plan.body : *plan.tail;
    auto *sums = block ? block : static_cast<float *>(target.values);
    primitive.run(images, filter, wideBias, sums, libraryScratch, filterScratch);
    if (plan.epilogue)
      applyEpilogue(c, plan.roundsSums ? nullptr : sums, wideBias, target.values,
                    samples * outSample);
    target.finishAll(team, samples * outSample);
  }
}

const void *Convolver::prepareFilter(Plan &plan, int32_t variable, const void *filter) {
  const Convolution &c = plan.shape;
  const void *layout = plan.product ? plan.product->filterLayout() : plan.body->filterLayout();
  PackedFilter *kept = nullptr;
  if (weightsConstant && variable >= 0 && (layout || plan.copiesFilter())) {
    kept = &weights[{variable, plan.element, c.direction, layout}];
    if (kept->version == weightVersion)
      return kept->buffer.data();
  }
  Buffer &copy = kept && !layout ? kept->buffer : rhsWhole;
  if (plan.padsChannels) {
    uint16_t *padded = reserveElements(copy, plan.librarySize(c.rhsElements()));
    padRows(team, static_cast<const uint16_t *>(filter), Convolution::product(c.kernel),
            c.channels * c.filters, c.filters, padded);
    filter = padded;
  } else {
    filter = prepareOperand(plan.widenRhs, c.rhs, filter, c.rhsElements(), copy);
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

const void *Convolver::prepareImages(const Plan &plan, const void *images, int64_t first,
                                     int64_t samples) {
  const Convolution &c = plan.shape;
  const int64_t ofSample = c.lhsElements() / c.batch;
  const void *block = at(images, first * ofSample, c.lhs);
  if (!plan.padsChannels)
    return prepareOperand(plan.widenLhs, c.lhs, block, samples * ofSample, lhsBlock);
  uint16_t *padded = reserveElements(lhsBlock, plan.librarySize(samples * ofSample));
  padRows(team, static_cast<const uint16_t *>(block), samples * ofSample / c.channels, c.channels,
          1, padded);
  return padded;
}

const void *Convolver::prepareOperand(bool wide, mpc_rt_dtype_t dtype, const void *from,
                                      int64_t elements, Buffer &buffer) {
  if (!wide)
    return from;
  float *to = reserveFloats(buffer, elements);
  widenElements(team, kernels, dtype, from, to, elements);
  return to;
}

const float *Convolver::prepareBias(const Convolution &c, const void *bias) {
  if (!c.hasBias)
    return nullptr; // whatever pointer the caller has
  if (c.bias == MPC_RT_FLOAT32)
    return static_cast<const float *>(bias);
  float *wide = reserveFloats(biasWide, c.outColumns());
  widenElements(team, kernels, c.bias, bias, wide, c.outColumns());
  return wide;
}

void Convolver::applyEpilogue(const Convolution &c, const float *sums, const float *bias, void *out,
                              int64_t elements) {
  const uint32_t flags = (c.hasBias ? epilogueBias : 0u) | (c.relu ? epilogueRelu : 0u);
  const int64_t columns = c.outColumns(), rows = elements / columns;
  if (sums)
    applyToRows(team, kernels.epilogue[c.out][flags], sums, bias, c.out, out, rows, columns);
  else
    finishBFloat16Rows(team, kernels, flags, bias, out, rows, columns);
}

} // namespace mpc::rt
