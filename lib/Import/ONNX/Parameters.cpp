// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Parameters.h"

namespace mpc::onnx {

/// A constant of more elements is no part of the code.
static constexpr int64_t kMostElements = 1024;

Parameters::Parameters(const Graph &graph, const std::optional<PathPattern> &pattern)
    : pattern(pattern), weights(findWeights(graph)) {}

bool isChosen(const std::optional<PathPattern> &pattern, llvm::StringRef name) {
  if (!pattern)
    return false;
  llvm::Expected<bool> match = pattern->fullMatch(name);
  if (match)
    return *match;
  llvm::consumeError(match.takeError()); // who gives variables their roles reports it
  return false;
}

std::optional<unsigned> Parameters::declare(mlir::Builder &builder, const Tensor &tensor) {
  const bool isNamed = isFloating(tensor.type) && isChosen(pattern, tensor.name),
             trainable = isNamed || weights.trained.contains(tensor.name);
  int64_t elements = 1;
  for (int64_t extent : tensor.shape)
    elements *= extent;
  // Statistics are variables, too: training moves them.
  if ((!trainable && !weights.kept.contains(tensor.name) && elements <= kMostElements) ||
      elements == 0 || !storedType(tensor.type))
    return std::nullopt;
  Parameter parameter;
  parameter.path = tensor.name;
  parameter.stored = &tensor;
  parameter.type = mlir::RankedTensorType::get(tensor.shape, nominalType(builder, tensor.type));
  parameter.trainable = trainable;
  parameter.isChosen = isNamed;
  parameter.autocast = !weights.kept.contains(tensor.name);
  all.push_back(std::move(parameter));
  return unsigned(all.size() - 1);
}

void Parameters::declareVariables(mlir::OpBuilder &builder, mlir::Location location) const {
  const auto zero = mlir::FloatAttr::get(builder.getF64Type(), 0.0);
  auto start = InitializerAttr::get(builder.getContext(), InitializerKind::Zeros, zero, zero);
  for (const Parameter &parameter : all)
    if (parameter.argument)
      VariableOp::create(builder, location, parameter.path, parameter.type,
                         parameter.trainable ? VariableRole::Trainable : VariableRole::NonTrainable,
                         builder.getStringAttr(parameter.layer), start, RegularizerAttr(),
                         ConstraintAttr(), parameter.autocast, mlir::FlatSymbolRefAttr(),
                         /*own_type=*/mlir::TypeAttr());
}

void Parameters::takeWeights(WeightStore &weights) const {
  for (const Parameter &parameter : all) {
    if (!parameter.argument)
      continue;
    Weight weight;
    weight.dtype = *storedType(parameter.stored->type);
    weight.dims = parameter.stored->shape;
    const llvm::ArrayRef<char> bytes = parameter.stored->bytes;
    weight.bytes.assign(bytes.begin(), bytes.end());
    weights.add(parameter.path, std::move(weight));
  }
}

} // namespace mpc::onnx
