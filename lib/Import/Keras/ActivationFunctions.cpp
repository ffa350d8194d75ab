// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of names, and what a layer's config says of an activation.
#include "lib/Import/Keras/ActivationFunctions.h"
#include "lib/Import/Common/BatchAxis.h"

#include "lib/Import/Keras/LayerRegistry.h"

#include "llvm/ADT/StringExtras.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = ValueBuilder;

Value linear(B &, Value x) { return x; }
Value relu(B &b, Value x) { return b.make<ReluOp>(x); }

Value leakyRelu(B &b, Value x) { return applyLeakyRelu(b, x, 0.2); }
Value elu(B &b, Value x) { return applyElu(b, x, 1.0); }

Value selu(B &b, Value x) {
  const double scale = 1.0507009873554804934193349852946;
  const double scaleAlpha = 1.7580993408473768599402175208123;
  Value negative = b.make<MultiplyOp>(applyExpMinusOne(b, x), b.makeConstant(scaleAlpha));
  Value positive = b.make<MultiplyOp>(x, b.makeConstant(scale));
  return b.makeSelect(b.makeCompare(ComparePredicate::LT, x, b.makeConstant(0.0)), negative,
                      positive);
}

Value celu(B &b, Value x) { return applyCelu(b, x, 1.0); }

Value sigmoid(B &b, Value x) { return b.make<SigmoidOp>(x); }
Value silu(B &b, Value x) { return b.make<MultiplyOp>(x, sigmoid(b, x)); }
Value tanhOf(B &b, Value x) { return b.make<TanhOp>(x); }
Value tanhShrink(B &b, Value x) { return b.make<SubtractOp>(x, tanhOf(b, x)); }
Value exponential(B &b, Value x) { return b.make<ExpOp>(x); }
Value softplus(B &b, Value x) { return b.make<SoftplusOp>(x); }
Value mish(B &b, Value x) { return b.make<MultiplyOp>(x, tanhOf(b, softplus(b, x))); }
Value logSigmoid(B &b, Value x) { return b.make<NegateOp>(softplus(b, b.make<NegateOp>(x))); }
Value softsign(B &b, Value x) {
  return b.make<DivideOp>(x, b.make<AddOp>(b.make<AbsOp>(x), b.makeConstant(1.0)));
}

/// The string "gelu" is the exact form.
Value gelu(B &b, Value x) { return applyGelu(b, x, /*approximate=*/false); }

Value hardSigmoid(B &b, Value x) {
  return b.make<DivideOp>(applyRelu6(b, b.make<AddOp>(x, b.makeConstant(3.0))),
                          b.makeConstant(6.0));
}
/// Keras 2: clip(0.2 x + 0.5, 0, 1), op for op as tf_keras/src/backend.py.
Value hardSigmoidOfKeras2(B &b, Value x) {
  Value line = b.make<AddOp>(b.make<MultiplyOp>(x, b.makeConstant(0.2)), b.makeConstant(0.5));
  return b.make<MaximumOp>(b.make<MinimumOp>(line, b.makeConstant(1.0)), b.makeConstant(0.0));
}
Value hardSilu(B &b, Value x) { return b.make<MultiplyOp>(x, hardSigmoid(b, x)); }
Value hardTanh(B &b, Value x) {
  return b.make<MaximumOp>(b.make<MinimumOp>(x, b.makeConstant(1.0)), b.makeConstant(-1.0));
}
Value hardShrink(B &b, Value x) { return applyHardShrink(b, x, 0.5); }
Value softShrink(B &b, Value x) { return applySoftShrink(b, x, 0.5); }
Value squareplus(B &b, Value x) { return applySquareplus(b, x, 4.0); }

Value sparsePlus(B &b, Value x) {
  Value shifted = b.make<AddOp>(x, b.makeConstant(1.0));
  Value square = b.make<MultiplyOp>(b.makeConstant(0.25), b.make<MultiplyOp>(shifted, shifted));
  Value inner =
      b.makeSelect(b.makeCompare(ComparePredicate::LT, x, b.makeConstant(1.0)), square, x);
  return b.makeSelect(b.makeCompare(ComparePredicate::LE, x, b.makeConstant(-1.0)),
                      b.makeConstant(0.0), inner);
}

Value sparseSigmoid(B &b, Value x) {
  Value line = b.make<MultiplyOp>(b.makeConstant(0.5), b.make<AddOp>(x, b.makeConstant(1.0)));
  Value inner = b.makeSelect(b.makeCompare(ComparePredicate::GE, x, b.makeConstant(1.0)),
                             b.makeConstant(1.0), line);
  return b.makeSelect(b.makeCompare(ComparePredicate::LE, x, b.makeConstant(-1.0)),
                      b.makeConstant(0.0), inner);
}

// ---- Along the last axis ------------------------------------------------------------------------

/// The last axis; nothing (and an error) when it is the batch.
std::optional<int64_t> lastAxis(B &b, Value x) { return resolveAxis(b, -1, x); }

Value softmax(B &b, Value x) {
  std::optional<int64_t> axis = lastAxis(b, x);
  return axis ? b.make<SoftmaxOp>(x, *axis) : Value();
}
Value logSoftmax(B &b, Value x) {
  std::optional<int64_t> axis = lastAxis(b, x);
  return axis ? b.make<LogSoftmaxOp>(x, *axis) : Value();
}

Value glu(B &b, Value x) {
  std::optional<int64_t> axis = lastAxis(b, x);
  return axis ? applyGlu(b, x, *axis) : Value();
}
Value sparsemax(B &b, Value x) {
  std::optional<int64_t> axis = lastAxis(b, x);
  return axis ? applySparsemax(b, x, *axis) : Value();
}

struct Entry {
  llvm::StringLiteral name;
  ActivationFn apply;
};
constexpr Entry kActivations[] = {
    {"celu", celu},
    {"elu", elu},
    {"exponential", exponential},
    {"gelu", gelu},
    {"glu", glu},
    {"hard_shrink", hardShrink},
    {"hard_sigmoid", hardSigmoid},
    {"hard_silu", hardSilu},
    {"hard_swish", hardSilu},
    {"hard_tanh", hardTanh},
    {"leaky_relu", leakyRelu},
    {"linear", linear},
    {"log_sigmoid", logSigmoid},
    {"log_softmax", logSoftmax},
    {"mish", mish},
    {"relu", relu},
    {"relu6", applyRelu6},
    {"selu", selu},
    {"sigmoid", sigmoid},
    {"silu", silu},
    {"soft_shrink", softShrink},
    {"softmax", softmax},
    {"softplus", softplus},
    {"softsign", softsign},
    {"sparse_plus", sparsePlus},
    {"sparse_sigmoid", sparseSigmoid},
    {"sparsemax", sparsemax},
    {"squareplus", squareplus},
    {"swish", silu},
    {"tanh", tanhOf},
    {"tanh_shrink", tanhShrink},
};

/// Names that mean something else, or anything at all, only in files of Keras 2.
constexpr Entry kActivationsOfKeras2[] = {
    {"hard_sigmoid", hardSigmoidOfKeras2},
    {"softmax_v2", softmax}, // tf.nn.softmax
};

} // namespace

ActivationFn findActivation(llvm::StringRef name, KerasVersion version) {
  if (version.isKeras2())
    for (const Entry &entry : kActivationsOfKeras2)
      if (entry.name == name)
        return entry.apply;
  for (const Entry &entry : kActivations)
    if (entry.name == name)
      return entry.apply;
  return nullptr;
}

/// `activation=LeakyReLU(negative_slope=0.1)`: Keras calls the layer, which has no variables,
/// inside of the other one.
static Value applyActivationLayer(LayerBuilder &b, llvm::StringRef key,
                                  const llvm::json::Object &object, Value input) {
  constexpr llvm::StringLiteral classes[] = {"ELU", "LeakyReLU", "ReLU", "Softmax",
                                             "ThresholdedReLU"};
  const llvm::StringRef className = object.getString("class_name").value_or("");
  if (!llvm::is_contained(classes, className))
    return b.error("the activation in '" + key + "' is an object of class '" + className +
                   "'; supported are the names of Keras's activation functions and " +
                   llvm::join(llvm::ArrayRef(classes), ", ") +
                   "; use the layer after this one instead");
  const LayerConfig *layer = b.getChild(key);
  const LayerEntry *entry = layer ? findLayer(*layer) : nullptr;
  if (layer && !entry)
    b.error("the activation in '" + key + "' is a " + className + " that is not Keras's");
  if (!entry) {
    b.fail();
    return {};
  }
  if (!b.policies.computeAlike(b.layer, *layer, b.path))
    return b.error("the " + layer->className + " in '" + key +
                   "' has another dtype policy than the layer; give both the same, or use it after "
                   "this one instead");
  LayerBuilder inner(b, *layer, "", key, {input});
  return entry->import(inner);
}

/// Null after an error.
static Value applyNamedActivation(LayerBuilder &b, llvm::StringRef key, Value input) {
  const llvm::json::Value *value = b.layer.config.get(key);
  if (!value || value->kind() == llvm::json::Value::Null)
    return input;
  std::optional<llvm::StringRef> name = value->getAsString();
  if (!name) {
    // {"class_name": "function", "config": "relu"}: a function of Keras passed as an object.
    const llvm::json::Object *object = value->getAsObject();
    if (object && object->getString("class_name") == llvm::StringRef("function"))
      name = object->getString("config");
    // The only function that KerasHub registers.
    if (name == llvm::StringRef("keras_hub>gelu_approximate") ||
        name == llvm::StringRef("keras_nlp>gelu_approximate"))
      return applyGelu(b, input, /*approximate=*/true);
  }
  if (const llvm::json::Object *object = value->getAsObject(); !name && object)
    return applyActivationLayer(b, key, *object, input);
  if (!name)
    return b.error("the activation in '" + key +
                   "' is neither a name nor an object; supported are the names of Keras's "
                   "activation functions");
  if (ActivationFn apply = findActivation(*name, b.layer.version))
    return apply(b, input);
  if (*name == "threshold")
    return b.error("activation 'threshold' needs arguments that a name cannot give");
  return b.error("unknown activation '" + *name +
                 "'; supported are the names of Keras's activation functions");
}

Value applyConfiguredActivation(LayerBuilder &b, llvm::StringRef key, Value input) {
  Value output = applyNamedActivation(b, key, input);
  return output ? output : input;
}

} // namespace mpc::keras
