// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of the C ABI on arrays. Sizes are checked here against the model's tables, whatever the
// Python code in front of this has checked, so that no array is read or written out of bounds.
#include "context.h"
#include "errors.h"

namespace mpc::python {

Model::Model(const std::string &path) { check(mpc_rt_model_load(path.c_str(), &handle)); }

Context::Context(std::shared_ptr<Model> of, const std::string &device, uint32_t threads,
                 uint64_t seed, bool loadInitial)
    : model(std::move(of)) {
  nanobind::gil_scoped_release unlocked;
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

} // namespace

void Context::run(uint32_t entry, const std::vector<Input> &inputs,
                  const std::vector<Output> &outputs, int64_t batch) {
  const mpc_rt_executable_t &tables = model->tables();
  if (entry >= tables.entry_count || batch < 0)
    refuse("no such entry, or a negative batch");
  const mpc_rt_entry_info_t &info = tables.entries[entry];
  if (inputs.size() != info.input_count || outputs.size() != info.output_count)
    refuse(std::string(info.name) + ": " + std::to_string(inputs.size()) + " inputs and " +
           std::to_string(outputs.size()) + " outputs given; expected " +
           std::to_string(info.input_count) + " and " + std::to_string(info.output_count));
  std::vector<mpc_rt_buffer_t> from(inputs.size()), to(outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    describe("input", info.inputs[i], batch, const_cast<void *>(inputs[i].data()),
             inputs[i].nbytes(), from[i]);
  for (size_t i = 0; i < outputs.size(); ++i)
    describe("output", info.outputs[i], batch, outputs[i].data(), outputs[i].nbytes(), to[i]);
  nanobind::gil_scoped_release unlocked;
  std::lock_guard<std::mutex> lock(busy);
  check(mpc_rt_context_run_checked(handle, entry, from.data(), info.input_count, to.data(),
                                   info.output_count));
}

void Context::get(uint32_t variable, const Output &target) {
  if (variable >= model->tables().variable_count)
    refuse("no such variable");
  void *data = target.data();
  const size_t bytes = target.nbytes();
  nanobind::gil_scoped_release unlocked;
  std::lock_guard<std::mutex> lock(busy);
  check(mpc_rt_context_get_variable(handle, variable,
                                    model->tables().variables[variable].tensor.dtype, data, bytes));
}

void Context::set(uint32_t variable, const Input &source) {
  if (variable >= model->tables().variable_count)
    refuse("no such variable");
  const void *data = source.data();
  const size_t bytes = source.nbytes();
  nanobind::gil_scoped_release unlocked;
  std::lock_guard<std::mutex> lock(busy);
  check(mpc_rt_context_set_variable(handle, variable,
                                    model->tables().variables[variable].tensor.dtype, data, bytes));
}

double Context::metric(uint32_t index) {
  double value = 0;
  nanobind::gil_scoped_release unlocked;
  std::lock_guard<std::mutex> lock(busy);
  check(mpc_rt_context_metric(handle, index, &value));
  return value;
}

} // namespace mpc::python
