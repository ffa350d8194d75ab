// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table of functions with the numbers that they take where the node says none.
#include "lib/Import/ONNX/Ops/CellActivations.h"

#include "lib/Import/Common/Activations.h"

namespace mpc::onnx {

using mlir::Value;
using B = NodeBuilder;

namespace {

Value affine(B &b, Value x, double alpha, double beta) {
  return b.make<AddOp>(b.make<MultiplyOp>(x, b.makeConstant(alpha)), b.makeConstant(beta));
}

struct NamedFunction {
  llvm::StringLiteral name; ///< in small letters
  Value (*apply)(B &, Value, double, double);
  bool takesAlpha, takesBeta;
  double alpha, beta;
};

constexpr NamedFunction kFunctions[] = {
    {"affine", affine, true, true, 1, 0},
    {"elu", [](B &b, Value x, double alpha, double) { return applyElu(b, x, alpha); }, true, false,
     1, 0},
    {"hardsigmoid",
     [](B &b, Value x, double alpha, double beta) {
       Value low = b.make<MinimumOp>(affine(b, x, alpha, beta), b.makeConstant(1.0));
       return b.make<MaximumOp>(low, b.makeConstant(0.0));
     },
     true, true, 0.2f, 0.5},
    {"leakyrelu", [](B &b, Value x, double alpha, double) { return applyLeakyRelu(b, x, alpha); },
     true, false, 0.01f, 0},
    {"relu", [](B &b, Value x, double, double) { return b.make<ReluOp>(x); }, false, false, 0, 0},
    {"scaledtanh",
     [](B &b, Value x, double alpha, double beta) {
       Value inner = b.make<TanhOp>(b.make<MultiplyOp>(x, b.makeConstant(beta)));
       return b.make<MultiplyOp>(inner, b.makeConstant(alpha));
     },
     true, true, 1, 1},
    {"sigmoid", [](B &b, Value x, double, double) { return b.make<SigmoidOp>(x); }, false, false, 0,
     0},
    {"softplus", [](B &b, Value x, double, double) { return b.make<SoftplusOp>(x); }, false, false,
     0, 0},
    {"softsign",
     [](B &b, Value x, double, double) {
       return b.make<DivideOp>(x, b.make<AddOp>(b.make<AbsOp>(x), b.makeConstant(1.0)));
     },
     false, false, 0, 0},
    {"tanh", [](B &b, Value x, double, double) { return b.make<TanhOp>(x); }, false, false, 0, 0},
    {"thresholdedrelu",
     [](B &b, Value x, double alpha, double) {
       return b.makeSelect(ComparePredicate::GT, x, b.makeConstant(alpha), x, b.makeConstant(0.0));
     },
     true, false, 1, 0},
};

const NamedFunction *find(llvm::StringRef name) {
  for (const NamedFunction &function : kFunctions)
    if (name.equals_insensitive(function.name))
      return &function;
  return nullptr;
}

} // namespace

std::optional<CellActivations> CellActivations::read(B &b, llvm::ArrayRef<llvm::StringRef> defaults,
                                                     int64_t directions) {
  CellActivations result;
  result.count = unsigned(defaults.size());
  llvm::SmallVector<llvm::StringRef> names;
  for (const std::string &name : b.attributes.getTexts("activations"))
    names.push_back(name);
  if (names.empty())
    for (int64_t direction = 0; direction < directions; ++direction)
      names.append(defaults.begin(), defaults.end());
  if (int64_t(names.size()) != int64_t(defaults.size()) * directions) {
    b.error("has " + llvm::Twine(names.size()) + " activations; expected " +
            llvm::Twine(int64_t(defaults.size()) * directions));
    return std::nullopt;
  }
  const auto alphas = b.attributes.getNumbers("activation_alpha"),
             betas = b.attributes.getNumbers("activation_beta");
  // Numbers are for those activations that take any, in their order.
  size_t nextAlpha = 0, nextBeta = 0;
  for (llvm::StringRef name : names) {
    const NamedFunction *function = find(name);
    if (!function) {
      b.error("the activation '" + name + "' is not supported");
      return std::nullopt;
    }
    Activation activation = {function->apply, function->alpha, function->beta};
    if (function->takesAlpha && nextAlpha < alphas.size())
      activation.alpha = alphas[nextAlpha++];
    if (function->takesBeta && nextBeta < betas.size())
      activation.beta = betas[nextBeta++];
    result.all.push_back(activation);
  }
  if (b.attributes.has("clip"))
    result.clip = b.attributes.getNumber("clip", 0);
  return result;
}

Value CellActivations::apply(B &b, int64_t direction, unsigned i, Value x) const {
  if (clip)
    x = b.make<MaximumOp>(b.make<MinimumOp>(x, b.makeConstant(*clip)), b.makeConstant(-*clip));
  const Activation &activation = all[size_t(direction) * count + i];
  return activation.apply(b, x, activation.alpha, activation.beta);
}

} // namespace mpc::onnx
