// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The algorithms that cuBLASLt's heuristic has for a product, timed with the product itself.
#include "runtime/base/dtype.h"
#include "runtime/drivers/cuda/blas_products.h"
#include "runtime/drivers/cuda/trial_time.h"

#include <algorithm>

namespace mpc::rt::cuda {
namespace {

// Another algorithm is worth having where it is faster by this factor at least: what is nearer is
// within what one measurement differs from the next.
constexpr double worthChanging = 1.03;
constexpr double longEnough = 1e-3, shortest = 1e-6; // seconds
constexpr int mostRuns = 32;

} // namespace

// Sums of parts stay in the type that sums, added by one block after the other: atomic additions
// come in an order of their own in each run.
bool BlasProducts::sumsInOrder(const lt::Algorithm &algorithm) const {
  uint32_t scheme = 0;
  size_t written = 0;
  return blas->configGet(&algorithm, lt::configReductionScheme, &scheme, sizeof scheme, &written) ==
             0 &&
         written == sizeof scheme &&
         (scheme == lt::reduceNothing || scheme == lt::reduceInComputeType);
}

// The product replaces `operands.out`.
bool BlasProducts::readResult(const ProductPlan &plan, const ProductOperands &operands,
                              std::vector<uint8_t> &result, const char *layer) const {
  const auto address = reinterpret_cast<DevicePointer>(operands.out);
  result.resize(plan.shape.outElements() * dtypeSize(plan.shape.out));
  return !session.cuda.memsetBytes(address, 0, result.size(), session.stream) &&
         !issue(plan, operands, layer) &&
         !session.cuda.memcpyToHost(result.data(), address, result.size(), session.stream) &&
         !session.synchronize();
}

// No documentation says it of every algorithm, so it is tried.
bool BlasProducts::givesEqualBytes(const ProductPlan &plan, const ProductOperands &operands,
                                   const char *layer) const {
  std::vector<uint8_t> first, second;
  return readResult(plan, operands, first, layer) && readResult(plan, operands, second, layer) &&
         first == second;
}

bool BlasProducts::measure(ProductPlan &plan, ProductOperands operands, const std::string &key,
                           const char *layer) {
  std::vector<lt::Heuristic> found;
  if (askHeuristic(plan, mostAlgorithms, found))
    return false;
  found.erase(std::remove_if(found.begin(), found.end(),
                             [&](const lt::Heuristic &each) {
                               return each.state || each.workspaceBytes > workspace.size() ||
                                      !sumsInOrder(each.algorithm);
                             }),
              found.end());
  if (found.size() < 2 || !choices.isWorthRuns(found.size() * trialCalls))
    return false;
  // A product that adds to its result must not do so in a trial.
  Memory result(session, Memory::Kind::device);
  bool grew = false;
  if (result.reserve(plan.shape.outElements() * dtypeSize(plan.shape.out),
                     "a trial of cuBLASLt's algorithms", grew))
    return false;
  operands.out = result.data();
  // Beside a short product a launch and a wait take most of the time: several in a row.
  int runs = 1;
  const auto issueRuns = [&] {
    mpc_rt_status_t status = MPC_RT_OK;
    for (int run = 0; run < runs && !status; ++run)
      status = issue(plan, operands, layer);
    return status;
  };
  plan.choice = found[0];
  double seconds = 0;
  if (!timeOnStream(session, issueRuns, seconds))
    return false;
  runs = std::clamp(static_cast<int>(longEnough / std::max(seconds, shortest)), 1, mostRuns);
  if (!choices.isWorthRuns(found.size() * trialCalls * static_cast<size_t>(runs)))
    runs = 1;
  std::vector<std::pair<double, unsigned>> times; // and places among the heuristic's
  for (unsigned i = 0; i < found.size(); ++i) {
    plan.choice = found[i];
    if (timeOnStream(session, issueRuns, seconds))
      times.emplace_back(i == 0 ? seconds / worthChanging : seconds, i);
  }
  std::sort(times.begin(), times.end());
  for (auto [time, i] : times) {
    plan.choice = found[i];
    if (!givesEqualBytes(plan, operands, layer))
      continue;
    choices.set(key, {plan.choice.algorithm, i + 1});
    return true;
  }
  return false;
}

} // namespace mpc::rt::cuda
