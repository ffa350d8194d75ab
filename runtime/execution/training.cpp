// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The custom training loop at the C boundary.
#include "mpc-rt/training.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"

#include <cstring>

using namespace mpc::rt;

mpc_rt_status_t mpc::rt::openLoop(mpc_rt_context_t &context) {
  if (context.trainLoop)
    return MPC_RT_OK;
  auto loop = std::make_unique<TrainLoop>(context.allocator);
  if (auto status = loop->open(context.executable()))
    return status;
  context.trainLoop = std::move(loop);
  return MPC_RT_OK;
}

namespace {

template <typename Body>
mpc_rt_status_t withLoop(const char *what, mpc_rt_context_t *context, Body body) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: context is null", what);
  ContextUse use(&context->user, what);
  if (use.status())
    return use.status();
  return guard(what, [&]() -> mpc_rt_status_t {
    if (auto status = openLoop(*context))
      return status;
    return body(*context->trainLoop);
  });
}

} // namespace

extern "C" {

uint32_t mpc_rt_model_gradient_count(const mpc_rt_model_t *model) {
  uint32_t count = 0;
  if (model)
    (void)guard("mpc_rt_model_gradient_count", [&]() -> mpc_rt_status_t {
      count = static_cast<uint32_t>(findGradients(*model->executable).size());
      return MPC_RT_OK;
    });
  return count;
}

mpc_rt_status_t mpc_rt_model_gradient_info(const mpc_rt_model_t *model, uint32_t gradient,
                                           mpc_rt_gradient_info_t *info) {
  if (!model || !info || info->struct_size < sizeof(*info))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_model_gradient_info: a null argument, or info.struct_size is not set");
  return guard("mpc_rt_model_gradient_info", [&]() -> mpc_rt_status_t {
    std::vector<GradientEntry> gradients = findGradients(*model->executable);
    if (gradient >= gradients.size())
      return fail(MPC_RT_NOT_FOUND, "%s: no gradient %u; the model has %zu",
                  model->executable->model_name, gradient, gradients.size());
    const GradientEntry &entry = gradients[gradient];
    info->variable = entry.variable;
    info->path = model->executable->variables[entry.variable].tensor.name;
    info->dtype = entry.tensor->dtype;
    info->rank = entry.tensor->rank;
    info->dims = entry.tensor->dims;
    info->bytes = tensorBytes(*entry.tensor);
    return MPC_RT_OK;
  });
}

mpc_rt_status_t mpc_rt_context_forward(mpc_rt_context_t *context, const void *const *inputs,
                                       void *const *outputs, int64_t batch) {
  return withLoop("mpc_rt_context_forward", context, [&](TrainLoop &loop) {
    return context->batchParts ? context->batchParts->forward(inputs, outputs, batch)
                               : loop.forward(*context, inputs, outputs, batch);
  });
}

mpc_rt_status_t mpc_rt_context_backward(mpc_rt_context_t *context, void *const *gradients) {
  return withLoop("mpc_rt_context_backward", context, [&](TrainLoop &loop) {
    return context->batchParts ? context->batchParts->backward(gradients)
                               : loop.backward(*context, gradients);
  });
}

mpc_rt_status_t mpc_rt_context_unscale_gradients(mpc_rt_context_t *context, void *const *gradients,
                                                 int32_t *finite) {
  return withLoop("mpc_rt_context_unscale_gradients", context, [&](TrainLoop &loop) {
    return context->batchParts ? context->batchParts->unscale(gradients, finite)
                               : loop.unscale(*context, gradients, finite);
  });
}

mpc_rt_status_t mpc_rt_context_apply_gradients(mpc_rt_context_t *context, void *const *gradients,
                                               mpc_rt_applied_t *applied) {
  return withLoop("mpc_rt_context_apply_gradients", context, [&](TrainLoop &loop) {
    return context->batchParts ? context->batchParts->apply(gradients, applied)
                               : loop.apply(*context, gradients, applied);
  });
}

void *mpc_rt_context_gradient(mpc_rt_context_t *context, uint32_t gradient) {
  void *buffer = nullptr;
  (void)withLoop("mpc_rt_context_gradient", context, [&](TrainLoop &loop) -> mpc_rt_status_t {
    buffer = loop.ownGradient("mpc_rt_context_gradient", gradient);
    return MPC_RT_OK;
  });
  return buffer;
}

} // extern "C"
