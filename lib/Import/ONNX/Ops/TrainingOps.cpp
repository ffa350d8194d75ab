// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The optimizers of ai.onnx.preview.training: a step of each of several tensors, in float32 or
// wider.
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;

/// The inputs: rate, step, then each of `kinds` lists of tensors; outputs are the lists without
/// gradients. Calls `step` with those of one tensor. The step count is an integer or a float.
void forEach(
    B &b, unsigned kinds,
    llvm::function_ref<llvm::SmallVector<Value>(Value, Value, llvm::ArrayRef<Value>)> step) {
  const auto given = unsigned(b.getInputCount());
  if (given < 2 + kinds || (given - 2) % kinds)
    return (void)b.error("takes a rate, a step, and " + llvm::Twine(kinds) +
                         " tensors for each that is trained");
  const unsigned count = (given - 2) / kinds;
  Value rate = b.get(0), number = b.get(1);
  if (!rate || !number)
    return;
  if (!b.isFloat(number))
    number = b.makeCastToFloat(number);
  for (unsigned i = 0; i < count; ++i) {
    llvm::SmallVector<Value> tensors;
    for (unsigned kind = 0; kind < kinds; ++kind) {
      tensors.push_back(b.get(2 + kind * count + i));
      if (!tensors.back())
        return;
    }
    for (const auto &[kind, result] : llvm::enumerate(step(rate, number, tensors)))
      b.setResult(unsigned(kind) * count + i, result);
  }
}

Value scale(B &b, double factor, Value x) { return b.make<MultiplyOp>(x, b.makeConstant(factor)); }

/// The gradient with that of the regularisation.
Value regularize(B &b, Value gradient, Value x) {
  const double norm = b.attributes.getNumber("norm_coefficient", 0);
  return norm == 0 ? gradient : b.make<AddOp>(scale(b, norm, x), gradient);
}

void momentum(B &b) {
  const double alpha = b.attributes.getNumber("alpha", 0), beta = b.attributes.getNumber("beta", 0);
  const bool isNesterov = b.attributes.getText("mode", "standard") == "nesterov";
  forEach(b, 3, [&](Value rate, Value number, llvm::ArrayRef<Value> t) {
    Value gradient = regularize(b, t[1], t[0]);
    // The first step takes the whole gradient.
    Value factor = b.makeSelect(ComparePredicate::GT, number, b.makeConstant(0.0),
                                b.makeConstant(beta), b.makeConstant(1.0));
    Value speed = b.make<AddOp>(scale(b, alpha, t[2]), b.make<MultiplyOp>(factor, gradient));
    Value direction = isNesterov ? b.make<AddOp>(gradient, scale(b, alpha, speed)) : speed;
    Value x = b.make<SubtractOp>(t[0], b.make<MultiplyOp>(rate, direction));
    return llvm::SmallVector<Value>{x, speed};
  });
}

void adagrad(B &b) {
  const double epsilon = b.attributes.getNumber("epsilon", 0),
               decay = b.attributes.getNumber("decay_factor", 0);
  forEach(b, 3, [&](Value rate, Value number, llvm::ArrayRef<Value> t) {
    Value gradient = regularize(b, t[1], t[0]);
    Value slowed =
        b.make<DivideOp>(rate, b.make<AddOp>(b.makeConstant(1.0), scale(b, decay, number)));
    Value squares = b.make<AddOp>(t[2], b.make<MultiplyOp>(gradient, gradient));
    Value root = b.make<AddOp>(b.make<SqrtOp>(squares), b.makeConstant(epsilon));
    Value change = b.make<DivideOp>(b.make<MultiplyOp>(slowed, gradient), root);
    return llvm::SmallVector<Value>{b.make<SubtractOp>(t[0], change), squares};
  });
}

void adam(B &b) {
  const double alpha = b.attributes.getNumber("alpha", 0.9f),
               beta = b.attributes.getNumber("beta", 0.999f),
               epsilon = b.attributes.getNumber("epsilon", 0),
               post = b.attributes.getNumber("norm_coefficient_post", 0);
  forEach(b, 4, [&](Value rate, Value number, llvm::ArrayRef<Value> t) {
    Value one = b.makeConstant(1.0), gradient = regularize(b, t[1], t[0]);
    Value mean = b.make<AddOp>(scale(b, alpha, t[2]), scale(b, 1 - alpha, gradient));
    Value squares = b.make<AddOp>(scale(b, beta, t[3]),
                                  scale(b, 1 - beta, b.make<MultiplyOp>(gradient, gradient)));
    Value root = b.make<AddOp>(b.make<SqrtOp>(squares), b.makeConstant(epsilon));
    const auto rest = [&](double base) {
      return b.make<SubtractOp>(one, b.make<PowerOp>(b.makeConstant(base), number));
    };
    // Before the first step nothing is corrected.
    Value corrected = b.make<DivideOp>(b.make<SqrtOp>(rest(beta)), rest(alpha));
    Value factor = b.makeSelect(ComparePredicate::GT, number, b.makeConstant(0.0), corrected, one);
    Value change =
        b.make<MultiplyOp>(b.make<MultiplyOp>(rate, factor), b.make<DivideOp>(mean, root));
    Value x = b.make<SubtractOp>(t[0], change);
    return llvm::SmallVector<Value>{post == 0 ? x : scale(b, 1 - post, x), mean, squares};
  });
}

constexpr OpEntry kTable[] = {
    {"Adagrad", 1, adagrad, nullptr, OpenBatch::first, "ai.onnx.preview.training"},
    {"Adam", 1, adam, nullptr, OpenBatch::first, "ai.onnx.preview.training"},
    {"Momentum", 1, momentum, nullptr, OpenBatch::first, "ai.onnx.preview.training"},
};

} // namespace

llvm::ArrayRef<OpEntry> getTrainingOps() { return kTable; }

} // namespace mpc::onnx
