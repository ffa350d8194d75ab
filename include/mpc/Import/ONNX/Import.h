// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ONNX models to the mpc dialect (phase `import`).
#ifndef MPC_IMPORT_ONNX_IMPORT_H
#define MPC_IMPORT_ONNX_IMPORT_H

#include "mpc/Import/ONNX/Model.h"
#include "mpc/Policy/PolicySource.h"
#include "mpc/Support/WeightStore.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/SmallVector.h"

#include <map>
#include <string>
#include <vector>

namespace mpc::onnx {

/// Code points of texts where no option says it: tokens, categories and addresses have fewer.
inline constexpr int64_t kTextWidth = 64;

struct ImportOptions {
  /// The policies that replace the file's dtypes (`--policy`); null: every node computes in the
  /// dtype of its inputs.
  const PolicySource *policy = nullptr;
  /// Name of the module; empty: the graph's.
  std::string moduleName;
  /// Extents of inputs by name (empty: of the only input): all of them, or those behind the first.
  std::map<std::string, llvm::SmallVector<int64_t>> inputShapes;
  /// How many code points texts of inputs have at most, by name (empty: of all others).
  std::map<std::string, int64_t> textWidths;
  /// A pattern of initializers that are to train, whatever reads them; empty: those that are
  /// weights of the nodes that read them.
  std::string trainable;
  /// The open first extent; none: it stays open in the library.
  std::optional<int64_t> batch;
  /// Inputs whose open extent is another one, and outputs, have it first in the library.
  bool batchFirst = false;
};

struct ImportedModel {
  /// One function `@forward` and the `mpc.variable`s, as dialects/mpc/README.md gives them for the
  /// phase import: floating tensors are float32, dtypes stand on `mpc.layer` as policies.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  WeightStore weights; ///< by initializer name
  std::vector<std::string> outputNames;
  std::vector<std::string> warnings;
  /// Nodes that stand for several of the file: their paths, and what they are made of.
  std::vector<std::pair<std::string, std::string>> remarks;
};

/// The error joins all that are found, each "FILE:NODE: message".
llvm::Expected<ImportedModel> importOnnx(const Model &model, llvm::StringRef fileName,
                                         const ImportOptions &options, mlir::MLIRContext &context);

/// Registers `mpc-translate --import-onnx`.
void registerImportOnnx();

} // namespace mpc::onnx

#endif
