// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/summed_products.h"

#include "runtime/collectives/part_meeting.h"
#include "runtime/drivers/part_product.h"
#include "runtime/execution/context.h"

#include <algorithm>

namespace mpc::rt {
namespace {

struct Brought {
  PartProduct *product; // null: the part cannot
  void *out;
  bool isMuted;
};

const Brought &of(const void *brought) { return *static_cast<const Brought *>(brought); }

PartMeeting::Work planSum(const PartMeeting::Brought &brought) {
  PartProduct *first = of(brought.front()).product;
  const auto goes = [&](const void *part) {
    const PartProduct *product = of(part).product;
    return product && first && product->goesWith(*first);
  };
  if (!std::all_of(brought.begin(), brought.end(), goes))
    return {};
  std::vector<const PartProduct *> summed;
  for (const void *part : brought)
    summed.push_back(of(part).isMuted ? nullptr : of(part).product);
  auto *out = static_cast<float *>(of(brought.front()).out);
  return {first->blocks(), [brought, summed, out](unsigned part, size_t block) {
            of(brought[part]).product->sum(summed, block, out);
          }};
}

} // namespace

mpc_rt_status_t sumOverParts(mpc_rt_context_t &context, const mpc_rt_contract_t &descriptor,
                             const mpc_rt_contract_call_t &call, bool &done) {
  done = false;
  RankReductions *reductions = context.rankReductions.get();
  PartMeeting *meeting = reductions ? reductions->reducer.meeting() : nullptr;
  PartKernels *kernels = context.driver->kernels().ofParts();
  const bool plans = context.isReserving && context.isOneOfParts;
  if (context.valueWatch || !kernels || !(plans || (meeting && !context.isReserving)))
    return MPC_RT_OK;
  Brought own = {nullptr, call.out, reductions && reductions->isMute()};
  if (auto status = kernels->prepareSum(descriptor, call, /*packs=*/!plans, own.product))
    return status;
  if (plans) {
    done = own.product;
    return MPC_RT_OK;
  }
  if (auto status = meeting->meet(reductions->reducer.part(), &own, planSum, done))
    return status;
  if (done)
    reductions->keepSum(call.out);
  return MPC_RT_OK;
}

} // namespace mpc::rt
