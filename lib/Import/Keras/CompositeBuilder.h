// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The view of a model for importers of layers whose parts are layers themselves, with paths,
// policies and weights of their own (attention). Ops stand in @forward and compute in the dtypes of
// their operands, as the code of such a layer does between the calls of its parts.
#ifndef MPC_LIB_IMPORT_KERAS_COMPOSITEBUILDER_H
#define MPC_LIB_IMPORT_KERAS_COMPOSITEBUILDER_H

#include "lib/Import/Keras/LayerBuilder.h"

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
  /// From here on the caller's tensor has no mask.
  void dropMaskOf(mlir::Value input);
  /// Parts that get an input see its implicit mask.
  void passMasksToParts();
  /// The implicit mask of a part's result; null when it has none.
  mlir::Value getMaskOfResult(mlir::Value result) const;
  /// A literal argument of the call as a truth value.
  bool getFlag(unsigned position, llvm::StringRef name, bool otherwise);

  /// A variable of the layer's own, as its autocast leaves it; null after an error.
  mlir::Value addVariable(const VariableRequest &request);

  /// A layer of class `className` that the layer makes. `group` is its place in the weight file
  /// below the layer's; without one it has no weights. `built` parts ask a policy map with their
  /// path, others take its default. `position`: see GraphImporter::placeChild. `package`: where the
  /// class is registered; empty for Keras's.
  struct Part {
    llvm::StringRef name, className, group;
    llvm::json::Object config;
    bool built = true;
    unsigned position = 0;
    llvm::StringRef package = {};
  };
  /// An argument of a part: a tensor, or a literal where that is null, or nothing where the literal
  /// is null, too. Without a keyword it is positional; those come first.
  struct Given {
    llvm::StringRef keyword;
    mlir::Value tensor;
    llvm::json::Value literal = nullptr;
  };
  /// Its results; none after an error.
  llvm::SmallVector<mlir::Value> callPart(Part part, llvm::ArrayRef<Given> arguments);
  /// The only result of a call on `input`; an optional second tensor goes to the keyword `keyword`.
  /// Null after an error.
  mlir::Value callPart(Part part, mlir::Value input, llvm::StringRef keyword = {},
                       mlir::Value second = {});

  /// Computes by the layer's own code, from `inputs` and its variables, as a layer of its policy:
  /// `compute` emits the body. Null after an error.
  mlir::Value computeUnderPolicy(llvm::ArrayRef<mlir::Value> inputs,
                                 llvm::function_ref<mlir::Value(LayerBuilder &)> compute);

  /// Calls the layer that the config holds under `key` on `input`; its weights lie in the group of
  /// that name. Null after an error.
  mlir::Value callWrapped(llvm::StringRef key, mlir::Value input);
  /// The same with more arguments, for a layer that may be one of the model's, whose weights lie
  /// there.
  mlir::Value callHeld(llvm::StringRef key, llvm::ArrayRef<Given> arguments, unsigned position);
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
  llvm::SmallVector<mlir::Value> call(const LayerConfig &layer, llvm::StringRef path,
                                      llvm::ArrayRef<Given> arguments);

  GraphImporter &importer;
  llvm::SmallVector<mlir::Value> outer, inputs;
};

} // namespace mpc::keras

#endif
