// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading serialised Keras objects and their many spellings.
#include "lib/Training/KerasObject.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mpc;
using llvm::StringRef;

std::optional<KerasObject> KerasObject::parse(const llvm::json::Value &value) {
  KerasObject object;
  if (auto name = value.getAsString()) {
    object.identifier = name->str();
    object.isName = true;
    return object;
  }
  const llvm::json::Object *json = value.getAsObject();
  if (!json)
    return std::nullopt;
  auto className = json->getString("class_name");
  if (!className)
    return std::nullopt;
  if (*className == "function") {
    auto function = json->getString("config");
    if (!function)
      return std::nullopt;
    object.identifier = function->str();
    object.isName = object.isFunction = true;
    return object;
  }
  object.identifier = className->str();
  if (const llvm::json::Object *config = json->getObject("config"))
    object.config = *config;
  return object;
}

std::optional<KerasObject> KerasObject::parseLoss(const llvm::json::Value &value) {
  std::optional<KerasObject> object = parse(value);
  if (!object || object->identifier != "LossFunctionWrapper")
    return object;
  const llvm::json::Value *function = object->config.get("fn");
  std::optional<KerasObject> inner = function ? parse(*function) : std::nullopt;
  if (!inner)
    return std::nullopt;
  for (const auto &[key, argument] : object->config)
    if (key != "fn")
      inner->config.insert({key, argument});
  return inner;
}

llvm::SmallVector<double> KerasObject::numbers(StringRef key) const {
  llvm::SmallVector<double> values;
  if (std::optional<double> value = config.getNumber(ask(key))) {
    values.push_back(*value);
    return values;
  }
  const llvm::json::Array *array = config.getArray(key);
  // A tensor or NumPy array: {"class_name": "__tensor__", "config": {"value": […], "dtype": …}}.
  if (const llvm::json::Object *tensor = config.getObject(key))
    if (const llvm::json::Object *inner = tensor->getObject("config"))
      array = inner->getArray("value");
  if (array)
    for (const llvm::json::Value &element : *array)
      values.push_back(element.getAsNumber().value_or(0));
  return values;
}

bool KerasObject::boolean(StringRef key, bool otherwise) const {
  if (std::optional<double> value = config.getNumber(ask(key)))
    return *value != 0;
  return isNull(key) ? false : config.getBoolean(key).value_or(otherwise);
}

static bool isNonFinite(const llvm::json::Value &value) {
  if (const llvm::json::Array *array = value.getAsArray())
    return llvm::any_of(*array, isNonFinite);
  if (std::optional<double> number = value.getAsNumber())
    return !std::isfinite(float(*number));
  return value.getAsString() == "NaN";
}

static std::string listSorted(llvm::SmallVector<StringRef> keys) {
  llvm::sort(keys);
  return llvm::join(keys, ", ");
}

std::string KerasObject::listUnasked(llvm::ArrayRef<StringRef> known) const {
  llvm::SmallVector<StringRef> unasked;
  for (const auto &[name, value] : config)
    if (!asked.contains(StringRef(name)) && !llvm::is_contained(known, StringRef(name)))
      unasked.push_back(name);
  return listSorted(unasked);
}

std::string mpc::checkArgumentNames(const llvm::json::Object &config, StringRef arguments) {
  llvm::SmallVector<StringRef> known, unknown;
  arguments.split(known, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (const auto &[name, value] : config) {
    StringRef key(name);
    if (!llvm::is_contained({"dtype", "name", "reduction"}, key) && !llvm::is_contained(known, key))
      unknown.push_back(key);
  }
  if (unknown.empty())
    return "";
  return "has no argument " + listSorted(unknown) +
         (known.empty() ? "; it has none but a name and a dtype"
                        : "; its arguments are " + listSorted(known));
}

std::string mpc::checkArguments(const llvm::json::Object &config,
                                llvm::ArrayRef<StringRef> booleans,
                                llvm::ArrayRef<StringRef> others) {
  llvm::SmallVector<StringRef> nonFinite, numbers, truths;
  for (const auto &[name, value] : config) {
    StringRef key(name);
    bool isTruth = llvm::is_contained(booleans, key);
    if (key != "name" && isNonFinite(value))
      nonFinite.push_back(key);
    else if (!value.getAsNumber() && value.kind() != llvm::json::Value::Null &&
             !(isTruth && value.getAsBoolean()) && !llvm::is_contained(others, key))
      (isTruth ? truths : numbers).push_back(key);
  }
  if (!nonFinite.empty())
    return "needs finite numbers as " + listSorted(nonFinite);
  if (!numbers.empty())
    return "needs one number as " + listSorted(numbers);
  return truths.empty() ? "" : "needs true or false as " + listSorted(truths);
}

std::string mpc::snakeCase(StringRef name) {
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    bool upper = llvm::isUpper(name[i]);
    bool afterLower = i > 0 && (llvm::isLower(name[i - 1]) || llvm::isDigit(name[i - 1]));
    bool beforeLower =
        i > 0 && i + 1 < name.size() && llvm::isLower(name[i + 1]) && llvm::isUpper(name[i - 1]);
    if (upper && (afterLower || beforeLower))
      result += '_';
    result += llvm::toLower(name[i]);
  }
  return result;
}

std::string mpc::canonicalName(StringRef identifier) {
  std::string name = snakeCase(identifier);
  return llvm::StringSwitch<std::string>(name)
      .Case("mse", "mean_squared_error")
      .Case("mae", "mean_absolute_error")
      .Case("mape", "mean_absolute_percentage_error")
      .Case("msle", "mean_squared_logarithmic_error")
      .Case("bce", "binary_crossentropy")
      .Cases({"kld", "kullback_leibler_divergence"}, "kl_divergence")
      .Cases({"logcosh", "log_cosh_error"}, "log_cosh")
      .Cases({"cosine_proximity", "cosine"}, "cosine_similarity") // Keras 2
      .Case("huber_loss", "huber")
      .Case("acc", "accuracy")
      .Case("ce", "crossentropy")
      .Case("rmse", "root_mean_squared_error")
      .Case("sparse_top_k_categorical_accuracy", "sparse_top_k_categorical_accuracy")
      .Case("top_kcategorical_accuracy", "top_k_categorical_accuracy")
      .Case("sparse_top_kcategorical_accuracy", "sparse_top_k_categorical_accuracy")
      .Default(name);
}
