// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The library's description of itself: read from the IR once, written as C tables, header and
// manifest.
#ifndef MPC_LIB_CODEGEN_CPU_MODULETABLES_H
#define MPC_LIB_CODEGEN_CPU_MODULETABLES_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// A row of mpc_rt_tensor_form_t, of the tensor that has it.
struct FormEntry {
  uint32_t kind = 0; // mpc_rt_form_kind_t
  uint32_t axis = 0;
  int32_t extentOutput = -1;
};

struct TensorEntry {
  std::string name;
  std::string dtype; // Keras spelling
  uint32_t dtypeCode = 0;
  std::vector<int64_t> dims; // -1: the batch
  int64_t indexLimit = 0;
  std::vector<FormEntry> forms;
};

struct VariableEntry {
  TensorEntry tensor; // name: Keras path; optimizer variables without the prefix "optimizer/"
  std::string symbol;
  VariableRole role = VariableRole::Trainable;
  InitializerKind initializer = InitializerKind::Zeros;
  double a = 0, b = 0;
  uint64_t stream = 0;
  int32_t shadowOf = -1;
  uint32_t flags = 0; // MPC_RT_VARIABLE_*
};

struct FunctionEntry {
  std::string name;
  std::vector<TensorEntry> inputs, outputs;
  uint64_t arenaFixed = 0, arenaPerSample = 0;
};

struct MetricEntry {
  std::string name;
  uint32_t kind = 0;
  std::vector<uint32_t> states;
};

struct LayerEntry {
  std::string path, kind, policy, compute, variable, accumulate, rule;
  std::optional<std::vector<int64_t>> output; // shape of its first output, if that is known
};

struct ModuleTables {
  uint32_t servicesSize = 0; ///< bytes of mpc_rt_services_t that the code reads
  bool isDistributed = false;
  uint32_t batchParts = 0; ///< of --deterministic-ranks; 0: none
  std::string name, compilerVersion, sourceHash, weightsHash;
  std::vector<VariableEntry> variables;
  std::vector<FunctionEntry> entries;
  std::vector<MetricEntry> metrics;
  std::vector<LayerEntry> layers;
  std::vector<std::string> outputNames; // Keras names of out0, out1, …
  std::string outputStructure;          // JSON of numbers of outputs; empty: one, or a list
  std::vector<std::string> kernels;     // symbols, in table order
  std::vector<std::string> targets;     // "x86-64-v3", …
  std::string policy;                   // of most layers, Keras's name
  std::string headerHash;               // of the manifest but for what another build may change
  std::string embeddedWeights;          // safetensors; empty: beside the library
  float lossScale = 1;                  // at the start of training
  rules::LossScaleRule lossScaleRule;
};

/// Fails with the name of what the kernels phase left out.
llvm::Expected<ModuleTables> readModuleTables(mlir::ModuleOp module);

/// The library's names are C strings: one with a null character would be another one there, which
/// may exist, too.
llvm::Error checkNames(const ModuleTables &tables, llvm::StringRef file);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_MODULETABLES_H
