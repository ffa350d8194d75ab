// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks and copies schedule configs (keras/src/optimizers/schedules/learning_rate_schedule.py).
#include "lib/Training/Schedules.h"
#include "lib/Training/KerasObject.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

namespace {
struct KnownSchedule {
  StringLiteral name, steps; // `steps` must be positive
  SmallVector<StringRef> numbers;
};
} // namespace

static ArrayRef<KnownSchedule> knownSchedules() {
  static const KnownSchedule table[] = {
      {"CosineDecay", "decay_steps", {"initial_learning_rate"}},
      {"CosineDecayRestarts", "first_decay_steps", {"initial_learning_rate"}},
      {"ExponentialDecay", "decay_steps", {"initial_learning_rate", "decay_rate"}},
      {"InverseTimeDecay", "decay_steps", {"initial_learning_rate", "decay_rate"}},
      {"PiecewiseConstantDecay", "", {}},
      {"PolynomialDecay", "decay_steps", {"initial_learning_rate"}},
  };
  return table;
}

static Attribute toAttribute(Builder &b, const llvm::json::Value &value) {
  if (auto number = value.getAsInteger())
    return b.getI64IntegerAttr(*number);
  if (auto number = value.getAsNumber())
    return b.getF64FloatAttr(*number);
  if (auto flag = value.getAsBoolean())
    return b.getBoolAttr(*flag);
  if (auto text = value.getAsString())
    return b.getStringAttr(*text);
  if (const llvm::json::Array *array = value.getAsArray()) {
    SmallVector<Attribute> elements;
    for (const llvm::json::Value &element : *array)
      elements.push_back(toAttribute(b, element));
    return b.getArrayAttr(elements);
  }
  return b.getUnitAttr(); // null
}

static bool areNumbers(const llvm::json::Array *array) {
  return array && llvm::all_of(*array, [](const llvm::json::Value &value) {
           return value.getAsNumber().has_value();
         });
}

static std::string findProblem(const KnownSchedule &known, const llvm::json::Object &config) {
  if (std::string problem =
          checkArguments(config, {"cycle", "staircase"}, {"boundaries", "name", "values"});
      !problem.empty())
    return problem;
  for (StringRef key : known.numbers)
    if (!config.getNumber(key))
      return "has no number '" + key.str() + "'";
  if (!known.steps.empty()) {
    auto steps = config.getNumber(known.steps);
    return steps && *steps > 0 ? "" : "needs " + known.steps.str() + " > 0";
  }
  const llvm::json::Array *boundaries = config.getArray("boundaries"),
                          *values = config.getArray("values");
  if (!areNumbers(boundaries) || !areNumbers(values) || boundaries->empty() ||
      values->size() != boundaries->size() + 1)
    return "needs boundaries and one value more than these";
  return "";
}

FailureOr<DictionaryAttr> mpc::buildSchedule(Builder &b, Location loc,
                                             const llvm::json::Object &json) {
  StringRef className = json.getString("class_name").value_or("");
  const auto *known = llvm::find_if(
      knownSchedules(), [&](const KnownSchedule &schedule) { return schedule.name == className; });
  if (known == knownSchedules().end()) {
    SmallVector<StringRef> names;
    for (const KnownSchedule &schedule : knownSchedules())
      names.push_back(schedule.name);
    return emitError(loc) << "learning rate schedule '" << className
                          << "' is not supported; use a number or one of "
                          << llvm::join(names, ", ");
  }
  static const llvm::json::Object empty;
  const llvm::json::Object *config = json.getObject("config");
  if (!config)
    config = &empty;
  if (std::string problem = findProblem(*known, *config); !problem.empty())
    return emitError(loc) << "learning rate schedule " << className << " " << problem;
  NamedAttrList attributes;
  attributes.append("class_name", b.getStringAttr(className));
  for (const auto &entry : *config)
    if (entry.second.kind() != llvm::json::Value::Null && !entry.second.getAsObject())
      attributes.append(StringRef(entry.first), toAttribute(b, entry.second));
  return attributes.getDictionary(b.getContext());
}
