// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of one compilation, from the model's file to the library.
#ifndef MPC_LIB_DRIVER_COMPILATION_H
#define MPC_LIB_DRIVER_COMPILATION_H

#include "lib/Driver/CompileConfig.h"
#include "lib/Driver/Diagnostics.h"
#include "lib/Driver/Explain.h"
#include "lib/Driver/ProgressLine.h"
#include "mlir/IR/OwningOpRef.h"
#include "mpc/Driver/Compile.h"
#include "mpc/Driver/DescribeLayers.h"
#include "mpc/Driver/ModelState.h"
#include "mpc/Driver/ProveModel.h"
#include "mpc/Import/Keras/Import.h"
#include "mpc/InitAll.h"
#include "mpc/Policy/PathPattern.h"
#include "mpc/Support/AtomicFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include <future>

namespace mpc {

/// One run of mpcc.
class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : options(options), context(makeRegistry()), progress(options.progress),
        diagnostics(context, options, progress) {
    // A user's message names the place; the op's text would bury it.
    context.printOpOnDiagnostic(false);
    renewMatchBudget();
  }

  ExitCode run();
  /// Stops when the optimizer's variables are declared.
  ExitCode collectState(const llvm::MemoryBuffer *weights, ModelState &state);

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }
  ExitCode load();
  ExitCode loadKeras(llvm::MemoryBufferRef buffer);
  friend ExitCode loadOnnx(Compilation &compilation);
  friend class ShapeEntries;
  friend ExitCode chooseShards(Compilation &compilation);
  friend ExitCode describeLayers(const CompileOptions &options, ModelLayers &model);
  friend ExitCode proveModel(const CompileOptions &options, const InputRanges &inputs,
                             std::vector<LayerProof> &proofs);
  ExitCode loadIR(llvm::MemoryBufferRef buffer);
  void warnOfLateOptions();
  ExitCode specializeBatch();
  ExitCode prepareTraining(const llvm::json::Object &fileConfig);
  ExitCode runPhases();
  ExitCode runPhase(Phase phase);
  ExitCode refuseFindings();
  ExitCode writeFindings();
  void recordManifest();
  void recordSourceHash();
  ExitCode finish(AtomicFiles &files, llvm::Error failure);
  /// Makes sure that everything printed reached standard output; else says so.
  ExitCode flushOutput();
  std::string printIR();
  ExitCode writeIR();
  ExitCode writeCudaSource();
  ExitCode emit();
  ExitCode takeOptimizerState();
  void replaceLearningRate();
  /// After a failure that is not the input's: says so, with a file that shows it again.
  ExitCode reportInternalError(Phase phase, llvm::StringRef what);
  /// The IR that `phase` began with, in a temporary file; the model itself where there is none.
  std::string writeReproducer(Phase phase);

  const CompileOptions &options;
  mlir::MLIRContext context;
  ProgressLine progress;
  DiagnosticPrinter diagnostics;
  Explanation explanation;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  WeightStore weights;
  std::vector<keras::StoredTensor> optimizerVariables;
  std::vector<std::string> legacyOptimizerNames;
  const llvm::MemoryBuffer *weightsFile = nullptr;
  int64_t openExtent = 0;
  bool keepsOutputTypes = false; ///< outputs have the file's dtypes, whatever --output-guard says
  std::optional<keras::ImportedModel> imported;
  CompileConfig compileConfig;
  std::unique_ptr<llvm::MemoryBuffer> file;
  std::future<std::string> sourceHash;
  std::string name;
  Phase first = Phase::Policy, last = Phase::Module;
  bool allPhasesRan = false;
};

/// Takes in an ONNX model.
ExitCode loadOnnx(Compilation &compilation);
/// Only ONNX models have texts, and an option that says how long they are.
ExitCode refuseTextWidths(const CompileOptions &options, DiagnosticPrinter &diagnostics);

/// Marks the variables that several ranks update a part each of, as --shard says of their paths; of
/// a module whose variables' roles are decided.
ExitCode chooseShards(Compilation &compilation);

} // namespace mpc

#endif // MPC_LIB_DRIVER_COMPILATION_H
