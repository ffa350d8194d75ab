// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/ConfigReader.h"

#include "lib/Import/Keras/Dtype.h"

namespace mpc::keras {

/// Null for a key that is missing or null.
static const llvm::json::Value *findSetting(const LayerConfig &layer, llvm::StringRef key) {
  const llvm::json::Value *value = layer.config.get(key);
  return value && value->kind() != llvm::json::Value::Null ? value : nullptr;
}

std::optional<double> ConfigReader::getOptionalNumber(llvm::StringRef key) {
  const llvm::json::Value *value = findSetting(layer, key);
  if (!value)
    return std::nullopt;
  if (std::optional<double> number = value->getAsNumber())
    return number;
  error("'" + key + "' must be a number");
  return std::nullopt;
}

double ConfigReader::getNumber(llvm::StringRef key, double otherwise) {
  return getOptionalNumber(key).value_or(otherwise);
}

int64_t ConfigReader::getInteger(llvm::StringRef key, int64_t otherwise) {
  const llvm::json::Value *value = findSetting(layer, key);
  if (!value)
    return otherwise;
  if (std::optional<int64_t> integer = value->getAsInteger())
    return *integer;
  error("'" + key + "' must be an integer");
  return otherwise;
}

bool ConfigReader::getFlag(llvm::StringRef key, bool otherwise) {
  const llvm::json::Value *value = findSetting(layer, key);
  if (!value)
    return otherwise;
  if (std::optional<bool> flag = readFlag(value))
    return *flag;
  error("'" + key + "' must be true or false");
  return otherwise;
}

std::string ConfigReader::getString(llvm::StringRef key, llvm::StringRef otherwise) {
  const llvm::json::Value *value = findSetting(layer, key);
  if (!value)
    return otherwise.str();
  if (std::optional<llvm::StringRef> text = value->getAsString())
    return text->str();
  error("'" + key + "' must be a string");
  return otherwise.str();
}

std::optional<llvm::SmallVector<int64_t>> ConfigReader::getIntegers(llvm::StringRef key,
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

} // namespace mpc::keras
