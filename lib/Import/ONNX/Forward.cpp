// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Forward.h"

namespace mpc::onnx {

using mlir::Value;

static constexpr llvm::StringLiteral kRandomState("seed_generator/state");

PrecisionAttr makePrecision(mlir::Type compute, llvm::StringRef rule) {
  mlir::MLIRContext *context = compute.getContext();
  return PrecisionAttr::get(context, compute, compute, widerOf32(compute),
                            mlir::StringAttr::get(context, rule));
}

Forward::Forward(mlir::MLIRContext &context, llvm::StringRef fileName, llvm::StringRef moduleName)
    : builder(&context), location(mlir::FileLineColLoc::get(&context, fileName, 0, 0)) {
  module = mlir::ModuleOp::create(builder, location, moduleName);
  module.get()->setAttr(MpcDialect::kPhaseAttr, builder.getStringAttr("import"));
  builder.setInsertionPointToEnd(module->getBody());
  function =
      mlir::func::FuncOp::create(builder, location, "forward", builder.getFunctionType({}, {}));
  body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
}

Value Forward::addInput(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, DataType type) {
  mlir::Location place = mlir::NameLoc::get(builder.getStringAttr(name));
  const mlir::Type nominal = nominalType(builder, type);
  const bool keeps = !isFloating(type) || floatType(builder, type).isF32();
  const mlir::Type own = keeps ? nominal : mlir::Type(floatType(builder, type));
  Value input = body->insertArgument(unsigned(inputNames.size()),
                                     mlir::RankedTensorType::get(shape, own), place);
  inputNames.push_back(name.str());
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

Value Forward::getRandomState() {
  if (!randomState)
    randomState =
        body->addArgument(mlir::RankedTensorType::get({2}, builder.getI64Type()), location);
  return randomState;
}

/// Inputs, then variables in their order, then the random state.
void Forward::sortArguments() {
  auto move = [&](mlir::BlockArgument &argument) {
    mlir::BlockArgument moved = body->addArgument(argument.getType(), argument.getLoc());
    argument.replaceAllUsesWith(moved);
    argument = moved;
  };
  const unsigned inputs = unsigned(inputNames.size()), collected = body->getNumArguments();
  for (Parameter &parameter : parameters->getAll())
    if (parameter.argument)
      move(parameter.argument);
  if (randomState)
    move(randomState);
  body->eraseArguments(inputs, collected - inputs);
}

void Forward::nameArguments() {
  auto nameVariable = [&](mlir::BlockArgument argument, llvm::StringRef path) {
    function.setArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr,
                        mlir::FlatSymbolRefAttr::get(builder.getContext(), path));
  };
  for (const auto &[index, name] : llvm::enumerate(inputNames))
    function.setArgAttr(unsigned(index), MpcDialect::kInputAttr, builder.getStringAttr(name));
  for (const Parameter &parameter : parameters->getAll())
    if (parameter.argument)
      nameVariable(parameter.argument, parameter.path);
  if (randomState)
    nameVariable(randomState, kRandomState);
}

/// Says on each mpc.layer which of its results is a variable's new value.
void Forward::markUpdates() {
  for (const Parameter &parameter : parameters->getAll()) {
    if (!parameter.update)
      continue;
    auto update = llvm::cast<mlir::OpResult>(parameter.update);
    mlir::Operation *layer = update.getOwner();
    llvm::SmallVector<mlir::Attribute> symbols(layer->getNumResults(), builder.getUnitAttr());
    if (auto known = layer->getAttrOfType<mlir::ArrayAttr>(MpcDialect::kUpdatesAttr))
      symbols.assign(known.begin(), known.end());
    symbols[update.getResultNumber()] =
        mlir::FlatSymbolRefAttr::get(builder.getContext(), parameter.path);
    layer->setAttr(MpcDialect::kUpdatesAttr, builder.getArrayAttr(symbols));
  }
}

mlir::OwningOpRef<mlir::ModuleOp> Forward::finish(llvm::ArrayRef<Value> outputs) {
  sortArguments();
  llvm::SmallVector<Value> values;
  llvm::SmallVector<mlir::Attribute> attributes;
  auto add = [&](Value value, llvm::StringRef attribute, mlir::Attribute said) {
    values.push_back(value);
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(attribute, said)));
  };
  auto symbol = [&](llvm::StringRef path) {
    return mlir::FlatSymbolRefAttr::get(builder.getContext(), path);
  };
  for (const auto &[index, output] : llvm::enumerate(outputs))
    add(output, MpcDialect::kOutputAttr, builder.getStringAttr("out" + llvm::Twine(index)));
  for (const Parameter &parameter : parameters->getAll())
    if (parameter.update)
      add(parameter.update, MpcDialect::kUpdatesAttr, symbol(parameter.path));
  if (randomState)
    add(RandomAdvanceOp::create(builder, location, randomState), MpcDialect::kUpdatesAttr,
        symbol(kRandomState));
  markUpdates();
  mlir::func::ReturnOp::create(builder, location, values);
  function.setFunctionType(
      builder.getFunctionType(body->getArgumentTypes(), mlir::ValueRange(values).getTypes()));
  function.setAllResultAttrs(attributes);
  nameArguments();
  builder.setInsertionPointToStart(module->getBody());
  parameters->declareVariables(builder, location);
  if (randomState)
    VariableOp::create(
        builder, location, kRandomState, llvm::cast<mlir::RankedTensorType>(randomState.getType()),
        VariableRole::Random, mlir::StringAttr(), InitializerAttr(), RegularizerAttr(),
        ConstraintAttr(), /*autocast=*/false, mlir::FlatSymbolRefAttr());
  return std::move(module);
}

} // namespace mpc::onnx
