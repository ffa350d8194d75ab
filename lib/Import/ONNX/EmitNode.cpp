// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One node: its ops in the body of an mpc.layer, or their values where they read constants alone.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/BatchExtents.h"
#include "lib/Import/ONNX/GraphImporter.h"
#include "lib/Import/ONNX/NodeBuilder.h"

#include "mlir/IR/Diagnostics.h"

namespace mpc::onnx {

using mlir::Value;

namespace {

/// Constants that the import computes have at most so many elements.
constexpr int64_t kMostFolded = 1 << 16;

/// The policy by which a layer computes in the file's dtype; null for the default, float32.
mlir::StringAttr policyOf(mlir::Builder &builder, DataType compute) {
  const mlir::FloatType type = floatType(builder, compute);
  return type.isF32() ? mlir::StringAttr() : builder.getStringAttr(spell(dataTypeOf(type)));
}

bool isEmptyTensor(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && llvm::is_contained(tensor.getShape(), 0);
}

} // namespace

class NodeEmission {
public:
  NodeEmission(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
               llvm::ArrayRef<const NodeValue *> inputs)
      : importer(importer), node(node), scope(scope), block(std::make_unique<mlir::Block>()),
        b(importer, node, path, importer.getOpset(node), inputs, *block) {}

  bool run(const OpEntry &entry) {
    if (std::optional<Literal> extents = computeExtents(node, b.inputs)) {
      importer.setOutput(node, 0, scope, NodeValue::fromLiteral(std::move(*extents)));
      return true;
    }
    b.movesElements = entry.batch == OpenBatch::moved;
    b.takesAnyPlace = entry.batch != OpenBatch::first;
    entry.import(b);
    if (b.hasFailed() || !judge() || !hasReadAttributes() || !followBounds() || !putBatchFirst())
      return false;
    if (takeEmpty() || fold())
      return true;
    if (hasBatch() && llvm::any_of(b.inputs, [&](const NodeValue *input) {
          return input && input->literal && input->literal->hasBatch &&
                 b.bound[size_t(llvm::find(b.inputs, input) - b.inputs.begin())];
        })) {
      b.errorOfOpenBatch("mixes the open batch with values of the graph");
      return false;
    }
    return emit();
  }

  /// The same where the value must be one of @forward.
  bool runAsLayer(const OpEntry &entry) {
    b.takesAnyPlace = true;
    entry.import(b);
    return !b.hasFailed() && judge() && putBatchFirst() && emit();
  }

private:
  /// A node's numbers could depend on an attribute that no importer asks for.
  bool hasReadAttributes() {
    for (llvm::StringRef name : b.attributes.getUnread())
      b.error("the attribute '" + name + "' is not supported, or of another kind than ONNX's");
    return !b.hasFailed();
  }

  /// Whether layers can take the results.
  bool judge() {
    for (const auto &[i, result] : llvm::enumerate(b.results)) {
      if (!b.isWanted(unsigned(i)))
        continue;
      if (!result.value) {
        b.error("output " + llvm::Twine(i) + " is not supported");
        continue;
      }
      const llvm::ArrayRef<int64_t> shape = b.shapeOf(result.value);
      if (llvm::is_contained(shape, 0) && llvm::is_contained(shape, mlir::ShapedType::kDynamic))
        b.error("the result is a tensor of shape " + printShape(shape) +
                " and so without elements, which mpc does not compile");
    }
    return !b.hasFailed();
  }

  /// Results get the bounded dimensions of inputs; false where the operation cannot take them.
  bool followBounds() {
    std::optional<unsigned> bounded; // an input
    for (unsigned i = 0; i < b.inputs.size(); ++i) {
      if (!b.isBounded(i))
        continue;
      bounded = i;
      if (!b.bound[i])
        return refuseBounded(i, "takes the shape of it");
    }
    if (mlir::Operation *op = b.bounds.run(*block)) {
      if (bounded)
        return refuseBounded(*bounded, "computes with places of that dimension together (" +
                                           op->getName().stripDialect() + ")");
      b.error("would count values of which a count says how many there are");
      return false;
    }
    for (const auto &[i, result] : llvm::enumerate(b.results)) {
      if (!b.isWanted(unsigned(i)))
        continue;
      result.bound = b.bounds.find(result.value);
      if (bounded && !result.bound)
        return refuseBounded(*bounded, "has a result that does not follow from its places");
      if (result.bound && llvm::is_contained(b.shapeOf(result.value), 0)) {
        b.error("a result has no elements, and an extent that values say");
        return false;
      }
      if (result.bound && mlir::ShapedType::isDynamicShape(b.shapeOf(result.value))) {
        b.errorOfOpenBatch("a result has the open batch beside an extent that values say");
        return false;
      }
    }
    return true;
  }

  bool refuseBounded(unsigned i, const llvm::Twine &why) {
    b.error("values say how many elements input " + llvm::Twine(i) + " ('" + node.inputs[i] +
            "') has along dimension " + llvm::Twine(b.inputs[i]->bound->axis) +
            ", and the operation " + why +
            "; make this input an output, and leave the rest to the program behind the model");
    return false;
  }

  /// Ops that see the batch elsewhere become others; false where one cannot.
  bool putBatchFirst() {
    BatchFirst batchFirst(*block, b.builder.getContext());
    for (const auto &[tensor, batched] : b.views)
      batchFirst.add(tensor, batched);
    if (mlir::Operation *op = batchFirst.run()) {
      std::string shapes;
      for (Value operand : op->getOperands())
        shapes += (shapes.empty() ? "" : ", ") + printShape(b.shapeOf(operand));
      b.errorOfOpenBatch("takes elements of several samples together, or has no form with the open "
                         "batch in this dimension (" +
                         op->getName().stripDialect() + " of " + shapes + ")");
      return false;
    }
    for (NodeBuilder::Result &result : b.results)
      if (result.value)
        std::tie(result.value, result.place) = batchFirst.find(result.value);
    for (Value &input : b.bound)
      if (input)
        input = batchFirst.find(input).first;
    for (auto &[input, value] : b.updates)
      value = batchFirst.find(value).first;
    batchFirst.finish();
    return true;
  }

  bool isConstant() const { return b.operands.empty() && b.variables.empty(); }

  bool hasBatch() const {
    return llvm::any_of(b.inputs, [](const NodeValue *input) {
      return input && input->literal && input->literal->hasBatch;
    });
  }

  DataType typeOf(const NodeBuilder::Result &result) const {
    if (result.type != DataType::Undefined)
      return result.type;
    const mlir::Type element = elementTypeOf(result.value);
    return mlir::isa<mlir::FloatType>(element) ? b.getComputeType() : dataTypeOf(element);
  }

  /// A result without elements is a constant, whatever it is computed from. Whether all are.
  bool takeEmpty() {
    bool isAny = false, isAll = true;
    for (unsigned i = 0; i < b.results.size(); ++i) {
      if (!b.isWanted(i))
        continue;
      isAny = true;
      if (!llvm::is_contained(b.shapeOf(b.results[i].value), 0)) {
        isAll = false;
        continue;
      }
      ReferenceTensor none;
      startReference(none, elementTypeOf(b.results[i].value), b.shapeOf(b.results[i].value));
      importer.setOutput(node, i, scope, makeConstant(b.results[i], std::move(none)));
      b.results[i].isEmpty = true;
    }
    return isAny && isAll;
  }

  bool isLive(unsigned i) const { return b.isWanted(i) && !b.results[i].isEmpty; }

  /// A node that reads constants alone gives constants. float64 is not folded: bodies have float32
  /// until the casts.
  bool fold() {
    if (!isConstant())
      return false;
    llvm::SmallVector<Value> wanted;
    int64_t elements = 0;
    for (const auto &[i, result] : llvm::enumerate(b.results)) {
      if (!isLive(unsigned(i)))
        continue;
      // A constant would be all places of a bounded result.
      if (typeOf(result) == DataType::Double || result.bound)
        return false;
      elements += tensorTypeOf(result.value).getNumElements();
      wanted.push_back(result.value);
    }
    if (elements > kMostFolded || llvm::any_of(b.inputs, [](const NodeValue *input) {
          return input && input->type == DataType::Double;
        }))
      return false;
    YieldOp::create(b.builder, b.location, wanted);
    llvm::SmallVector<ReferenceTensor> values;
    mlir::ScopedDiagnosticHandler silent(b.builder.getContext(),
                                         [](mlir::Diagnostic &) { return mlir::success(); });
    const bool isFolded = succeeded(evaluateBlock(*block, {}, values));
    block->back().erase();
    if (!isFolded)
      return false;
    size_t next = 0;
    for (unsigned i = 0; i < b.results.size(); ++i)
      if (isLive(i))
        importer.setOutput(node, i, scope, makeConstant(b.results[i], std::move(values[next++])));
    return true;
  }

  NodeValue makeConstant(const NodeBuilder::Result &result, ReferenceTensor tensor) const {
    Literal literal;
    literal.type = typeOf(result);
    literal.tensor = std::move(tensor);
    mlir::Builder &builder = importer.forward.builder;
    for (double &number : literal.tensor.floats)
      number = roundTo(floatType(builder, literal.type), number);
    literal.hasBatch = hasBatch() && llvm::any_of(literal.tensor.integers, [](int64_t number) {
                         return Literal::findBatches(number).has_value();
                       });
    return NodeValue::fromLiteral(std::move(literal));
  }

  /// Counts of bounded results that the body makes.
  llvm::SmallVector<Value> findOwnCounts() const {
    llvm::SmallVector<Value> counts;
    for (unsigned i = 0; i < b.results.size(); ++i) {
      if (!isLive(i) || !b.results[i].bound)
        continue;
      Value count = b.results[i].bound->count;
      if (count.getParentBlock() == block.get() && !llvm::is_contained(counts, count))
        counts.push_back(count);
    }
    return counts;
  }

  bool emit() {
    Forward &forward = importer.forward;
    for (unsigned i = 0; i < b.results.size(); ++i)
      if (isLive(i) && isEmptyTensor(b.results[i].value.getType())) {
        b.error("the result is a tensor of shape " + printShape(b.shapeOf(b.results[i].value)) +
                " and so without elements, which mpc does not compile");
        return false;
      }
    for (unsigned i = 0; i < b.bound.size(); ++i)
      if (b.bound[i] && isEmptyTensor(b.bound[i].getType())) {
        b.error("input " + llvm::Twine(i) + " is a tensor of shape " +
                printShape(b.shapeOf(b.bound[i])) +
                " and so without elements, which mpc does not compile");
        return false;
      }
    for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (op.use_empty() && llvm::any_of(op.getResultTypes(), isEmptyTensor))
        op.erase(); // of a result that is a constant
    llvm::SmallVector<Value> yielded;
    llvm::SmallVector<unsigned> numbers;
    for (unsigned i = 0; i < b.results.size(); ++i)
      if (isLive(i)) {
        numbers.push_back(i);
        yielded.push_back(b.results[i].value);
      }
    const llvm::SmallVector<Value> counts = findOwnCounts();
    yielded.append(counts);
    for (const auto &[input, value] : b.updates)
      yielded.push_back(b.make<InTrainingOp>(value, b.bound[input]));
    YieldOp::create(b.builder, b.location, yielded);
    LayerOp layer = LayerOp::create(
        forward.builder, b.location, mlir::ValueRange(yielded).getTypes(), b.path, node.op,
        b.operands, b.variables, policyOf(forward.builder, b.getComputeType()), PrecisionAttr(),
        /*autocast=*/!b.keepsInputs, /*casts_integers=*/false);
    layer.getBody().push_back(block.release());
    for (unsigned i : numbers)
      if (std::optional<BoundedDimension> &bound = b.results[i].bound)
        if (auto own = llvm::find(counts, bound->count); own != counts.end())
          bound->count = layer.getResult(unsigned(numbers.size() + size_t(own - counts.begin())));
    for (const auto &[position, i] : llvm::enumerate(numbers)) {
      NodeValue value;
      value.bound = b.results[i].bound;
      value.type = typeOf(b.results[i]);
      value.value = layer.getResult(unsigned(position));
      value.place = b.results[i].place;
      importer.setOutput(node, i, scope, std::move(value));
    }
    for (const auto &[position, update] : llvm::enumerate(b.updates))
      forward.parameters->get(*b.inputs[update.first]->variable).update =
          layer.getResult(unsigned(numbers.size() + counts.size() + position));
    return true;
  }

  GraphImporter &importer;
  const Node &node;
  Scope &scope;
  std::unique_ptr<mlir::Block> block;
  NodeBuilder b;
};

bool emitNode(GraphImporter &importer, const OpEntry &entry, const Node &node, Scope &scope,
              llvm::StringRef path) {
  llvm::SmallVector<const NodeValue *> inputs;
  for (unsigned i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(node.inputs[i].empty() ? nullptr : scope.find(node.inputs[i]));
  return NodeEmission(importer, node, scope, path, inputs).run(entry);
}

/// A constant has no dtype of its own.
static Value readForCopy(NodeBuilder &b) {
  Value x = b.get(0);
  return x && b.getLiteral(0) && b.isFloat(x) && b.keepsTypes()
             ? b.makeCastTo(x, floatType(b.builder, b.getType(0)))
             : x;
}

/// Input 2 numbers the places along the bounded dimension, of which input 1 says how many there
/// are.
static void importCut(NodeBuilder &b) {
  Value x = readForCopy(b);
  Value isThere = b.makeCompare(ComparePredicate::LT, b.get(2), b.get(1));
  Value zero = scalarConstant(b.builder, b.location, elementTypeOf(x), 0);
  b.setResult(0, b.makeSelect(isThere, x, zero), b.getType(0));
}

Value emitCopy(GraphImporter &importer, const NodeValue &value, llvm::StringRef path,
               llvm::StringRef kind) {
  Node node;
  node.name = path.str();
  node.op = kind.str();
  node.inputs = {"value"};
  node.outputs = {"copy"};
  Scope scope;
  scope.set("value", value);
  static constexpr OpEntry copy{
      "Identity", 1, [](NodeBuilder &b) { b.setResult(0, readForCopy(b), b.getType(0)); }};
  static constexpr OpEntry cut{"Identity", 1, importCut};
  llvm::SmallVector<const NodeValue *> inputs{scope.find("value")};
  if (value.bound) {
    const llvm::SmallVector<int64_t> shape = value.getShape();
    const int64_t extent = shape[size_t(value.bound->axis)];
    llvm::SmallVector<int64_t> along(shape.size(), 1);
    along[size_t(value.bound->axis)] = extent;
    NodeValue count;
    count.type = DataType::Int64;
    count.value = value.bound->count;
    scope.set("count", count);
    scope.set("places", NodeValue::fromLiteral(
                            Literal::fromIntegers(importer.forward.builder, along,
                                                  llvm::to_vector(llvm::seq<int64_t>(0, extent)))));
    node.inputs = {"value", "count", "places"};
    inputs = {scope.find("value"), scope.find("count"), scope.find("places")};
  }
  NodeEmission emission(importer, node, scope, path, inputs);
  return emission.runAsLayer(value.bound ? cut : copy) ? scope.find("copy")->value : Value();
}

} // namespace mpc::onnx
