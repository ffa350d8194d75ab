// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of the file beside the dtypes that they are cast to.
#include "lib/Numerics/Lint/Rules.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mpc;

namespace {

/// The magnitudes that a dtype rounds to infinity and to 0.
struct Range {
  double overflow;  ///< magnitudes from here on are infinite
  double underflow; ///< magnitudes up to here are 0
};

Range rangeOf(FloatType type) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  const auto toDouble = [](llvm::APFloat number) {
    bool losesInfo = false;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return number.convertToDouble();
  };
  // Half a unit above the largest number, and half the smallest one: both ties go to even.
  const double largest = toDouble(llvm::APFloat::getLargest(semantics));
  const int precision = int(llvm::APFloat::semanticsPrecision(semantics));
  return {largest + std::ldexp(1.0, std::ilogb(largest) - precision),
          toDouble(llvm::APFloat::getSmallest(semantics)) / 2};
}

struct Loss {
  size_t elements = 0, infinite = 0, zero = 0, nonZero = 0;
  double largest = 0;
};

template <typename Number> Loss measure(const std::vector<uint8_t> &bytes, Range range) {
  Loss loss;
  loss.elements = bytes.size() / sizeof(Number);
  for (size_t i = 0; i < loss.elements; ++i) {
    Number number;
    std::memcpy(&number, bytes.data() + i * sizeof(Number), sizeof(Number));
    const double magnitude = std::abs(double(number));
    if (!std::isfinite(magnitude) || magnitude == 0)
      continue;
    ++loss.nonZero;
    loss.largest = std::max(loss.largest, magnitude);
    loss.infinite += magnitude >= range.overflow;
    loss.zero += magnitude <= range.underflow;
  }
  return loss;
}

std::string describeLoss(const Weight &weight, FloatType type) {
  const Range range = rangeOf(type);
  Loss loss;
  if (weight.dtype == MPC_RT_FLOAT32)
    loss = measure<float>(weight.bytes, range);
  else if (weight.dtype == MPC_RT_FLOAT64)
    loss = measure<double>(weight.bytes, range);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (loss.infinite)
    stream << loss.infinite << " of its " << loss.elements << " numbers "
           << (loss.infinite == 1 ? "becomes" : "become") << " infinite in " << type
           << " (the largest is " << llvm::format("%g", loss.largest) << ")";
  else if (loss.nonZero && loss.zero == loss.nonZero)
    stream << "all that is not 0 in it becomes 0 in " << type << " (the largest is "
           << llvm::format("%g", loss.largest) << ")";
  return text;
}

/// The types below float32 that the variable has or is cast to.
void addNarrowTypes(BlockArgument argument, llvm::SetVector<Type> &types) {
  const auto add = [&](Type type) {
    auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
    if (element && (element.isF16() || element.isBF16()))
      types.insert(element);
  };
  add(argument.getType());
  for (Operation *user : argument.getUsers())
    if (isa<CastOp>(user))
      add(user->getResult(0).getType());
}

} // namespace

static void checkLostWeights(const LintSubject &subject, LintReport &report) {
  if (subject.hasLayers() || !subject.getWeights())
    return;
  std::map<std::string, llvm::SetVector<Type>> narrow;
  for (auto function : subject.all<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (auto variable = function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                                       MpcDialect::kVariableAttr))
        addNarrowTypes(argument, narrow[variable.getValue().str()]);
  for (const auto &[path, types] : narrow) {
    auto weight = subject.getWeights()->all().find(path);
    if (weight == subject.getWeights()->all().end())
      continue;
    for (Type type : types)
      if (std::string loss = describeLoss(weight->second, cast<FloatType>(type)); !loss.empty())
        report.tell(NameLoc::get(StringAttr::get(subject.getModule().getContext(), path)), loss);
  }
}

const LintRule mpc::kLostWeightsRule = {
    "lost-weights",
    "a weight of the file that becomes infinite, or weights that all become 0, in the dtype that "
    "they "
    "are cast to or stored in",
    "predictions are not those of the model",
    "give its layer a policy that computes in float32 or bfloat16",
    /*isAlwaysTold=*/true,
    checkLostWeights,
};
