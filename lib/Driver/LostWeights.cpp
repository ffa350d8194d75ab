// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of the file beside the dtypes that they are cast to.
#include "lib/Driver/LostWeights.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>

using namespace mlir;

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

std::string describeLoss(const mpc::Weight &weight, FloatType type) {
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
    if (isa<mpc::CastOp>(user))
      add(user->getResult(0).getType());
}

bool isZero(const mpc::Weight &weight) {
  return llvm::all_of(weight.bytes, [](uint8_t byte) { return byte == 0; });
}

} // namespace

std::vector<std::string> mpc::describeLostWeights(ModuleOp module, const WeightStore &weights) {
  std::map<std::string, llvm::SetVector<Type>> narrow;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (auto variable = function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                                       MpcDialect::kVariableAttr))
        addNarrowTypes(argument, narrow[variable.getValue().str()]);
  std::vector<std::string> texts;
  for (const auto &[path, types] : narrow) {
    auto weight = weights.all().find(path);
    if (weight == weights.all().end())
      continue;
    for (Type type : types)
      if (std::string loss = describeLoss(weight->second, cast<FloatType>(type)); !loss.empty())
        texts.push_back(path + ": " + loss +
                        "; give its layer a policy that computes in float32 or bfloat16");
  }
  return texts;
}

std::vector<std::string> mpc::describeIdleFactors(ModuleOp module, const WeightStore &weights) {
  std::vector<std::string> texts;
  SymbolTable symbols(module);
  for (auto first : module.getOps<VariableOp>()) {
    // Keras's names: lora_kernel_a, lora_embeddings_b.
    const StringRef path = first.getSymName();
    if (!path.rsplit('/').second.starts_with("lora_") || !path.ends_with("_a"))
      continue;
    const std::string other = (path.drop_back() + "b").str();
    auto second = symbols.lookup<VariableOp>(other);
    auto a = weights.all().find(path.str()), b = weights.all().find(other);
    if (!second || a == weights.all().end() || b == weights.all().end())
      continue;
    const bool trains =
        first.getRole() == VariableRole::Trainable || second.getRole() == VariableRole::Trainable;
    const std::string names = path.str() + ": it and " + StringRef(other).rsplit('/').second.str();
    if (isZero(a->second) && isZero(b->second))
      texts.push_back(names + " are 0, so that LoRA adds nothing and neither has a gradient; "
                              "expected random numbers in the first one, as enable_lora makes them "
                              "(a file that was saved before it has none)");
    else if (!trains && (isZero(a->second) || isZero(b->second)))
      texts.push_back(names + " are frozen and their product is 0, so that LoRA never adds "
                              "anything; make the layer trainable, or leave LoRA out");
  }
  return texts;
}
