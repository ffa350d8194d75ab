// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Ops/TextMovement.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace mpc::onnx {
namespace {

using Extents = llvm::SmallVector<int64_t>;

/// The texts as code points, or the other way round.
NodeValue retype(NodeValue value, DataType type) {
  value.type = type;
  if (value.literal) {
    Literal literal = *value.literal;
    literal.type = type;
    value.literal = std::make_shared<const Literal>(std::move(literal));
  }
  return value;
}

/// Writes the node that moves the code points.
class Movement {
public:
  Movement(GraphImporter &importer, const Node &node, const Scope &scope, llvm::StringRef path)
      : importer(importer), node(node), moved(node), path(path), opset(importer.getOpset(node)) {
    // Names of its own, by number.
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (hasInput(i)) {
        moved.inputs[i] = std::to_string(i);
        inner.set(moved.inputs[i], *scope.find(node.inputs[i]));
      }
    isText = hasInput(0) && inner.find("0")->type == DataType::String;
    if (!isText)
      return;
    const NodeValue texts = *inner.find("0");
    shape = importer.getShape(texts);
    rank = int64_t(shape.size()) - 1;
    width = shape.back();
    inner.set("0", retype(texts, DataType::Int32));
  }

  /// False after an error.
  bool run() {
    if (!isText)
      return fail("takes text as another input than its first");
    if (node.op == "Reshape" || node.op == "Expand" || node.op == "Tile")
      return appendExtent(node.op == "Tile" ? 1 : width);
    if (node.op == "Transpose")
      return setOrder();
    if (node.op == "Flatten")
      return setFlat();
    if (node.op == "Squeeze" || node.op == "Unsqueeze")
      return setAxes();
    if (node.op == "Slice")
      return setSliceAxes();
    return setAxis(0); // Gather, Split
  }

  bool emit(Scope &scope) {
    if (isKept) {
      importer.setOutput(node, 0, scope, retype(*inner.find("0"), DataType::String));
      return true;
    }
    const OpEntry *entry = findOp(moved.domain, moved.op, opset);
    if (!entry || !entry->import || !emitNode(importer, *entry, moved, inner, path))
      return false;
    for (const std::string &output : node.outputs)
      if (const NodeValue *value = output.empty() ? nullptr : inner.find(output))
        scope.set(output, retype(*value, DataType::String));
    return true;
  }

private:
  bool fail(const llvm::Twine &message) {
    importer.error(path, node.op + ": " + message);
    return false;
  }

  void setInput(size_t i, llvm::ArrayRef<int64_t> numbers, bool hasBatch = false) {
    const std::string name = std::to_string(i);
    Literal literal =
        Literal::fromIntegers(importer.forward.builder, {int64_t(numbers.size())}, numbers);
    literal.hasBatch = hasBatch;
    inner.set(name, NodeValue::fromLiteral(std::move(literal)));
    moved.inputs.resize(std::max(moved.inputs.size(), i + 1));
    moved.inputs[i] = name;
  }

  void setAttribute(llvm::StringRef name, decltype(Attribute::value) value) {
    llvm::erase_if(moved.attributes, [&](const Attribute &own) { return own.name == name; });
    Attribute attribute;
    attribute.name = name.str();
    attribute.value = std::move(value);
    moved.attributes.push_back(std::move(attribute));
  }

  /// The integers of input `i`; null where there are none, or they are not known.
  std::shared_ptr<const Literal> findIntegers(size_t i) {
    const NodeValue *value = hasInput(i) ? inner.find(moved.inputs[i]) : nullptr;
    std::shared_ptr<const Literal> literal = value ? importer.getLiteral(*value) : nullptr;
    return literal && literal->isInteger() ? literal : nullptr;
  }
  bool hasInput(size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }

  std::optional<int64_t> countFromFront(int64_t axis, int64_t axes) {
    if (axis >= -axes && axis < axes)
      return axis < 0 ? axis + axes : axis;
    fail("axis " + llvm::Twine(axis) + " is outside of the " + llvm::Twine(axes) + " dimensions");
    return std::nullopt;
  }

  bool appendExtent(int64_t extent) {
    std::shared_ptr<const Literal> literal = findIntegers(1);
    if (!literal)
      return fail("of text needs a constant for its second input");
    Extents numbers(literal->tensor.integers.begin(), literal->tensor.integers.end());
    if (node.op == "Reshape" && NodeAttributes(node).getFlag("allowzero") == false)
      // A zero in the place of the width would take that.
      for (size_t i = size_t(std::max<int64_t>(rank, 0)); i < numbers.size(); ++i)
        if (numbers[i] == 0)
          return fail("the shape takes extent " + llvm::Twine(i) + " of an input of " +
                      llvm::Twine(rank) + " dimensions");
    numbers.push_back(extent);
    setInput(1, numbers, literal->hasBatch);
    return true;
  }

  bool setOrder() {
    Extents order = NodeAttributes(node).getIntegers("perm");
    if (order.empty()) {
      order.resize(size_t(rank));
      std::iota(order.rbegin(), order.rend(), 0);
    }
    if (int64_t(order.size()) != rank)
      return fail("'perm' names " + llvm::Twine(order.size()) + " of " + llvm::Twine(rank) +
                  " dimensions");
    for (int64_t &axis : order) {
      std::optional<int64_t> front = countFromFront(axis, rank);
      if (!front)
        return false;
      axis = *front;
    }
    order.push_back(rank);
    setAttribute("perm", std::vector<int64_t>(order.begin(), order.end()));
    return true;
  }

  bool setFlat() {
    const int64_t given = NodeAttributes(node).getInteger("axis", 1),
                  axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis > rank)
      return fail("axis " + llvm::Twine(given) + " is outside of the input");
    int64_t behind = 1;
    for (int64_t extent : llvm::ArrayRef(shape).slice(size_t(axis), size_t(rank - axis)))
      if (mlir::ShapedType::isDynamic(extent))
        return fail("of text has the open batch behind its axis, which is not supported");
      else
        behind *= extent;
    moved.op = "Reshape";
    moved.attributes.clear();
    setInput(1, {-1, behind, width});
    return true;
  }

  /// Without axes all dimensions of 1 go, but not that of the code points.
  bool setAxes() {
    Extents axes;
    const bool isInput = opset >= 13;
    std::shared_ptr<const Literal> literal = isInput ? findIntegers(1) : nullptr;
    if (literal)
      axes.assign(literal->tensor.integers.begin(), literal->tensor.integers.end());
    else if (isInput && hasInput(1))
      return fail("of text needs constant axes");
    else if (!isInput)
      axes = NodeAttributes(node).getIntegers("axes");
    if (node.op == "Squeeze" && axes.empty())
      for (int64_t axis = 0; axis < rank; ++axis)
        if (shape[size_t(axis)] == 1)
          axes.push_back(axis);
    const int64_t all = rank + (node.op == "Unsqueeze" ? int64_t(axes.size()) : 0);
    for (int64_t &axis : axes) {
      std::optional<int64_t> front = countFromFront(axis, all);
      if (!front)
        return false;
      axis = *front;
    }
    if (axes.empty()) {
      isKept = true;
    } else if (isInput) {
      setInput(1, axes);
    } else {
      setAttribute("axes", std::vector<int64_t>(axes.begin(), axes.end()));
    }
    return true;
  }

  bool setSliceAxes() {
    const bool isInput = opset >= 10;
    std::shared_ptr<const Literal> literal = isInput ? findIntegers(3) : nullptr;
    Extents axes;
    if (literal)
      axes.assign(literal->tensor.integers.begin(), literal->tensor.integers.end());
    else if (isInput && hasInput(3))
      return fail("of text needs constant axes");
    else if (!isInput)
      axes = NodeAttributes(node).getIntegers("axes");
    if (axes.empty()) {
      // The first ones, as many as there are starts.
      std::shared_ptr<const Literal> starts = isInput ? findIntegers(1) : nullptr;
      const size_t count = starts    ? size_t(starts->tensor.size())
                           : isInput ? size_t(rank) + 1
                                     : NodeAttributes(node).getIntegers("starts").size();
      if (int64_t(count) > rank)
        return fail("of text needs constant starts, no more than its dimensions");
      return true;
    }
    for (int64_t &axis : axes) {
      std::optional<int64_t> front = countFromFront(axis, rank);
      if (!front)
        return false;
      axis = *front;
    }
    if (isInput)
      setInput(3, axes);
    else
      setAttribute("axes", std::vector<int64_t>(axes.begin(), axes.end()));
    return true;
  }

  bool setAxis(int64_t otherwise) {
    std::optional<int64_t> axis =
        countFromFront(NodeAttributes(node).getInteger("axis", otherwise), rank);
    if (!axis)
      return false;
    if (node.op == "Split" && hasInput(1) && !findIntegers(1))
      return fail("of text needs constant sizes");
    setAttribute("axis", *axis);
    return true;
  }

  GraphImporter &importer;
  const Node &node;
  Node moved;
  Scope inner;
  const llvm::StringRef path;
  const int64_t opset;
  Extents shape; ///< with the code points
  int64_t rank = 0, width = 0;
  bool isText = false;
  bool isKept = false; ///< nothing moves
};

} // namespace

bool moveTexts(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
               const NodeAttributes &attributes) {
  for (const Attribute &attribute : node.attributes)
    attributes.ignore(attribute.name); // the node that is made says it
  Movement movement(importer, node, scope, path);
  return movement.run() && movement.emit(scope);
}

} // namespace mpc::onnx
