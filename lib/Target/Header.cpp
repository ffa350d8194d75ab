// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NAME.h: the C interface of one compiled model.
#include "lib/Target/Artifacts.h"
#include "mpc-rt/abi_version.h"
#include "mpc-rt/executable.h"
#include "runtime/rules/entry_names.h"
#include "runtime/untrusted/outlets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace mpc;

static std::string upper(llvm::StringRef name) { return name.upper(); }

static std::string describe(const TensorEntry &tensor) {
  std::string text = untrusted::forCComment(tensor.name) + ": " + tensor.dtype + "[";
  auto isBounded = [&](size_t i) {
    return llvm::any_of(tensor.forms, [&](const FormEntry &form) {
      return form.kind == MPC_RT_FORM_BOUNDED && form.axis == i;
    });
  };
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    text += (i ? ", " : "") + std::string(isBounded(i) ? "at most " : "") +
            (tensor.dims[i] < 0 ? std::string("batch") : std::to_string(tensor.dims[i]));
  text += "]";
  for (const FormEntry &form : tensor.forms)
    text +=
        form.kind == MPC_RT_FORM_TEXT
            ? std::string(", code points of texts that end at the first 0")
            : ", as many as outputs[" + std::to_string(form.extentOutput) + "] says, then zeros";
  if (tensor.indexLimit)
    text += ", values 0 to " + std::to_string(tensor.indexLimit - 1);
  return text;
}

static bool isStage(const FunctionEntry &entry) {
  return llvm::StringRef(entry.name).starts_with("train_") && entry.name != "train_step";
}

namespace {
/// The parts of a header, one after the other.
class HeaderWriter {
public:
  explicit HeaderWriter(const ModuleTables &tables)
      : tables(tables), name(tables.name), macro(upper(tables.name)), os(text) {}
  std::string write();

private:
  void writeIntroduction();
  void writeEntry(const FunctionEntry &entry, size_t index);
  void writeVariables();
  void writeGradients(const FunctionEntry &backward);
  void writeNames(llvm::StringRef kind, const std::vector<std::string> &paths);
  void writeHandles();
  void writeTraining();
  void writeTrainingState();
  size_t countVariables() const {
    // Shadows come last: callers do not see them.
    return llvm::count_if(tables.variables, [](const VariableEntry &variable) {
      return variable.role != VariableRole::Shadow;
    });
  }

  const ModuleTables &tables;
  const std::string &name;
  std::string macro;
  std::string text;
  llvm::raw_string_ostream os;
};
} // namespace

void HeaderWriter::writeIntroduction() {
  os << llvm::formatv(R"(/* Model {0}, compiled by mpcc {2}. Generated: do not edit.
 *
 * Buffers are row-major and dense, owned by the caller, aligned as their dtype wants (64 bytes are
 * fastest); functions only use them during the call, and never allocate what the caller frees. bool
 * is one byte; bfloat16 and float16 are two. Scalars are buffers of one element.
 *
 * Threads: a model never changes and may be shared. A context (variables, optimizer, scratch memory)
 * is used by one thread at a time; any number of contexts run at once over one model.
 *
 * Errors: functions return an mpc_rt_status_t, 0 (MPC_RT_OK) on success. mpc_rt_last_error() has the
 * thread's last message. Nothing prints, exits or throws. Pointers, batch and order of calls are
 * checked; shapes, dtypes and ranges of indices are checked by mpc_rt_context_run_checked. */
#ifndef MPC_MODEL_{1}_H
#define MPC_MODEL_{1}_H

#include "mpc-rt/dlpack.h"
#include "mpc-rt/training.h"

#if MPC_RT_ABI_VERSION != {3}u
#error "{0} needs the headers of libmpcrt with ABI version {3}"
#endif

#ifdef __cplusplus
extern "C" {{
#endif

/* What this header was written for; {0}_model_create and {0}_model_open refuse another library. */
#define {1}_SOURCE_HASH "{4}"
#define {1}_HEADER_HASH "{5}"
#define {1}_POLICY "{6}"

)",
                      name, macro, untrusted::forCComment(tables.compilerVersion),
                      MPC_RT_ABI_VERSION, tables.sourceHash, tables.headerHash, tables.policy);
}

void HeaderWriter::writeEntry(const FunctionEntry &entry, size_t index) {
  os << "/* Entry " << entry.name << "\n";
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    os << " *   inputs[" << i << "]  " << describe(entry.inputs[i]) << "\n";
  for (size_t i = 0; i < entry.outputs.size(); ++i)
    os << " *   outputs[" << i << "] " << describe(entry.outputs[i]) << "\n";
  std::string prefix = macro + "_" + upper(entry.name);
  if (rules::entryWithoutShape(entry.name) != entry.name)
    os << " * For tensors of these shapes " << name
       << "_predict_dlpack and mpc_rt_context_run_checked of predict run it.\n";
  os << " */\n#define " << macro << "_ENTRY_" << upper(entry.name) << " " << index << "u\n"
     << "#define " << prefix << "_INPUT_COUNT " << entry.inputs.size() << "u\n"
     << "#define " << prefix << "_OUTPUT_COUNT " << entry.outputs.size() << "u\n\n";
}

/// An enumerator for each path; one that another path has taken gets a number.
void HeaderWriter::writeNames(llvm::StringRef kind, const std::vector<std::string> &paths) {
  if (paths.empty())
    return;
  std::set<std::string> taken{"COUNT"};
  os << "enum {\n";
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string identifier =
        untrusted::makeDistinct(untrusted::forCIdentifier(paths[i]), taken);
    os << "  " << macro << "_" << kind << "_" << identifier << " = " << i
       << (i + 1 < paths.size() ? ",\n" : "\n");
  }
  os << "};\n";
}

void HeaderWriter::writeVariables() {
  std::vector<std::string> paths;
  os << "/* Variables, by index:\n";
  for (size_t i = 0, count = countVariables(); i < count; ++i) {
    os << " * " << i << "  " << describe(tables.variables[i].tensor) << " ("
       << stringifyVariableRole(tables.variables[i].role) << ")\n";
    paths.push_back(tables.variables[i].tensor.name);
  }
  os << " */\n#define " << macro << "_VARIABLE_COUNT " << paths.size() << "u\n";
  writeNames("VARIABLE", paths);
  if (!tables.metrics.empty()) {
    os << "\n/* Metrics, by index:\n";
    for (size_t i = 0; i < tables.metrics.size(); ++i)
      os << " * " << i << "  " << untrusted::forCComment(tables.metrics[i].name) << "\n";
    os << " */\n#define " << macro << "_METRIC_COUNT " << tables.metrics.size() << "u\n";
  }
  os << "\n";
}

void HeaderWriter::writeGradients(const FunctionEntry &backward) {
  std::vector<std::string> paths;
  os << "/* Gradients, by index, as " << name << "_backward writes them:\n";
  for (const TensorEntry &tensor : backward.outputs) {
    llvm::StringRef path = tensor.name;
    if (!path.consume_front("grad:"))
      continue;
    TensorEntry shown = tensor;
    shown.name = path.str();
    os << " * " << paths.size() << "  " << describe(shown) << "\n";
    paths.push_back(path.str());
  }
  os << " */\n#define " << macro << "_GRADIENT_COUNT " << paths.size() << "u\n";
  writeNames("GRADIENT", paths);
  os << "\n";
}

void HeaderWriter::writeHandles() {
  os << llvm::formatv(R"(typedef mpc_rt_model_t {0}_model_t;
typedef mpc_rt_context_t {0}_context_t;

/* The tables of lib{0}.so; null for a runtime that is too old. */
const mpc_rt_executable_t *{0}_executable_query(uint32_t max_abi_version);

static inline mpc_rt_status_t {0}_check(mpc_rt_status_t status, {0}_model_t **model) {{
  const mpc_rt_expectation_t expected = {{sizeof(mpc_rt_expectation_t), 0, "{0}", {1}_POLICY,
                                         {1}_SOURCE_HASH, {1}_HEADER_HASH};
  if (status == MPC_RT_OK && (status = mpc_rt_model_expect(*model, &expected)) != MPC_RT_OK) {{
    mpc_rt_model_release(*model);
    *model = NULL;
  }
  return status;
}

/* The model of lib{0}.so, which the program is linked with. */
static inline mpc_rt_status_t {0}_model_create({0}_model_t **model) {{
  return {0}_check(mpc_rt_model_from_executable({0}_executable_query(MPC_RT_ABI_VERSION), model),
                   model);
}
/* The same from a file: lib{0}.so, the folder that holds it, or an archive. Needs no linking with it.
 * Loading a library runs its code: its seal finds damage, and is no signature. */
static inline mpc_rt_status_t {0}_model_open(const char *path, {0}_model_t **model) {{
  return {0}_check(mpc_rt_model_load(path, model), model);
}
/* Whether {0}.safetensors beside the library is the file that mpcc wrote, bit by bit. */
static inline mpc_rt_status_t {0}_model_verify(const {0}_model_t *model) {{
  return mpc_rt_model_verify_weights(model);
}
/* Contexts keep their model alive. Null is allowed. */
static inline void {0}_model_destroy({0}_model_t *model) {{ mpc_rt_model_release(model); }

/* A context whose variables have the values of the model file: embedded, or of {0}.safetensors
 * beside the library; where there are none, those of the initializers. `options` may be null. */
static inline mpc_rt_status_t {0}_create({0}_model_t *model, const mpc_rt_context_options_t *options,
                                         {0}_context_t **context) {{
  mpc_rt_status_t status = mpc_rt_context_create(model, options, context);
  if (status == MPC_RT_OK && (status = mpc_rt_context_load_initial(*context, NULL)) != MPC_RT_OK) {{
    mpc_rt_context_release(*context);
    *context = NULL;
  }
  return status;
}
static inline void {0}_destroy({0}_context_t *context) {{ mpc_rt_context_release(context); }

/* Every variable from its initializer. */
static inline mpc_rt_status_t {0}_initialize({0}_context_t *context, uint64_t seed) {{
  return mpc_rt_context_initialize(context, seed);
}

/* Variables, by index and by path (NOT_FOUND names what exists). */
static inline uint32_t {0}_variable_count(void) {{ return {1}_VARIABLE_COUNT; }
static inline const mpc_rt_variable_info_t *{0}_variable_info(const {0}_model_t *model,
                                                             uint32_t variable) {{
  return model && variable < {1}_VARIABLE_COUNT ? &mpc_rt_model_executable(model)->variables[variable]
                                                : NULL;
}
static inline mpc_rt_status_t {0}_variable_find(const {0}_model_t *model, const char *path,
                                                uint32_t *variable) {{
  return mpc_rt_find_variable(model, path, variable);
}
/* Copies; `dtype` and `bytes` must be the variable's. */
static inline mpc_rt_status_t {0}_variable_set({0}_context_t *context, uint32_t variable,
                                               mpc_rt_dtype_t dtype, const void *data, size_t bytes) {{
  return mpc_rt_context_set_variable(context, variable, dtype, data, bytes);
}
static inline mpc_rt_status_t {0}_variable_get({0}_context_t *context, uint32_t variable,
                                               mpc_rt_dtype_t dtype, void *data, size_t bytes) {{
  return mpc_rt_context_get_variable(context, variable, dtype, data, bytes);
}

/* Variables, optimizer, loss scale, metrics and random states, with a checksum, atomically; `load`
 * also reads weights files, and refuses the state of another optimizer. `load_weights` takes the
 * weights beside such a state, and what fits of it; `loaded` may be null. On failure nothing has
 * changed. */
static inline mpc_rt_status_t {0}_save({0}_context_t *context, const char *path) {{
  return mpc_rt_context_save(context, path);
}
static inline mpc_rt_status_t {0}_load({0}_context_t *context, const char *path) {{
  return mpc_rt_context_load(context, path);
}
static inline mpc_rt_status_t {0}_load_weights({0}_context_t *context, const char *path,
                                               mpc_rt_loaded_t *loaded) {{
  return mpc_rt_context_load_weights(context, path, loaded);
}

/* Seed and counter of random layers. */
static inline mpc_rt_status_t {0}_get_random({0}_context_t *context, uint64_t *seed,
                                             uint64_t *counter) {{
  return mpc_rt_context_get_random(context, seed, counter);
}
static inline mpc_rt_status_t {0}_set_random({0}_context_t *context, uint64_t seed,
                                             uint64_t counter) {{
  return mpc_rt_context_set_random(context, seed, counter);
}

/* A variable's own memory as a DLPack tensor of the caller (mpc-rt/dlpack.h), and a copy of one. */
static inline mpc_rt_status_t {0}_variable_dlpack({0}_context_t *context, uint32_t variable,
                                                  struct DLManagedTensor **tensor) {{
  return mpc_rt_context_variable_dlpack(context, variable, tensor);
}
static inline mpc_rt_status_t {0}_variable_set_dlpack({0}_context_t *context, uint32_t variable,
                                                      const struct DLManagedTensor *tensor) {{
  return mpc_rt_context_set_variable_dlpack(context, variable, tensor);
}

/* Bytes that a context takes from its allocator for batches up to `batch`. */
static inline mpc_rt_status_t {0}_workspace(const {0}_model_t *model, int64_t batch,
                                            mpc_rt_workspace_t *workspace) {{
  return mpc_rt_model_workspace(model, batch, workspace);
}
/* Scratch bytes that a context allocates for a run of an entry with `batch` samples. */
static inline uint64_t {0}_workspace_bytes(const {0}_model_t *model, uint32_t entry, int64_t batch) {{
  return mpc_rt_entry_arena_bytes(model, entry, batch);
}

/* Name, inputs, outputs, variables and the policy of each layer as JSON ({0}.json). */
static inline const char *{0}_description(const {0}_model_t *model) {{
  return model ? mpc_rt_model_executable(model)->manifest : NULL;
}

)",
                      name, macro);
  if (!tables.metrics.empty())
    os << llvm::formatv(R"(/* Running results of metrics, as Keras prints them. */
static inline mpc_rt_status_t {0}_metric({0}_context_t *context, uint32_t metric, double *value) {{
  return mpc_rt_context_metric(context, metric, value);
}
static inline mpc_rt_status_t {0}_reset_metrics({0}_context_t *context) {{
  return mpc_rt_context_reset_metrics(context);
}

)",
                        name);
}

void HeaderWriter::writeTraining() {
  std::string outputs = "loss";
  for (const TensorEntry &tensor : findEntry(tables, "predict")->outputs)
    outputs += ", " + untrusted::forCComment(tensor.name);
  os << llvm::formatv(R"(/* The training step in four calls, with the same bytes as {0}_train_step
 * (mpc-rt/training.h says all). `inputs` as of {0}_train_step, outputs: {2}. `gradients` has
 * {1}_GRADIENT_COUNT buffers of the caller, or is null for the context's own ({0}_gradient). */
static inline mpc_rt_status_t {0}_forward({0}_context_t *context, const void *const *inputs,
                                          void *const *outputs, int64_t batch) {{
  return mpc_rt_context_forward(context, inputs, outputs, batch);
}
/* Gradients of the loss times the loss scale. */
static inline mpc_rt_status_t {0}_backward({0}_context_t *context, void *const *gradients) {{
  return mpc_rt_context_backward(context, gradients);
}
/* Divides by the loss scale, in place; `finite`: whether all were finite. */
static inline mpc_rt_status_t {0}_unscale_gradients({0}_context_t *context, void *const *gradients,
                                                    int32_t *finite) {{
  return mpc_rt_context_unscale_gradients(context, gradients, finite);
}
/* Updates, or skips where a dynamic loss scale met gradients that are not finite; `applied` may be
 * null. */
static inline mpc_rt_status_t {0}_apply_gradients({0}_context_t *context, void *const *gradients,
                                                  mpc_rt_applied_t *applied) {{
  return mpc_rt_context_apply_gradients(context, gradients, applied);
}
static inline void *{0}_gradient({0}_context_t *context, uint32_t gradient) {{
  return mpc_rt_context_gradient(context, gradient);
}
static inline mpc_rt_status_t {0}_gradient_dlpack({0}_context_t *context, uint32_t gradient,
                                                  struct DLManagedTensor **tensor) {{
  return mpc_rt_context_gradient_dlpack(context, gradient, tensor);
}
static inline mpc_rt_status_t {0}_gradient_info(const {0}_model_t *model, uint32_t gradient,
                                                mpc_rt_gradient_info_t *info) {{
  return mpc_rt_model_gradient_info(model, gradient, info);
}

)",
                      name, macro, outputs);
}

void HeaderWriter::writeTrainingState() {
  os << llvm::formatv(R"(/* scale, dynamic_counter; `set` needs a dynamic loss scale. */
static inline mpc_rt_status_t {0}_get_loss_scale({0}_context_t *context,
                                                 mpc_rt_loss_scale_t *loss_scale) {{
  return mpc_rt_context_get_loss_scale(context, loss_scale);
}
static inline mpc_rt_status_t {0}_set_loss_scale({0}_context_t *context,
                                                 const mpc_rt_loss_scale_t *loss_scale) {{
  return mpc_rt_context_set_loss_scale(context, loss_scale);
}
/* FAILED_PRECONDITION where a schedule decides. */
static inline mpc_rt_status_t {0}_get_learning_rate({0}_context_t *context, float *rate) {{
  return mpc_rt_context_get_learning_rate(context, rate);
}
static inline mpc_rt_status_t {0}_set_learning_rate({0}_context_t *context, float rate) {{
  return mpc_rt_context_set_learning_rate(context, rate);
}

)",
                      name);
}

std::string HeaderWriter::write() {
  writeIntroduction();
  for (size_t e = 0; e < tables.entries.size(); ++e)
    if (!isStage(tables.entries[e]))
      writeEntry(tables.entries[e], e);
  writeVariables();
  const FunctionEntry *backward = findEntry(tables, "train_backward");
  if (backward)
    writeGradients(*backward);
  writeHandles();
  for (const FunctionEntry &entry : tables.entries)
    if (!isStage(entry))
      os << llvm::formatv(R"(static inline mpc_rt_status_t {0}_{2}({0}_context_t *context,
                                        const void *const *inputs, void *const *outputs,
                                        int64_t batch) {{
  return mpc_rt_context_run(context, {1}_ENTRY_{3}, inputs, outputs, batch);
}
/* The same for DLPack tensors, all checked; outputs that are null are made and given. */
static inline mpc_rt_status_t {0}_{2}_dlpack({0}_context_t *context,
                                             struct DLManagedTensor *const *inputs,
                                             struct DLManagedTensor **outputs) {{
  return mpc_rt_context_run_dlpack(context, {1}_ENTRY_{3}, inputs, {1}_{3}_INPUT_COUNT, outputs,
                                   {1}_{3}_OUTPUT_COUNT);
}

)",
                          name, macro, entry.name, upper(entry.name));
  if (backward)
    writeTraining();
  if (findEntry(tables, "train_step"))
    writeTrainingState();
  os << "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

std::string mpc::toHeader(const ModuleTables &tables) { return HeaderWriter(tables).write(); }
