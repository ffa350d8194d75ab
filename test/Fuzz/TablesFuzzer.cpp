// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of a compiled model (mpc-rt/executable.h), made of the input: whatever checkTables()
// lets through, contexts, entries, metrics, states and `mpc-run inspect` have to live with. Places
// that a table's pointer and count promise are there: nobody could check that.
#include "mpc-rt/training.h"
#include "runtime/commands/inspect.h"
#include "test/Fuzz/FuzzedSession.h"

#include <cstring>
#include <deque>
#include <fuzzer/FuzzedDataProvider.h>

using namespace mpc;

static const char *const names[] = {"predict",
                                    "evaluate",
                                    "train_step",
                                    "train_forward",
                                    "train_backward",
                                    "train_apply",
                                    "gradients",
                                    "metric_results",
                                    "x",
                                    "y0",
                                    "y1",
                                    "sample_weight",
                                    "loss",
                                    "finite",
                                    "learning_rate",
                                    "out0",
                                    "dense/kernel",
                                    "dense/bias",
                                    "sgd/iteration",
                                    "sgd/learning_rate",
                                    "grad:dense/bias",
                                    "sgd/dense_kernel_momentum",
                                    "accuracy",
                                    "loss_scale_optimizer/dynamic_scale",
                                    "loss_scale_optimizer/step_counter"};

static int32_t succeed(const mpc_rt_call_t *) { return MPC_RT_OK; }
static int32_t failOutOfMemory(const mpc_rt_call_t *) { return MPC_RT_RESOURCE_EXHAUSTED; }
static void compute(void *const *, int64_t, int64_t) {}

namespace {
/// Owns what the tables point to.
class Tables {
public:
  explicit Tables(FuzzedDataProvider &input) : input(input) {
    static const mpc_rt_kernel_fn kernels[] = {compute, compute};
    static const char *const kernelNames[] = {"first", "second"};
    e.struct_size = input.ConsumeBool() ? sizeof e : input.ConsumeIntegral<uint8_t>() * 8u;
    e.abi_version = input.ConsumeBool() ? MPC_RT_ABI_VERSION : input.ConsumeIntegral<uint8_t>();
    e.model_name = name();
    e.compiler_version = name();
    e.source_hash = name();
    e.manifest = name();
    e.kernel_count = input.ConsumeIntegralInRange<uint32_t>(0, 2);
    table = {input.ConsumeIntegralInRange<uint32_t>(0, 3), 0,
             input.ConsumeBool() ? kernels : nullptr};
    e.kernel_tables = input.ConsumeBool() ? &table : nullptr;
    e.kernel_table_count = input.ConsumeBool() ? 1 : count(0);
    e.services_size =
        input.ConsumeBool() ? sizeof(mpc_rt_services_t) : input.ConsumeIntegral<uint8_t>();
    e.call_size = input.ConsumeBool() ? sizeof(mpc_rt_call_t) : input.ConsumeIntegral<uint8_t>();
    e.flags = input.ConsumeIntegral<uint8_t>();
    e.kernel_names = input.ConsumeBool() ? kernelNames : nullptr;
    e.weights_hash = name();
    e.policy = name();
    e.header_hash = name();
    e.loss_scale = input.ConsumeFloatingPoint<float>();
    fillVariables();
    fillEntries();
    fillMetrics();
    fillForms();
    weights = input.ConsumeBool() ? input.ConsumeRandomLengthString() : "";
    e.weights = weights.empty() ? nullptr : weights.data();
    e.weights_bytes = weights.size();
  }

  mpc_rt_executable_t e = {};

private:
  const char *name() {
    const auto choice = input.ConsumeIntegral<uint8_t>();
    if (choice == 255)
      return nullptr;
    if (choice < 128)
      return names[choice % std::size(names)];
    texts.push_back(input.ConsumeRandomLengthString(12));
    return texts.back().c_str();
  }
  uint32_t count(uint32_t there) {
    return input.ConsumeIntegral<uint8_t>() == 255 ? input.ConsumeIntegral<uint32_t>() | 1u << 30
                                                   : there;
  }
  mpc_rt_tensor_info_t tensor() {
    mpc_rt_tensor_info_t info = {};
    info.name = name();
    info.dtype = input.ConsumeIntegralInRange<uint8_t>(0, 20);
    info.rank = input.ConsumeIntegralInRange<uint32_t>(0, MPC_RT_MAX_RANK + 1);
    std::vector<int64_t> &dims = extents.emplace_back();
    for (uint32_t i = 0; i < info.rank; ++i)
      dims.push_back(input.ConsumeIntegral<uint8_t>() == 255
                         ? input.ConsumeIntegral<int64_t>()
                         : input.ConsumeIntegralInRange<int64_t>(-1, 6));
    info.dims = input.ConsumeIntegral<uint8_t>() == 255 ? nullptr : dims.data();
    info.index_limit = input.ConsumeIntegralInRange<int64_t>(-1, 9);
    return info;
  }
  void fillForms() {
    forms.resize(input.ConsumeIntegralInRange<uint32_t>(0, 3));
    for (mpc_rt_tensor_form_t &form : forms)
      form = {input.ConsumeIntegralInRange<uint32_t>(0, 3),
              input.ConsumeIntegralInRange<uint32_t>(0, 2),
              input.ConsumeIntegralInRange<uint32_t>(0, 4),
              input.ConsumeIntegralInRange<uint32_t>(0, 2),
              input.ConsumeIntegralInRange<uint32_t>(0, 8),
              input.ConsumeIntegralInRange<int32_t>(-2, 5)};
    e.forms = input.ConsumeIntegral<uint8_t>() == 255 ? nullptr : forms.data();
    e.form_count = count(static_cast<uint32_t>(forms.size()));
  }
  void fillVariables() {
    variables.resize(input.ConsumeIntegralInRange<uint32_t>(0, 7));
    for (mpc_rt_variable_info_t &variable : variables) {
      variable.tensor = tensor();
      variable.role = input.ConsumeIntegralInRange<uint32_t>(0, 6);
      variable.initializer = input.ConsumeIntegralInRange<uint32_t>(0, 11);
      variable.init_a = input.ConsumeFloatingPoint<double>();
      variable.init_b = input.ConsumeFloatingPoint<double>();
      variable.init_stream = input.ConsumeIntegral<uint8_t>();
      variable.shadow_of = input.ConsumeIntegralInRange<int32_t>(-2, 8);
      variable.flags = input.ConsumeIntegralInRange<uint32_t>(0, 2);
    }
    e.variables = variables.data();
    e.variable_count = count(static_cast<uint32_t>(variables.size()));
  }
  const mpc_rt_tensor_info_t *tensors(uint32_t &number) {
    std::vector<mpc_rt_tensor_info_t> &list = lists.emplace_back();
    const auto there = input.ConsumeIntegralInRange<uint32_t>(0, 4);
    for (uint32_t i = 0; i < there; ++i)
      list.push_back(tensor());
    number = count(there);
    return list.data();
  }
  void fillEntries() {
    entries.resize(input.ConsumeIntegralInRange<uint32_t>(0, 6));
    for (mpc_rt_entry_info_t &entry : entries) {
      entry.name = name();
      const auto choice = input.ConsumeIntegral<uint8_t>();
      entry.fn = choice == 255 ? nullptr : choice == 254 ? failOutOfMemory : succeed;
      entry.inputs = tensors(entry.input_count);
      entry.outputs = tensors(entry.output_count);
      entry.arena_fixed = input.ConsumeIntegral<uint8_t>() == 255
                              ? input.ConsumeIntegral<uint64_t>()
                              : input.ConsumeIntegral<uint8_t>();
      entry.arena_per_sample = input.ConsumeIntegral<uint8_t>();
    }
    e.entries = entries.data();
    e.entry_count = count(static_cast<uint32_t>(entries.size()));
  }
  void fillMetrics() {
    metrics.resize(input.ConsumeIntegralInRange<uint32_t>(0, 3));
    for (mpc_rt_metric_info_t &metric : metrics) {
      metric.name = name();
      metric.kind = input.ConsumeIntegralInRange<uint32_t>(0, 3);
      std::vector<uint32_t> &list = states.emplace_back();
      const auto there = input.ConsumeIntegralInRange<uint32_t>(0, 3);
      for (uint32_t i = 0; i < there; ++i)
        list.push_back(input.ConsumeIntegralInRange<uint32_t>(0, 8));
      metric.state_count = count(there);
      metric.states = list.data();
    }
    e.metrics = metrics.data();
    e.metric_count = count(static_cast<uint32_t>(metrics.size()));
  }

  FuzzedDataProvider &input;
  mpc_rt_kernel_table_t table = {};
  std::deque<std::string> texts;
  std::deque<std::vector<int64_t>> extents;
  std::deque<std::vector<mpc_rt_tensor_info_t>> lists;
  std::deque<std::vector<uint32_t>> states;
  std::vector<mpc_rt_variable_info_t> variables;
  std::vector<mpc_rt_entry_info_t> entries;
  std::vector<mpc_rt_metric_info_t> metrics;
  std::vector<mpc_rt_tensor_form_t> forms;
  std::string weights;
};

/// Memory for the tensors of an entry, as a caller would lay it out.
struct Buffers {
  static constexpr uint64_t most = 1 << 16;
  std::deque<std::vector<uint8_t>> memory;
  std::vector<mpc_rt_buffer_t> views;
  std::vector<void *> places;
  bool fits = true;

  Buffers(const mpc_rt_tensor_info_t *tensors, uint32_t count, int64_t batch) {
    for (uint32_t i = 0; i < count; ++i) {
      mpc_rt_buffer_t view = {};
      view.dtype = tensors[i].dtype;
      view.rank = tensors[i].rank;
      uint64_t bytes = mpc_rt_dtype_size(view.dtype);
      for (uint32_t d = 0; d < view.rank; ++d) {
        view.dims[d] = tensors[i].dims[d] == MPC_RT_DYNAMIC ? batch : tensors[i].dims[d];
        fits = fits && !__builtin_mul_overflow(bytes, static_cast<uint64_t>(view.dims[d]), &bytes);
      }
      fits = fits && bytes < most;
      memory.emplace_back(fits ? bytes + 8 : 8);
      view.data = memory.back().data();
      views.push_back(view);
      places.push_back(view.data);
    }
  }
};
} // namespace

static void runEntries(mpc_rt_context_t *context, const mpc_rt_executable_t &e, int64_t batch) {
  for (uint32_t i = 0; i < e.entry_count; ++i) {
    const mpc_rt_entry_info_t &entry = e.entries[i];
    Buffers inputs(entry.inputs, entry.input_count, batch);
    Buffers outputs(entry.outputs, entry.output_count, batch);
    const uint64_t arena = mpc_rt_entry_arena_bytes(mpc_rt_context_model(context), i, batch);
    if (!inputs.fits || !outputs.fits || arena > Buffers::most)
      continue;
    mpc_rt_context_run_checked(context, i, inputs.views.data(), entry.input_count,
                               outputs.views.data(), entry.output_count);
  }
}

static void train(mpc_rt_context_t *context, const mpc_rt_executable_t &e, int64_t batch) {
  for (uint32_t i = 0; i < e.entry_count; ++i) {
    const mpc_rt_entry_info_t &entry = e.entries[i];
    if (std::strcmp(entry.name, "train_step") != 0)
      continue;
    // The loss, and the predictions of any entry "predict".
    Buffers inputs(entry.inputs, entry.input_count, batch);
    std::vector<std::vector<uint8_t>> memory(8, std::vector<uint8_t>(Buffers::most));
    std::vector<void *> outputs;
    for (auto &piece : memory)
      outputs.push_back(piece.data());
    mpc_rt_workspace_t workspace = {sizeof workspace, 0, 0, 0, 0, 0};
    if (!inputs.fits || mpc_rt_model_workspace(mpc_rt_context_model(context), batch, &workspace) ||
        workspace.arena_bytes > Buffers::most || workspace.kept_bytes > Buffers::most)
      return;
    int32_t finite = 0;
    mpc_rt_applied_t applied = {sizeof applied, 0, 0, 0};
    mpc_rt_context_forward(context, inputs.places.data(), outputs.data(), batch);
    mpc_rt_context_backward(context, nullptr);
    mpc_rt_context_unscale_gradients(context, nullptr, &finite);
    mpc_rt_context_apply_gradients(context, nullptr, &applied);
    return;
  }
}

static void useContext(mpc_rt_model_t *model, const mpc_rt_executable_t &e, bool computes,
                       int64_t batch) {
  mpc_rt_context_options_t options;
  mpc_rt_context_options_init(&options);
  options.threads = 1;
  options.device = computes ? "cpu" : "null";
  options.isa = MPC_RT_ISA_X86_64_V2;
  mpc_rt_context_t *context = nullptr;
  if (mpc_rt_context_create(model, &options, &context))
    return;
  for (uint32_t i = 0; i < e.variable_count; ++i) {
    size_t bytes = 0;
    void *data = mpc_rt_context_variable(context, i, &bytes);
    std::vector<uint8_t> copy(bytes);
    mpc_rt_context_get_variable(context, i, e.variables[i].tensor.dtype, copy.data(), bytes);
    mpc_rt_context_set_variable(context, i, e.variables[i].tensor.dtype, data, bytes);
  }
  for (uint32_t role = 0; role < 7; ++role)
    mpc_rt_context_role_block(context, role, nullptr);
  mpc_rt_loss_scale_t scale = {sizeof scale, 0, 0, 0, 0};
  if (!mpc_rt_context_get_loss_scale(context, &scale))
    mpc_rt_context_set_loss_scale(context, &scale);
  float rate = 0;
  if (!mpc_rt_context_get_learning_rate(context, &rate))
    mpc_rt_context_set_learning_rate(context, rate);
  mpc_rt_context_set_random(context, 1, 2);
  mpc_rt_context_reset_metrics(context);
  int32_t loaded = 0;
  mpc_rt_context_load_initial(context, &loaded);
  runEntries(context, e, batch);
  for (uint32_t i = 0; i < e.metric_count; ++i) {
    double value = 0;
    mpc_rt_context_metric(context, i, &value);
  }
  train(context, e, batch);
  mpc_rt_context_release(context);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::unique_ptr<training::Session> session = openFuzzedSession();
  FuzzedDataProvider input(data, size);
  const auto batch = input.ConsumeIntegralInRange<int64_t>(0, 3);
  const bool withContext = input.ConsumeBool(), computes = input.ConsumeBool();
  Tables tables(input);
  // Older tables end earlier: what lies behind them is not theirs.
  std::vector<uint8_t> exact(std::max<size_t>(tables.e.struct_size, MPC_RT_EXECUTABLE_MINIMUM));
  std::memcpy(exact.data(), &tables.e, std::min(exact.size(), sizeof tables.e));
  auto &e = *reinterpret_cast<mpc_rt_executable_t *>(exact.data());
  mpc_rt_model_t *model = nullptr;
  if (mpc_rt_model_from_executable(&e, &model))
    return 0;
  mpc_rt_workspace_t workspace = {sizeof workspace, 0, 0, 0, 0, 0};
  const bool isSmall = !mpc_rt_model_workspace(model, batch, &workspace) &&
                       workspace.variable_bytes < (1 << 20) && workspace.gradient_bytes < (1 << 20);
  uint32_t found = 0;
  mpc_rt_find_entry(model, "predict", &found);
  mpc_rt_find_variable(model, "nowhere", &found);
  mpc_rt_expectation_t expected = {sizeof expected, 0, "x", "x", "x", "x"};
  mpc_rt_model_expect(model, &expected);
  for (uint32_t i = 0; i < mpc_rt_model_gradient_count(model); ++i) {
    mpc_rt_gradient_info_t info = {};
    info.struct_size = sizeof info;
    mpc_rt_model_gradient_info(model, i, &info);
  }
  if (withContext && isSmall)
    useContext(model, e, computes, batch);
  mpc_rt_model_release(model);

  // mpc-run knows this much of them.
  mpc_rt_executable_t &shown = tablesOf(*session);
  const mpc_rt_executable_t kept = shown;
  std::memcpy(&shown, exact.data(), std::min(exact.size(), sizeof shown));
  for (uint32_t i = 0; i < shown.entry_count; ++i)
    session->signature(shown.entries[i]);
  commands::describeModel(*session, {}, /*withKernels=*/false, /*asJson=*/true);
  shown = kept;
  return 0;
}
