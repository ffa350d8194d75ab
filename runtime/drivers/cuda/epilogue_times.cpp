// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether an epilogue of cuBLASLt is worth having: timed with the product itself, when its plan is
// made, and kept on disk with the algorithm. It selects the same numbers either way; another
// algorithm may add them in another order.
#include "runtime/drivers/cuda/epilogue_trials.h"
#include "runtime/drivers/cuda/trial_time.h"

namespace mpc::rt::cuda {

bool EpilogueTrials::isWorthwhile(const ProductPlan &plan, const ProductOperands &operands,
                                  const char *layer) {
  const Contraction &c = plan.shape;
  if (!isWorthTrial(2.0 * static_cast<double>(c.outElements()) * static_cast<double>(c.k)))
    return true;
  const std::string apart = products.keyOf(plan) + ",apart";
  lt::Algorithm noted = {};
  if (products.algorithms.find(apart, noted))
    return false;
  ProductPlan other;
  other.shape = c;
  other.inTf32 = plan.inTf32;
  other.alignments = plan.alignments;
  auto together = [&] { return products.issue(plan, operands, layer); };
  auto oneByOne = [&] {
    auto status = products.issue(other, operands, layer);
    return status ? status : kernels.launchWhere(c, operands.out, operands.bits.where);
  };
  double seconds = 0, secondsApart = 0;
  const bool isTimed = products.describe(other, layer) == MPC_RT_OK &&
                       products.setEpilogue(other, 0, operands, layer) == MPC_RT_OK &&
                       products.choose(other, operands, layer) == MPC_RT_OK &&
                       timeOnStream(session, together, seconds) &&
                       timeOnStream(session, oneByOne, secondsApart);
  products.release(other);
  if (!isTimed || seconds <= clearlySlower * secondsApart)
    return true;
  products.algorithms.add(apart, noted);
  return false;
}

} // namespace mpc::rt::cuda
