// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled models in C++17: handles that release themselves, views of the caller's memory, results
// instead of exceptions. Header-only over the C ABI of libmpcrt; works with any libNAME.so.
//
//   mpc::Result<mpc::Model> model = mpc::Model::load("mnist.mpc");
//   mpc::Result<mpc::Context> context = model->createContext();
//   std::vector<float> x(8 * 784), y(8 * 10);
//   mpc::Status status = context->run("predict", {mpc::view(x, {8, 784})}, {mpc::view(y, {8,
//   10})}); if (!status)
//     std::cerr << status.error().message;
#ifndef MPC_MODEL_HPP
#define MPC_MODEL_HPP

#include "mpc-rt/model.h"

#include <cassert>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mpc {

/// Why a call failed: a status code of the C ABI and its message, which says what to do.
struct Error {
  mpc_rt_status_t status;
  std::string message;
};

/// A value or the error that kept it from being made. Reading the one that is not there is a defect
/// of the caller (asserted).
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::move(value)) {}
  Result(Error error) : state(std::move(error)) {}

  bool ok() const { return std::holds_alternative<T>(state); }
  explicit operator bool() const { return ok(); }

  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }
  T &value() {
    assert(ok());
    return *std::get_if<T>(&state);
  }
  const T &value() const {
    assert(ok());
    return *std::get_if<T>(&state);
  }
  const Error &error() const {
    assert(!ok());
    return *std::get_if<Error>(&state);
  }

private:
  std::variant<T, Error> state;
};

/// Success, or an error.
using Status = Result<std::monostate>;

namespace detail {
inline Error lastError(mpc_rt_status_t status) { return {status, mpc_rt_last_error()}; }
inline Status toStatus(mpc_rt_status_t status) {
  if (status == MPC_RT_OK)
    return std::monostate();
  return lastError(status);
}
} // namespace detail

/// The dtype of elements of C++ type T; bfloat16 and float16 have none and are named explicitly.
template <typename T> struct DTypeOf;
template <> struct DTypeOf<float> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_FLOAT32;
};
template <> struct DTypeOf<double> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_FLOAT64;
};
template <> struct DTypeOf<bool> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_BOOL;
};
template <> struct DTypeOf<int8_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_INT8;
};
template <> struct DTypeOf<int16_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_INT16;
};
template <> struct DTypeOf<int32_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_INT32;
};
template <> struct DTypeOf<int64_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_INT64;
};
template <> struct DTypeOf<uint8_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_UINT8;
};
template <> struct DTypeOf<uint16_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_UINT16;
};
template <> struct DTypeOf<uint32_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_UINT32;
};
template <> struct DTypeOf<uint64_t> {
  static constexpr mpc_rt_dtype_t value = MPC_RT_UINT64;
};

/// Dense row-major memory of the caller. Inputs are only read, whatever the pointer says.
class View {
public:
  View(void *data, mpc_rt_dtype_t dtype, const std::vector<int64_t> &shape) {
    buffer.data = data;
    buffer.dtype = dtype;
    // A rank that the C ABI cannot express stays too large, and the call says so.
    buffer.rank = static_cast<uint32_t>(shape.size());
    for (size_t i = 0; i < shape.size() && i < MPC_RT_MAX_RANK; ++i)
      buffer.dims[i] = shape[i];
  }
  const mpc_rt_buffer_t &raw() const { return buffer; }

private:
  mpc_rt_buffer_t buffer{};
};

/// A view of `data`, which must hold as many elements as `shape` says.
template <typename T> View view(T *data, const std::vector<int64_t> &shape) {
  return View(const_cast<std::remove_const_t<T> *>(data), DTypeOf<std::remove_const_t<T>>::value,
              shape);
}
/// The same for containers with contiguous elements; their size is checked.
template <typename Container>
auto view(Container &elements, const std::vector<int64_t> &shape)
    -> decltype(view(elements.data(), shape)) {
  [[maybe_unused]] int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  assert(count == static_cast<int64_t>(elements.size()) && "shape and size of the container");
  return view(elements.data(), shape);
}

/// A scalar.
template <typename T> View scalar(T &value) { return view(&value, {}); }

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

struct ContextOptions {
  unsigned threads = 0;       ///< 0: as many as the process has CPUs
  std::string device = "cpu"; ///< "null" validates every call and computes nothing
  uint64_t seed = 0;          ///< of the variables' initial values and random layers
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

  mpc_rt_context_t *handle() const { return owned.get(); }

private:
  friend class Model;
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
  mpc_rt_context_t *handle = nullptr;
  if (mpc_rt_status_t status = mpc_rt_context_create(shared.get(), &raw, &handle))
    return detail::lastError(status);
  return Context(handle);
}

} // namespace mpc

#endif // MPC_MODEL_HPP
