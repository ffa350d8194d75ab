// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradient clipping as Keras clips (keras/src/optimizers/base_optimizer.py).
#include "lib/Autodiff/Arithmetic.h"
#include "lib/Autodiff/TrainStep.h"

using namespace mlir;
using namespace mpc;

/// _clip_by_norm: g * c / max(|g|, c).
static Value clipByNorm(const Arithmetic &a, Value gradient, double limit) {
  Value norm = a.sqrt(a.sum(a.mul(gradient, gradient)));
  return a.div(a.mul(gradient, a.constant(limit)), a.maximum(norm, a.constant(limit)));
}

/// clip_by_global_norm: one factor for all; a norm that is not finite makes every gradient NaN.
static void clipByGlobalNorm(OpBuilder &builder, Location loc, MutableArrayRef<Value> gradients,
                             double limit) {
  Type element = builder.getF32Type();
  for (Value gradient : gradients)
    if (elementTypeOf(gradient).isF64())
      element = builder.getF64Type();
  Arithmetic a{builder, loc, element};
  Value total;
  for (Value gradient : gradients) {
    Arithmetic own{builder, loc, elementTypeOf(gradient)};
    Value square = a.widen(own.sum(own.mul(gradient, gradient)));
    total = total ? a.add(total, square) : square;
  }
  Value norm = a.sqrt(total);
  Value inverse = a.minimum(a.div(a.constant(1), norm), a.constant(1 / limit));
  Value factor = a.add(a.mul(a.constant(limit), inverse), a.sub(norm, norm));
  for (Value &gradient : gradients) {
    Arithmetic own{builder, loc, elementTypeOf(gradient)};
    gradient = own.mul(gradient, own.widen(factor));
  }
}

void mpc::clipGradients(OpBuilder &builder, OptimizerOp optimizer,
                        MutableArrayRef<Value> gradients) {
  // A limit that is not positive switches clipping off, as in Keras.
  auto limit = [](std::optional<llvm::APFloat> value) {
    return value ? value->convertToDouble() : 0.0;
  };
  Location loc = optimizer.getLoc();
  if (double norm = limit(optimizer.getClipnorm()); norm > 0) {
    for (Value &gradient : gradients)
      gradient = clipByNorm({builder, loc, elementTypeOf(gradient)}, gradient, norm);
  } else if (double norm = limit(optimizer.getGlobalClipnorm()); norm > 0) {
    clipByGlobalNorm(builder, loc, gradients, norm);
  } else if (double bound = limit(optimizer.getClipvalue()); bound > 0) {
    for (Value &gradient : gradients) {
      Arithmetic a{builder, loc, elementTypeOf(gradient)};
      gradient = a.minimum(a.maximum(gradient, a.constant(-bound)), a.constant(bound));
    }
  }
}
