// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The initializers that become variables of the model, under their own names: those that an
// optimizer may update, their statistics, and constants too large for the code.
#ifndef MPC_LIB_IMPORT_ONNX_PARAMETERS_H
#define MPC_LIB_IMPORT_ONNX_PARAMETERS_H

#include "lib/Import/ONNX/NodeValue.h"
#include "lib/Import/ONNX/Weights.h"
#include "mpc/Import/ONNX/Model.h"
#include "mpc/Policy/PathPattern.h"
#include "mpc/Support/WeightStore.h"

namespace mpc::onnx {

/// A variable of the model.
struct Parameter {
  std::string path;            ///< the initializer's name
  const Tensor *stored;        ///< its first value
  mlir::RankedTensorType type; ///< in the phase import
  bool trainable = true;
  bool isChosen = false;        ///< by name: nothing else of the model knows its first value
  bool autocast = true;         ///< false: normalisations read it in the dtype that it is stored in
  std::string layer;            ///< the path of the first layer that reads it
  mlir::BlockArgument argument; ///< of @forward; null until a layer reads it
  mlir::Value update;           ///< what the last call of a layer made of it; null: nothing
};

/// Whether a pattern names the initializer; of none, and of a wrong one, it does not.
bool isChosen(const std::optional<PathPattern> &pattern, llvm::StringRef name);

class Parameters {
public:
  /// Reads from `graph` which initializers train; those whose names `pattern` matches do, too.
  Parameters(const Graph &graph, const std::optional<PathPattern> &pattern);

  /// The number of the variable that `tensor` is; nothing where it is a constant.
  std::optional<unsigned> declare(mlir::Builder &builder, const Tensor &tensor);

  Parameter &get(unsigned number) { return all[number]; }
  llvm::MutableArrayRef<Parameter> getAll() { return all; }
  /// The mpc.variable ops of those that are read.
  void declareVariables(mlir::OpBuilder &builder, mlir::Location location) const;
  void takeWeights(WeightStore &weights) const;

private:
  const std::optional<PathPattern> &pattern;
  std::vector<Parameter> all;
  Weights weights;
};

} // namespace mpc::onnx

#endif
