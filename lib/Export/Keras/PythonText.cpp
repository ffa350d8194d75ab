// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JSON as Python's json module writes it.
#include "mpc/Export/Keras/KerasFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace mpc::keras {
namespace {

namespace json = llvm::json;

/// Arguments that Keras wants as Python floats: some constructors refuse the int 0. llvm::json does
/// not keep whether the text had a decimal point; every other whole number is an int.
constexpr llvm::StringLiteral kFloats[] = {"alpha",
                                           "beta_1",
                                           "beta_2",
                                           "clipnorm",
                                           "clipvalue",
                                           "decay_rate",
                                           "dropout",
                                           "ema_momentum",
                                           "epsilon",
                                           "gain",
                                           "global_clipnorm",
                                           "initial_accumulator_value",
                                           "initial_learning_rate",
                                           "initial_scale",
                                           "end_learning_rate",
                                           "l1",
                                           "l2",
                                           "label_smoothing",
                                           "learning_rate",
                                           "learning_rate_power",
                                           "loss_scale_factor",
                                           "maxval",
                                           "mean",
                                           "minval",
                                           "momentum",
                                           "negative_slope",
                                           "power",
                                           "rate",
                                           "recurrent_dropout",
                                           "rho",
                                           "stddev",
                                           "threshold",
                                           "weight_decay"};

class Printer {
public:
  explicit Printer(llvm::raw_ostream &os) : os(os) {}

  void print(const json::Value &value, llvm::StringRef key) {
    if (const json::Object *object = value.getAsObject())
      printObject(*object);
    else if (const json::Array *array = value.getAsArray())
      printArray(*array);
    else if (value.kind() == json::Value::Number)
      printNumber(value, key);
    else
      os << value;
  }

private:
  void printObject(const json::Object &object) {
    llvm::SmallVector<llvm::StringRef> keys;
    for (const auto &entry : object)
      keys.push_back(entry.first);
    llvm::sort(keys);
    os << "{";
    for (const auto &[index, key] : llvm::enumerate(keys)) {
      os << (index ? ", " : "") << json::Value(key) << ": ";
      print(*object.get(key), key);
    }
    os << "}";
  }
  void printArray(const json::Array &array) {
    os << "[";
    for (const auto &[index, item] : llvm::enumerate(array)) {
      os << (index ? ", " : "");
      print(item, "");
    }
    os << "]";
  }
  void printNumber(const json::Value &value, llvm::StringRef key) {
    const double number = value.getAsNumber().value_or(0.0);
    const bool whole = value.getAsInteger().has_value();
    if (std::isinf(number))
      os << (number < 0 ? "-Infinity" : "Infinity");
    else if (whole && llvm::is_contained(kFloats, key))
      os << *value.getAsInteger() << ".0";
    else
      os << value;
  }

  llvm::raw_ostream &os;
};

} // namespace

std::string printPythonJson(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Printer(stream).print(value, "");
  return text;
}

} // namespace mpc::keras
