// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/LayerBuilder.h"

#include "lib/Import/Common/ScanBuilder.h"
#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/GraphImporter.h"

#include "llvm/ADT/StringSwitch.h"

namespace mpc::keras {

using mlir::Value;

LayerBuilder::LayerBuilder(GraphImporter &importer, const LayerConfig &layer, const Node *call,
                           llvm::StringRef path, bool trainable, llvm::ArrayRef<Value> outer,
                           mlir::Block &body)
    : ValueBuilder(mlir::OpBuilder(body.getArgument(0).getContext()), body.getArgument(0).getLoc()),
      layer(layer), path(path), importer(importer), root(*this), call(call), trainable(trainable),
      body(body), inputs(body.getArguments().begin(), body.getArguments().end()), outer(outer) {
  builder.setInsertionPointToEnd(&body);
}

LayerBuilder::LayerBuilder(LayerBuilder &parent, const LayerConfig &layer, llvm::StringRef scope,
                           llvm::StringRef group, llvm::ArrayRef<Value> inputs)
    : ValueBuilder(parent.builder, parent.location), layer(layer), path(parent.path),
      importer(parent.importer), root(parent.root), call(nullptr),
      trainable(keras::isTrainable(layer, parent.trainable)), body(parent.body), inputs(inputs),
      scope(scope), group(&layer == &parent.layer ? group : "") {
  importer.tree.placeChild(parent.layer, layer, group);
}

Value LayerBuilder::error(const llvm::Twine &message) {
  root.failed = true;
  importer.report.error(path, message);
  return {};
}

// ---- Inputs -------------------------------------------------------------------------------------

const Argument *LayerBuilder::findArgument(unsigned position, llvm::StringRef name) const {
  if (!call)
    return nullptr;
  if (position < call->arguments.size())
    return &call->arguments[position];
  for (const auto &[keyword, argument] : call->keywords)
    if (keyword == name)
      return &argument;
  return nullptr;
}

static size_t countTensors(llvm::ArrayRef<Argument> arguments) {
  size_t count = 0;
  for (const Argument &argument : arguments)
    count += argument.tensors().size();
  return count;
}

llvm::ArrayRef<Value> LayerBuilder::getInputs() const {
  if (!call)
    return inputs;
  size_t count = 0;
  auto take = [&](auto &&arguments) {
    for (const Argument &argument : arguments) {
      if (&argument == maskArgument)
        break;
      readArguments.insert(&argument);
      count += argument.tensors().size();
    }
  };
  if (countTensors(call->arguments) != 0)
    take(call->arguments);
  else
    take(llvm::make_second_range(call->keywords));
  return llvm::ArrayRef(inputs).take_front(count);
}

llvm::ArrayRef<Value> LayerBuilder::getArgument(unsigned position, llvm::StringRef name) {
  if (!call)
    return position == 0 ? llvm::ArrayRef(inputs) : llvm::ArrayRef<Value>();
  const Argument *wanted = findArgument(position, name);
  if (!wanted)
    return {};
  readArguments.insert(wanted);
  size_t first = 0;
  if (position < call->arguments.size()) {
    first = countTensors(llvm::ArrayRef(call->arguments).take_front(position));
  } else {
    first = countTensors(call->arguments);
    for (const auto &[keyword, argument] : call->keywords) {
      if (&argument == wanted)
        break;
      first += argument.tensors().size();
    }
  }
  return llvm::ArrayRef(inputs).slice(first, wanted->tensors().size());
}

llvm::SmallVector<Value> LayerBuilder::getArgumentSlots(unsigned position, llvm::StringRef name) {
  llvm::ArrayRef<Value> tensors = getArgument(position, name);
  const Argument *argument = findArgument(position, name);
  if (!argument || argument->kind != Argument::Kind::List)
    return llvm::to_vector(tensors);
  llvm::SmallVector<Value> slots;
  for (const Argument &item : argument->items) {
    const bool holdsTensor = item.kind == Argument::Kind::Tensor && !tensors.empty();
    slots.push_back(holdsTensor ? tensors.front() : Value());
    if (holdsTensor)
      tensors = tensors.drop_front();
  }
  return slots;
}

void LayerBuilder::reportUnreadArguments() {
  if (!call)
    return;
  // No layer reads these; Keras takes them for arrays.
  auto holdsNumbers = [](const Argument &argument) {
    return argument.kind == Argument::Kind::List && argument.tensors().empty() &&
           llvm::any_of(argument.items, [](const Argument &item) {
             return item.constant.kind() != llvm::json::Value::Null ||
                    item.kind != Argument::Kind::Constant;
           });
  };
  for (const auto &[keyword, argument] : call->keywords)
    if (holdsNumbers(argument))
      error("a list of numbers is passed as the keyword '" + keyword + "'; pass a NumPy array");
    else if (!argument.tensors().empty() && !readArguments.contains(&argument))
      error("a tensor is passed as the keyword '" + keyword + "', which mpc does not support for " +
            layer.className);
  for (const auto &[position, argument] : llvm::enumerate(call->arguments))
    if (holdsNumbers(argument))
      error("a list of numbers is passed as argument " + llvm::Twine(position) +
            "; pass a NumPy array");
    else if (!argument.tensors().empty() && !readArguments.contains(&argument))
      error("a tensor is passed as argument " + llvm::Twine(position) +
            ", which mpc does not support for " + layer.className);
}

const llvm::json::Value *LayerBuilder::getLiteral(unsigned position, llvm::StringRef name) const {
  const Argument *argument = findArgument(position, name);
  if (!argument || argument->kind != Argument::Kind::Constant ||
      argument->constant.kind() == llvm::json::Value::Null)
    return nullptr;
  return &argument->constant;
}

bool LayerBuilder::getCallFlag(unsigned position, llvm::StringRef name, bool otherwise) {
  const Argument *argument = findArgument(position, name);
  if (!argument || (argument->kind == Argument::Kind::Constant &&
                    argument->constant.kind() == llvm::json::Value::Null))
    return otherwise;
  const std::optional<bool> flag = readFlag(getLiteral(position, name));
  if (!flag)
    error("the argument '" + name + "' of the call must be true or false");
  return flag.value_or(otherwise);
}

Value LayerBuilder::getInput() {
  llvm::ArrayRef<Value> given = getInputs();
  if (given.size() != 1)
    return error(layer.className + " takes one input tensor, not " + llvm::Twine(given.size()));
  return given.front();
}

Value LayerBuilder::getFloatInput(bool castIntegers) {
  Value input = getInput();
  if (!input || mlir::isa<mlir::FloatType>(elementTypeOf(input)))
    return input;
  if (castIntegers)
    return makeCastToFloat(input);
  return error(layer.className + " of integers is not supported; give the model a floating input");
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

// ---- Config -------------------------------------------------------------------------------------

/// Null for a key that is missing or null.
static const llvm::json::Value *findSetting(const LayerConfig &layer, llvm::StringRef key) {
  const llvm::json::Value *value = layer.config.get(key);
  return value && value->kind() != llvm::json::Value::Null ? value : nullptr;
}

std::optional<double> LayerBuilder::getOptionalNumber(llvm::StringRef key) {
  const llvm::json::Value *value = findSetting(layer, key);
  if (!value)
    return std::nullopt;
  if (std::optional<double> number = value->getAsNumber())
    return number;
  error("'" + key + "' must be a number");
  return std::nullopt;
}

double LayerBuilder::getNumber(llvm::StringRef key, double otherwise) {
  return getOptionalNumber(key).value_or(otherwise);
}

int64_t LayerBuilder::getInteger(llvm::StringRef key, int64_t otherwise) {
  const llvm::json::Value *value = findSetting(layer, key);
  if (!value)
    return otherwise;
  if (std::optional<int64_t> integer = value->getAsInteger())
    return *integer;
  error("'" + key + "' must be an integer");
  return otherwise;
}

bool LayerBuilder::getFlag(llvm::StringRef key, bool otherwise) {
  const llvm::json::Value *value = findSetting(layer, key);
  if (!value)
    return otherwise;
  if (std::optional<bool> flag = readFlag(value))
    return *flag;
  error("'" + key + "' must be true or false");
  return otherwise;
}

std::string LayerBuilder::getString(llvm::StringRef key, llvm::StringRef otherwise) {
  const llvm::json::Value *value = findSetting(layer, key);
  if (!value)
    return otherwise.str();
  if (std::optional<llvm::StringRef> text = value->getAsString())
    return text->str();
  error("'" + key + "' must be a string");
  return otherwise.str();
}

std::optional<llvm::SmallVector<int64_t>> LayerBuilder::getIntegers(llvm::StringRef key,
                                                                    int64_t nullValue) {
  const llvm::json::Value *value = findSetting(layer, key);
  if (!value)
    return std::nullopt;
  const llvm::json::Array *array = value->getAsArray();
  llvm::SmallVector<int64_t> result;
  // No layer has more axes than this; it also bounds the ranks that a file can ask for.
  bool valid = array && array->size() <= 32;
  if (valid)
    for (const llvm::json::Value &item : *array) {
      valid &= item.kind() == llvm::json::Value::Null || item.getAsInteger().has_value();
      result.push_back(item.getAsInteger().value_or(nullValue));
    }
  if (!valid) {
    error("'" + key + "' must be a list of at most 32 integers");
    return std::nullopt;
  }
  return result;
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

mlir::StringAttr LayerBuilder::getPolicyOf(const LayerConfig &other) {
  return importer.policies.getName(other, path);
}

bool LayerBuilder::computesAs(const LayerConfig &other) {
  return importer.policies.getDecided(layer, path).getComputeDType() ==
         importer.policies.getDecided(other, path).getComputeDType();
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
  std::optional<Quantization> decided =
      importer.policies.decideQuantization(layer, path, forms, /*isWhole=*/&root == this);
  if (!decided) {
    root.failed = true;
    return {};
  }
  if (*decided)
    root.quantization = importer.policies.getDecided(layer, path).getQuantizationModeName().str();
  return *decided;
}

mpc_rt_dtype_t LayerBuilder::getVariableDType() {
  return llvm::StringSwitch<mpc_rt_dtype_t>(
             importer.policies.getDecided(layer, path).getVariableDType())
      .Case("float16", MPC_RT_FLOAT16)
      .Case("bfloat16", MPC_RT_BFLOAT16)
      .Case("float64", MPC_RT_FLOAT64)
      .Default(MPC_RT_FLOAT32);
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
  importer.report.noteInferenceOnly(path, what.empty() ? llvm::StringRef(layer.className) : what);
}
int64_t LayerBuilder::takeRandomStream() { return importer.forward.takeRandomStream(); }

} // namespace mpc::keras
