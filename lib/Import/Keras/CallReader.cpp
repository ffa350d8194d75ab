// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/CallReader.h"

#include "lib/Import/Keras/Dtype.h"

namespace mpc::keras {

using mlir::Value;

const Argument *CallReader::findArgument(unsigned position, llvm::StringRef name) const {
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

llvm::ArrayRef<Value> CallReader::getInputs() const {
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

llvm::ArrayRef<Value> CallReader::getArgument(unsigned position, llvm::StringRef name) {
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

llvm::SmallVector<Value> CallReader::getArgumentSlots(unsigned position, llvm::StringRef name) {
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

void CallReader::reportUnreadArguments() {
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

const llvm::json::Value *CallReader::getLiteral(unsigned position, llvm::StringRef name) const {
  const Argument *argument = findArgument(position, name);
  if (!argument || argument->kind != Argument::Kind::Constant ||
      argument->constant.kind() == llvm::json::Value::Null)
    return nullptr;
  return &argument->constant;
}

bool CallReader::getCallFlag(unsigned position, llvm::StringRef name, bool otherwise) {
  const Argument *argument = findArgument(position, name);
  if (!argument || (argument->kind == Argument::Kind::Constant &&
                    argument->constant.kind() == llvm::json::Value::Null))
    return otherwise;
  const std::optional<bool> flag = readFlag(getLiteral(position, name));
  if (!flag)
    error("the argument '" + name + "' of the call must be true or false");
  return flag.value_or(otherwise);
}

Value CallReader::getInput() {
  llvm::ArrayRef<Value> given = getInputs();
  if (given.size() != 1)
    return error(layer.className + " takes one input tensor, not " + llvm::Twine(given.size()));
  return given.front();
}

Value CallReader::getFloatInput(bool castIntegers) {
  Value input = getInput();
  if (!input || mlir::isa<mlir::FloatType>(elementTypeOf(input)))
    return input;
  if (castIntegers)
    return makeCastToFloat(input);
  return error(layer.className + " of integers is not supported; give the model a floating input");
}

} // namespace mpc::keras
