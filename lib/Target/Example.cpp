// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NAMEConfig.cmake and example.c.
#include "lib/Target/Artifacts.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mpc;

std::string mpc::toCMakeConfig(const ModuleTables &tables, bool isStatic) {
  return llvm::formatv(R"(# Imported target of the compiled model {0}. Generated: do not edit.
#   find_package({0} CONFIG PATHS /folder/of/this/file NO_DEFAULT_PATH)
#   target_link_libraries(app PRIVATE {0}::{0})
include(CMakeFindDependencyMacro)
find_dependency(mpc CONFIG COMPONENTS runtime)
if(NOT TARGET {0}::{0})
  add_library({0}::{0} {1} IMPORTED)
  set_target_properties({0}::{0} PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}/lib{0}.{2}"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}"
    INTERFACE_LINK_LIBRARIES mpc::{3})
endif()
)",
                       tables.name, isStatic ? "STATIC" : "SHARED", isStatic ? "a" : "so",
                       isStatic ? "runtime_static" : "runtime");
}

/// Bytes of one sample.
static std::string sampleBytes(const TensorEntry &tensor) {
  std::string text = "mpc_rt_dtype_size(" + std::to_string(tensor.dtypeCode) + ")";
  for (int64_t extent : tensor.dims)
    if (extent >= 0)
      text += " * " + std::to_string(extent);
  return text;
}

std::string mpc::toExampleHead(llvm::StringRef name, bool isStatic) {
  return llvm::formatv(R"(/* Predicts once on zeros. Generated: mpcc writes it again.
 *   cc example.c -I. {1} -o example && ./example{2} */
#include "{0}.h"
)",
                       name,
                       isStatic ? "lib" + name.str() +
                                      ".a $(pkg-config --cflags --libs mpc-runtime-static)"
                                : "$(pkg-config --cflags --libs mpc-runtime)",
                       isStatic ? "" : " lib" + name.str() + ".so");
}

std::string mpc::toExample(const ModuleTables &tables, bool isStatic) {
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
  const std::string open = isStatic ? tables.name + "_model_create(&model)"
                                    : tables.name + "_model_open(argc > 1 ? argv[1] : \"./lib" +
                                          tables.name + ".so\", &model)";
  return toExampleHead(tables.name, isStatic) +
         llvm::formatv(R"(
#include <stdio.h>
#include <stdlib.h>

enum {{ BATCH = 4 };

static int fail(void) {{
  fprintf(stderr, "error: %s\n", mpc_rt_last_error());
  return 1;
}

int main({4}) {{
  {0}_model_t *model = NULL;
  {0}_context_t *context = NULL;
{1}  const void *inputs[] = {{{2}};
  void *outputs[] = {{{3}};
  if ({5} || {0}_create(model, NULL, &context) ||
      {0}_predict(context, inputs, outputs, BATCH))
    return fail();
  printf("predicted %d samples\n", BATCH);
  {0}_destroy(context);
  {0}_model_destroy(model);
  return 0;
}
)",
                       tables.name, buffers, inputs, outputs,
                       isStatic ? "void" : "int argc, char **argv", open)
             .str();
}
