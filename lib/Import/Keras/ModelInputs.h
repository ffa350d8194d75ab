// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// InputLayers: an argument of @forward, or inside a nested model the cast to the declared dtype.
#ifndef MPC_LIB_IMPORT_KERAS_MODELINPUTS_H
#define MPC_LIB_IMPORT_KERAS_MODELINPUTS_H

#include "lib/Import/Keras/ForwardFunction.h"
#include "lib/Import/Keras/ImportReport.h"
#include "mpc/Import/Keras/Import.h"

#include "llvm/ADT/StringMap.h"

#include <set>

namespace mpc::keras {

class ModelInputs {
public:
  ModelInputs(const ModelConfig &model, const ImportOptions &options, ForwardFunction &forward,
              ImportReport &report);

  /// The value that an InputLayer stands for: `outer`, which its nested model is called with, or,
  /// where that is null, a new argument of @forward. Null after an error.
  mlir::Value import(const LayerConfig &layer, llvm::StringRef path, mlir::Value outer);
  /// Shapes that the user gave to inputs that the model does not have.
  void reportUnusedShapes();

private:
  mlir::Value addArgument(const LayerConfig &layer, llvm::StringRef path,
                          llvm::MutableArrayRef<int64_t> shape, mlir::Type elementType,
                          llvm::StringRef dtype);
  /// Puts the user's extents into the shape of the model input `name`; false after an error.
  bool closeShape(llvm::StringRef path, llvm::StringRef name, llvm::MutableArrayRef<int64_t> shape);
  mlir::Value takeOuter(const LayerConfig &layer, llvm::StringRef path,
                        llvm::MutableArrayRef<int64_t> shape, mlir::Type elementType,
                        llvm::StringRef dtype, mlir::Value outer);
  mlir::Value makeInputLayer(const LayerConfig &layer, llvm::StringRef path, mlir::Value value,
                             mlir::Type elementType, llvm::StringRef dtype);

  const ModelConfig &model;
  const ImportOptions &options;
  ForwardFunction &forward;
  ImportReport &report;
  /// Inputs keep a batch that the file fixes: some layer is stateful.
  const bool keepsBatch;
  /// Where the model's inputs are a dictionary, by which Keras is fed: layers to keys.
  llvm::StringMap<std::string> keys;
  std::set<std::string> closed; ///< names in options.inputShapes that inputs have
};

} // namespace mpc::keras

#endif
