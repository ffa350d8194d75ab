// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Parameters.h"

#include "llvm/ADT/StringSwitch.h"

namespace mpc::onnx {

namespace {

/// A constant of more elements is no part of the code.
constexpr int64_t kMostElements = 1024;

/// The inputs of an operation that hold weights, by their numbers; of -1 all of them.
llvm::ArrayRef<int> weightInputs(llvm::StringRef op) {
  static constexpr int all[] = {-1}, first[] = {0}, second[] = {1}, pair[] = {1, 2},
                       triple[] = {1, 2, 3};
  return llvm::StringSwitch<llvm::ArrayRef<int>>(op)
      .Cases({"MatMul", "Gemm", "Einsum"}, all)
      .Cases({"Conv", "ConvTranspose", "LayerNormalization", "GroupNormalization",
              "InstanceNormalization", "BatchNormalization"},
             pair)
      .Cases({"RNN", "LSTM", "GRU"}, triple)
      .Cases({"PRelu", "RMSNormalization", "SimplifiedLayerNormalization"}, second)
      .Cases({"Gather", "GatherND"}, first)
      .Default({});
}

/// Operations through which a weight goes on its way.
bool passesWeights(llvm::StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"Identity", "Transpose", "Reshape", "Cast", "Squeeze", "Unsqueeze", "Flatten"}, true)
      .Cases({"Slice", "Concat", "CastLike", "Split", "SplitToSequence", "SequenceAt"}, true)
      .Default(false);
}

/// The initializers that values of the graph are in another form.
using Origins = llvm::StringMap<llvm::SmallVector<const Tensor *, 1>>;

/// Those that the node's result is made of; none where it has others beside them.
llvm::SmallVector<const Tensor *, 1> collectPassed(const Node &node, const Origins &origins) {
  llvm::SmallVector<const Tensor *, 1> passed;
  if (!passesWeights(node.op) || node.inputs.empty())
    return passed;
  const size_t count = node.op == "Concat" ? node.inputs.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    const auto own = origins.lookup(node.inputs[i]);
    if (own.empty())
      return {};
    passed.append(own.begin(), own.end());
  }
  return passed;
}

/// Operations whose result may have a bias added that is no input of theirs.
bool isProduct(llvm::StringRef op) { return op == "MatMul" || op == "Einsum"; }

/// Whether the input is where biases and the factors of decomposed normalisations are, vectors
/// along the last axis. What is subtracted is a mean, or the places of knots.
bool takesVectors(llvm::StringRef op, size_t input) {
  return op == "Add" || op == "Mul" || (op == "Sub" && input == 0);
}

} // namespace

Parameters::Parameters(const Graph &graph, const std::optional<PathPattern> &pattern)
    : pattern(pattern) {
  Origins origins;
  llvm::StringSet<> products;
  for (const Tensor &tensor : graph.initializers)
    if (isFloating(tensor.type))
      origins[tensor.name] = {&tensor};
  for (const Node &node : graph.nodes) {
    if (!node.domain.empty())
      continue;
    const llvm::ArrayRef<int> weights = weightInputs(node.op);
    // A vector of one element is a bias behind a product to one column, elsewhere a number.
    const bool followsProduct =
        node.op == "Add" &&
        llvm::any_of(node.inputs, [&](const auto &name) { return products.contains(name); });
    if (isProduct(node.op))
      products.insert(node.outputs.begin(), node.outputs.end());
    for (const auto &[i, name] : llvm::enumerate(node.inputs))
      for (const Tensor *tensor : origins.lookup(name)) {
        const bool isVector = tensor->shape.size() == 1 && takesVectors(node.op, i) &&
                              (tensor->shape.front() > 1 || followsProduct);
        if (llvm::StringRef(node.op).ends_with("Normalization"))
          kept.insert(tensor->name);
        if (isVector || llvm::is_contained(weights, -1) || llvm::is_contained(weights, int(i)))
          trained.insert(tensor->name);
      }
    if (auto passed = collectPassed(node, origins); !passed.empty())
      for (const std::string &output : node.outputs)
        origins[output] = passed;
  }
}

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
             trainable = isNamed || trained.contains(tensor.name);
  int64_t elements = 1;
  for (int64_t extent : tensor.shape)
    elements *= extent;
  // Statistics are variables, too: training moves them.
  if ((!trainable && !kept.contains(tensor.name) && elements <= kMostElements) || elements == 0 ||
      !storedType(tensor.type))
    return std::nullopt;
  Parameter parameter;
  parameter.path = tensor.name;
  parameter.stored = &tensor;
  parameter.type = mlir::RankedTensorType::get(tensor.shape, nominalType(builder, tensor.type));
  parameter.trainable = trainable;
  parameter.isChosen = isNamed;
  parameter.autocast = !kept.contains(tensor.name);
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
