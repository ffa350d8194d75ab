// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forms of elementwise arithmetic, op by op.
#include "lib/Numerics/Ranges/AffineForms.h"
#include "lib/Numerics/Ranges/RangeModels.h"

using namespace mlir;
using namespace mpc;

FormSymbol AffineForms::symbolOf(Value value, Kind kind) const {
  return places.lookup(value) * kKinds + kind;
}

const Bound *AffineForms::boundOf(Value value) const {
  auto found = bounds.find(value);
  return found == bounds.end() ? nullptr : &found->second;
}

/// Whether relations are about the value as it is, not about what it is made of.
static bool isReadWhole(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto product = dyn_cast<MultiplyOp>(user);
    return isa<MomentsOp, ReduceOp>(user) || (product && product.getLhs() == product.getRhs());
  });
}

AffineForm AffineForms::formOf(Value value, bool isWhole) const {
  return isWhole ? AffineForm::ofSymbol(symbolOf(value)) : forms.find(value)->second;
}

Value AffineForms::asRun(Value value) const {
  auto either = value.getDefiningOp<InTrainingOp>();
  return either ? either->getOperand(training ? 0 : 1) : value;
}

/// The operands that the form of the result is made of.
SmallVector<Value, 2> AffineForms::formOperands(Operation &op) const {
  switch (formKindOf(&op)) {
  case FormKind::None:
    return {};
  case FormKind::Same:
  case FormKind::Negated:
    return {op.getOperand(0)};
  case FormKind::OfRun:
    return {asRun(op.getResult(0))};
  case FormKind::Sum:
  case FormKind::Difference:
  case FormKind::Product:
    return {op.getOperand(0), op.getOperand(1)};
  }
  return {};
}

/// The form of the real number that the op makes of its operands.
std::optional<AffineForm> AffineForms::combine(FormKind kind, ArrayRef<Value> operands) const {
  if (!isOfTwo(kind)) {
    const AffineForm form = formOf(operands.front(), false);
    return kind == FormKind::Negated ? form.negated() : form;
  }
  auto ranges = [this](FormSymbol symbol) { return rangeOf(symbol); };
  // With what is known of both operands; else of one; else of neither.
  for (unsigned whole = 0; whole < 4; ++whole) {
    const AffineForm lhs = formOf(operands[0], whole & 1), rhs = formOf(operands[1], whole & 2);
    const std::optional<AffineForm> form = kind == FormKind::Product      ? lhs.times(rhs, ranges)
                                           : kind == FormKind::Difference ? lhs.plus(rhs.negated())
                                                                          : lhs.plus(rhs);
    if (form)
      return form;
  }
  return std::nullopt;
}

AffineForm AffineForms::relate(AffineForm form) const {
  for (auto [center, input] : centers)
    if (form.contains(center) && form.contains(input)) {
      std::optional<AffineForm> other = form.withSum(input, center, center + IsDeviation);
      // Else the center is left beside the deviation.
      if (other && other->getTerms().size() < form.getTerms().size())
        form = std::move(*other);
    }
  for (auto [factors, product] : products)
    if (form.contains(factors.first) && form.contains(factors.second))
      if (std::optional<AffineForm> other =
              form.withProduct(factors.first, factors.second, product))
        form = std::move(*other);
  return form;
}

void AffineForms::define(Value value, const Bound &bound) {
  places[value] = unsigned(places.size());
  if (!isa<FloatType>(elementTypeOf(value)) || !bound.isFinite())
    return;
  bounds[value] = bound;
  bounds[value].constant = nullptr;
  ranges[symbolOf(value)] = {bound.low, bound.high};
  forms[value] = bound.low == bound.high ? AffineForm::ofNumber(bound.low)
                                         : AffineForm::ofSymbol(symbolOf(value));
  addCenter(value);
  if (auto root = value.getDefiningOp<RsqrtOp>())
    addInverseRoot(root);
}

static bool isWideFloat(Value value) {
  return isa<FloatType>(elementTypeOf(value)) && elementTypeOf(value).getIntOrFloatBitWidth() >= 16;
}

static void narrow(Bound &bound, RealRange range, Operation &op) {
  if (std::isnan(range.low) || std::isnan(range.high))
    return;
  Bound formed = Bound::of(range.low, range.high);
  formed.widen();
  formed = rounded(formed, elementTypeOf(op.getResult(0)));
  const double low = std::max(bound.low, formed.low), high = std::min(bound.high, formed.high);
  if (low <= high)
    bound.low = low, bound.high = high;
}

void AffineForms::define(Operation &op, MutableArrayRef<Bound> results) {
  std::optional<AffineForm> form;
  const FormKind kind = formKindOf(&op);
  const SmallVector<Value, 2> operands = formOperands(op);
  if (!operands.empty() && isWideFloat(op.getResult(0)) &&
      llvm::all_of(operands, [&](Value value) { return isWideFloat(value) && boundOf(value); }))
    form = combine(kind, operands);
  if (form) {
    auto ranges = [this](FormSymbol symbol) { return rangeOf(symbol); };
    narrow(results[0], form->range(ranges), op);
    form = relate(std::move(*form));
    narrow(results[0], form->range(ranges), op);
  }
  for (auto [value, bound] : llvm::zip_equal(op.getResults(), results))
    define(value, bound);
  Value result = form ? op.getResult(0) : Value();
  if (!result || !boundOf(result) || isReadWhole(result) || results[0].low == results[0].high)
    return;
  if (roundsForm(&op)) {
    // Kernels may make 0 of subnormal numbers, and of factors that are.
    double factors = 0;
    if (kind == FormKind::Product)
      for (Value operand : operands)
        factors += boundOf(operand)->magnitude();
    form->addRest(halfUnit(elementTypeOf(result), results[0].magnitude()) * (1 + 0x1p-10) +
                  (1 + factors) * 0x1p-126);
  }
  forms[result] = std::move(*form);
}
