// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradient of ai.onnx.preview.training: the layers between the named tensors and `y` are repeated
// with the node's inputs in place of the tensors, and their derivative stands behind them, all in
// one mpc.layer.
#include "lib/Import/ONNX/GraphImporter.h"
#include "lib/Import/ONNX/NodeAttributes.h"
#include "mpc/Autodiff/ReverseMode.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"

namespace mpc::onnx {
namespace {

using mlir::Value;

bool refuse(GraphImporter &importer, llvm::StringRef path, const llvm::Twine &what) {
  importer.error(path, "Gradient: " + what);
  return false;
}

/// A layer that computes what the body of another one is to compute again.
class Repeated {
public:
  Repeated(GraphImporter &importer, llvm::StringRef path)
      : importer(importer), path(path),
        location(mlir::NameLoc::get(importer.forward.builder.getStringAttr(path))),
        block(std::make_unique<mlir::Block>()), inner(importer.forward.builder.getContext()) {
    inner.setInsertionPointToEnd(block.get());
  }

  /// In the body `given` stands for `named`, both values of @forward. False after an error.
  bool substitute(Value named, Value given);
  /// `y` in the body: false after an error.
  bool repeat(Value y);
  /// The derivatives of the sum of y's elements by the named values `wanted`, null where they do
  /// not decide `y`. False after an error.
  bool differentiate(Value y, llvm::ArrayRef<Value> wanted);
  /// The results of the layer, those of `wanted`.
  llvm::SmallVector<Value> finish();

private:
  /// The value of @forward in the body, as an argument where no repeated layer has it.
  Value bring(Value outer);
  Value makeNumber(mlir::Type element, double number);

  GraphImporter &importer;
  llvm::StringRef path;
  const mlir::Location location;
  std::unique_ptr<mlir::Block> block;
  mlir::OpBuilder inner;
  mlir::IRMapping mapping;
  llvm::SmallVector<Value> operands, variables, results;
  std::optional<LayerOp> like; ///< the first layer that is repeated
};

Value Repeated::bring(Value outer) {
  if (Value known = mapping.lookupOrNull(outer))
    return known;
  const auto &parameters = importer.forward.parameters->getAll();
  const bool isVariable = llvm::any_of(parameters, [&](const Parameter &parameter) {
    return parameter.argument && Value(parameter.argument) == outer;
  });
  Value inside;
  if (isVariable) {
    variables.push_back(outer);
    inside = block->addArgument(outer.getType(), location);
  } else {
    inside = block->insertArgument(unsigned(operands.size()), outer.getType(), location);
    operands.push_back(outer);
  }
  mapping.map(outer, inside);
  return inside;
}

Value Repeated::makeNumber(mlir::Type element, double number) {
  auto value = mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, element),
                                            mlir::Attribute(inner.getFloatAttr(element, number)));
  return ConstantOp::create(inner, location, llvm::cast<mlir::ElementsAttr>(value));
}

bool Repeated::substitute(Value named, Value given) {
  if (named.getType() != given.getType())
    return refuse(importer, path, "an input has another type than the tensor that it stands for");
  // Independent even of another input that is the same value.
  Value inside = block->insertArgument(unsigned(operands.size()), given.getType(), location);
  operands.push_back(given);
  mapping.map(named, inside);
  return true;
}

bool Repeated::repeat(Value y) {
  // These depend on the named values, in the order of @forward.
  llvm::SmallVector<LayerOp> layers;
  for (mlir::Operation &op : *importer.forward.builder.getInsertionBlock()) {
    auto layer = llvm::dyn_cast<LayerOp>(op);
    if (layer && llvm::any_of(layer->getResults(), [&](Value result) {
          return mapping.contains(result); // what is named is independent
        }))
      continue;
    if (layer && llvm::any_of(layer->getOperands(),
                              [&](Value operand) { return mapping.contains(operand); })) {
      layers.push_back(layer);
      for (Value result : layer->getResults())
        mapping.map(result, Value()); // until it is known
    }
    if (&op == y.getDefiningOp())
      break;
  }
  for (LayerOp layer : layers) {
    if (!like)
      like = layer;
    if (layer.getPolicyAttr() != like->getPolicyAttr() || layer.getUpdatesAttr() ||
        layer.getPrecisionAttr())
      return refuse(importer, path,
                    "the layers between the tensors compute in different types; expected one");
    mlir::Block &body = layer.getBody().front();
    mlir::IRMapping own;
    for (const auto &[argument, operand] :
         llvm::zip_equal(body.getArguments(), layer->getOperands()))
      own.map(argument, bring(operand));
    for (mlir::Operation &op : body.without_terminator())
      inner.clone(op, own);
    for (const auto &[result, value] :
         llvm::zip_equal(layer->getResults(), body.getTerminator()->getOperands()))
      mapping.map(result, own.lookup(value));
  }
  return true;
}

bool Repeated::differentiate(Value y, llvm::ArrayRef<Value> wanted) {
  Value dependent = bring(y);
  llvm::SmallVector<Value> independents;
  for (Value named : wanted)
    independents.push_back(mapping.lookup(named));
  const mlir::Type element = tensorTypeOf(dependent).getElementType();
  Value seed = BroadcastLikeOp::create(inner, location, makeNumber(element, 1.0), dependent);
  std::string problem;
  mlir::ScopedDiagnosticHandler listen(inner.getContext(), [&](mlir::Diagnostic &diagnostic) {
    problem = diagnostic.str();
    return mlir::success();
  });
  if (failed(buildGradients(inner, dependent, seed, independents, results)))
    return refuse(importer, path, problem);
  for (const auto &[result, independent] : llvm::zip_equal(results, independents))
    if (!result) // `y` does not depend on it
      result = BroadcastLikeOp::create(inner, location, makeNumber(element, 0.0), independent);
  return true;
}

llvm::SmallVector<Value> Repeated::finish() {
  mlir::OpBuilder &builder = importer.forward.builder;
  YieldOp::create(inner, location, results);
  LayerOp layer =
      LayerOp::create(builder, location, mlir::ValueRange(results).getTypes(), path, "Gradient",
                      operands, variables, like ? like->getPolicyAttr() : mlir::StringAttr(),
                      PrecisionAttr(), /*autocast=*/true, /*casts_integers=*/false);
  layer.getBody().push_back(block.release());
  return llvm::SmallVector<Value>(layer.getResults());
}

/// The value of @forward that stands for one of the graph; null after an error.
Value findValue(GraphImporter &importer, const NodeValue *value, llvm::StringRef name,
                llvm::StringRef path) {
  if (value && value->bound) {
    refuse(importer, path,
           "values say how many elements '" + name + "' has; expected a known shape");
    return {};
  }
  if (value && value->variable)
    return importer.forward.getVariable(*value->variable, path);
  if (value && value->value && !value->place.isFirst()) {
    importer.errorOfOpenBatch(path, "Gradient: the open batch is not the first dimension of '" +
                                        name + "'");
    return {};
  }
  if (value && value->value)
    return value->value;
  refuse(importer, path,
         "'" + name +
             "' is a constant, or no tensor that a node before computes; expected tensors "
             "of the graph");
  return {};
}

bool gradient(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
              const NodeAttributes &attributes) {
  llvm::SmallVector<std::string> names(attributes.getTexts("xs").begin(),
                                       attributes.getTexts("xs").end());
  const size_t count = names.size();
  llvm::append_range(names, attributes.getTexts("zs"));
  if (count == 0 || node.inputs.size() != names.size() || node.outputs.size() > count)
    return refuse(importer, path, "needs an input for each name in 'xs' and 'zs'");
  Repeated layer(importer, path);
  llvm::SmallVector<Value> wanted;
  for (const auto &[i, name] : llvm::enumerate(names)) {
    const NodeValue *named = scope.find(name);
    Value own = findValue(importer, named, name, path);
    Value given = own ? findValue(importer, importer.read(node, unsigned(i), scope, path),
                                  node.inputs[i], path)
                      : Value();
    if (!given)
      return false;
    if (i < count && !isFloating(named->type))
      return refuse(importer, path,
                    "'" + name + "' is of " + spell(named->type) + "; expected a floating type");
    if (!layer.substitute(own, given))
      return false;
    if (i < count)
      wanted.push_back(own);
  }
  const std::string target = attributes.getText("y").str();
  const NodeValue *y = scope.find(target);
  Value dependent = findValue(importer, y, target, path);
  if (!dependent || !isFloating(y->type))
    return dependent ? refuse(importer, path, "'" + target + "' is of no floating type") : false;
  if (!layer.repeat(dependent) || !layer.differentiate(dependent, wanted))
    return false;
  for (const auto &[i, result] : llvm::enumerate(layer.finish())) {
    NodeValue value;
    value.type = scope.find(names[i])->type;
    value.value = result;
    importer.setOutput(node, unsigned(i), scope, std::move(value));
  }
  return true;
}

constexpr OpEntry kTable[] = {
    {"Gradient", 1, nullptr, gradient, OpenBatch::first, "ai.onnx.preview.training"},
};

} // namespace

llvm::ArrayRef<OpEntry> getGradientOps() { return kTable; }

} // namespace mpc::onnx
