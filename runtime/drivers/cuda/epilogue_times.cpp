// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether an epilogue of cuBLASLt is worth having: timed with the product itself, when its plan is
// made, and kept on disk with the algorithm. It selects the same numbers either way; another
// algorithm may add them in another order.
#include "runtime/drivers/cuda/contractor.h"
#include "runtime/drivers/cuda/trial_time.h"

namespace mpc::rt::cuda {

bool Contractor::isWorthwhile(const Plan &plan, const Operands &operands, const char *layer) {
  const Contraction &c = plan.shape;
  if (!isWorthTrial(2.0 * static_cast<double>(c.outElements()) * static_cast<double>(c.k)))
    return true;
  const std::string apart = keyOf(plan) + ",apart";
  lt::Algorithm noted = {};
  if (algorithms.find(apart, noted))
    return false;
  Plan other;
  other.shape = c;
  other.alignments = plan.alignments;
  auto together = [&] { return issue(plan, operands, layer); };
  auto oneByOne = [&] {
    auto status = issue(other, operands, layer);
    return status ? status : kernels.launchWhere(c, operands.out, operands.bits.where);
  };
  double seconds = 0, secondsApart = 0;
  const bool isTimed =
      describe(other, layer) == MPC_RT_OK && setEpilogue(other, 0, operands, layer) == MPC_RT_OK &&
      choose(other, layer) == MPC_RT_OK && timeOnStream(session, together, seconds) &&
      timeOnStream(session, oneByOne, secondsApart);
  release(other);
  if (!isTimed || seconds <= clearlySlower * secondsApart)
    return true;
  algorithms.add(apart, noted);
  return false;
}

} // namespace mpc::rt::cuda
