// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/CompositeBuilder.h"

#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/GraphImporter.h"

namespace mpc::keras {

using mlir::Value;

CompositeBuilder::CompositeBuilder(GraphImporter &importer, LayerBuilder &own,
                                   mlir::OpBuilder builder, llvm::ArrayRef<Value> outer,
                                   llvm::ArrayRef<Value> inputs)
    : ValueBuilder(builder, own.location), own(own), importer(importer), outer(outer),
      inputs(inputs) {}

llvm::SmallVector<Value> CompositeBuilder::getArgument(unsigned position, llvm::StringRef name) {
  llvm::SmallVector<Value> values;
  for (Value argument : own.getArgument(position, name))
    values.push_back(inputs[llvm::cast<mlir::BlockArgument>(argument).getArgNumber()]);
  return values;
}

Value CompositeBuilder::getTensor(unsigned position, llvm::StringRef name) {
  llvm::SmallVector<Value> values = getArgument(position, name);
  return values.empty() ? Value() : values.front();
}

Value CompositeBuilder::getMaskOf(Value input) const {
  auto place = llvm::find(inputs, input);
  return place == inputs.end() ? Value() : importer.forward.getMask(outer[place - inputs.begin()]);
}

void CompositeBuilder::dropMaskOf(Value input) {
  if (own.layer.version.isKeras2())
    return; // there layers leave the masks of their inputs
  if (auto place = llvm::find(inputs, input); place != inputs.end())
    importer.forward.setMask(outer[place - inputs.begin()], Value());
}

void CompositeBuilder::passMasksToParts() {
  for (auto [value, given] : llvm::zip_equal(inputs, outer))
    if (Value mask = importer.forward.getMask(given))
      importer.forward.setMask(value, mask);
}

Value CompositeBuilder::getMaskOfResult(Value result) const {
  return importer.forward.getMask(result);
}

void CompositeBuilder::setMask(Value output, Value mask) { importer.forward.setMask(output, mask); }

bool CompositeBuilder::getFlag(unsigned position, llvm::StringRef name, bool otherwise) {
  return own.getCallFlag(position, name, otherwise);
}

Value CompositeBuilder::addVariable(const VariableRequest &request) {
  Value variable = own.declareVariable(request);
  if (!variable || !request.autocast || !readFlag(own.layer.config.get("autocast")).value_or(true))
    return variable;
  auto block = std::make_unique<mlir::Block>();
  Value argument = block->addArgument(variable.getType(), location);
  mlir::OpBuilder body(builder.getContext());
  body.setInsertionPointToEnd(block.get());
  YieldOp::create(body, location, argument);
  LayerOp op = LayerOp::create(builder, location, mlir::TypeRange(variable.getType()), own.path,
                               own.layer.className, mlir::ValueRange(), variable,
                               importer.policies.getName(own.layer, own.path), PrecisionAttr(),
                               /*autocast=*/true, /*casts_integers=*/false);
  op.getBody().push_back(block.release());
  importer.policies.markQuantization(op, own.layer, own.path, "");
  return op.getResult(0);
}

llvm::SmallVector<Value> CompositeBuilder::call(const LayerConfig &layer, llvm::StringRef path,
                                                llvm::ArrayRef<Given> arguments) {
  Node node;
  llvm::SmallVector<Value> values, outputs;
  for (const Given &given : arguments) {
    const bool isLiteral = given.literal.kind() != llvm::json::Value::Null;
    if (!given.tensor && !isLiteral)
      continue;
    Argument &argument = given.keyword.empty()
                             ? node.arguments.emplace_back()
                             : node.keywords.emplace_back(given.keyword.str(), Argument()).second;
    if (given.tensor) {
      argument.kind = Argument::Kind::Tensor;
      values.push_back(given.tensor);
    } else {
      argument.constant = given.literal;
    }
  }
  if (!importer.importCall(layer, &node, path, own.trainable, values, outputs)) {
    own.fail();
    return {};
  }
  return outputs;
}

llvm::SmallVector<Value> CompositeBuilder::callPart(Part part, llvm::ArrayRef<Given> arguments) {
  const LayerConfig &config = importer.tree.getPart(own.layer, part.name, [&] {
    LayerConfig made;
    made.className = part.className.str();
    if (part.package.empty())
      made.module = "keras.layers";
    else
      made.registeredName = (part.package + ">" + part.className).str();
    // A part's path begins with the layer's own name, whatever contains the layer.
    made.name = own.layer.name + "/" + part.name.str();
    made.config = std::move(part.config);
    if (const llvm::json::Value *dtype = own.layer.config.get("dtype"))
      made.config["dtype"] = *dtype;
    if (part.built)
      made.buildConfig = llvm::json::Value(llvm::json::Object());
    return made;
  });
  importer.tree.placeChild(own.layer, config, part.group, part.position);
  return call(config, own.path + "/" + part.name.str(), arguments);
}

Value CompositeBuilder::callPart(Part part, Value input, llvm::StringRef keyword, Value second) {
  llvm::SmallVector<Value> outputs = callPart(std::move(part), {{"", input}, {keyword, second}});
  return outputs.size() == 1 ? outputs.front() : Value();
}

Value CompositeBuilder::computeUnderPolicy(llvm::ArrayRef<Value> inputs,
                                           llvm::function_ref<Value(LayerBuilder &)> compute) {
  llvm::SmallVector<Value> outputs;
  if (!importer.emitLayer(own.layer, nullptr, own.path, own.trainable, inputs, outputs, compute,
                          /*passesMasksOn=*/false)) {
    own.fail();
    return {};
  }
  return outputs.front();
}

Value CompositeBuilder::callWrapped(llvm::StringRef key, Value input) {
  const LayerConfig *wrapped = own.getChild(key);
  if (!wrapped)
    return {};
  importer.tree.placeChild(own.layer, *wrapped, key);
  llvm::SmallVector<Value> outputs = call(*wrapped, own.path + "/" + wrapped->name, {{"", input}});
  return outputs.size() == 1 ? outputs.front() : Value();
}

Value CompositeBuilder::callHeld(llvm::StringRef key, llvm::ArrayRef<Given> arguments,
                                 unsigned position) {
  const LayerConfig *held = own.getChild(key);
  if (!held)
    return {};
  std::string path = own.path + "/" + held->name;
  if (const PlacedLayer *shared = importer.tree.findShared(*held)) {
    held = shared->layer;
    path = shared->path;
  } else {
    importer.tree.placeChild(own.layer, *held, key, position);
  }
  llvm::SmallVector<Value> outputs = call(*held, path, arguments);
  return outputs.size() == 1 ? outputs.front() : Value();
}

namespace {
/// Ops in the body of a layer that has no inputs.
struct BodyBuilder : ValueBuilder {
  BodyBuilder(mlir::OpBuilder builder, mlir::Location location, LayerBuilder &own)
      : ValueBuilder(builder, location), own(own) {}
  Value error(const llvm::Twine &message) override { return own.error(message); }
  LayerBuilder &own;
};
} // namespace

bool CompositeBuilder::renewVariable(
    llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> names,
    llvm::function_ref<VariableRequest(llvm::ArrayRef<int64_t> shape)> state, Renewal compute) {
  const LayerConfig *wrapped = own.getChild(key);
  if (!wrapped)
    return false;
  Value variable;
  for (llvm::StringRef name : names)
    if (!variable)
      variable = importer.variables.findValue(*wrapped, name);
  if (!variable) {
    error(own.layer.className + " wraps a layer without '" + names.front() + "'");
    return false;
  }
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(variable))) {
    error(own.layer.className + " wraps a quantized layer, whose '" + names.front() +
          "' it cannot renew; Keras does not load such a model either; leave the layer out of "
          "model.quantize (filters=)");
    return false;
  }
  importer.variables.listFirst(variable, own.layer);
  Value second = own.declareVariable(state(shapeOf(variable)));
  if (!second)
    return false;
  if (importer.mode == CallMode::Inference)
    return true;
  if (importer.mode == CallMode::Training) {
    error("the layer is called with training=True: Keras 2 renews '" + names.front() +
          "' in predictions, too, which mpc does not support; call it without the argument");
    return false;
  }
  // Before the wrapped layer, which is the last op that reads the variable.
  mlir::Operation *reader = *variable.getUsers().begin();
  mlir::OpBuilder outside(reader);
  auto block = std::make_unique<mlir::Block>();
  Value argument = block->addArgument(variable.getType(), location),
        stateArgument = block->addArgument(second.getType(), location);
  BodyBuilder body(mlir::OpBuilder(builder.getContext()), location, own);
  body.builder.setInsertionPointToEnd(block.get());
  auto [newValue, newState] = compute(body, argument, stateArgument);
  // As with Keras's assignment, which no derivative goes through: the gradient of the variable is
  // the sum of those of its values in all calls.
  Value used = body.make<StraightThroughOp>(body.make<InTrainingOp>(newValue, argument), argument);
  YieldOp::create(body.builder, location, mlir::ValueRange{used, newState});
  LayerOp op = LayerOp::create(
      outside, location, mlir::TypeRange{variable.getType(), second.getType()}, own.path,
      own.layer.className, mlir::ValueRange(), mlir::ValueRange{variable, second},
      importer.policies.getName(own.layer, own.path), PrecisionAttr(), /*autocast=*/false,
      /*casts_integers=*/false);
  op.getBody().push_back(block.release());
  reader->replaceUsesOfWith(variable, op.getResult(0));
  importer.variables.setUpdate(variable, op.getResult(0));
  importer.variables.setUpdate(second, op.getResult(1));
  return true;
}

} // namespace mpc::keras
