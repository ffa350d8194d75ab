// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of the C ABI on arrays. Sizes are checked here against the model's tables, whatever the
// Python code in front of this has checked, so that no array is read or written out of bounds.
#include "python/src/context.h"
#include "mpc-rt/dlpack.h"
#include "python/src/dtypes.h"
#include "python/src/errors.h"
#include "python/src/unlocked.h"

#include <chrono>
#include <deque>
#include <unistd.h>

namespace mpc::python {

Model::Model(const std::string &path) { check(mpc_rt_model_load(path.c_str(), &handle)); }

Context::Context(std::shared_ptr<Model> of, const std::string &device, uint32_t threads,
                 uint64_t seed, bool loadInitial)
    : model(std::move(of)) {
  if (device.find('\0') != std::string::npos)
    refuse("device holds a null character; expected cpu or cuda:N");
  Unlocked unlocked;
  mpc_rt_context_options_t options;
  mpc_rt_context_options_init(&options);
  options.device = device.c_str();
  options.threads = threads;
  options.seed = seed;
  check(mpc_rt_context_create(model->handle, &options, &handle));
  if (!loadInitial)
    return;
  if (mpc_rt_status_t status = mpc_rt_context_load_initial(handle, nullptr)) {
    RuntimeFailure failure{status, mpc_rt_last_error()};
    mpc_rt_context_release(handle);
    throw failure;
  }
}

Communicator::Communicator(double timeoutSeconds, uint64_t mpiCommunicator) {
  Unlocked unlocked;
  mpc_rt_communicator_options_t options;
  mpc_rt_communicator_options_init(&options);
  options.timeout_seconds = timeoutSeconds;
  options.mpi_communicator = reinterpret_cast<const void *>(mpiCommunicator);
  check(mpc_rt_communicator_create(&options, &handle));
}

void Context::setRanks(std::shared_ptr<Communicator> communicator, uint32_t parts) {
  Unlocked unlocked;
  std::lock_guard<Turn> lock(busy);
  mpc_rt_communicator_t *given = communicator ? communicator->handle : nullptr;
  const bool isAlone = !given || mpc_rt_communicator_size(given) == 1;
  check(parts ? mpc_rt_context_set_parts(handle, given, parts)
              : mpc_rt_context_set_communicator(handle, isAlone ? nullptr : given));
  ranks = std::move(communicator); // lives as long as the context computes with it
}

void Context::gatherVariables(bool keep) {
  Unlocked unlocked;
  std::lock_guard<Turn> lock(busy);
  check(mpc_rt_context_gather_variables(handle, keep));
}

void Turn::lock() {
  while (!mutex.try_lock_for(std::chrono::seconds(1)))
    if (holder != ::getpid())
      throw RuntimeFailure{MPC_RT_FAILED_PRECONDITION,
                           "another thread was running the model when this process was forked; "
                           "expected a model that nobody runs then; load it again here"};
  holder = ::getpid();
}

namespace {

void describe(const char *kind, const mpc_rt_tensor_info_t &tensor, int64_t batch, void *data,
              size_t bytes, mpc_rt_buffer_t &buffer) {
  buffer.data = data;
  buffer.dtype = tensor.dtype;
  buffer.rank = tensor.rank;
  uint64_t wanted = mpc_rt_dtype_size(tensor.dtype);
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    buffer.dims[i] = tensor.dims[i] == MPC_RT_DYNAMIC ? batch : tensor.dims[i];
    if (__builtin_mul_overflow(wanted, static_cast<uint64_t>(buffer.dims[i]), &wanted))
      refuse(std::string(kind) + " '" + tensor.name + "': the batch is too large");
  }
  if (bytes != wanted)
    refuse(std::string(kind) + " '" + tensor.name + "' has " + std::to_string(bytes) +
           " bytes; expected " + std::to_string(wanted));
}

template <typename Array>
void describe(const char *kind, const mpc_rt_tensor_info_t &tensor, int64_t batch,
              const Array &array, mpc_rt_buffer_t &buffer) {
  describe(kind, tensor, batch, const_cast<void *>(static_cast<const void *>(array.data())),
           array.nbytes(), buffer);
}

/// Arguments of a call that the C ABI takes as DLPack tensors, those of the host among them.
class TensorList {
public:
  template <typename Array>
  TensorList(const char *kind, const mpc_rt_tensor_info_t *infos,
             const std::vector<std::variant<DeviceTensor, Array>> &arrays, int64_t batch)
      : buffers(arrays.size()) {
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (auto *onDevice = std::get_if<DeviceTensor>(&arrays[i])) {
        tensors.push_back(onDevice->view());
        continue;
      }
      mpc_rt_buffer_t &buffer = buffers[i];
      describe(kind, infos[i], batch, std::get<Array>(arrays[i]), buffer);
      nanobind::dlpack::dtype type = dlpackType(mpc_rt_dtype_name(buffer.dtype));
      DLManagedTensor &tensor = tensors.emplace_back();
      tensor.dl_tensor = {buffer.data,
                          {kDLCPU, 0},
                          static_cast<int32_t>(buffer.rank),
                          {type.code, type.bits, 1},
                          buffer.dims,
                          nullptr,
                          0};
    }
    for (DLManagedTensor &tensor : tensors)
      pointers.push_back(&tensor);
  }
  TensorList(const TensorList &) = delete;
  DLManagedTensor **data() { return pointers.data(); }

private:
  std::vector<mpc_rt_buffer_t> buffers;
  std::deque<DLManagedTensor> tensors;
  std::vector<DLManagedTensor *> pointers;
};

template <typename Arrays> bool isOnHost(const Arrays &arrays) {
  for (const auto &array : arrays)
    if (std::holds_alternative<DeviceTensor>(array))
      return false;
  return true;
}

} // namespace

void Context::run(uint32_t entry, const std::vector<AnyInput> &inputs,
                  const std::vector<AnyOutput> &outputs, int64_t batch) {
  const mpc_rt_executable_t &tables = model->tables();
  if (entry >= tables.entry_count || batch < 0)
    refuse("no such entry, or a negative batch");
  const mpc_rt_entry_info_t &info = tables.entries[entry];
  if (inputs.size() != info.input_count || outputs.size() != info.output_count)
    refuse(std::string(info.name) + ": " + std::to_string(inputs.size()) + " inputs and " +
           std::to_string(outputs.size()) + " outputs given; expected " +
           std::to_string(info.input_count) + " and " + std::to_string(info.output_count));
  if (!isOnHost(inputs) || !isOnHost(outputs)) {
    TensorList from("input", info.inputs, inputs, batch),
        to("output", info.outputs, outputs, batch);
    Unlocked unlocked;
    std::lock_guard<Turn> lock(busy);
    check(mpc_rt_context_run_dlpack(handle, entry, from.data(), info.input_count, to.data(),
                                    info.output_count));
    return;
  }
  std::vector<mpc_rt_buffer_t> from(inputs.size()), to(outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    describe("input", info.inputs[i], batch, std::get<Input>(inputs[i]), from[i]);
  for (size_t i = 0; i < outputs.size(); ++i)
    describe("output", info.outputs[i], batch, std::get<Output>(outputs[i]), to[i]);
  Unlocked unlocked;
  std::lock_guard<Turn> lock(busy);
  check(mpc_rt_context_run_checked(handle, entry, from.data(), info.input_count, to.data(),
                                   info.output_count));
}

void Context::get(uint32_t variable, const Output &target) {
  if (variable >= model->tables().variable_count)
    refuse("no such variable");
  void *data = target.data();
  const size_t bytes = target.nbytes();
  Unlocked unlocked;
  std::lock_guard<Turn> lock(busy);
  check(mpc_rt_context_get_variable(handle, variable,
                                    model->tables().variables[variable].tensor.dtype, data, bytes));
}

void Context::set(uint32_t variable, const Input &source) {
  if (variable >= model->tables().variable_count)
    refuse("no such variable");
  const void *data = source.data();
  const size_t bytes = source.nbytes();
  Unlocked unlocked;
  std::lock_guard<Turn> lock(busy);
  check(mpc_rt_context_set_variable(handle, variable,
                                    model->tables().variables[variable].tensor.dtype, data, bytes));
}

double Context::metric(uint32_t index) {
  double value = 0;
  Unlocked unlocked;
  std::lock_guard<Turn> lock(busy);
  check(mpc_rt_context_metric(handle, index, &value));
  return value;
}

} // namespace mpc::python
