// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Training/Regularizers.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

/// The mean of the magnitudes of all products of two different rows of a matrix (`summed` is 1), or
/// columns (0), each divided by its norm: what OrthogonalRegularizer measures.
static Value meanOfProducts(Expression &e, Value matrix, int64_t summed, double leastNorm) {
  Value unit = e.normalize(matrix, summed, leastNorm);
  Value products = ContractOp::create(e.builder, e.loc, unit, unit, summed, summed);
  const int64_t count = tensorTypeOf(products).getDimSize(0);
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, int32_t(count)));
  auto type = RankedTensorType::get({count}, e.builder.getI32Type());
  Value row = ConstantOp::create(e.builder, e.loc,
                                 DenseElementsAttr::get(type, llvm::ArrayRef<int32_t>(numbers)));
  Value differs = e.compare(ComparePredicate::NE, e.expandDims(row, 1), e.expandDims(row, 0));
  Value sum = e.reduceAll(ReduceKind::Sum, e.select(differs, e.abs(products), e.constant(0)));
  return e.div(sum, e.constant(double(count) * (double(count) - 1)));
}

Value mpc::addRegularizers(LossFunction &function, Value total, const TrainingRules &rules,
                           function_ref<void(const Twine &)> error) {
  auto module = function.forward->getParentOfType<ModuleOp>();
  for (VariableOp variable : module.getOps<VariableOp>()) {
    std::optional<RegularizerAttr> regularizer = variable.getRegularizer();
    // As Keras, which adds the losses of trainable weights only.
    if (!regularizer || variable.getRole() != VariableRole::Trainable)
      continue;
    Expression e = function.expression();
    Value value = e.toFloat(function.addVariable(variable));
    auto type = tensorTypeOf(value);
    double l1 = regularizer->getL1().getValueAsDouble(),
           l2 = regularizer->getL2().getValueAsDouble();
    if (l1 != 0)
      total = e.add(total, e.mul(e.constant(l1), e.reduceAll(ReduceKind::Sum, e.abs(value))));
    if (l2 != 0)
      total =
          e.add(total, e.mul(e.constant(l2), e.reduceAll(ReduceKind::Sum, e.mul(value, value))));
    for (auto [factor, summed] : {std::pair(regularizer->getOrthogonalRows(), 1),
                                  std::pair(regularizer->getOrthogonalColumns(), 0)})
      if (factor && (type.getRank() != 2 || type.getDimSize(1 - summed) < 2))
        error(
            variable.getSymName() + ": OrthogonalRegularizer of weights of shape (" +
            llvm::join(llvm::map_range(type.getShape(), [](int64_t n) { return llvm::utostr(n); }),
                       ", ") +
            "), of which Keras has no loss; expected a matrix of two " +
            (summed ? "rows" : "columns") + " or more; train without the regularizer");
      else if (factor)
        total = e.add(total, e.mul(e.constant(factor.getValueAsDouble()),
                                   meanOfProducts(e, value, summed, rules.leastNorm)));
  }
  return total;
}
