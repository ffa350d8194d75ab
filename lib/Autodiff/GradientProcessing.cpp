// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradient clipping as Keras clips (keras/src/optimizers/base_optimizer.py).
#include "dialects/mpc/IR/Arithmetic.h"
#include "lib/Autodiff/TrainStep.h"

using namespace mlir;
using namespace mpc;

Value Gradient::squaredNorm(const Arithmetic &a) const {
  if (parts.empty()) {
    Value wide = a.widen(value);
    return a.sum(a.mul(wide, wide));
  }
  Value total;
  for (const GradientPart &part : parts) {
    Value wide = a.widen(part.values), square = a.sum(a.mul(wide, wide));
    total = total ? a.add(total, square) : square;
  }
  return total;
}

/// _clip_by_norm: g * c / max(|g|, c).
static void clipByNorm(const Arithmetic &a, Gradient &gradient, double limit) {
  Value divisor = a.maximum(a.sqrt(gradient.squaredNorm(a)), a.constant(limit));
  auto clip = [&](Value &value) {
    value = a.div(a.mul(a.widen(value), a.constant(limit)), divisor);
  };
  clip(gradient.value); // the sum of the clipped parts
  for (GradientPart &part : gradient.parts)
    clip(part.values);
}

/// clip_by_global_norm: one factor for all; a norm that is not finite makes every gradient NaN.
static void clipByGlobalNorm(OpBuilder &builder, Location loc, ArrayRef<Gradient *> gradients,
                             double limit) {
  Type element = builder.getF32Type();
  for (Gradient *gradient : gradients)
    if (elementTypeOf(gradient->value).isF64())
      element = builder.getF64Type();
  Arithmetic a{builder, loc, element};
  Value total;
  for (Gradient *gradient : gradients) {
    Value square = a.widen(gradient->squaredNorm({builder, loc, elementTypeOf(gradient->value)}));
    total = total ? a.add(total, square) : square;
  }
  Value norm = a.sqrt(total);
  Value inverse = a.minimum(a.div(a.constant(1), norm), a.constant(1 / limit));
  Value factor = a.add(a.mul(a.constant(limit), inverse), a.sub(norm, norm));
  for (Gradient *gradient : gradients) {
    Arithmetic own{builder, loc, elementTypeOf(gradient->value)};
    gradient->value = own.mul(gradient->value, own.widen(factor));
    gradient->densify(); // a product with a tensor is dense in TensorFlow
  }
}

void mpc::clipGradients(OpBuilder &builder, OptimizerOp optimizer,
                        MutableArrayRef<Gradient *> gradients) {
  // A limit that is not positive switches clipping off, as in Keras.
  auto limit = [](std::optional<llvm::APFloat> value) {
    return value ? value->convertToDouble() : 0.0;
  };
  Location loc = optimizer.getLoc();
  if (double bound = limit(optimizer.getClipvalue()); bound > 0)
    for (Gradient *gradient : gradients) {
      Arithmetic a{builder, loc, elementTypeOf(gradient->value)};
      auto clip = [&](Value value) {
        return a.minimum(a.maximum(a.widen(value), a.constant(-bound)), a.constant(bound));
      };
      for (GradientPart &part : gradient->parts)
        part.values = clip(part.values);
      gradient->value = gradient->parts.empty() ? clip(gradient->value)
                                                : sumPowers(a, gradient->parts, /*power=*/0);
    }
  if (double norm = limit(optimizer.getClipnorm()); norm > 0)
    for (Gradient *gradient : gradients)
      clipByNorm({builder, loc, elementTypeOf(gradient->value)}, *gradient, norm);
  if (double norm = limit(optimizer.getGlobalClipnorm()); norm > 0)
    clipByGlobalNorm(builder, loc, gradients, norm);
}
