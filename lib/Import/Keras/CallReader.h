// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the arguments of one call of a layer: tensors, which are values of the layer's body, and
// literals. A tensor that is passed as an argument which nobody asks for is an error.
#ifndef MPC_LIB_IMPORT_KERAS_CALLREADER_H
#define MPC_LIB_IMPORT_KERAS_CALLREADER_H

#include "lib/Import/Keras/ConfigReader.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace mpc::keras {

class CallReader : public ConfigReader {
public:
  /// `inputs` are all tensors of the call, keywords' after the others. `call` is null in a
  /// Sequential model: one tensor, no more.
  CallReader(mlir::OpBuilder builder, mlir::Location location, const LayerConfig &layer,
             const Node *call, llvm::ArrayRef<mlir::Value> inputs)
      : ConfigReader(builder, location, layer), call(call), inputs(inputs) {}

  /// The tensors of the positional arguments; when there are none, those of all keywords. Those
  /// before the mask, where getMask has found one among them.
  llvm::ArrayRef<mlir::Value> getInputs() const;
  /// The tensors that the call passes as argument `position` (counted from 0) or by the keyword
  /// `name`, in the order in which Keras flattens them; none when it passes null or nothing.
  llvm::ArrayRef<mlir::Value> getArgument(unsigned position, llvm::StringRef name);
  /// The same argument as a list, null where it holds None.
  llvm::SmallVector<mlir::Value> getArgumentSlots(unsigned position, llvm::StringRef name);
  /// The same argument when it is a literal (not null) or a `__tensor__`, `__slice__`, … object.
  const llvm::json::Value *getLiteral(unsigned position, llvm::StringRef name) const;
  /// The same argument as a truth value; an error when it is none, nor a number, which Python takes
  /// for one.
  bool getCallFlag(unsigned position, llvm::StringRef name, bool otherwise);
  /// The only input; an error (and null) when there are more or none.
  mlir::Value getInput();
  /// The only input as a floating tensor. `castIntegers`: integers become floating, as Keras's
  /// promotion makes them where they meet the layer's variables; else they are an error.
  mlir::Value getFloatInput(bool castIntegers = false);
  void reportUnreadArguments();

protected:
  const Argument *findArgument(unsigned position, llvm::StringRef name) const;

  const Node *const call;
  llvm::SmallVector<mlir::Value> inputs;
  const Argument *maskArgument = nullptr; ///< the explicit one, where the call has it

private:
  mutable llvm::SmallPtrSet<const Argument *, 4> readArguments;
};

} // namespace mpc::keras

#endif
