// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loss, metric or optimizer as Keras serialises it: a name, a function or an object with a
// config.
#ifndef MPC_LIB_TRAINING_KERASOBJECT_H
#define MPC_LIB_TRAINING_KERASOBJECT_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace mpc {

struct KerasObject {
  /// Class name, or the name by which the user or a function is known ("mse", "SGD").
  std::string identifier;
  /// Constructor arguments; empty for names and functions.
  llvm::json::Object config;
  /// True for a plain string or function: Keras then names the metric after it.
  bool isName = false;
  /// True for a function alone: `keras.losses.cosine_similarity` is not the metric of that name.
  bool isFunction = false;

  /// Reads `"mse"`, `{"class_name": "function", "config": "mse"}` or `{"class_name", "config":
  /// {…}}`.
  static std::optional<KerasObject> parse(const llvm::json::Value &value);
  /// The same, and the function inside a LossFunctionWrapper with the wrapper's arguments.
  static std::optional<KerasObject> parseLoss(const llvm::json::Value &value);

  double number(llvm::StringRef key, double otherwise) const {
    return config.getNumber(ask(key)).value_or(otherwise);
  }
  /// Present and null, which is not the same as absent.
  bool isNull(llvm::StringRef key) const {
    const llvm::json::Value *value = config.get(ask(key));
    return value && value->kind() == llvm::json::Value::Null;
  }
  /// As Python's `if` takes it: None and 0 are false, other numbers true.
  bool boolean(llvm::StringRef key, bool otherwise) const;
  std::optional<double> optionalNumber(llvm::StringRef key) const {
    if (std::optional<double> value = config.getNumber(ask(key)))
      return value;
    return std::nullopt;
  }
  std::optional<int64_t> optionalInteger(llvm::StringRef key) const {
    if (std::optional<int64_t> value = config.getInteger(ask(key)))
      return value;
    return std::nullopt;
  }
  /// A number or an array of numbers; empty when absent or null.
  llvm::SmallVector<double> numbers(llvm::StringRef key) const;
  llvm::StringRef string(llvm::StringRef key, llvm::StringRef otherwise) const {
    return config.getString(ask(key)).value_or(otherwise);
  }
  /// Arguments that nobody asked for, nor `known` names: the class has none of that name. "": none.
  std::string listUnasked(llvm::ArrayRef<llvm::StringRef> known) const;

private:
  llvm::StringRef ask(llvm::StringRef key) const {
    asked.insert(key);
    return key;
  }
  mutable llvm::StringSet<> asked;
};

/// Arguments beside `name`, `dtype` and `reduction` that `arguments`, with spaces between, does not
/// name, and what would be taken: "has no argument momentun; its arguments are …". "": none.
std::string checkArgumentNames(const llvm::json::Object &config, llvm::StringRef arguments);

/// Says what the arguments need, if one holds a number that float32 has no finite value for, or is
/// of another kind than its name says: "needs one number as momentum". `booleans` name truth
/// values, `others` values that are neither that nor numbers; the rest are numbers or null. NaN is
/// text in what parsePythonJson reads. "": nothing is wrong.
std::string checkArguments(const llvm::json::Object &config,
                           llvm::ArrayRef<llvm::StringRef> booleans,
                           llvm::ArrayRef<llvm::StringRef> others);

/// Keras's snake case, with the short spellings folded: "MeanSquaredError", "mse", "MSE" give
/// "mean_squared_error". Class names, function names and aliases meet here.
std::string canonicalName(llvm::StringRef identifier);

/// A class name as Keras's to_snake_case writes it (keras/src/utils/naming.py).
std::string snakeCase(llvm::StringRef name);

} // namespace mpc

#endif // MPC_LIB_TRAINING_KERASOBJECT_H
