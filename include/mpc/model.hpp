// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled models in C++17: handles that release themselves, views of the caller's memory, results
// instead of exceptions. Header-only over the C ABI of libmpcrt; works with any libNAME.so.
//
//   mpc::Result<mpc::Model> model = mpc::Model::load("mnist.mpc");
//   mpc::Result<mpc::Context> context = model->createContext();
//   mpc::Result<bool> loaded = context->loadInitial(); // the weights of the model file
//   std::vector<float> x(8 * 784), y(8 * 10);
//   mpc::Status status = context->run("predict", {mpc::view(x, {8, 784})},
//                                     {mpc::view(y, {8, 10})});
//   if (!status)
//     std::cerr << status.error().message;
//
// docs/c-api.md has the whole program.
#ifndef MPC_MODEL_HPP
#define MPC_MODEL_HPP

#include "mpc-rt/collectives.h"
#include "mpc-rt/training.h"
#include "mpc/result.hpp"
#include "mpc/tensor.hpp"
#include "mpc/view.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mpc {

/// What a tensor of the model is called and looks like; -1 in `shape` is the batch.
struct TensorInfo {
  std::string_view name;
  mpc_rt_dtype_t dtype;
  std::vector<int64_t> shape;
};

struct VariableInfo : TensorInfo {
  mpc_rt_role_t role;
};

struct EntryInfo {
  std::string_view name;
  std::vector<TensorInfo> inputs, outputs;
};

/// A gradient of the custom training loop; `name` is its variable's path.
struct GradientInfo : TensorInfo {
  uint32_t variable;
};

/// What optimizer.dynamic_scale and optimizer.dynamic_counter are in Keras.
struct LossScale {
  bool dynamic = false;
  float scale = 1;
  int64_t counter = 0;
};

/// What one update did.
struct Applied {
  bool applied;
  float learningRate;
};

struct ContextOptions {
  unsigned threads = 0;       ///< 0: as many as the process has CPUs
  std::string device = "cpu"; ///< "null" validates every call and computes nothing
  uint64_t seed = 0;          ///< of the variables' initial values and random layers
  /// Null: the system's memory. Copied; it has to work as long as the context and its tensors.
  const mpc_rt_allocator_t *allocator = nullptr;
  /// Its ranks train the model together, which was compiled with --distributed; it has to work as
  /// long as the context. Null: one rank.
  mpc_rt_communicator_t *communicator = nullptr;
  uint32_t deterministicRanks = 0; ///< parts of a batch (mpc_rt_context_set_parts); 0: none
};

/// Bytes that a context takes from its allocator (mpc_rt_workspace_t).
struct Workspace {
  uint64_t variables = 0, arena = 0, kept = 0, gradients = 0;
};

class Context;

/// An immutable compiled model; copies share it, and threads may.
class Model {
public:
  /// `path`: libNAME.so, or a folder that holds exactly one.
  static Result<Model> load(const std::string &path) {
    mpc_rt_model_t *handle = nullptr;
    if (mpc_rt_status_t status = mpc_rt_model_load(path.c_str(), &handle))
      return detail::lastError(status);
    return Model(handle);
  }
  /// A model that is linked into the program; `executable` must outlive it.
  static Result<Model> fromExecutable(const mpc_rt_executable_t *executable) {
    mpc_rt_model_t *handle = nullptr;
    if (mpc_rt_status_t status = mpc_rt_model_from_executable(executable, &handle))
      return detail::lastError(status);
    return Model(handle);
  }

  /// Variables start from their initializers.
  Result<Context> createContext(const ContextOptions &options = {}) const;

  std::string_view name() const { return tables().model_name; }
  /// NAME.json: inputs, outputs, variables, the policy of each layer.
  std::string_view manifest() const { return tables().manifest; }

  std::vector<EntryInfo> entries() const {
    std::vector<EntryInfo> result;
    for (uint32_t i = 0; i < tables().entry_count; ++i) {
      const mpc_rt_entry_info_t &entry = tables().entries[i];
      EntryInfo info{entry.name, {}, {}};
      for (uint32_t j = 0; j < entry.input_count; ++j)
        info.inputs.push_back(describe(entry.inputs[j]));
      for (uint32_t j = 0; j < entry.output_count; ++j)
        info.outputs.push_back(describe(entry.outputs[j]));
      result.push_back(std::move(info));
    }
    return result;
  }
  /// By index, as Context takes them. Shadows, which cannot be set, are not among them.
  std::vector<VariableInfo> variables() const {
    std::vector<VariableInfo> result;
    for (uint32_t i = 0; i < tables().variable_count; ++i)
      if (tables().variables[i].role != MPC_RT_ROLE_SHADOW)
        result.push_back({describe(tables().variables[i].tensor),
                          static_cast<mpc_rt_role_t>(tables().variables[i].role)});
    return result;
  }

  /// In the order of Context::gradient.
  std::vector<GradientInfo> gradients() const {
    std::vector<GradientInfo> result;
    for (uint32_t i = 0, count = mpc_rt_model_gradient_count(shared.get()); i < count; ++i) {
      mpc_rt_gradient_info_t info = {};
      info.struct_size = sizeof(info);
      if (mpc_rt_model_gradient_info(shared.get(), i, &info))
        break;
      result.push_back(
          {{info.path, info.dtype, std::vector<int64_t>(info.dims, info.dims + info.rank)},
           info.variable});
    }
    return result;
  }

  /// For any batch up to this one.
  Result<Workspace> workspace(int64_t batch) const {
    mpc_rt_workspace_t found = {};
    found.struct_size = sizeof(found);
    if (mpc_rt_status_t status = mpc_rt_model_workspace(shared.get(), batch, &found))
      return detail::lastError(status);
    return Workspace{found.variable_bytes, found.arena_bytes, found.kept_bytes,
                     found.gradient_bytes};
  }

  mpc_rt_model_t *handle() const { return shared.get(); }

private:
  explicit Model(mpc_rt_model_t *handle) : shared(handle, mpc_rt_model_release) {}
  const mpc_rt_executable_t &tables() const { return *mpc_rt_model_executable(shared.get()); }
  static TensorInfo describe(const mpc_rt_tensor_info_t &tensor) {
    return {tensor.name, tensor.dtype,
            std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank)};
  }

  std::shared_ptr<mpc_rt_model_t> shared;
};

/// Everything of a model that changes: variables, optimizer state, metrics, scratch memory. One
/// thread at a time uses it; any number of contexts share a model.
class Context {
public:
  /// Runs an entry ("predict", "evaluate", "train_step", …) with every shape, dtype and index
  /// checked first. Outputs are written in place.
  Status run(const std::string &entry, const std::vector<View> &inputs,
             const std::vector<View> &outputs) {
    uint32_t index = 0;
    if (mpc_rt_status_t status = mpc_rt_find_entry(model(), entry.c_str(), &index))
      return detail::lastError(status);
    std::vector<mpc_rt_buffer_t> in = raw(inputs), out = raw(outputs);
    return detail::toStatus(mpc_rt_context_run_checked(owned.get(), index, in.data(),
                                                       static_cast<uint32_t>(in.size()), out.data(),
                                                       static_cast<uint32_t>(out.size())));
  }

  /// The same for DLPack tensors (mpc-rt/dlpack.h). The inputs stay the caller's, the outputs are
  /// made.
  Result<std::vector<Tensor>> run(const std::string &entry,
                                  const std::vector<::DLManagedTensor *> &inputs) {
    uint32_t index = 0;
    if (mpc_rt_status_t status = mpc_rt_find_entry(model(), entry.c_str(), &index))
      return detail::lastError(status);
    std::vector<::DLManagedTensor *> made(
        mpc_rt_model_executable(model())->entries[index].output_count);
    if (mpc_rt_status_t status = mpc_rt_context_run_dlpack(
            owned.get(), index, inputs.data(), static_cast<uint32_t>(inputs.size()), made.data(),
            static_cast<uint32_t>(made.size())))
      return detail::lastError(status);
    std::vector<Tensor> outputs;
    for (::DLManagedTensor *tensor : made)
      outputs.emplace_back(tensor);
    return outputs;
  }
  /// A variable's own memory; it stays as long as the tensor. After writing into it call
  /// variablesChanged().
  Result<Tensor> variableTensor(const std::string &path) {
    uint32_t index = 0;
    ::DLManagedTensor *tensor = nullptr;
    if (mpc_rt_status_t status = mpc_rt_find_variable(model(), path.c_str(), &index))
      return detail::lastError(status);
    if (mpc_rt_status_t status = mpc_rt_context_variable_dlpack(owned.get(), index, &tensor))
      return detail::lastError(status);
    return Tensor(tensor);
  }
  /// Copies a tensor of the variable's dtype and shape.
  Status setVariable(const std::string &path, const ::DLManagedTensor *tensor) {
    uint32_t index = 0;
    if (mpc_rt_status_t status = mpc_rt_find_variable(model(), path.c_str(), &index))
      return detail::lastError(status);
    return detail::toStatus(mpc_rt_context_set_variable_dlpack(owned.get(), index, tensor));
  }
  Status variablesChanged() {
    return detail::toStatus(mpc_rt_context_variables_changed(owned.get()));
  }

  /// Copies a variable in or out, by its path; as many elements as it has.
  template <typename T> Status setVariable(const std::string &path, const std::vector<T> &values) {
    uint32_t index = 0;
    if (mpc_rt_status_t status = mpc_rt_find_variable(model(), path.c_str(), &index))
      return detail::lastError(status);
    return detail::toStatus(mpc_rt_context_set_variable(owned.get(), index, DTypeOf<T>::value,
                                                        values.data(), values.size() * sizeof(T)));
  }
  template <typename T> Result<std::vector<T>> getVariable(const std::string &path) {
    uint32_t index = 0;
    if (mpc_rt_status_t status = mpc_rt_find_variable(model(), path.c_str(), &index))
      return detail::lastError(status);
    size_t bytes = 0;
    (void)mpc_rt_context_variable(owned.get(), index, &bytes);
    std::vector<T> values(bytes / sizeof(T));
    if (mpc_rt_status_t status = mpc_rt_context_get_variable(
            owned.get(), index, DTypeOf<T>::value, values.data(), values.size() * sizeof(T)))
      return detail::lastError(status);
    return values;
  }

  /// All ranks call it, before they read or save variables of a model that was compiled with
  /// --shard=optimizer: on ranks that keep them these are whole until the next update.
  Status gatherVariables(bool keep = true) {
    return detail::toStatus(mpc_rt_context_gather_variables(owned.get(), keep));
  }

  /// Every variable from its initializer again.
  Status initialize(uint64_t seed) {
    return detail::toStatus(mpc_rt_context_initialize(owned.get(), seed));
  }
  Status resetMetrics() { return detail::toStatus(mpc_rt_context_reset_metrics(owned.get())); }
  /// The metric's value since the last reset.
  Result<double> metric(std::string_view name) {
    const mpc_rt_executable_t &tables = *mpc_rt_model_executable(model());
    for (uint32_t i = 0; i < tables.metric_count; ++i)
      if (tables.metrics[i].name == name) {
        double value = 0;
        if (mpc_rt_status_t status = mpc_rt_context_metric(owned.get(), i, &value))
          return detail::lastError(status);
        return value;
      }
    return Error{MPC_RT_NOT_FOUND, "the model has no metric named " + std::string(name)};
  }

  /// The values of the model file: embedded, or beside the library. False: it has none.
  Result<bool> loadInitial() {
    int32_t loaded = 0;
    if (mpc_rt_status_t status = mpc_rt_context_load_initial(owned.get(), &loaded))
      return detail::lastError(status);
    return loaded != 0;
  }
  /// Variables, optimizer, loss scale, metrics and random states, with a checksum, atomically.
  Status save(const std::string &path) {
    return detail::toStatus(mpc_rt_context_save(owned.get(), path.c_str()));
  }
  /// What save wrote, or a weights file; a state of another optimizer is an error. On failure
  /// nothing has changed.
  Status load(const std::string &path) {
    return detail::toStatus(mpc_rt_context_load(owned.get(), path.c_str()));
  }
  /// The same, with whatever fits of the state of another optimizer; the counts say what did.
  Result<mpc_rt_loaded_t> loadWeights(const std::string &path) {
    mpc_rt_loaded_t loaded = {sizeof loaded, 0, 0, 0, 0, 0};
    if (mpc_rt_status_t status = mpc_rt_context_load_weights(owned.get(), path.c_str(), &loaded))
      return detail::lastError(status);
    return loaded;
  }

  /// The training step in four calls (mpc-rt/training.h). `inputs` as of "train_step"; `outputs`:
  /// the loss, then the predictions. Dtypes and shapes are checked.
  Status forward(const std::vector<View> &inputs, const std::vector<View> &outputs) {
    std::vector<mpc_rt_buffer_t> in = raw(inputs), out = raw(outputs);
    std::vector<const void *> from;
    std::vector<void *> to;
    int64_t batch = -1;
    const mpc_rt_entry_info_t *step = findEntry("train_step"), *predict = findEntry("predict");
    if (!step || !predict)
      return Error{MPC_RT_FAILED_PRECONDITION, "the model was compiled without training"};
    if (in.size() != step->input_count || out.size() != predict->output_count + 1)
      return Error{MPC_RT_INVALID_ARGUMENT,
                   "forward: expected " + std::to_string(step->input_count) + " inputs and " +
                       std::to_string(predict->output_count + 1) + " outputs"};
    const int64_t none = 0;
    const mpc_rt_tensor_info_t loss = {"loss", MPC_RT_FLOAT32, 0, &none, 0};
    for (size_t i = 0; i < in.size(); ++i) {
      if (!fits(in[i], step->inputs[i], batch))
        return Error{MPC_RT_INVALID_ARGUMENT, std::string("forward: the input '") +
                                                  step->inputs[i].name +
                                                  "' has another dtype or shape"};
      from.push_back(in[i].data);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (!fits(out[i], i ? predict->outputs[i - 1] : loss, batch))
        return Error{MPC_RT_INVALID_ARGUMENT,
                     "forward: output " + std::to_string(i) + " has another dtype or shape"};
      to.push_back(out[i].data);
    }
    return detail::toStatus(
        mpc_rt_context_forward(owned.get(), from.data(), to.data(), batch < 0 ? 1 : batch));
  }
  /// Gradients of the loss times the loss scale, into the context's buffers.
  Status backward() { return detail::toStatus(mpc_rt_context_backward(owned.get(), nullptr)); }
  /// Divides them; whether all were finite.
  Result<bool> unscaleGradients() {
    int32_t finite = 0;
    if (mpc_rt_status_t status = mpc_rt_context_unscale_gradients(owned.get(), nullptr, &finite))
      return detail::lastError(status);
    return finite != 0;
  }
  /// Updates the variables, or skips.
  Result<Applied> applyGradients() {
    mpc_rt_applied_t applied = {sizeof(applied), 0, 0, 0};
    if (mpc_rt_status_t status = mpc_rt_context_apply_gradients(owned.get(), nullptr, &applied))
      return detail::lastError(status);
    return Applied{applied.applied != 0, applied.learning_rate};
  }
  /// The context's buffer of a gradient; T is float, or double for float64 variables. Valid as long
  /// as the context.
  template <typename T = float> Result<Span<T>> gradient(uint32_t index) {
    mpc_rt_gradient_info_t info = {};
    info.struct_size = sizeof(info);
    if (mpc_rt_status_t status = mpc_rt_model_gradient_info(model(), index, &info))
      return detail::lastError(status);
    if (info.dtype != DTypeOf<T>::value)
      return Error{MPC_RT_INVALID_ARGUMENT,
                   std::string("the gradient of '") + info.path + "' has another dtype"};
    void *data = mpc_rt_context_gradient(owned.get(), index);
    if (!data)
      return detail::lastError(MPC_RT_RESOURCE_EXHAUSTED);
    return Span<T>(static_cast<T *>(data), info.bytes / sizeof(T));
  }

  Result<LossScale> lossScale() {
    mpc_rt_loss_scale_t value = {};
    value.struct_size = sizeof(value);
    if (mpc_rt_status_t status = mpc_rt_context_get_loss_scale(owned.get(), &value))
      return detail::lastError(status);
    return LossScale{value.dynamic != 0, value.scale, value.dynamic_counter};
  }
  Status setLossScale(float scale, int64_t counter = 0) {
    mpc_rt_loss_scale_t value = {};
    value.struct_size = sizeof(value);
    value.scale = scale;
    value.dynamic_counter = counter;
    return detail::toStatus(mpc_rt_context_set_loss_scale(owned.get(), &value));
  }
  Result<float> learningRate() {
    float rate = 0;
    if (mpc_rt_status_t status = mpc_rt_context_get_learning_rate(owned.get(), &rate))
      return detail::lastError(status);
    return rate;
  }
  Status setLearningRate(float rate) {
    return detail::toStatus(mpc_rt_context_set_learning_rate(owned.get(), rate));
  }

  mpc_rt_context_t *handle() const { return owned.get(); }

private:
  friend class Model;
  const mpc_rt_entry_info_t *findEntry(const char *name) const {
    uint32_t index = 0;
    if (mpc_rt_find_entry(model(), name, &index))
      return nullptr;
    return &mpc_rt_model_executable(model())->entries[index];
  }
  /// Whether a buffer is what the table says, with one batch for all.
  static bool fits(const mpc_rt_buffer_t &have, const mpc_rt_tensor_info_t &want, int64_t &batch) {
    if (have.dtype != want.dtype || have.rank != want.rank)
      return false;
    for (uint32_t i = 0; i < want.rank; ++i) {
      if (want.dims[i] == MPC_RT_DYNAMIC && batch < 0)
        batch = have.dims[i];
      if (have.dims[i] != (want.dims[i] == MPC_RT_DYNAMIC ? batch : want.dims[i]))
        return false;
    }
    return true;
  }
  struct Release {
    void operator()(mpc_rt_context_t *context) const { mpc_rt_context_release(context); }
  };
  explicit Context(mpc_rt_context_t *handle) : owned(handle) {}
  const mpc_rt_model_t *model() const { return mpc_rt_context_model(owned.get()); }
  static std::vector<mpc_rt_buffer_t> raw(const std::vector<View> &views) {
    std::vector<mpc_rt_buffer_t> buffers;
    for (const View &view : views)
      buffers.push_back(view.raw());
    return buffers;
  }

  std::unique_ptr<mpc_rt_context_t, Release> owned;
};

inline Result<Context> Model::createContext(const ContextOptions &options) const {
  mpc_rt_context_options_t raw;
  mpc_rt_context_options_init(&raw);
  raw.threads = options.threads;
  raw.device = options.device.c_str();
  raw.seed = options.seed;
  raw.allocator = options.allocator;
  raw.communicator = options.communicator;
  raw.batch_parts = options.deterministicRanks;
  mpc_rt_context_t *handle = nullptr;
  if (mpc_rt_status_t status = mpc_rt_context_create(shared.get(), &raw, &handle))
    return detail::lastError(status);
  Context created(handle);
  // One rank, too, computes in the parts that the model was compiled for.
  if (!options.communicator && !options.deterministicRanks)
    if (mpc_rt_status_t status = mpc_rt_context_set_communicator(handle, nullptr))
      return detail::lastError(status);
  return Result<Context>(std::move(created));
}

} // namespace mpc

#endif // MPC_MODEL_HPP
