// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products by their rate, everything else by its bytes.
#include "mpc/Numerics/Search/CostModel.h"
#include "mpc/Support/Dtype.h"
#include "llvm/ADT/STLExtras.h"

using namespace mpc;

// Rates of two threads by the notes of each machine in benchmarks/results, rounded. Where these say
// nothing they are shares of the hardware's peak: int8, GPUs before sm_80, AVX-512 without
// bfloat16. Where no instruction rounds to 16 bits, models with few products take up to 1.18 of
// float32's time (0068).
static constexpr TargetSpeeds kAmx = {"amx-bf16", 250, 2000, 240, 3000, 40, 2.4};
static constexpr TargetSpeeds kAvx512Bf16 = {"avx512-bf16", 440, 880, 420, 1200, 40, 2.4};
static constexpr TargetSpeeds kAvx512Vnni = {"avx512-vnni", 240, 230, 230, 700, 30, 4};
static constexpr TargetSpeeds kAvx512 = {"avx512", 240, 230, 230, 230, 30, 4};
static constexpr TargetSpeeds kAvx2 = {"avx2", 180, 178, 178, 150, 28, 4.4};
static constexpr TargetSpeeds kCuda80 = {"cuda from sm_80", 25e3, 280e3, 280e3, 280e3, 3000, 2};
static constexpr TargetSpeeds kCuda70 = {"cuda before sm_80", 12e3, 11e3, 80e3, 40e3, 700, 2};

const TargetSpeeds &mpc::speedsOfCpu(const llvm::StringMap<bool> &features) {
  auto has = [&](llvm::StringRef name) { return features.lookup(name); };
  if (has("amx-bf16"))
    return kAmx;
  if (has("avx512bf16"))
    return kAvx512Bf16;
  if (has("avx512vnni"))
    return kAvx512Vnni;
  return has("avx512f") ? kAvx512 : kAvx2;
}

const TargetSpeeds &mpc::speedsOfCuda(unsigned architecture) {
  return architecture >= 80 ? kCuda80 : kCuda70;
}

double TargetSpeeds::rateOf(mpc_rt_dtype_t dtype) const {
  switch (dtype) {
  case MPC_RT_FLOAT64:
    return float32 / 2;
  case MPC_RT_BFLOAT16:
    return bfloat16;
  case MPC_RT_FLOAT16:
    return float16;
  case MPC_RT_INT8:
    return int8;
  default:
    return float32;
  }
}

/// The runtime's dtype of a policy's; names that it has no elements of are refused elsewhere.
static mpc_rt_dtype_t dtypeOf(llvm::StringRef name) {
  return runtimeDtypeOf(name).value_or(MPC_RT_FLOAT32);
}

CostModel::CostModel(std::vector<LayerWork> layers, std::vector<DTypePolicy> policies,
                     const TargetSpeeds &speeds, SearchObjective objective, bool trains)
    : layers(std::move(layers)), policies(std::move(policies)), speeds(speeds),
      objective(objective), trains(trains) {
  for (const DTypePolicy &policy : this->policies) {
    computed.push_back(dtypeOf(policy.getComputeDType()));
    computeBytes.push_back(elementBytesOf(computed.back()));
    movedBytes.push_back(computeBytes.back() == 2 ? speeds.narrow : computeBytes.back());
    variableBytes.push_back(
        policy.isQuantized() ? 1 : elementBytesOf(dtypeOf(policy.getVariableDType())));
  }
}

bool CostModel::mayHave(size_t layer, unsigned policy) const {
  const LayerWork &work = layers[layer];
  if (policy == 0)
    return true;
  if (!work.isDecided)
    return false;
  if (work.refused.count(spellingOf(computed[policy]).str()))
    return false;
  const DTypePolicy &given = policies[policy];
  return !given.isQuantized() || work.quantizedForms.count(given.getQuantizationModeName().str());
}

double CostModel::rateOf(unsigned policy) const {
  return speeds.rateOf(policies[policy].isQuantized() ? MPC_RT_INT8 : computed[policy]);
}

/// Bytes that the layer moves, with the conversions of what others made in another dtype.
double CostModel::bytesOf(size_t layer, const PolicyAssignment &assignment) const {
  const LayerWork &work = layers[layer];
  const double own = movedBytes[assignment[layer]];
  double bytes = (work.outputs + 2 * work.inner) * own;
  for (const LayerWork::Input &input : work.inputs) {
    const double other = input.source ? movedBytes[assignment[*input.source]] : movedBytes[0];
    // Half of the conversions are parts of loops that run anyhow.
    bytes += input.elements * ((input.isRead ? own : 0) + (own == other ? 0 : (own + other) / 2));
  }
  const bool isQuantized = policies[assignment[layer]].isQuantized();
  return bytes + work.weights * (isQuantized ? 1 : own);
}

double CostModel::timeOf(size_t layer, const PolicyAssignment &assignment) const {
  const LayerWork &work = layers[layer];
  // Backward there are two products for each, and two passes over what one pass reads.
  const double times = trains ? 3 : 1;
  const double products = times * work.products / rateOf(assignment[layer]);
  const double bytes = times * bytesOf(layer, assignment) / speeds.bytes;
  // Weights are read and updated in their own dtype, and the narrow copy is written.
  const unsigned policy = assignment[layer];
  const bool isNarrowed = trains && computeBytes[policy] < variableBytes[policy];
  const double copies = isNarrowed ? work.weights * computeBytes[policy] / speeds.bytes : 0;
  return std::max(products, bytes) + copies;
}

double CostModel::memoryOf(size_t layer, const PolicyAssignment &assignment) const {
  const LayerWork &work = layers[layer];
  const unsigned policy = assignment[layer];
  double bytes = (work.outputs + work.inner) * computeBytes[policy];
  // A copy in the source's dtype becomes one in the layer's.
  for (const LayerWork::Input &input : work.inputs)
    if (input.source && computeBytes[assignment[*input.source]] != computeBytes[policy])
      bytes += input.elements * computeBytes[policy];
  // Training keeps a copy of the weights in the narrow type.
  const bool isCopied = trains && computeBytes[policy] < variableBytes[policy];
  return bytes + work.weights * (variableBytes[policy] + (isCopied ? computeBytes[policy] : 0));
}

double CostModel::costOf(const PolicyAssignment &assignment) const {
  double cost = 0;
  for (size_t layer = 0; layer < layers.size(); ++layer)
    cost += objective == SearchObjective::Speed ? timeOf(layer, assignment)
                                                : memoryOf(layer, assignment);
  return cost;
}
