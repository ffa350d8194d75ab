// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc's filters lie as [kernel..., channels / groups, filters], cuDNN's as [filters, kernel...,
// channels / groups]: one is the transposed matrix of the other.
#include "runtime/drivers/cuda/graph_convolver.h"
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/cuda/trial_time.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace mpc::rt::cuda {
namespace {

// Without Tensor Cores cuDNN's engines of float32 turn images around in their workspace, 140 to 192
// MiB for a batch of 1024 (0130); half of what is free stays for others. MPC_CUDNN_WORKSPACE:
// another number of MiB.
int64_t mostWorkspace(const DeviceSession &session) {
  constexpr uint64_t mebibyte = uint64_t{1} << 20, usual = 512, most = uint64_t{1} << 20;
  const char *setting = std::getenv("MPC_CUDNN_WORKSPACE");
  char *end = nullptr;
  const uint64_t given = setting ? std::strtoull(setting, &end, 10) : usual;
  const bool isNumber = setting && end != setting && !*end;
  const uint64_t wanted = std::min(isNumber ? given : usual, most) * mebibyte;
  return static_cast<int64_t>(std::min(wanted, session.freeBytes() / 2));
}

constexpr uint64_t partAlignment = 256;
// Making one ready takes up to some hundred milliseconds.
constexpr size_t mostCandidates = 4;

int64_t tensorAlignmentOf(const void *address) {
  auto bits =
      reinterpret_cast<uintptr_t>(address) | static_cast<uintptr_t>(dnn::bestTensorAlignment);
  return static_cast<int64_t>(bits & -bits);
}

uint64_t packedFilterBytes(const Convolution &c) {
  return alignUp(static_cast<uint64_t>(c.filterElements()) * dtypeSize(c.out), partAlignment);
}

} // namespace

GraphConvolver::~GraphConvolver() { handle.drain(); }

mpc_rt_status_t GraphConvolver::transpose(mpc_rt_dtype_t dtype, const void *from, void *to,
                                          int64_t rows, int64_t columns) {
  int64_t count = rows * columns;
  void *parameters[] = {&from, &to, &rows, &columns, &count};
  return kernels.launchNamed(dtypeSize(dtype) == 2 ? "mpc_transposed_16" : "mpc_transposed_32",
                             parameters, count);
}

mpc_rt_status_t GraphConvolver::finish(const Convolution &c, const void *bias, void *out) {
  int64_t count = c.outElements(), columns = c.outColumns();
  if (!c.hasBias)
    return kernels.launchRelu(c.out, out, count);
  auto dtype = static_cast<int32_t>(c.out);
  int32_t relu = c.relu;
  void *parameters[] = {&out, &bias, &dtype, &relu, &columns, &count};
  return kernels.launchNamed("mpc_biased", parameters, count);
}

mpc_rt_status_t GraphConvolver::issue(const Entry &entry, const Operands &operands,
                                      const char *layer, int &code) {
  const Convolution &c = entry.shape;
  const dnn::ConvolutionPlan &plan = *entry.plan;
  if (auto status = scratch.reserve(
          packedFilterBytes(c) + static_cast<uint64_t>(plan.workspaceBytes()), layer))
    return status;
  uint8_t *packed = scratch.data();
  // Rows of the filter as mpc has it.
  const int64_t rows = Convolution::product(c.kernel) * (c.channels / c.groups);
  auto *lhs = const_cast<void *>(operands.lhs), *rhs = const_cast<void *>(operands.rhs);
  auto *bias = plan.hasEpilogue() ? const_cast<void *>(operands.bias) : nullptr;
  dnn::ConvolutionPlan::Addresses addresses{};
  switch (c.direction) {
  case MPC_RT_CONVOLUTION_FORWARD:
    addresses = {lhs, packed, operands.out, bias};
    break;
  case MPC_RT_CONVOLUTION_INPUT_GRADIENT:
    addresses = {operands.out, packed, lhs, bias};
    break;
  case MPC_RT_CONVOLUTION_FILTER_GRADIENT:
    addresses = {lhs, packed, rhs, nullptr};
    break;
  }
  const bool toFilter = c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  if (!toFilter)
    if (auto status = transpose(c.rhs, rhs, packed, rows, c.filters))
      return status;
  code = plan.execute(handle.get(), addresses, scratch.data() + packedFilterBytes(c));
  if (code)
    return MPC_RT_OK;
  if (toFilter)
    return transpose(c.out, packed, operands.out, c.filters, rows);
  return plan.hasEpilogue() || !(c.hasBias || c.relu) ? MPC_RT_OK
                                                      : finish(c, operands.bias, operands.out);
}

// Whether the relu of a fused graph leaves NaN what it is: the convolution itself, with a bias of
// NaN, must give nothing else.
bool GraphConvolver::keepsNaN(const Entry &entry, const Operands &operands, const char *layer) {
  const Convolution &c = entry.shape;
  Memory bias(session, Memory::Kind::device);
  bool grew = false;
  const auto bytes = static_cast<size_t>(c.outColumns()) * dtypeSize(c.out);
  int code = 0;
  // All bits set are NaN in every floating dtype.
  if (bias.reserve(bytes, layer, grew) ||
      session.cuda.memsetBytes(bias.address(), 0xFF, bytes, session.stream) ||
      issue(entry, {operands.lhs, operands.rhs, bias.data(), operands.out}, layer, code) || code)
    return false;
  const auto results = static_cast<size_t>(c.outElements());
  std::vector<uint8_t> host(results * dtypeSize(c.out));
  if (session.cuda.memcpyToHost(host.data(), reinterpret_cast<DevicePointer>(operands.out),
                                host.size(), session.stream) ||
      session.synchronize())
    return false;
  for (size_t i = 0; i < results; ++i)
    if (!std::isnan(loadElement(c.out, host.data(), static_cast<int64_t>(i))))
      return false;
  return true;
}

void GraphConvolver::retire(Entry &entry) {
  if (entry.plan)
    retired.push_back(std::move(entry.plan));
}

void GraphConvolver::makePlan(Entry &entry, const Operands &operands, const char *layer) {
  const Convolution &c = entry.shape;
  dnn::EngineRules rules;
  rules.tf32 = tf32;
  rules.workspaceBytes = mostWorkspace(session);
  // Without groups im2col makes the convolution a product on Tensor Cores, which a slow engine does
  // not beat.
  rules.slow = c.groups > 1;
  rules.candidates = isWorthTrial(c.operations()) ? mostCandidates : 1;
  // A relu alone is a pass of its own anyway: only a bias of NaN can try it.
  if (c.hasBias) {
    entry.plan = dnn::ConvolutionPlan::make(handle.library(), handle.get(), c, entry.alignments,
                                            true, rules);
    if (entry.plan && (!c.relu || keepsNaN(entry, operands, layer)))
      return takeFastest(entry, operands, layer);
    retire(entry);
  }
  entry.plan =
      dnn::ConvolutionPlan::make(handle.library(), handle.get(), c, entry.alignments, false, rules);
  takeFastest(entry, operands, layer);
}

void GraphConvolver::takeFastest(Entry &entry, const Operands &operands, const char *layer) {
  const size_t count = entry.plan ? entry.plan->candidateCount() : 0;
  if (count < 2)
    return;
  std::vector<double> times;
  for (size_t i = 0; i < count; ++i) {
    entry.plan->take(i);
    double seconds = std::numeric_limits<double>::infinity();
    auto run = [&] {
      int code = 0;
      auto status = issue(entry, operands, layer, code);
      return status || !code ? status : MPC_RT_INTERNAL;
    };
    if (!timeOnStream(session, run, seconds))
      seconds = std::numeric_limits<double>::infinity();
    times.push_back(seconds);
  }
  const double best = *std::min_element(times.begin(), times.end());
  size_t first = 0;
  while (times[first] > clearlySlower * best)
    ++first;
  entry.plan->take(first);
}

mpc_rt_status_t GraphConvolver::convolve(const Convolution &c, uint32_t id, const void *lhs,
                                         const void *rhs, const void *bias, void *out,
                                         const char *layer, std::string &engine) {
  engine.clear();
  if (!dnn::isOfGraph(c) || !handle.open())
    return MPC_RT_OK;
  const Operands operands{lhs, rhs, bias, out};
  // The filter lies in the scratch memory.
  dnn::ConvolutionAlignments alignments;
  alignments.fill(dnn::bestTensorAlignment);
  const bool adjoint = c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT;
  const bool toFilter = c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  alignments[dnn::ConvolutionTensor::images] = tensorAlignmentOf(adjoint ? out : lhs);
  alignments[dnn::ConvolutionTensor::outputs] = tensorAlignmentOf(adjoint    ? lhs
                                                                  : toFilter ? rhs
                                                                             : out);
  if (c.hasBias)
    alignments[dnn::ConvolutionTensor::bias] = tensorAlignmentOf(bias);
  auto [found, isNew] = entries.try_emplace({id, c.batch});
  Entry &entry = found->second;
  bool isWorse = false;
  for (size_t i = 0; i < alignments.size(); ++i)
    isWorse |= alignments[i] < entry.alignments[i];
  if (isNew || isWorse || !(entry.shape == c)) {
    retire(entry);
    entry.shape = c;
    entry.alignments = alignments;
    entry.wasRun = false;
    makePlan(entry, operands, layer);
  }
  if (!entry.plan)
    return MPC_RT_OK;
  int code = 0;
  if (auto status = issue(entry, operands, layer, code))
    return status;
  if (code && entry.wasRun)
    return fail(MPC_RT_INTERNAL,
                "%s: cuDNN: the convolution failed: %s; MPC_CUDNN=off runs without it", layer,
                handle.library().getErrorString(code));
  if (code) {
    // An engine that cannot be started, as for want of a library that it loads: no plan.
    retire(entry);
    return MPC_RT_OK;
  }
  entry.wasRun = true;
  engine = "cudnn:" + std::to_string(entry.plan->engine());
  return MPC_RT_OK;
}

} // namespace mpc::rt::cuda
