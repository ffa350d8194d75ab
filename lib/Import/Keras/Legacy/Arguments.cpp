// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Legacy/Arguments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace mpc::keras {
namespace {

namespace json = llvm::json;

struct IdleArguments {
  llvm::StringLiteral className, arguments; // "name=value", with spaces between
};

// Sorted by class. test/Checks/layers.py --write makes it of test/Checks/keras2-layers.json.
constexpr IdleArguments kIdle[] = {
#include "lib/Import/Keras/Legacy/Arguments.inc"
};

/// Whether every layer of Keras 2 has the argument; InputLayer itself reads what a value says of
/// sparse and ragged inputs.
bool isOfEveryLayer(llvm::StringRef className, llvm::StringRef argument) {
  if (className == "InputLayer")
    return argument == "batch_size";
  return llvm::is_contained({"batch_size", "dynamic", "enable_caching_device", "input_dim",
                             "input_dtype", "input_length", "input_spec", "ragged", "weights"},
                            argument);
}

/// The value at which the argument does nothing; nothing where Keras 2 has no such argument.
std::optional<llvm::StringRef> findIdleValue(llvm::StringRef className, llvm::StringRef argument) {
  const auto *found =
      llvm::lower_bound(kIdle, className, [](const IdleArguments &entry, llvm::StringRef name) {
        return llvm::StringRef(entry.className) < name;
      });
  if (found == std::end(kIdle) || found->className != className)
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef> arguments;
  llvm::StringRef(found->arguments).split(arguments, ' ');
  for (llvm::StringRef entry : arguments)
    if (auto [name, value] = entry.split('='); name == argument)
      return value;
  return std::nullopt;
}

} // namespace

bool isOfKeras2Alone(llvm::StringRef className, llvm::StringRef argument) {
  return isOfEveryLayer(className, argument) || findIdleValue(className, argument);
}

bool isIdleArgument(llvm::StringRef className, llvm::StringRef argument, const json::Value &value) {
  if (isOfEveryLayer(className, argument))
    return !(className == "Embedding" && argument == "input_dim");
  const std::optional<llvm::StringRef> idle = findIdleValue(className, argument);
  if (!idle)
    return false;
  if (*idle == "any" || value.kind() == json::Value::Null || value.getAsBoolean() == false)
    return true;
  if (std::optional<double> number = value.getAsNumber()) {
    double wanted;
    if (*idle == "true" || *idle == "false")
      return (*number != 0) == (*idle == "true");
    return !idle->getAsDouble(wanted) && wanted == *number;
  }
  if (std::optional<llvm::StringRef> text = value.getAsString())
    return *text == *idle;
  return value.getAsBoolean() == true && *idle == "true";
}

} // namespace mpc::keras
