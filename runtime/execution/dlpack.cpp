// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DLPack tensors at the C boundary.
#include "mpc-rt/dlpack.h"
#include "mpc-rt/training.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"
#include "runtime/execution/dlpack_view.h"
#include "runtime/execution/entries_of_shapes.h"

#include <algorithm>
#include <string>

using namespace mpc::rt;

namespace {

uint64_t bytesOf(const mpc_rt_buffer_t &view) {
  uint64_t count = 0; // was in range when the view was made
  (void)countElements(view.dims, view.rank, count);
  return count * dtypeSize(view.dtype);
}

// One call: views of what came, memory for what is made. Tensors on the GPU stay there, but for
// those whose values are checked.
class TensorCall {
public:
  TensorCall(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry)
      : context(context), entry(entry) {}

  mpc_rt_status_t take(DLManagedTensor *const *inputs);
  mpc_rt_status_t bindOutputs(DLManagedTensor *const *outputs);
  mpc_rt_status_t run();
  mpc_rt_status_t give(DLManagedTensor **outputs);

private:
  struct Tensor {
    mpc_rt_buffer_t view = {};
    Buffer memory;
    bool onDevice = false;
  };
  mpc_rt_status_t view(const char *kind, const mpc_rt_tensor_info_t &info,
                       const DLManagedTensor *given, Tensor &tensor);
  mpc_rt_status_t copyToHost(const mpc_rt_tensor_info_t &info, Tensor &tensor);
  mpc_rt_status_t allocate(const mpc_rt_tensor_info_t &info, Tensor &tensor);
  mpc_rt_status_t makeOutput(const mpc_rt_tensor_info_t &info, Tensor &tensor);

  mpc_rt_context_t &context;
  const mpc_rt_entry_info_t &entry;
  std::vector<Tensor> from, to;
  int64_t batch = 1;
};

mpc_rt_status_t TensorCall::allocate(const mpc_rt_tensor_info_t &info, Tensor &tensor) {
  tensor.memory = Buffer(context.allocator);
  const uint64_t bytes = bytesOf(tensor.view);
  if (!tensor.memory.reserve(bytes))
    return failToAllocate(info.name, bytes, tensor.memory.problem());
  tensor.view.data = tensor.memory.data();
  return MPC_RT_OK;
}

mpc_rt_status_t TensorCall::view(const char *kind, const mpc_rt_tensor_info_t &info,
                                 const DLManagedTensor *given, Tensor &tensor) {
  const std::string where = std::string(entry.name) + ": " + kind + " '" + info.name + "'";
  return viewTensor(given, where.c_str(), context.cudaOrdinal, tensor.view, tensor.onDevice);
}

mpc_rt_status_t TensorCall::copyToHost(const mpc_rt_tensor_info_t &info, Tensor &tensor) {
  const void *onDevice = tensor.view.data;
  if (auto status = allocate(info, tensor))
    return status;
  tensor.onDevice = false;
  return context.driver->deviceMemory().copyToHost(tensor.view.data, onDevice,
                                                   bytesOf(tensor.view));
}

mpc_rt_status_t TensorCall::take(DLManagedTensor *const *inputs) {
  from.resize(entry.input_count);
  for (uint32_t i = 0; i < entry.input_count; ++i) {
    const mpc_rt_tensor_info_t &info = entry.inputs[i];
    if (auto status = view("input", info, inputs[i], from[i]))
      return status;
    const mpc_rt_buffer_t &have = from[i].view;
    if (from[i].onDevice && info.index_limit > 0)
      if (auto status = copyToHost(info, from[i]))
        return status;
    if (info.rank && info.dims[0] == MPC_RT_DYNAMIC && have.rank == info.rank)
      batch = have.dims[0];
  }
  return MPC_RT_OK;
}

mpc_rt_status_t TensorCall::makeOutput(const mpc_rt_tensor_info_t &info, Tensor &tensor) {
  tensor.view.dtype = info.dtype;
  tensor.view.rank = info.rank;
  for (uint32_t i = 0; i < info.rank; ++i)
    tensor.view.dims[i] = info.dims[i] == MPC_RT_DYNAMIC ? batch : info.dims[i];
  uint64_t elements = 0;
  if (!countElements(tensor.view.dims, info.rank, elements) || elements > (uint64_t{1} << 44))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: output '%s' is too large for batch %lld", entry.name,
                info.name, static_cast<long long>(batch));
  return allocate(info, tensor);
}

mpc_rt_status_t TensorCall::bindOutputs(DLManagedTensor *const *outputs) {
  to.resize(entry.output_count);
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    const mpc_rt_tensor_info_t &info = entry.outputs[i];
    if (auto status =
            outputs[i] ? view("output", info, outputs[i], to[i]) : makeOutput(info, to[i]))
      return status;
  }
  return MPC_RT_OK;
}

mpc_rt_status_t TensorCall::run() {
  std::vector<mpc_rt_buffer_t> inputs, outputs;
  DeviceTensors onDevice;
  for (const Tensor &tensor : from) {
    inputs.push_back(tensor.view);
    onDevice.inputs.push_back(tensor.onDevice);
  }
  for (const Tensor &tensor : to) {
    outputs.push_back(tensor.view);
    onDevice.outputs.push_back(tensor.onDevice);
  }
  return runChecked(context, entry, inputs.data(), outputs.data(), &onDevice);
}

mpc_rt_status_t TensorCall::give(DLManagedTensor **outputs) {
  std::vector<DLManagedTensor *> made(to.size());
  mpc_rt_status_t status = guard(entry.name, [&]() -> mpc_rt_status_t {
    for (size_t i = 0; i < to.size(); ++i)
      if (!outputs[i])
        made[i] = makeTensor(to[i].view, std::move(to[i].memory), nullptr);
    return MPC_RT_OK;
  });
  for (size_t i = 0; i < made.size(); ++i)
    if (made[i] && status)
      made[i]->deleter(made[i]);
    else if (made[i])
      outputs[i] = made[i];
  return status;
}

mpc_rt_status_t giveMemory(const char *what, mpc_rt_context_t &context,
                           const mpc_rt_tensor_info_t &info, void *data, DLManagedTensor **tensor) {
  if (!data)
    return fail(MPC_RT_RESOURCE_EXHAUSTED, "%s: '%s': %s", what, info.name, mpc_rt_last_error());
  mpc_rt_buffer_t view = {data, info.dtype, info.rank, {}};
  std::copy_n(info.dims, info.rank, view.dims);
  return guard(what, [&]() -> mpc_rt_status_t {
    *tensor = makeTensor(view, Buffer(), &context);
    return MPC_RT_OK;
  });
}

} // namespace

extern "C" {

mpc_rt_status_t mpc_rt_context_run_dlpack(mpc_rt_context_t *context, uint32_t entry,
                                          DLManagedTensor *const *inputs, uint32_t input_count,
                                          DLManagedTensor **outputs, uint32_t output_count) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_run_dlpack: context is null");
  const mpc_rt_entry_info_t *info =
      findEntry(*context, entry, inputs, input_count, outputs, output_count);
  if (!info)
    return MPC_RT_INVALID_ARGUMENT;
  return guard(info->name, [&] {
    const mpc_rt_entry_info_t &chosen =
        entryForShapes(context->executable(), *info, [&](uint32_t input) {
          const DLManagedTensor *given = inputs[input];
          const bool hasShape = given && given->dl_tensor.shape && given->dl_tensor.ndim > 0;
          return hasShape ? ShapeView{given->dl_tensor.shape,
                                      static_cast<uint32_t>(given->dl_tensor.ndim)}
                          : ShapeView{nullptr, 0};
        });
    TensorCall call(*context, chosen);
    mpc_rt_status_t status = call.take(inputs);
    status = status ? status : call.bindOutputs(outputs);
    status = status ? status : call.run();
    return status ? status : call.give(outputs);
  });
}

mpc_rt_status_t mpc_rt_context_variable_dlpack(mpc_rt_context_t *context, uint32_t variable,
                                               DLManagedTensor **tensor) {
  if (!context || !tensor)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_variable_dlpack: context or tensor is null");
  *tensor = nullptr;
  auto &executable = context->executable();
  if (variable >= executable.variable_count)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_variable_dlpack: no variable %u; the model has %u", variable,
                executable.variable_count);
  return giveMemory("mpc_rt_context_variable_dlpack", *context,
                    executable.variables[variable].tensor,
                    mpc_rt_context_variable(context, variable, nullptr), tensor);
}

mpc_rt_status_t mpc_rt_context_set_variable_dlpack(mpc_rt_context_t *context, uint32_t variable,
                                                   const DLManagedTensor *tensor) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_set_variable_dlpack: context is null");
  auto &executable = context->executable();
  if (variable >= executable.variable_count)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_set_variable_dlpack: no variable %u; the model has %u", variable,
                executable.variable_count);
  auto &info = executable.variables[variable].tensor;
  mpc_rt_buffer_t view = {};
  bool onDevice = false;
  if (auto status = viewTensor(tensor, info.name, -1, view, onDevice))
    return status;
  if (view.rank != info.rank || !std::equal(view.dims, view.dims + view.rank, info.dims))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: the tensor's shape differs; expected the variable's",
                info.name);
  return mpc_rt_context_set_variable(context, variable, view.dtype, view.data, bytesOf(view));
}

mpc_rt_status_t mpc_rt_context_gradient_dlpack(mpc_rt_context_t *context, uint32_t gradient,
                                               DLManagedTensor **tensor) {
  if (!context || !tensor)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_gradient_dlpack: context or tensor is null");
  *tensor = nullptr;
  mpc_rt_gradient_info_t info = {};
  info.struct_size = sizeof(info);
  if (auto status = mpc_rt_model_gradient_info(context->model, gradient, &info))
    return status;
  const mpc_rt_tensor_info_t shown = {info.path, info.dtype, info.rank, info.dims, 0};
  return giveMemory("mpc_rt_context_gradient_dlpack", *context, shown,
                    mpc_rt_context_gradient(context, gradient), tensor);
}

mpc_rt_status_t mpc_rt_buffer_from_dlpack(const DLManagedTensor *tensor, mpc_rt_buffer_t *buffer) {
  if (!buffer)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_buffer_from_dlpack: buffer is null");
  bool onDevice = false;
  mpc_rt_buffer_t view = {};
  if (auto status = viewTensor(tensor, "mpc_rt_buffer_from_dlpack", -1, view, onDevice))
    return status;
  *buffer = view;
  return MPC_RT_OK;
}

void mpc_rt_dlpack_release(DLManagedTensor *tensor) {
  if (tensor && tensor->deleter)
    tensor->deleter(tensor);
}

} // extern "C"
