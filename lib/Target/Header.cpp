// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C header, the CMake package and the example of a compiled model.
#include "lib/Target/Artifacts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpc;

/// Text that may stand in a C comment: names from a model cannot close it or leave the line.
static std::string commentText(llvm::StringRef text) {
  std::string result;
  for (char c : text)
    result += llvm::isPrint(c) && c != '*' && c != '/' && c != '\\' ? c : (c == '/' ? '/' : '?');
  size_t position;
  while ((position = result.find("//")) != std::string::npos)
    result.replace(position, 2, "/_");
  return result;
}

static std::string upper(llvm::StringRef name) { return name.upper(); }

static std::string describe(const TensorEntry &tensor) {
  std::string text = commentText(tensor.name) + ": " + tensor.dtype + "[";
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    text += (i ? ", " : "") +
            (tensor.dims[i] < 0 ? std::string("batch") : std::to_string(tensor.dims[i]));
  return text + "]";
}

std::string mpc::toHeader(const ModuleTables &tables) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const std::string &name = tables.name;
  std::string guard = "MPC_MODEL_" + upper(name) + "_H";
  os << "/* Model " << name << ", compiled by mpcc " << commentText(tables.compilerVersion)
     << ". Generated: do not edit.\n"
     << " *\n * Buffers are row-major and dense, owned by the caller. A model is shared by "
        "threads, a context is used by\n"
     << " * one thread at a time. Every function returns an mpc_rt_status_t; mpc_rt_last_error() "
        "has the message. */\n"
     << "#ifndef " << guard << "\n#define " << guard << "\n\n#include \"mpc-rt/model.h\"\n\n"
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (size_t e = 0; e < tables.entries.size(); ++e) {
    const FunctionEntry &entry = tables.entries[e];
    os << "/* Entry " << entry.name << "\n";
    for (size_t i = 0; i < entry.inputs.size(); ++i)
      os << " *   inputs[" << i << "]  " << describe(entry.inputs[i]) << "\n";
    for (size_t i = 0; i < entry.outputs.size(); ++i)
      os << " *   outputs[" << i << "] " << describe(entry.outputs[i]) << "\n";
    os << " */\n#define " << upper(name) << "_ENTRY_" << upper(entry.name) << " " << e << "u\n";
    os << "#define " << upper(name) << "_" << upper(entry.name) << "_INPUT_COUNT "
       << entry.inputs.size() << "u\n";
    os << "#define " << upper(name) << "_" << upper(entry.name) << "_OUTPUT_COUNT "
       << entry.outputs.size() << "u\n\n";
  }
  // Shadows come last and are nobody's business.
  size_t variables = llvm::count_if(tables.variables, [](const VariableEntry &variable) {
    return variable.role != VariableRole::Shadow;
  });
  os << "/* Variables, by index */\n";
  for (size_t i = 0; i < variables; ++i)
    os << "/* " << i << "  " << describe(tables.variables[i].tensor) << " ("
       << stringifyVariableRole(tables.variables[i].role) << ") */\n";
  os << "#define " << upper(name) << "_VARIABLE_COUNT " << variables << "u\n\n";
  os << llvm::formatv(R"(/* Loads lib{0}.so (or the folder that holds it). */
static inline mpc_rt_status_t {0}_load(const char *path, mpc_rt_model_t **model) {{
  return mpc_rt_model_load(path, model);
}

/* Variables start from their initializers; `options` may be null. */
static inline mpc_rt_status_t {0}_create(mpc_rt_model_t *model, const mpc_rt_context_options_t *options,
                                         mpc_rt_context_t **context) {{
  return mpc_rt_context_create(model, options, context);
}

static inline void {0}_destroy(mpc_rt_context_t *context) {{ mpc_rt_context_release(context); }

static inline uint32_t {0}_variable_count(void) {{ return {1}_VARIABLE_COUNT; }

static inline mpc_rt_status_t {0}_variable_set(mpc_rt_context_t *context, uint32_t variable,
                                               mpc_rt_dtype_t dtype, const void *data, size_t bytes) {{
  return mpc_rt_context_set_variable(context, variable, dtype, data, bytes);
}

static inline mpc_rt_status_t {0}_variable_get(mpc_rt_context_t *context, uint32_t variable,
                                               mpc_rt_dtype_t dtype, void *data, size_t bytes) {{
  return mpc_rt_context_get_variable(context, variable, dtype, data, bytes);
}

)",
                      name, upper(name));
  for (const FunctionEntry &entry : tables.entries)
    os << llvm::formatv(
        R"(static inline mpc_rt_status_t {0}_{2}(mpc_rt_context_t *context, const void *const *inputs,
                                        void *const *outputs, int64_t batch) {{
  return mpc_rt_context_run(context, {1}_ENTRY_{3}, inputs, outputs, batch);
}

)",
        name, upper(name), entry.name, upper(entry.name));
  os << "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

std::string mpc::toCMakeConfig(const ModuleTables &tables) {
  return llvm::formatv(R"(# Imported target of the compiled model {0}. Generated: do not edit.
#   find_package({0} CONFIG PATHS /folder/of/this/file)
#   target_link_libraries(app PRIVATE {0}::{0})
include(CMakeFindDependencyMacro)
find_dependency(mpc CONFIG COMPONENTS runtime)
if(NOT TARGET {0}::{0})
  add_library({0}::{0} SHARED IMPORTED)
  set_target_properties({0}::{0} PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}/lib{0}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}"
    INTERFACE_LINK_LIBRARIES mpc::runtime)
endif()
)",
                       tables.name);
}

static const FunctionEntry *findEntry(const ModuleTables &tables, llvm::StringRef name) {
  for (const FunctionEntry &entry : tables.entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

/// Bytes of one sample.
static std::string sampleBytes(const TensorEntry &tensor) {
  std::string text = "mpc_rt_dtype_size(" + std::to_string(tensor.dtypeCode) + ")";
  for (int64_t extent : tensor.dims)
    if (extent >= 0)
      text += " * " + std::to_string(extent);
  return text;
}

std::string mpc::toExample(const ModuleTables &tables) {
  const FunctionEntry *predict = findEntry(tables, "predict");
  if (!predict)
    return "/* This model has no entry predict. */\n";
  std::string buffers, inputs, outputs;
  for (size_t i = 0; i < predict->inputs.size(); ++i) {
    buffers += llvm::formatv("  void *input{0} = calloc(BATCH, {1});\n", i,
                             sampleBytes(predict->inputs[i]))
                   .str();
    inputs += (i ? ", " : "") + ("input" + std::to_string(i));
  }
  for (size_t i = 0; i < predict->outputs.size(); ++i) {
    buffers += llvm::formatv("  void *output{0} = calloc(BATCH, {1});\n", i,
                             sampleBytes(predict->outputs[i]))
                   .str();
    outputs += (i ? ", " : "") + ("output" + std::to_string(i));
  }
  return llvm::formatv(R"(/* Predicts once on zeros with freshly initialised variables.
 *   cc example.c -I. $(pkg-config --cflags --libs mpc-runtime) -o example && ./example lib{0}.so */
#include "{0}.h"

#include <stdio.h>
#include <stdlib.h>

enum {{ BATCH = 4 };

static int fail(void) {{
  fprintf(stderr, "error: %s\n", mpc_rt_last_error());
  return 1;
}

int main(int argc, char **argv) {{
  mpc_rt_model_t *model = NULL;
  mpc_rt_context_t *context = NULL;
{1}  const void *inputs[] = {{{2}};
  void *outputs[] = {{{3}};
  if ({0}_load(argc > 1 ? argv[1] : "./lib{0}.so", &model) || {0}_create(model, NULL, &context) ||
      {0}_predict(context, inputs, outputs, BATCH))
    return fail();
  printf("predicted %d samples\n", BATCH);
  {0}_destroy(context);
  mpc_rt_model_release(model);
  return 0;
}
)",
                       tables.name, buffers, inputs, outputs);
}
