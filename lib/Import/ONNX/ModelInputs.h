// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inputs of the model: their types, and the extents that the file leaves open.
#ifndef MPC_LIB_IMPORT_ONNX_MODELINPUTS_H
#define MPC_LIB_IMPORT_ONNX_MODELINPUTS_H

#include "lib/Import/ONNX/Forward.h"
#include "mpc/Import/ONNX/Import.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpc::onnx {

class ModelInputs {
public:
  using ReportFn = llvm::function_ref<void(llvm::StringRef path, const llvm::Twine &message)>;

  ModelInputs(const Graph &graph, const ImportOptions &options) : graph(graph), options(options) {}

  /// Every input of the graph that is no initializer becomes an argument of @forward.
  void import(Forward &forward, Scope &scope, ReportFn report);
  /// Behind errors that ask for the batch: which inputs leave it open, and what to say.
  void askForBatch(ReportFn report) const;

private:
  /// The tensor that the input is, or an optional one has; nothing known of it after an error.
  NodeValue importInput(const ValueInfo &input, Forward &forward, ReportFn report);
  std::optional<llvm::SmallVector<int64_t>> closeShape(const ValueInfo &input, ReportFn report);
  /// Whether the extents that are still open leave the input one batch, as the others'; false after
  /// an error.
  bool closeBatch(const ValueInfo &input, llvm::SmallVectorImpl<int64_t> &shape, ReportFn report);
  /// The option's width of the input's texts.
  int64_t findTextWidth(llvm::StringRef input) const;
  const llvm::SmallVector<int64_t> *findGiven(llvm::StringRef name) const;
  void readNames();

  const Graph &graph;
  const ImportOptions &options;
  std::optional<std::string> batchName; ///< the file's name of the open batch
  llvm::StringMap<int64_t> names;       ///< extents of the option by the file's names
  std::vector<std::string> open;        ///< inputs that have the open batch
  size_t count = 0;
};

} // namespace mpc::onnx

#endif
