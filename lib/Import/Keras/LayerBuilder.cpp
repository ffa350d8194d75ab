// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/LayerBuilder.h"

#include "lib/Import/Common/ScanBuilder.h"
#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/GraphImporter.h"

namespace mpc::keras {

using mlir::Value;

LayerBuilder::LayerBuilder(GraphImporter &importer, const LayerConfig &layer, const Node *call,
                           llvm::StringRef path, bool trainable, llvm::ArrayRef<Value> outer,
                           mlir::Block &body)
    : CallReader(mlir::OpBuilder(body.getArgument(0).getContext()), body.getArgument(0).getLoc(),
                 layer, call, llvm::to_vector_of<Value>(body.getArguments())),
      path(path), policies(importer.policies), trainable(trainable), importer(importer),
      root(*this), body(body), outer(outer) {
  builder.setInsertionPointToEnd(&body);
}

LayerBuilder::LayerBuilder(LayerBuilder &parent, const LayerConfig &layer, llvm::StringRef scope,
                           llvm::StringRef group, llvm::ArrayRef<Value> inputs)
    : CallReader(parent.builder, parent.location, layer, /*call=*/nullptr, inputs),
      path(parent.path), policies(parent.policies),
      trainable(keras::isTrainable(layer, parent.trainable)), importer(parent.importer),
      root(parent.root), body(parent.body), scope(scope),
      group(&layer == &parent.layer ? group : "") {
  importer.tree.placeChild(parent.layer, layer, group);
}

Value LayerBuilder::error(const llvm::Twine &message) {
  root.failed = true;
  importer.report.error(path, message);
  return {};
}

// ---- Masks --------------------------------------------------------------------------------------

Value LayerBuilder::getMask(unsigned position) {
  if (&root != this)
    return given;
  position = std::max(position, 1u);
  llvm::ArrayRef<Value> explicitMask = getArgument(position, "mask");
  if (!explicitMask.empty()) {
    maskArgument = findArgument(position, "mask");
    return makeBool(explicitMask.front());
  }
  unsigned arguments = call ? 0 : 1;
  if (call) {
    for (const Argument &argument : call->arguments)
      arguments += !argument.tensors().empty();
    for (const auto &[keyword, argument] : call->keywords)
      arguments += !argument.tensors().empty();
  }
  // Keras 3 has a keyword per tensor then; Keras 2 knows the mask of the first one alone.
  const bool passes = arguments == 1 || layer.version.isKeras2();
  return passes && !inputs.empty() ? getMaskOf(inputs.front()) : Value();
}

Value LayerBuilder::getMaskOf(Value input) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(input);
  if (!argument || argument.getOwner() != &body || argument.getArgNumber() >= root.outer.size())
    return {};
  Value mask = importer.forward.getMask(root.outer[argument.getArgNumber()]);
  return mask ? root.bindOperand(mask) : Value();
}

// ---- Variables and state ------------------------------------------------------------------------

Value LayerBuilder::bindOperand(Value value) {
  for (const auto &[index, known] : llvm::enumerate(variables))
    if (known == value)
      return body.getArgument(unsigned(outer.size() + index));
  variables.push_back(value);
  return body.addArgument(value.getType(), location);
}

const LayerConfig *LayerBuilder::getChild(llvm::StringRef key, std::optional<unsigned> index) {
  const LayerConfig *child = importer.tree.getChild(layer, path, key, index);
  if (!child)
    root.failed = true;
  return child;
}

Value LayerBuilder::getOperandOf(Value argument) const {
  const unsigned number = llvm::cast<mlir::BlockArgument>(argument).getArgNumber();
  return number < root.outer.size() ? Value() : root.variables[number - root.outer.size()];
}

Value LayerBuilder::declareVariable(const VariableRequest &request) {
  return importer.variables.getValue({layer, path, scope, group, trainable, location}, request);
}

Value LayerBuilder::addVariable(const VariableRequest &request) {
  Value outer = declareVariable(request);
  if (!outer) {
    root.failed = true;
    return {};
  }
  return root.bindOperand(outer);
}

Quantization LayerBuilder::getQuantization(llvm::ArrayRef<QuantizationMode> forms) {
  if (&root == this)
    for (QuantizationMode form : forms)
      if (!Quantization::isCalibratedMode(form))
        quantizedForms.push_back(nameOf(form));
  std::optional<Quantization> decided =
      policies.decideQuantization(layer, path, forms, /*isWhole=*/&root == this);
  if (!decided) {
    root.failed = true;
    return {};
  }
  if (*decided)
    root.quantization = policies.getDecided(layer, path).getQuantizationModeName().str();
  return *decided;
}

const std::string *LayerBuilder::findVocabulary() const {
  return importer.tree.findVocabulary(layer);
}

void LayerBuilder::updateVariable(Value variable, Value value) { root.updates[variable] = value; }

ScanOp LayerBuilder::finishSteps(ScanBuilder &scan, llvm::ArrayRef<Value> outputs) {
  llvm::SmallVector<Value> renewed;
  for (auto &[variable, value] : root.updates)
    if (value.getParentBlock() == scan.getBlock()) {
      scan.carry(variable, value, !importer.variables.isStateful(getOperandOf(variable)));
      renewed.push_back(variable);
    }
  scan.varyRandomness(importer.forward.findRandomState() ? getRandomState() : Value());
  ScanOp op = scan.finish({}, outputs);
  for (auto [variable, last] : llvm::zip(renewed, op.getFinals()))
    root.updates[variable] = last;
  return op;
}

bool LayerBuilder::limitIndices(Value indices, int64_t limit) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(indices);
  if (!argument || argument.getOwner() != &body || argument.getArgNumber() >= root.outer.size())
    return false;
  return importer.forward.limitInput(root.outer[argument.getArgNumber()], limit);
}

Value LayerBuilder::getRandomState() { return root.bindOperand(importer.forward.getRandomState()); }
void LayerBuilder::setInferenceOnly(llvm::StringRef what) {
  importer.noteInferenceOnly(path, what.empty() ? llvm::StringRef(layer.className) : what);
}
int64_t LayerBuilder::takeRandomStream() { return importer.forward.takeRandomStream(); }

} // namespace mpc::keras
