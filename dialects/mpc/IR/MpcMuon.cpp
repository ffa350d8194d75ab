// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Muon's update rule: momentum, made orthogonal by Newton-Schulz steps
// (keras/src/optimizers/muon.py).
#include "dialects/mpc/IR/OptimizerUpdate.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

static bool isExcluded(MuonAttr rule, StringRef path, RankedTensorType variable) {
  if (variable.getRank() != 2)
    return true;
  return rule.getExcluded() &&
         llvm::is_contained(rule.getExcluded().getAsValueRange<StringAttr>(), path);
}

OptimizerRuleAttrInterface MuonAttr::getRuleFor(StringRef path, RankedTensorType variable) const {
  if (isExcluded(*this, path, variable))
    return getAdam();
  return *this;
}

FloatAttr MuonAttr::getWeightDecayFor(StringRef path, RankedTensorType variable,
                                      FloatAttr decay) const {
  return isExcluded(*this, path, variable) ? getAdamWeightDecay() : decay;
}

SmallVector<OptimizerSlot> MuonAttr::getSlots(RankedTensorType variable) const {
  return {{"momentum", variable}};
}

/// The nearest matrix with singular values near 1, by polynomial iterations.
static Value orthogonalise(OptimizerUpdate &u, Value x, MuonAttr rule) {
  auto type = tensorTypeOf(x);
  auto transposed = [&](Value value) -> Value {
    return TransposeOp::create(u.builder, u.loc, value, ArrayRef<int64_t>{1, 0});
  };
  bool isTall = type.getDimSize(0) > type.getDimSize(1);
  if (isTall)
    x = transposed(x);
  Value norm = u.sqrt(u.reduceAll(ReduceKind::Sum, u.square(x)));
  x = u.div(x, u.add(norm, u.constant(1e-7)));
  auto product = [&](Value a, Value b, int64_t contractedOfB) -> Value {
    return ContractOp::create(u.builder, u.loc, a, b, ArrayRef<int64_t>{1},
                              ArrayRef<int64_t>{contractedOfB});
  };
  for (int64_t step = 0; step < rule.getNsSteps(); ++step) {
    Value gram = product(x, x, 1);
    Value polynomial = u.add(u.mul(u.constant(rule.getB()), gram),
                             product(u.mul(u.constant(rule.getC()), gram), gram, 0));
    x = u.add(u.mul(u.constant(rule.getA()), x), product(polynomial, x, 0));
  }
  return isTall ? transposed(x) : x;
}

unsigned MuonAttr::getPowerOfParts() const { return 0; }

SmallVector<Value> MuonAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                         Value gradient, Value, ValueRange slots, ValueRange,
                                         Value rate, Value) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  double momentum = getMomentum().getValueAsDouble();
  Value m = u.add(slots[0], u.add(gradient, u.mul(slots[0], u.constant(momentum - 1))));
  Value direction = getNesterov() ? u.add(gradient, u.mul(u.constant(momentum), m)) : m;
  Value update = u.mul(rate, orthogonalise(u, direction, *this));
  if (getRmsRate()) {
    auto type = tensorTypeOf(variable);
    double extent = double(std::max(type.getDimSize(0), type.getDimSize(1)));
    update = u.mul(u.mul(update, u.constant(std::sqrt(extent))), u.constant(getRmsRate()));
  }
  return {u.sub(variable, update), m};
}
