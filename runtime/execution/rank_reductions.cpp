// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/rank_reductions.h"

#include "mpc-rt/collectives.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/collectives/combine.h"
#include "runtime/collectives/communicator.h"
#include "runtime/drivers/call_struct.h"
#include "runtime/execution/context.h"
#include "runtime/execution/services.h"

#include <algorithm>
#include <utility>

namespace mpc::rt {

RankReductions::RankReductions(Reducer &reducer, DeviceMemory &memory, bool hasResults)
    : reducer(reducer), hasResults(hasResults),
      staged(memory.isApart() ? std::make_unique<StagedArrays>(memory) : nullptr),
      reducerLives(reducer.lifetime()) {}

mpc_rt_status_t RankReductions::start(const mpc_rt_all_reduce_t &descriptor, void *data) {
  const bool gathers = descriptor.flags & MPC_RT_ALL_REDUCE_GATHERS;
  const size_t count = size_t(descriptor.count);
  const auto sum = std::find(sums.begin(), sums.end(), data);
  const bool isSummed = sum != sums.end();
  if (isSummed)
    sums.erase(sum);
  const bool isNeutral =
      isMuted && !gathers && !isSummed && !(descriptor.flags & MPC_RT_ALL_REDUCE_ALWAYS);
  if (staged)
    if (auto status = staged->fetch(descriptor.bucket, data, count * dtypeSize(descriptor.dtype),
                                    /*isUnread=*/isNeutral, data))
      return status;
  if (isNeutral)
    fillNeutral(descriptor.dtype, mpc_rt_reduction_t(descriptor.reduction), data, count);
  const bool toParts = descriptor.flags & MPC_RT_ALL_REDUCE_TO_PARTS;
  areForResults &= (descriptor.flags & MPC_RT_ALL_REDUCE_FOR_RESULTS) != 0;
  (toParts ? openToParts : open).push_back({data, count, isSummed});
  if (!(descriptor.flags & MPC_RT_ALL_REDUCE_ENDS_BUCKET))
    return MPC_RT_OK;
  if (staged)
    if (auto status = staged->arrive(descriptor.bucket))
      return status;
  if (numbers.size() <= descriptor.bucket)
    numbers.resize(descriptor.bucket + 1);
  send(descriptor, openToParts, Share::ownPart);
  send(descriptor, open, gathers ? Share::gathered : Share::whole);
  areForResults = true;
  return MPC_RT_OK;
}

void RankReductions::send(const mpc_rt_all_reduce_t &descriptor, std::vector<RankArray> &arrays,
                          Share share) {
  if (arrays.empty())
    return;
  const Reduction reduction = {descriptor.dtype, mpc_rt_reduction_t(descriptor.reduction), share,
                               areForResults,
                               (descriptor.flags & MPC_RT_ALL_REDUCE_IN_BFLOAT16) != 0};
  const uint64_t number = reducer.start(reduction, std::exchange(arrays, {}));
  numbers[descriptor.bucket] = number;
  if (share == Share::gathered)
    lastGather = number;
}

mpc_rt_status_t RankReductions::wait(uint32_t bucket) {
  if (bucket < numbers.size())
    if (auto status = waitFor(numbers[bucket]))
      return status;
  return staged ? staged->giveBack(bucket) : MPC_RT_OK;
}

mpc_rt_status_t RankReductions::waitFor(uint64_t number) {
  const mpc_rt_status_t status = reducer.wait(number);
  if (status == MPC_RT_OK)
    waited = std::max(waited, number);
  return status;
}

mpc_rt_status_t RankReductions::enter(const mpc_rt_entry_info_t &entry) {
  const bool isAnother = std::exchange(lastEntry, &entry) != &entry;
  return isAnother ? settle() : MPC_RT_OK;
}

mpc_rt_status_t RankReductions::settle() {
  return waited < lastGather ? waitFor(lastGather) : MPC_RT_OK;
}

RankReductions::~RankReductions() {
  if (madeAfterForks == forksSeen() && !reducerLives.expired())
    (void)settle(); // a failure is one of the job, which the next call tells
}

mpc_rt_status_t settleRanks(mpc_rt_context_t &context) {
  return context.rankReductions ? context.rankReductions->settle() : MPC_RT_OK;
}

namespace {

// Without ranks an array is its own reduction.
template <typename Body>
int32_t withRanks(void *context, const mpc_rt_all_reduce_t *descriptor,
                  const mpc_rt_all_reduce_call_t *given, Body body) {
  const char *layer =
      descriptor->layer && *descriptor->layer ? descriptor->layer : "reduction over ranks";
  return guard(layer, [&]() -> mpc_rt_status_t {
    mpc_rt_all_reduce_call_t call;
    if (auto status = readCall(layer, *given, MPC_RT_ALL_REDUCE_CALL_MINIMUM, call))
      return status;
    auto &used = *static_cast<mpc_rt_context_t *>(context);
    if (used.isReserving)
      return MPC_RT_OK;
    if (!used.rankReductions) {
      if (descriptor->reduction == MPC_RT_REDUCTION_SUM_BEFORE)
        return used.driver->deviceMemory().clear(call.data, size_t(descriptor->count) *
                                                                dtypeSize(descriptor->dtype));
      return MPC_RT_OK;
    }
    return body(*used.rankReductions, call);
  });
}

int32_t allReduceService(void *context, const mpc_rt_all_reduce_t *descriptor,
                         const mpc_rt_all_reduce_call_t *given) {
  return withRanks(context, descriptor, given, [&](RankReductions &ranks, const auto &call) {
    return ranks.start(*descriptor, call.data);
  });
}

int32_t waitForRanksService(void *context, const mpc_rt_all_reduce_t *descriptor,
                            const mpc_rt_all_reduce_call_t *given) {
  return withRanks(context, descriptor, given, [&](RankReductions &ranks, const auto &) {
    return ranks.wait(descriptor->bucket);
  });
}

int32_t ownPartService(void *context, int64_t count, int64_t *part) {
  auto &used = *static_cast<mpc_rt_context_t *>(context);
  const auto &parts = used.variableParts;
  if (parts && !used.isReserving)
    parts->keepOwn(); // an update asks, when it has all that it needs of whole variables
  if (used.rankReductions && !used.rankReductions->hasResults)
    count = 0;
  const RankPart own = parts ? parts->ownPart(size_t(count)) : RankPart{0, size_t(count)};
  part[0] = int64_t(own.begin);
  part[1] = int64_t(own.end - own.begin);
  return MPC_RT_OK;
}

} // namespace

mpc_rt_status_t checkDistributed(const mpc_rt_context_t &context) {
  const mpc_rt_executable_t &executable = context.executable();
  if (executable.flags & MPC_RT_EXECUTABLE_DISTRIBUTED)
    return MPC_RT_OK;
  return fail(MPC_RT_FAILED_PRECONDITION,
              "%s: was compiled for one rank; compile it with --distributed",
              executable.model_name);
}

void setRankReductions(mpc_rt_services_t &services) noexcept {
  services.all_reduce = allReduceService;
  services.wait_for_ranks = waitForRanksService;
  services.own_part = ownPartService;
}

} // namespace mpc::rt

mpc_rt_status_t mpc_rt_context_set_communicator(mpc_rt_context_t *context,
                                                mpc_rt_communicator_t *communicator) {
  using namespace mpc::rt;
  return guard("mpc_rt_context_set_communicator", [&]() -> mpc_rt_status_t {
    if (!context)
      return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_set_communicator: context is null");
    const mpc_rt_executable_t &executable = context->executable();
    if (MPC_RT_EXECUTABLE_HAS(&executable, batch_parts) && executable.batch_parts)
      return mpc_rt_context_set_parts(context, communicator, executable.batch_parts);
    // A job of one rank reduces nothing, and its batches may not be empty.
    const bool isShared = communicator && communicator->communicator.size() > 1;
    if (isShared)
      if (auto status = checkDistributed(*context))
        return status;
    if (auto status = shareVariables(*context, isShared ? &communicator->communicator : nullptr))
      return status;
    context->batchParts.reset();
    context->rankReductions =
        isShared ? std::make_unique<RankReductions>(communicator->communicator,
                                                    context->driver->deviceMemory())
                 : nullptr;
    context->driver->deviceMemory().forgetRuns();
    return MPC_RT_OK;
  });
}
