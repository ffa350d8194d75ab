// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Forward.h"

namespace mpc::onnx {

using mlir::Value;

Value Forward::addInput(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, DataType type) {
  mlir::Location place = mlir::NameLoc::get(builder.getStringAttr(name));
  const mlir::Type nominal = heldType(builder, type);
  const bool keeps = !isFloating(type) || floatType(builder, type).isF32();
  const mlir::Type own = keeps ? nominal : mlir::Type(floatType(builder, type));
  if (type == DataType::String)
    textInputs.push_back(unsigned(getInputNames().size()));
  Value input = insertInput(name, mlir::RankedTensorType::get(shape, own), place);
  const bool isOpen = !shape.empty() && mlir::ShapedType::isDynamic(shape.front());
  if (keeps) {
    if (isOpen && !batchCarrier)
      batchCarrier = input;
    return input;
  }
  auto block = std::make_unique<mlir::Block>();
  Value inside = block->addArgument(input.getType(), place);
  mlir::OpBuilder inner(builder.getContext());
  inner.setInsertionPointToEnd(block.get());
  Value handed =
      CastLikeOp::create(inner, place, mlir::RankedTensorType::get(shape, nominal), inside,
                         mlir::ValueRange(), /*wide=*/false, mlir::TypeAttr::get(own));
  YieldOp::create(inner, place, mlir::ValueRange(handed));
  LayerOp layer = LayerOp::create(builder, place, mlir::TypeRange(handed.getType()), name,
                                  "InputLayer", mlir::ValueRange(input), mlir::ValueRange(),
                                  mlir::StringAttr(), makePrecision(own, "file"),
                                  /*autocast=*/true, /*casts_integers=*/false);
  layer.getBody().push_back(block.release());
  if (isOpen && !batchCarrier)
    batchCarrier = layer.getResult(0);
  return layer.getResult(0);
}

Value Forward::getVariable(unsigned number, llvm::StringRef path) {
  Parameter &parameter = parameters->get(number);
  if (!parameter.argument) {
    parameter.argument = body->addArgument(
        parameter.type, mlir::NameLoc::get(builder.getStringAttr(parameter.path)));
    parameter.layer = path.str();
  }
  return parameter.update ? parameter.update : Value(parameter.argument);
}

mlir::OwningOpRef<mlir::ModuleOp> Forward::finish(llvm::ArrayRef<ForwardOutput> outputs) {
  llvm::SmallVector<Variable> variables;
  for (Parameter &parameter : parameters->getAll())
    if (parameter.argument && parameter.argument.use_empty() && !parameter.update)
      parameter.argument = {}; // only a branch that does not fit has read it
    else if (parameter.argument)
      variables.push_back({parameter.argument, parameter.path});
  sortArguments(variables);
  for (const auto &[index, output] : llvm::enumerate(outputs)) {
    llvm::SmallVector<mlir::Attribute> forms;
    if (output.bound)
      forms.push_back(BoundedAttr::get(builder.getContext(), output.bound->axis,
                                       builder.getStringAttr("out" + llvm::Twine(output.extent))));
    if (output.isText)
      forms.push_back(TextAttr::get(builder.getContext()));
    if (forms.empty())
      addOutput(unsigned(index), output.value);
    else
      addResult(output.value,
                {nameOf("out" + llvm::Twine(index)),
                 builder.getNamedAttr(MpcDialect::kFormAttr, builder.getArrayAttr(forms))});
  }
  for (const Parameter &parameter : parameters->getAll()) {
    if (!parameter.update)
      continue;
    addResult(parameter.update, updateOf(parameter.path));
    markUpdate(parameter.update, parameter.path);
  }
  finishFunction(variables);
  const mlir::ArrayAttr text = builder.getArrayAttr(TextAttr::get(builder.getContext()));
  for (unsigned input : textInputs)
    function.setArgAttr(input, MpcDialect::kFormAttr, text);
  parameters->declareVariables(builder, location);
  return takeModule();
}

} // namespace mpc::onnx
