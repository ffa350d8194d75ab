// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan per attention and batch, made in the plain call that comes before a step is recorded.
#include "runtime/drivers/cuda/graph_attender.h"
#include "runtime/base/dtype.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/cuda/attention_graph.h"

#include <algorithm>
#include <limits>

namespace mpc::rt::cuda {
namespace {

// Older ones have faults that cuDNN's frontend works around, and on Blackwell no derivative that
// gives the same bytes twice.
constexpr size_t oldestVersion = 91800;

// The derivative keeps a matrix like the scores in 16 bits; samples come in pieces of this size
// (attender.cpp), which are rounded up to whole tiles.
constexpr int64_t mostDerivativeBytes = int64_t{1} << 30;
constexpr uint64_t rowAlignment = 256;

void *mutableAddress(const void *address) { return const_cast<void *>(address); }

} // namespace

bool GraphAttender::isWanted(const Attention &a, const Addresses &addresses) {
  auto isAligned = [](const std::pair<int64_t, void *> &tensor) {
    return reinterpret_cast<uintptr_t>(tensor.second) % dnn::attentionAlignment == 0;
  };
  return dnn::isOfGraph(a) && std::all_of(addresses.begin(), addresses.end(), isAligned) &&
         handle.open() && handle.library().getVersion() >= oldestVersion;
}

GraphAttender::Entry &GraphAttender::entryFor(const Attention &a, const Key &key) {
  std::unique_ptr<Entry> &found = entries[key];
  if (found && found->shape == a)
    return *found;
  found = std::make_unique<Entry>(handle.library());
  Entry &entry = *found;
  entry.shape = a;
  entry.scale = static_cast<float>(a.scale);
  entry.masked = -std::numeric_limits<float>::infinity();
  const bool isGradient = std::get<bool>(key);
  dnn::Descriptor graph = isGradient
                              ? dnn::describeAttentionGradient(entry.description, handle.get(), a)
                              : dnn::describeAttention(entry.description, handle.get(), a);
  dnn::EngineRules rules;
  rules.workspaceBytes = mostDerivativeBytes;
  entry.works = graph && entry.plan.choose(handle.get(), graph, /*isFloat32=*/false, rules);
  return entry;
}

mpc_rt_status_t GraphAttender::execute(Entry &entry, Addresses &addresses, uint8_t *workspace,
                                       const char *layer, std::string &engine) {
  addresses.emplace_back(dnn::attentionScale, &entry.scale);
  if (entry.shape.causal)
    addresses.emplace_back(dnn::attentionMasked, &entry.masked);
  const int code = entry.plan.execute(handle.get(), addresses, workspace);
  if (code && entry.wasRun)
    return fail(MPC_RT_INTERNAL,
                "%s: cuDNN: the attention failed: %s; MPC_CUDNN=off runs without it", layer,
                handle.library().getErrorString(code));
  // An engine that cannot be started, as for want of a library that it loads, has not run.
  entry.works = entry.wasRun = code == 0;
  if (entry.works)
    engine = "cudnn:" + std::to_string(entry.plan.engine());
  return MPC_RT_OK;
}

mpc_rt_status_t GraphAttender::attend(const Attention &a, uint32_t id, const AttentionOperands &o,
                                      const char *layer, std::string &engine) {
  engine.clear();
  Addresses addresses = {{dnn::attendedQuery, mutableAddress(o.query)},
                         {dnn::attendedKey, mutableAddress(o.key)},
                         {dnn::attendedValue, mutableAddress(o.value)},
                         {dnn::attended, o.out},
                         {dnn::attentionLogSums, o.logSums}};
  if (!isWanted(a, addresses))
    return MPC_RT_OK;
  Entry &entry = entryFor(a, {id, a.batch, false});
  if (!entry.works)
    return MPC_RT_OK;
  if (auto status = scratch.reserve(static_cast<uint64_t>(entry.plan.workspaceBytes()), layer))
    return status;
  return execute(entry, addresses, scratch.data(), layer, engine);
}

mpc_rt_status_t GraphAttender::attendGradient(const Attention &a, uint32_t id,
                                              const AttentionGradientOperands &o, const char *layer,
                                              std::string &engine) {
  engine.clear();
  Addresses addresses = {{dnn::attendedQuery, mutableAddress(o.query)},
                         {dnn::attendedKey, mutableAddress(o.key)},
                         {dnn::attendedValue, mutableAddress(o.value)},
                         {dnn::attended, mutableAddress(o.out)},
                         {dnn::attentionLogSums, mutableAddress(o.logSums)},
                         {dnn::attendedCotangent, mutableAddress(o.cotangent)},
                         {dnn::attendedQueryGradient, o.queryGradient},
                         {dnn::attendedKeyGradient, o.keyGradient},
                         {dnn::attendedValueGradient, o.valueGradient}};
  if (!isWanted(a, addresses))
    return MPC_RT_OK;
  Entry &entry = entryFor(a, {id, a.batch, true});
  if (!entry.works)
    return MPC_RT_OK;
  const uint64_t rowBytes =
      alignUp(static_cast<uint64_t>(a.rows()) * dtypeSize(MPC_RT_FLOAT32), rowAlignment);
  if (auto status =
          scratch.reserve(rowBytes + static_cast<uint64_t>(entry.plan.workspaceBytes()), layer))
    return status;
  addresses.emplace_back(dnn::attentionRowSums, scratch.data());
  addresses.emplace_back(dnn::attentionOne, &entry.one);
  return execute(entry, addresses, scratch.data() + rowBytes, layer, engine);
}

} // namespace mpc::rt::cuda
