// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/ForwardModule.h"

namespace mpc {

using mlir::Value;

static constexpr llvm::StringLiteral kRandomState("seed_generator/state");

PrecisionAttr makePrecision(mlir::Type compute, llvm::StringRef rule) {
  mlir::MLIRContext *context = compute.getContext();
  return PrecisionAttr::get(context, compute, compute, widerOf32(compute),
                            mlir::StringAttr::get(context, rule));
}

ForwardModule::ForwardModule(mlir::MLIRContext &context, llvm::StringRef fileName,
                             llvm::StringRef moduleName)
    : builder(&context), location(mlir::FileLineColLoc::get(&context, fileName, 0, 0)) {
  module = mlir::ModuleOp::create(builder, location, moduleName);
  module.get()->setAttr(MpcDialect::kPhaseAttr, builder.getStringAttr("import"));
  builder.setInsertionPointToEnd(module->getBody());
  function =
      mlir::func::FuncOp::create(builder, location, "forward", builder.getFunctionType({}, {}));
  body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
}

Value ForwardModule::insertInput(llvm::StringRef name, mlir::RankedTensorType type,
                                 mlir::Location place) {
  Value input = body->insertArgument(unsigned(inputNames.size()), type, place);
  inputNames.push_back(name.str());
  return input;
}

Value ForwardModule::getRandomState() {
  if (!randomState)
    randomState =
        body->addArgument(mlir::RankedTensorType::get({2}, builder.getI64Type()), location);
  return randomState;
}

void ForwardModule::sortArguments(llvm::ArrayRef<Variable> variables) {
  auto move = [&](mlir::BlockArgument &argument) {
    mlir::BlockArgument moved = body->addArgument(argument.getType(), argument.getLoc());
    argument.replaceAllUsesWith(moved);
    argument = moved;
  };
  const unsigned inputs = unsigned(inputNames.size()), collected = body->getNumArguments();
  for (const Variable &variable : variables)
    move(variable.argument);
  if (randomState)
    move(randomState);
  body->eraseArguments(inputs, collected - inputs);
}

void ForwardModule::addResult(Value value, llvm::ArrayRef<mlir::NamedAttribute> said) {
  results.push_back(value);
  resultAttributes.push_back(builder.getDictionaryAttr(said));
}

void ForwardModule::addOutput(unsigned index, Value output) {
  addResult(output, nameOf("out" + llvm::Twine(index)));
}

mlir::NamedAttribute ForwardModule::nameOf(const llvm::Twine &output) {
  return builder.getNamedAttr(MpcDialect::kOutputAttr, builder.getStringAttr(output));
}

mlir::NamedAttribute ForwardModule::updateOf(llvm::StringRef path) {
  return builder.getNamedAttr(MpcDialect::kUpdatesAttr,
                              mlir::FlatSymbolRefAttr::get(builder.getContext(), path));
}

void ForwardModule::markUpdate(Value update, llvm::StringRef path) {
  auto result = llvm::cast<mlir::OpResult>(update);
  auto layer = llvm::dyn_cast<LayerOp>(result.getOwner());
  if (!layer)
    return; // a scan, which the layers inside say it for
  llvm::SmallVector<mlir::Attribute> symbols(layer->getNumResults(), builder.getUnitAttr());
  if (std::optional<mlir::ArrayAttr> known = layer.getUpdates())
    symbols.assign(known->begin(), known->end());
  symbols[result.getResultNumber()] = mlir::FlatSymbolRefAttr::get(builder.getContext(), path);
  layer.setUpdatesAttr(builder.getArrayAttr(symbols));
}

void ForwardModule::finishFunction(llvm::ArrayRef<Variable> variables) {
  if (randomState)
    addResult(RandomAdvanceOp::create(builder, location, randomState), updateOf(kRandomState));
  mlir::func::ReturnOp::create(builder, location, results);
  function.setFunctionType(
      builder.getFunctionType(body->getArgumentTypes(), mlir::ValueRange(results).getTypes()));
  function.setAllResultAttrs(resultAttributes);
  auto nameVariable = [&](mlir::BlockArgument argument, llvm::StringRef path) {
    function.setArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr,
                        mlir::FlatSymbolRefAttr::get(builder.getContext(), path));
  };
  for (const auto &[index, name] : llvm::enumerate(inputNames))
    function.setArgAttr(unsigned(index), MpcDialect::kInputAttr, builder.getStringAttr(name));
  for (const Variable &variable : variables)
    nameVariable(variable.argument, variable.path);
  if (randomState)
    nameVariable(randomState, kRandomState);
  builder.setInsertionPointToStart(module->getBody());
}

mlir::OwningOpRef<mlir::ModuleOp> ForwardModule::takeModule() {
  if (randomState)
    VariableOp::create(builder, location, kRandomState,
                       llvm::cast<mlir::RankedTensorType>(randomState.getType()),
                       VariableRole::Random, mlir::StringAttr(), InitializerAttr(),
                       RegularizerAttr(), ConstraintAttr(), /*autocast=*/false,
                       mlir::FlatSymbolRefAttr(), /*own_type=*/mlir::TypeAttr());
  return std::move(module);
}

} // namespace mpc
