// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the importer of a layer sees whose parts are layers of their own, with paths, policies and
// weights of their own (attention). Its ops stand in @forward and compute in what their operands
// have, as the code of such a layer does between the calls of its parts.
#ifndef MPC_LIB_IMPORT_KERAS_COMPOSITEBUILDER_H
#define MPC_LIB_IMPORT_KERAS_COMPOSITEBUILDER_H

#include "LayerBuilder.h"

namespace mpc::keras {

class CompositeBuilder : public ValueBuilder {
public:
  /// `own` reads the config and the arguments of the layer; `inputs` are its inputs as the layer's
  /// autocast leaves them.
  CompositeBuilder(GraphImporter &importer, LayerBuilder &own, mlir::OpBuilder builder,
                   llvm::ArrayRef<mlir::Value> outer, llvm::ArrayRef<mlir::Value> inputs);

  LayerBuilder &own;

  /// The tensors of an argument, as the layer's autocast leaves them.
  llvm::SmallVector<mlir::Value> getArgument(unsigned position, llvm::StringRef name);
  /// The first of them; null when there is none.
  mlir::Value getTensor(unsigned position, llvm::StringRef name);
  /// The implicit mask of an input; null when it has none.
  mlir::Value getMaskOf(mlir::Value input) const;
  /// A literal argument of the call as a truth value.
  bool getFlag(unsigned position, llvm::StringRef name, bool otherwise);

  /// A variable of the layer's own, as its autocast leaves it; null after an error.
  mlir::Value addVariable(const VariableRequest &request);

  /// Calls the part `name` of class `className` on `input`; an optional second tensor goes to its
  /// keyword `keyword`. `group` is its place in the weight file below the layer's; without one it
  /// has no weights. `built` parts ask a policy map with their path, others take its default. Null
  /// after an error.
  struct Part {
    llvm::StringRef name, className, group;
    llvm::json::Object config;
    bool built = true;
  };
  mlir::Value callPart(Part part, mlir::Value input, llvm::StringRef keyword = {},
                       mlir::Value second = {});

  /// Calls the layer that the config holds under `key` on `input`; its weights lie in the group of
  /// that name. Null after an error.
  mlir::Value callWrapped(llvm::StringRef key, mlir::Value input);
  /// Lets the layer under `key` read another value of its variable `variable` (the first of these
  /// names that it has) in training, where it also becomes the variable's value. `state` is a
  /// variable of the layer's own, which `compute` renews, too: it gets both and returns both.
  using Renewal = llvm::function_ref<std::pair<mlir::Value, mlir::Value>(
      ValueBuilder &, mlir::Value variable, mlir::Value state)>;
  bool renewVariable(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> names,
                     llvm::function_ref<VariableRequest(llvm::ArrayRef<int64_t> shape)> state,
                     Renewal compute);

  mlir::Value error(const llvm::Twine &message) override { return own.error(message); }
  bool hasFailed() const { return own.hasFailed(); }
  /// Result `output` carries this mask of @forward.
  void setMask(mlir::Value output, mlir::Value mask);

private:
  GraphImporter &importer;
  llvm::SmallVector<mlir::Value> outer, inputs;
};

} // namespace mpc::keras

#endif
