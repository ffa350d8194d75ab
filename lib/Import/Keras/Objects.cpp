// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Initializers, regularizers and constraints. Seeds are not reproduced (docs/numerics.md): mpc
// draws from its own counter-based generator.
#include "lib/Import/Keras/Objects.h"

#include "mpc/Import/Keras/Weights.h"

#include <cmath>

namespace mpc::keras {
namespace {

namespace json = llvm::json;

double numberOf(const json::Object &config, llvm::StringRef key, double otherwise) {
  return config.getNumber(key).value_or(otherwise);
}

/// Product of the extents that `axes` names; nothing for a bad axis.
std::optional<double> fanOf(const json::Array &axes, llvm::ArrayRef<int64_t> shape) {
  double fan = 1;
  for (const json::Value &axis : axes) {
    std::optional<int64_t> index = axis.getAsInteger();
    const int64_t rank = int64_t(shape.size());
    if (!index || *index < -rank || *index >= rank)
      return std::nullopt;
    fan *= double(shape[*index < 0 ? *index + rank : *index]);
  }
  return fan;
}

/// keras/src/initializers/random_initializers.py, compute_fans.
std::optional<std::pair<double, double>> computeFans(const json::Object &config,
                                                     llvm::ArrayRef<int64_t> shape) {
  const json::Array *inputs = config.getArray("input_axes");
  const json::Array *outputs = config.getArray("output_axes");
  if (inputs && outputs) {
    std::optional<double> in = fanOf(*inputs, shape), out = fanOf(*outputs, shape);
    if (!in || !out)
      return std::nullopt;
    return std::pair(*in, *out);
  }
  if (shape.empty())
    return std::pair(1.0, 1.0);
  if (shape.size() == 1)
    return std::pair(double(shape[0]), double(shape[0]));
  double receptive = 1;
  for (int64_t extent : shape.drop_back(2))
    receptive *= double(extent);
  return std::pair(double(shape[shape.size() - 2]) * receptive, double(shape.back()) * receptive);
}

struct VarianceScaling {
  llvm::StringLiteral name, mode, distribution;
  double scale;
};
constexpr VarianceScaling kVarianceScalings[] = {
    {"glorot_normal", "fan_avg", "truncated_normal", 1.0},
    {"glorot_uniform", "fan_avg", "uniform", 1.0},
    {"he_normal", "fan_in", "truncated_normal", 2.0},
    {"he_uniform", "fan_in", "uniform", 2.0},
    {"lecun_normal", "fan_in", "truncated_normal", 1.0},
    {"lecun_uniform", "fan_in", "uniform", 1.0},
};

/// The standard deviation of a standard normal truncated at two deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;

} // namespace

SerializedObject readObject(const json::Value *value) {
  SerializedObject result;
  if (!value)
    return result;
  if (std::optional<llvm::StringRef> name = value->getAsString()) {
    result.className = name->str();
  } else if (const json::Object *object = value->getAsObject()) {
    result.className = object->getString("class_name").value_or("?").str();
    if (const json::Object *config = object->getObject("config"))
      result.config = *config;
  } else if (value->kind() != json::Value::Null) {
    result.className = "?";
  }
  return result;
}

InitializerAttr parseInitializer(mlir::MLIRContext &context, const json::Value *value,
                                 llvm::ArrayRef<int64_t> shape, ReportFn report, ReportFn unknown) {
  mlir::Type f64 = mlir::Float64Type::get(&context);
  auto make = [&](InitializerKind kind, double a = 0.0, double b = 0.0) {
    return InitializerAttr::get(&context, kind, mlir::FloatAttr::get(f64, a),
                                mlir::FloatAttr::get(f64, b));
  };
  const SerializedObject object = readObject(value);
  const json::Object &config = object.config;
  // Class names and Keras's snake-case aliases come together here.
  std::string name = snakeCase(object.className);

  if (name == "zeros" || name == "zero")
    return make(InitializerKind::Zeros);
  if (name == "ones" || name == "one")
    return make(InitializerKind::Ones);
  if (name == "constant")
    return make(InitializerKind::Constant, numberOf(config, "value", 0.0));
  if (name == "random_uniform" || name == "uniform")
    return make(InitializerKind::Uniform, numberOf(config, "minval", -0.05),
                numberOf(config, "maxval", 0.05));
  if (name == "random_normal" || name == "normal")
    return make(InitializerKind::Normal, numberOf(config, "mean", 0.0),
                numberOf(config, "stddev", 0.05));
  if (name == "truncated_normal")
    return make(InitializerKind::TruncatedNormal, numberOf(config, "mean", 0.0),
                numberOf(config, "stddev", 0.05));
  if (name == "orthogonal" || name == "orthogonal_initializer") {
    if (shape.size() < 2)
      report("the Orthogonal initializer needs a variable of two dimensions or more");
    return make(InitializerKind::Orthogonal, numberOf(config, "gain", 1.0));
  }
  if (name == "identity" || name == "identity_initializer") {
    if (shape.size() != 2)
      report("the Identity initializer needs a variable of two dimensions");
    return make(InitializerKind::Identity, numberOf(config, "gain", 1.0));
  }

  std::string mode, distribution;
  double scale = 1.0;
  if (name == "variance_scaling") {
    mode = config.getString("mode").value_or("fan_in").str();
    distribution = config.getString("distribution").value_or("truncated_normal").lower();
    scale = numberOf(config, "scale", 1.0);
  }
  for (const VarianceScaling &row : kVarianceScalings)
    if (row.name == name) {
      mode = row.mode.str();
      distribution = row.distribution.str();
      scale = row.scale;
    }
  if (distribution == "normal")
    distribution = "truncated_normal";
  if (mode.empty()) {
    unknown("unknown initializer '" + object.className +
            "'; supported are Keras's own initializers; give the layer one of them");
    return {};
  }
  std::optional<std::pair<double, double>> fans = computeFans(config, shape);
  if (!fans || scale <= 0.0) {
    report("the initializer '" + object.className + "' has arguments out of range");
    return {};
  }
  double fan = (fans->first + fans->second) / 2.0;
  if (mode == "fan_in")
    fan = fans->first;
  else if (mode == "fan_out")
    fan = fans->second;
  const double variance = scale / std::max(1.0, fan);
  if (distribution == "uniform") {
    const double limit = std::sqrt(3.0 * variance);
    return make(InitializerKind::Uniform, -limit, limit);
  }
  if (distribution == "truncated_normal")
    return make(InitializerKind::TruncatedNormal, 0.0, std::sqrt(variance) / kTruncatedDeviation);
  if (distribution == "untruncated_normal")
    return make(InitializerKind::Normal, 0.0, std::sqrt(variance));
  report("the initializer '" + object.className + "' has the unknown distribution '" +
         distribution + "'");
  return {};
}

RegularizerAttr parseRegularizer(mlir::MLIRContext &context, const json::Value *value,
                                 ReportFn report, ReportFn unknown) {
  const SerializedObject object = readObject(value);
  if (object.className.empty())
    return {};
  const std::string name = llvm::StringRef(object.className).lower();
  for (llvm::StringRef key : {"l1", "l2", "factor"})
    if (const double number = numberOf(object.config, key, 0.0);
        !std::isfinite(float(number)) || number < 0) {
      report("the number '" + key + "' of the regularizer '" + object.className +
             "' is negative or too large; expected a finite number that is not negative");
      return {};
    }
  mlir::Type f64 = mlir::Float64Type::get(&context);
  double l1 = 0.0, l2 = 0.0;
  mlir::FloatAttr rows, columns;
  if (name == "l1") {
    l1 = numberOf(object.config, "l1", 0.01);
  } else if (name == "l2") {
    l2 = numberOf(object.config, "l2", 0.01);
  } else if (name == "l1l2" || name == "l1_l2") {
    // The plain name means l1_l2(), whose arguments default to 0.01; the class's default to 0.
    const double otherwise = value->getAsString() && name == "l1_l2" ? 0.01 : 0.0;
    l1 = numberOf(object.config, "l1", otherwise);
    l2 = numberOf(object.config, "l2", otherwise);
  } else if (name == "orthogonalregularizer" || name == "orthogonal_regularizer") {
    const llvm::StringRef mode = object.config.getString("mode").value_or("rows");
    if (mode != "rows" && mode != "columns") {
      report("OrthogonalRegularizer has the unknown mode '" + mode +
             "'; expected 'rows' or 'columns'");
      return {};
    }
    (mode == "rows" ? rows : columns) =
        mlir::FloatAttr::get(f64, numberOf(object.config, "factor", 0.01));
  } else {
    unknown("unsupported regularizer '" + object.className +
            "'; supported are L1, L2, L1L2 and OrthogonalRegularizer");
    return {};
  }
  return RegularizerAttr::get(&context, mlir::FloatAttr::get(f64, l1),
                              mlir::FloatAttr::get(f64, l2), rows, columns);
}

/// The dimensions that `axis` of a constraint names: one, a list, or null for all.
static std::optional<llvm::SmallVector<int64_t>> constraintAxes(const json::Object &config,
                                                                int64_t rank) {
  llvm::SmallVector<int64_t> axes;
  auto add = [&](const json::Value &value) {
    std::optional<int64_t> axis = value.getAsInteger();
    if (!axis || *axis < -rank || *axis >= rank)
      return false;
    axes.push_back(*axis < 0 ? *axis + rank : *axis);
    return true;
  };
  const json::Value first(0), *given = config.get("axis");
  const json::Value &value = given ? *given : first;
  if (value.kind() == json::Value::Null) {
    llvm::append_range(axes, llvm::seq<int64_t>(0, rank));
  } else if (const json::Array *list = value.getAsArray()) {
    if (!llvm::all_of(*list, add))
      return std::nullopt;
  } else if (!add(value)) {
    return std::nullopt;
  }
  llvm::sort(axes);
  if (axes.empty() || std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return std::nullopt;
  return axes;
}

/// MaxNorm and max_norm are the same to Keras.
static std::string canonicalClass(llvm::StringRef className) {
  std::string name = className.lower();
  llvm::erase(name, '_');
  return name;
}

ConstraintAttr parseConstraint(mlir::MLIRContext &context, const json::Value *value, unsigned rank,
                               llvm::StringRef key, ReportFn report, ReportFn unknown) {
  const SerializedObject object = readObject(value);
  const std::string name = canonicalClass(object.className);
  if (name.empty())
    return {};
  if (name == "nonneg")
    return ConstraintAttr::get(&context, ConstraintKind::NonNegative, {}, {}, {}, {});
  if (name != "maxnorm" && name != "unitnorm" && name != "minmaxnorm") {
    unknown("unsupported constraint '" + object.className + "' in '" + key +
            "'; supported are MaxNorm, NonNeg, UnitNorm and MinMaxNorm");
    return {};
  }
  std::optional<llvm::SmallVector<int64_t>> axes = constraintAxes(object.config, rank);
  if (!axes) {
    report("'" + key + "' has an axis that does not fit a variable with " + llvm::Twine(rank) +
           " dimensions; expected an integer, or a list of different ones, from " +
           llvm::Twine(-int64_t(rank)) + " to " + llvm::Twine(int64_t(rank) - 1));
    return {};
  }
  auto number = [&](llvm::StringRef argument, double otherwise) {
    return mlir::FloatAttr::get(mlir::Float64Type::get(&context),
                                numberOf(object.config, argument, otherwise));
  };
  if (name == "maxnorm")
    return ConstraintAttr::get(&context, ConstraintKind::MaxNorm, *axes, {},
                               number("max_value", 2.0), {});
  if (name == "unitnorm")
    return ConstraintAttr::get(&context, ConstraintKind::UnitNorm, *axes, {}, {}, {});
  return ConstraintAttr::get(&context, ConstraintKind::MinMaxNorm, *axes, number("min_value", 0.0),
                             number("max_value", 1.0), number("rate", 1.0));
}

} // namespace mpc::keras
