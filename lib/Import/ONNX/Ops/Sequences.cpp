// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sequences and optionals: lists of values while the graph is imported, which no layer computes.
#include "lib/Import/ONNX/NodeAttributes.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Pieces.h"

namespace mpc::onnx {
namespace {

using Elements = std::vector<NodeValue>;

bool refuse(GraphImporter &importer, const Node &node, llvm::StringRef path,
            const llvm::Twine &what) {
  importer.error(path, node.op + ": " + what);
  return false;
}

NodeValue makeSequence(Elements elements, bool isOptional = false) {
  NodeValue value;
  value.elements = std::make_shared<const Elements>(std::move(elements));
  value.isOptional = isOptional;
  return value;
}

/// False, after an error, where no element of the sequence can be read.
bool checkKnown(GraphImporter &importer, const Node &node, unsigned i, const NodeValue &value,
                llvm::StringRef path) {
  if (value.known == KnownElements::countOfOpenBatch) {
    importer.errorOfOpenBatch(path, node.op + ": the elements of input " + llvm::Twine(i) +
                                        " are parts of the open batch");
    return false;
  }
  return value.known == KnownElements::all ||
         refuse(importer, node, path,
                "the elements of input " + llvm::Twine(i) +
                    " have sizes that are no constants, and a compiled model has static shapes; "
                    "split the tensor before the model, or into constant sizes");
}

/// Input `i`, a sequence; null after an error.
const Elements *readSequence(GraphImporter &importer, const Node &node, unsigned i,
                             const Scope &scope, llvm::StringRef path) {
  const NodeValue *value = importer.read(node, i, scope, path);
  if (value && value->elements && !value->isOptional)
    return checkKnown(importer, node, i, *value, path) ? value->elements.get() : nullptr;
  refuse(importer, node, path, "input " + llvm::Twine(i) + " is no sequence");
  return nullptr;
}

/// The place that input `i` names among `count`, or `otherwise` where it is left out; nothing after
/// an error.
std::optional<size_t> readPlace(GraphImporter &importer, const Node &node, unsigned i,
                                const Scope &scope, llvm::StringRef path, size_t count,
                                size_t otherwise) {
  if (i >= node.inputs.size() || node.inputs[i].empty())
    return otherwise;
  const NodeValue *value = importer.read(node, i, scope, path);
  const auto place = value ? findNumber(importer, *value) : std::nullopt;
  if (!place) {
    refuse(importer, node, path, "needs a constant place");
    return std::nullopt;
  }
  const int64_t front = *place < 0 ? *place + int64_t(count) : *place;
  if (front < 0 || front >= int64_t(count)) {
    refuse(importer, node, path,
           "place " + llvm::Twine(*place) + " is outside of " + llvm::Twine(count));
    return std::nullopt;
  }
  return size_t(front);
}

bool sequenceEmpty(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef,
                   const NodeAttributes &attributes) {
  attributes.ignore("dtype"); // of elements that are not there
  importer.setOutput(node, 0, scope, makeSequence({}));
  return true;
}

bool sequenceConstruct(GraphImporter &importer, const Node &node, Scope &scope,
                       llvm::StringRef path, const NodeAttributes &attributes) {
  Elements elements;
  for (unsigned i = 0; i < node.inputs.size(); ++i) {
    const NodeValue *value = importer.read(node, i, scope, path);
    if (!value || value->elements)
      return refuse(importer, node, path, "takes tensors");
    elements.push_back(*value);
  }
  importer.setOutput(node, 0, scope, makeSequence(std::move(elements)));
  return true;
}

bool sequenceAt(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
                const NodeAttributes &attributes) {
  const Elements *elements = readSequence(importer, node, 0, scope, path);
  if (!elements || elements->empty())
    return elements ? refuse(importer, node, path, "of an empty sequence") : false;
  auto place = readPlace(importer, node, 1, scope, path, elements->size(), 0);
  if (!place)
    return false;
  importer.setOutput(node, 0, scope, (*elements)[*place]);
  return true;
}

bool sequenceInsert(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
                    const NodeAttributes &attributes) {
  const Elements *elements = readSequence(importer, node, 0, scope, path);
  const NodeValue *added = elements ? importer.read(node, 1, scope, path) : nullptr;
  if (!added)
    return false;
  // A place may be behind the last element.
  auto place = readPlace(importer, node, 2, scope, path, elements->size() + 1, elements->size());
  const NodeValue *given = place ? importer.read(node, 2, scope, path) : nullptr;
  if (!place)
    return false;
  // Negative places count from the last element, not from behind it.
  if (given)
    if (const auto number = findNumber(importer, *given); number && *number < 0)
      *place = size_t(*number + int64_t(elements->size()));
  if (*place > elements->size())
    return refuse(importer, node, path, "the place is outside of the sequence");
  Elements result = *elements;
  result.insert(result.begin() + ptrdiff_t(*place), *added);
  importer.setOutput(node, 0, scope, makeSequence(std::move(result)));
  return true;
}

bool sequenceErase(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
                   const NodeAttributes &attributes) {
  const Elements *elements = readSequence(importer, node, 0, scope, path);
  if (!elements || elements->empty())
    return elements ? refuse(importer, node, path, "of an empty sequence") : false;
  auto place = readPlace(importer, node, 1, scope, path, elements->size(), elements->size() - 1);
  if (!place)
    return false;
  Elements result = *elements;
  result.erase(result.begin() + ptrdiff_t(*place));
  importer.setOutput(node, 0, scope, makeSequence(std::move(result)));
  return true;
}

bool sequenceLength(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
                    const NodeAttributes &attributes) {
  const NodeValue *value = importer.read(node, 0, scope, path);
  if (!value || !value->elements || value->isOptional)
    return refuse(importer, node, path, "input 0 is no sequence");
  if (value->known != KnownElements::all)
    importer.warn(path, "'" + node.inputs[0] +
                            "' is split into sizes that are not known here: the library does not "
                            "check that they are the tensor's together");
  Pieces pieces(importer, path, node.op);
  importer.setOutput(node, 0, scope, pieces.makeInteger(int64_t(value->elements->size())));
  return true;
}

/// The result of a SplitToSequence of which only the length is known: as many as `split` has sizes.
bool setCountedSequence(GraphImporter &importer, const Node &node, Scope &scope,
                        llvm::StringRef path, const NodeValue *split, KnownElements known) {
  const auto shape = split ? importer.getShape(*split) : llvm::SmallVector<int64_t>();
  if (shape.size() != 1 || mlir::ShapedType::isDynamic(shape.front())) {
    if (known == KnownElements::countOfUnknownSizes)
      return refuse(importer, node, path, "needs constant sizes");
    importer.errorOfOpenBatch(path,
                              node.op + ": needs an axis of the tensor that is not the open batch");
    return false;
  }
  NodeValue sequence = makeSequence(Elements(size_t(shape.front())));
  sequence.known = known;
  importer.setOutput(node, 0, scope, std::move(sequence));
  return true;
}

bool splitToSequence(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
                     const NodeAttributes &attributes) {
  const NodeValue *x = importer.read(node, 0, scope, path);
  if (!x || x->elements)
    return refuse(importer, node, path, "takes a tensor");
  const auto shape = importer.getShape(*x);
  const int64_t rank = int64_t(shape.size()), written = attributes.getInteger("axis", 0);
  const int64_t axis = written < 0 ? written + rank : written;
  if (axis < 0 || axis >= rank)
    return refuse(importer, node, path, "needs an axis of the tensor");
  const int64_t extent = shape[size_t(axis)];
  const bool isOpen = mlir::ShapedType::isDynamic(extent);
  const NodeValue *split = importer.read(node, 1, scope, path);
  const std::shared_ptr<const Literal> literal = split ? importer.getLiteral(*split) : nullptr;
  const bool isConstant = !split || (literal && !literal->hasBatch && literal->isInteger());
  if (isOpen || !isConstant) {
    attributes.ignore("keepdims");
    return setCountedSequence(importer, node, scope, path, split,
                              isOpen ? KnownElements::countOfOpenBatch
                                     : KnownElements::countOfUnknownSizes);
  }
  llvm::SmallVector<int64_t> sizes;
  bool drops = false;
  if (split) {
    attributes.ignore("keepdims"); // says nothing beside sizes
    if (literal->tensor.shape.empty()) {
      const int64_t size = literal->tensor.integers.front();
      for (int64_t first = 0; size > 0 && first < extent; first += size)
        sizes.push_back(std::min(size, extent - first));
    } else {
      sizes.assign(literal->tensor.integers.begin(), literal->tensor.integers.end());
    }
  } else {
    sizes.assign(size_t(extent), 1);
    drops = !attributes.getFlag("keepdims", true);
  }
  Pieces pieces(importer, path, node.op);
  Elements elements;
  int64_t first = 0;
  for (int64_t size : sizes) {
    auto part = pieces.slice(*x, axis, first, size, drops);
    if (!part)
      return false;
    elements.push_back(std::move(*part));
    first += size;
  }
  if (first != extent)
    return refuse(importer, node, path, "has sizes that are not the tensor's together");
  importer.setOutput(node, 0, scope, makeSequence(std::move(elements)));
  return true;
}

bool concatFromSequence(GraphImporter &importer, const Node &node, Scope &scope,
                        llvm::StringRef path, const NodeAttributes &attributes) {
  const Elements *elements = readSequence(importer, node, 0, scope, path);
  if (!elements || elements->empty())
    return elements ? refuse(importer, node, path, "of an empty sequence") : false;
  const bool isNew = attributes.getFlag("new_axis");
  const int64_t rank = int64_t(importer.getShape(elements->front()).size()) + isNew,
                written = attributes.getInteger("axis", 0);
  const int64_t axis = written < 0 ? written + rank : written;
  if (axis < 0 || axis >= rank)
    return refuse(importer, node, path, "needs an axis of the tensors");
  auto joined = Pieces(importer, path, node.op).join(*elements, axis, isNew);
  if (!joined)
    return false;
  importer.setOutput(node, 0, scope, std::move(*joined));
  return true;
}

/// The body once for each element; inputs that are no sequences are the same in all.
bool sequenceMap(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
                 const NodeAttributes &attributes) {
  const Graph *body = attributes.getGraph("body");
  const Elements *first = readSequence(importer, node, 0, scope, path);
  if (!body || !first)
    return false;
  if (body->inputs.size() != node.inputs.size() || body->outputs.size() < node.outputs.size())
    return refuse(importer, node, path, "has a body with other inputs or outputs than the node");
  std::vector<Elements> results(node.outputs.size());
  for (size_t step = 0; step < first->size(); ++step) {
    Scope inner(&scope);
    for (unsigned i = 0; i < node.inputs.size(); ++i) {
      const NodeValue *value = importer.read(node, i, scope, path);
      if (value && !checkKnown(importer, node, i, *value, path))
        return false;
      if (!value || (value->elements && value->elements->size() <= step))
        return refuse(importer, node, path, "has sequences of different lengths");
      inner.set(body->inputs[i].name, value->elements ? (*value->elements)[step] : *value);
    }
    llvm::SmallVector<NodeValue> outputs;
    if (!importer.importSubgraph(*body, inner, path, outputs))
      return false;
    for (size_t i = 0; i < results.size(); ++i)
      results[i].push_back(outputs[i]);
  }
  for (size_t i = 0; i < results.size(); ++i)
    importer.setOutput(node, unsigned(i), scope, makeSequence(std::move(results[i])));
  return true;
}

// ---- Optionals ----------------------------------------------------------------------------------

bool optional(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
              const NodeAttributes &attributes) {
  attributes.ignore("type"); // of the element that is not there
  Elements elements;
  if (const NodeValue *value = importer.read(node, 0, scope, path))
    elements.push_back(*value);
  importer.setOutput(node, 0, scope, makeSequence(std::move(elements), /*isOptional=*/true));
  return true;
}

bool optionalHasElement(GraphImporter &importer, const Node &node, Scope &scope,
                        llvm::StringRef path, const NodeAttributes &attributes) {
  const NodeValue *value = importer.read(node, 0, scope, path);
  const bool has = value && !(value->isOptional && value->elements->empty());
  importer.setOutput(node, 0, scope, Pieces(importer, path, node.op).makeTruth(has));
  return true;
}

bool optionalGetElement(GraphImporter &importer, const Node &node, Scope &scope,
                        llvm::StringRef path, const NodeAttributes &attributes) {
  const NodeValue *value = importer.read(node, 0, scope, path);
  if (!value || (value->isOptional && value->elements->empty()))
    return refuse(importer, node, path, "of an optional without an element");
  importer.setOutput(node, 0, scope, value->isOptional ? value->elements->front() : *value);
  return true;
}

constexpr OpEntry kTable[] = {
    {"ConcatFromSequence", 11, nullptr, concatFromSequence},
    {"Optional", 15, nullptr, optional},
    {"OptionalGetElement", 15, nullptr, optionalGetElement},
    {"OptionalHasElement", 15, nullptr, optionalHasElement},
    {"SequenceAt", 11, nullptr, sequenceAt},
    {"SequenceConstruct", 11, nullptr, sequenceConstruct},
    {"SequenceEmpty", 11, nullptr, sequenceEmpty},
    {"SequenceErase", 11, nullptr, sequenceErase},
    {"SequenceInsert", 11, nullptr, sequenceInsert},
    {"SequenceLength", 11, nullptr, sequenceLength},
    {"SequenceMap", 17, nullptr, sequenceMap},
    {"SplitToSequence", 11, nullptr, splitToSequence},
};

} // namespace

llvm::ArrayRef<OpEntry> getSequenceOps() { return kTable; }

} // namespace mpc::onnx
