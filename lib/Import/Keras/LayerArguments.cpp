// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LayerArguments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace mpc::keras {
namespace {

namespace json = llvm::json;

struct ClassArguments {
  llvm::StringLiteral className, arguments; // with spaces between
};

// Sorted by class. test/Checks/layers.py --write makes it of test/Checks/keras-layers.json.
constexpr ClassArguments kArguments[] = {
#include "LayerArguments.inc"
};

// Those of every layer (keras/src/layers/layer.py).
bool isOfEveryLayer(llvm::StringRef argument) {
  return llvm::is_contained({"activity_regularizer", "autocast", "batch_input_shape", "batch_shape",
                             "dtype", "input_shape", "name", "trainable"},
                            argument);
}

const ClassArguments *findArguments(llvm::StringRef className) {
  const auto *found = llvm::lower_bound(kArguments, className,
                                        [](const ClassArguments &entry, llvm::StringRef name) {
                                          return llvm::StringRef(entry.className) < name;
                                        });
  return found != std::end(kArguments) && found->className == className ? found : nullptr;
}

bool asksForNothing(const json::Value &value) {
  return value.kind() == json::Value::Null || value.getAsBoolean() == false;
}

class ArgumentCheck {
public:
  ArgumentCheck(llvm::function_ref<void(const llvm::Twine &)> report) : report(report) {}

  void checkLayer(llvm::StringRef className, llvm::StringRef module, const json::Object &config) {
    const ClassArguments *known = module == "keras.layers" ? findArguments(className) : nullptr;
    if (known)
      checkNames(*known, config);
    for (const auto &[name, value] : config)
      checkInside(value);
  }

private:
  void checkNames(const ClassArguments &known, const json::Object &config) {
    llvm::SmallVector<llvm::StringRef> names, unknown;
    llvm::StringRef(known.arguments).split(names, ' ');
    for (const auto &[name, value] : config) {
      const llvm::StringRef argument(name);
      if (!isOfEveryLayer(argument) && !llvm::is_contained(names, argument) &&
          !asksForNothing(value))
        unknown.push_back(argument);
    }
    llvm::sort(unknown); // results must not depend on hashing
    for (llvm::StringRef argument : unknown)
      report("'" + known.className + "' has no argument '" + argument +
             "' in Keras 3.0 to 3.15, and nothing here knows what it does; save the model without "
             "it, or with one of these versions");
  }

  // Serialised layers: cells, wrapped layers.
  void checkInside(const json::Value &value) {
    if (const json::Array *array = value.getAsArray())
      llvm::for_each(*array, [&](const json::Value &item) { checkInside(item); });
    const json::Object *object = value.getAsObject();
    const json::Object *config = object ? object->getObject("config") : nullptr;
    if (!config)
      return;
    checkLayer(object->getString("class_name").value_or(""),
               object->getString("module").value_or(""), *config);
  }

  llvm::function_ref<void(const llvm::Twine &)> report;
};

} // namespace

void reportUnknownArguments(const LayerConfig &layer,
                            llvm::function_ref<void(const llvm::Twine &message)> report) {
  ArgumentCheck(report).checkLayer(layer.className, layer.module, layer.config);
}

} // namespace mpc::keras
