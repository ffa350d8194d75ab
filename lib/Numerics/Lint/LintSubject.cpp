// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The index of a module that rules read, and questions that several of them ask.
#include "lib/Numerics/Lint/Rules.h"
#include "mpc/Support/WeightNumbers.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mpc;

LintSubject::LintSubject(ModuleOp module, const LintContext &options)
    : module(module), options(options) {
  module.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { ops[op->getName().getStringRef()].push_back(op); });
}

func::FuncOp LintSubject::getFunction(StringRef name) const {
  for (auto function : ModuleOp(module).getOps<func::FuncOp>())
    if (function.getSymName() == name && llvm::hasSingleElement(function.getBody()))
      return function;
  return {};
}

const std::vector<double> *LintSubject::findWeight(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function || !options.weights)
    return nullptr;
  auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                             MpcDialect::kVariableAttr);
  if (!symbol)
    return nullptr;
  auto weight = options.weights->all().find(symbol.getValue().str());
  if (weight == options.weights->all().end())
    return nullptr;
  auto [entry, isNew] = numbers.try_emplace(symbol.getValue());
  if (isNew)
    entry->second = numbersOf(weight->second);
  return entry->second.empty() ? nullptr : &entry->second;
}

std::string mpc::nameOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string mpc::nameOf(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

/// Whether the result is made of the first operand's elements alone, moved or rounded.
static bool passesElements(Operation *op) {
  const bool hasOthers = isa<ConcatenateOp, PadOp>(op);
  return (op->hasTrait<MovesElements>() && !hasOthers) || isa<CastOp, StopGradientOp>(op);
}

Value mpc::skipMovement(Value value, function_ref<bool(Operation *)> stop) {
  for (Operation *op = value.getDefiningOp(); op && passesElements(op) && !(stop && stop(op));
       op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}

bool mpc::isWithinOne(Operation *op) {
  return isa_and_nonnull<TanhOp, SigmoidOp, SoftmaxOp, ErfOp, SignOp, CosOp, SinOp>(op);
}

void mpc::forEachNarrowOutput(const LintSubject &subject,
                              function_ref<void(StringRef name, Value output)> visit) {
  func::FuncOp forward = subject.getFunction("forward");
  if (!forward || subject.hasLayers())
    return;
  for (OpOperand &operand : forward.getBody().front().getTerminator()->getOpOperands())
    if (auto name = forward.getResultAttrOfType<StringAttr>(operand.getOperandNumber(),
                                                            MpcDialect::kOutputAttr))
      if (isNarrow(elementTypeOf(operand.get())))
        visit(name.getValue(), operand.get());
}

std::optional<double> mpc::findSplat(Value value) {
  auto constant = skipMovement(value).getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.isSplat())
    return std::nullopt;
  llvm::APFloat number = elements.getSplatValue<llvm::APFloat>();
  bool losesInfo = false;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}
