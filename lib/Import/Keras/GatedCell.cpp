// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/GatedCell.h"

#include "lib/Import/Keras/ActivationFunctions.h"
#include "lib/Import/Keras/Objects.h"
#include "mpc/Import/Keras/Weights.h"

namespace mpc::keras {

using mlir::Value;

GatedCell::GatedCell(std::unique_ptr<LayerBuilder> b, int64_t gates, llvm::StringRef unitsKey)
    : RecurrentCell(std::move(b)), gates(gates), units(builder->getInteger(unitsKey, 0)),
      inputDropout(getRate("dropout")), recurrentDropout(getRate("recurrent_dropout")) {
  useBias = builder->getFlag("use_bias", true);
  split = gates > 1 && (recurrentDropout > 0 || builder->getInteger("implementation", 2) == 1);
  if (units <= 0 || units > (int64_t(1) << 24))
    builder->error("'" + unitsKey + "' must be a positive integer");
}

bool GatedCell::build(llvm::ArrayRef<int64_t> input) {
  if (builder->hasFailed())
    return false;
  if (input.size() != 1) {
    builder->error("a recurrent layer takes inputs of 3 dimensions (batch, steps, features)");
    return false;
  }
  return addWeights({input[0], gates * units}, {units, gates * units});
}

bool GatedCell::addWeights(llvm::ArrayRef<int64_t> kernelShape,
                           llvm::ArrayRef<int64_t> recurrentShape) {
  kernel = builder->addVariable({"kernel", llvm::to_vector(kernelShape), "kernel_initializer",
                                 "kernel_regularizer", "kernel_constraint"});
  recurrent = builder->addVariable({"recurrent_kernel", llvm::to_vector(recurrentShape),
                                    "recurrent_initializer", "recurrent_regularizer",
                                    "recurrent_constraint"});
  if (useBias)
    bias = builder->addVariable({"bias", getBiasShape(), "bias_initializer", "bias_regularizer",
                                 "bias_constraint", getBiasInitializer()});
  return kernel && recurrent && (bias || !useBias);
}

InitializerAttr GatedCell::makeForgetInitializer() const {
  if (!builder->getFlag("unit_forget_bias", true))
    return {};
  const SerializedObject base = readObject(builder->layer.config.get("bias_initializer"));
  double value = 0.0;
  if (base.className == "Ones" || base.className == "ones")
    value = 1.0;
  else if (base.className == "Constant")
    value = base.config.getNumber("value").value_or(0.0);
  mlir::MLIRContext *context = builder->builder.getContext();
  auto number = [&](double v) { return mlir::FloatAttr::get(mlir::Float64Type::get(context), v); };
  const bool hasTwo = getBiasShape().front() > gates * units;
  return InitializerAttr::get(context, InitializerKind::UnitForget, number(value),
                              number(hasTwo ? 1.0 : 0.0));
}

Value GatedCell::updateMemory(llvm::ArrayRef<Value> sums, llvm::MutableArrayRef<Value> states) {
  Value i = activate("recurrent_activation", sums[0]);
  Value f = activate("recurrent_activation", sums[1]);
  Value candidate = activate("activation", sums[2]);
  Value o = activate("recurrent_activation", sums[3]);
  if (!i || !f || !candidate || !o)
    return {};
  states[1] = make<AddOp>(make<MultiplyOp>(f, states[1]), make<MultiplyOp>(i, candidate));
  Value squashed = activate("activation", states[1]);
  return states[0] = squashed ? make<MultiplyOp>(o, squashed) : Value();
}

double GatedCell::getRate(llvm::StringRef key) {
  // Keras clips, and drops nothing at 1.
  const double rate = std::min(1.0, std::max(0.0, builder->getNumber(key, 0.0)));
  return rate < 1.0 ? rate : 0.0;
}

Value GatedCell::drop(Value x, double rate, llvm::SmallVectorImpl<int64_t> &streams,
                      int64_t gateNumber, bool overSteps) {
  if (rate == 0.0)
    return x;
  while (int64_t(streams.size()) < (split ? gates : 1))
    streams.push_back(builder->takeRandomStream());
  mlir::DenseI64ArrayAttr shape;
  if (overSteps) {
    llvm::SmallVector<int64_t> noise(builder->shapeOf(x));
    noise[0] = -1;
    noise[1] = 1;
    shape = builder->builder.getDenseI64ArrayAttr(noise);
  }
  return make<DropoutOp>(x.getType(), x, builder->getRandomState(),
                         builder->builder.getF64FloatAttr(rate),
                         builder->builder.getI64IntegerAttr(streams[gateNumber]), shape);
}

llvm::SmallVector<Value> GatedCell::projectGates(Value input, Value addend) {
  const bool overSteps = builder->rankOf(input) > 2;
  llvm::SmallVector<Value> results;
  for (int64_t g = 0; g < (split ? gates : 1); ++g) {
    Value y = product(dropInput(input, g, overSteps), split ? gate(kernel, g) : kernel);
    if (addend)
      y = make<AddOp>(y, split ? gate(addend, g) : addend);
    results.push_back(y);
  }
  return results;
}

Value GatedCell::activate(llvm::StringRef key, Value x) {
  if (!builder->layer.config.get(key))
    return key == "activation" ? make<TanhOp>(x) : make<SigmoidOp>(x);
  return applyConfiguredActivation(*builder, key, x);
}

} // namespace mpc::keras
