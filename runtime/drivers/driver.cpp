// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defaults of Driver, in terms of its other functions.
#include "runtime/drivers/driver.h"

#include <atomic>
#include <new>

namespace mpc::rt {

mpc_rt_status_t Driver::prepare(const mpc_rt_call_t &call, mpc_rt_prepare_fn fill, uint64_t bytes,
                                void *&memory) {
  reserve(prepared, bytes);
  memory = prepared.data();
  return static_cast<mpc_rt_status_t>(fill(&call, memory));
}

void Driver::parallelForAll(const mpc_rt_launch_t *launches, uint32_t count) {
  for (const mpc_rt_launch_t *launch = launches; launch != launches + count; ++launch)
    parallelFor(launch->kernel, launch->arguments, launch->count, launch->grain);
}

mpc_rt_status_t Driver::contract(const mpc_rt_contract_t &descriptor,
                                 const mpc_rt_contract_call_t &call) {
  Contraction shape;
  if (auto status = resolveContraction(descriptor, call, shape))
    return status;
  return takes(shape, call) ? multiply(descriptor, shape, call) : compose(descriptor, shape, call);
}

mpc_rt_status_t Driver::runRows(const RowLoop &loop) {
  rowLoop = &loop;
  const int32_t status = loop.body(loop.call, 0, loop.count);
  rowLoop = nullptr;
  return static_cast<mpc_rt_status_t>(status);
}

void Driver::launchRows(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t /*begin*/,
                        int64_t end, int64_t grain) {
  parallelFor(kernel, arguments, end, grain);
}

mpc_rt_status_t Driver::contractRows(uint32_t product, const void *lhs, void *out,
                                     int64_t /*begin*/, int64_t /*end*/) {
  const mpc_rt_rows_product_t &own = rowLoop->products[product];
  return contract(*own.descriptor, contractCall(lhs, own.rhs, own.bias, out, rowLoop->batch));
}

namespace {
// Attention of pairs of sample and head, or its derivative.
template <typename Operands> struct Heads {
  const Attention &shape;
  const Operands &operands;
  std::atomic<bool> isOutOfMemory{false}; // no exception may leave a thread
};

void runHeads(const Heads<AttentionOperands> &heads, int64_t begin, int64_t end) {
  attendDirectly(heads.shape, heads.operands, begin, end);
}
void runHeads(const Heads<AttentionGradientOperands> &heads, int64_t begin, int64_t end) {
  attendGradientDirectly(heads.shape, heads.operands, begin, end);
}

template <typename Operands>
mpc_rt_status_t attendByLoops(Driver &driver, const Attention &shape, const Operands &operands) {
  Heads<Operands> heads{shape, operands};
  void *arguments[] = {&heads};
  driver.parallelFor(
      [](void *const *given, int64_t begin, int64_t end) {
        auto &own = *static_cast<Heads<Operands> *>(given[0]);
        try {
          runHeads(own, begin, end);
        } catch (const std::bad_alloc &) {
          own.isOutOfMemory = true;
        }
      },
      arguments, shape.batch * shape.heads, /*grain=*/1);
  if (heads.isOutOfMemory)
    throw std::bad_alloc(); // as where the caller's own memory ends
  return MPC_RT_OK;
}
} // namespace

mpc_rt_status_t Driver::attend(const mpc_rt_attention_t &descriptor,
                               const mpc_rt_attend_call_t &call) {
  Attention shape;
  if (auto status = resolveAttention(descriptor, call, shape))
    return status;
  if (!computes())
    return MPC_RT_OK;
  return shape.isGradient ? attendByLoops(*this, shape, gradientOperandsOf(descriptor, call))
                          : attendByLoops(*this, shape, operandsOf(descriptor, call));
}

} // namespace mpc::rt
