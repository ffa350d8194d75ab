// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/GraphImporter.h"
#include "lib/Import/ONNX/CodePoints.h"
#include "lib/Import/ONNX/NodeAttributes.h"

#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/GraphOutputs.h"
#include "lib/Import/ONNX/ModelInputs.h"
#include "mpc/Import/ONNX/Functions.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Errc.h"

namespace mpc::onnx {

namespace {
constexpr uint64_t kMostNodes = 1'000'000; // with those of functions, once for each call
constexpr unsigned kMostDepth = 32;

/// Why a compiled model could not have an operation; empty for those that are not there yet.
llvm::StringRef reasonAgainst(llvm::StringRef op) {
  return llvm::StringSwitch<llvm::StringRef>(op)
      .Case("ImageDecoder", "it reads files of images")
      .Default("");
}

/// Whether a value is text, or has some.
bool isText(const NodeValue &value) {
  return value.type == DataType::String ||
         (value.elements && llvm::any_of(*value.elements, isText));
}

std::string describe(const Node &node, int64_t opset) {
  const std::string domain = node.domain.empty() ? "" : " of the domain " + node.domain;
  return "the operation " + node.op + domain + " (opset " + std::to_string(opset) + ")";
}
} // namespace

GraphImporter::GraphImporter(mlir::MLIRContext &context, const Model &model,
                             llvm::StringRef fileName, const ImportOptions &options,
                             const std::optional<PathPattern> &trainable)
    : forward(context, fileName,
              options.moduleName.empty() ? model.graph.name : options.moduleName),
      options(options), model(model), fileName(fileName), opsets(model.opsets) {
  forward.parameters = std::make_unique<Parameters>(model.graph, trainable);
}

void GraphImporter::error(llvm::StringRef path, const llvm::Twine &message) {
  failed = true;
  const std::string place = path.empty() ? fileName : fileName + ":" + path.str();
  errors = llvm::joinErrors(std::move(errors), llvm::createStringError(llvm::errc::invalid_argument,
                                                                       place + ": " + message));
}

int64_t GraphImporter::getOpset(const Node &node) const {
  if (node.opset)
    return node.opset;
  for (const OpsetImport &opset : opsets)
    if (opset.domain == node.domain)
      return opset.version;
  return node.domain.empty() ? 1 : 0;
}

void GraphImporter::errorOfOpenBatch(llvm::StringRef path, const llvm::Twine &message) {
  asksForBatch = true;
  error(path, message + "; say the batch: --batch=N");
}

void GraphImporter::warn(llvm::StringRef path, const llvm::Twine &message) {
  warnings.push_back((path + ": " + message).str());
}

std::optional<std::string> GraphImporter::attempt(llvm::function_ref<bool()> import) {
  llvm::Error before = std::move(errors);
  errors = llvm::Error::success();
  const bool hadFailed = std::exchange(failed, false), asked = asksForBatch;
  mlir::Block &body = *forward.builder.getInsertionBlock();
  const size_t count = size_t(std::distance(body.begin(), body.end()));
  const bool isGood = import() && !failed;
  std::optional<std::string> problem;
  if (!isGood) {
    problem = llvm::toString(std::move(errors));
    while (size_t(std::distance(body.begin(), body.end())) > count)
      body.back().erase();
    asksForBatch = asked;
  }
  // Nothing is lost: of a success there are none.
  errors = isGood ? llvm::joinErrors(std::move(before), std::move(errors)) : std::move(before);
  failed = hadFailed;
  return problem;
}

std::optional<llvm::SmallVector<int64_t>>
GraphImporter::getStatedShape(llvm::StringRef name) const {
  if (depth > 0)
    return std::nullopt; // names of another graph
  for (const std::vector<ValueInfo> *values : {&model.graph.outputs, &model.graph.values})
    for (const ValueInfo &value : *values) {
      if (value.name != name)
        continue;
      if (!value.type || value.type->kind != Type::Kind::Tensor || !value.type->shape)
        return std::nullopt;
      llvm::SmallVector<int64_t> shape;
      for (const Extent &extent : *value.type->shape) {
        if (!extent.value && !(shape.empty() && forward.getBatchCarrier()))
          return std::nullopt;
        shape.push_back(extent.value.value_or(mlir::ShapedType::kDynamic));
      }
      return shape;
    }
  return std::nullopt;
}

// ---- Values -------------------------------------------------------------------------------------

const NodeValue *GraphImporter::read(const Node &node, unsigned i, const Scope &scope,
                                     llvm::StringRef path) {
  if (i >= node.inputs.size() || node.inputs[i].empty())
    return nullptr;
  const NodeValue *value = scope.find(node.inputs[i]);
  if (!value)
    error(path, "reads '" + node.inputs[i] +
                    "', which no input, initializer or node before it has; expected nodes in the "
                    "order in which they compute");
  return value;
}

std::shared_ptr<const Literal> GraphImporter::getLiteral(const NodeValue &value) {
  if (value.literal || !value.variable)
    return value.literal;
  if (std::optional<Literal> literal =
          Literal::decode(forward.builder, *forward.parameters->get(*value.variable).stored))
    return std::make_shared<const Literal>(std::move(*literal));
  return nullptr;
}

llvm::SmallVector<int64_t> GraphImporter::getShape(const NodeValue &value) {
  return llvm::SmallVector<int64_t>(
      value.variable ? forward.parameters->get(*value.variable).type.getShape() : value.getShape());
}

void GraphImporter::setOutput(const Node &node, unsigned i, Scope &scope, NodeValue value) {
  if (i < node.outputs.size() && !node.outputs[i].empty())
    scope.set(node.outputs[i], std::move(value));
}

void GraphImporter::importInitializers(const Graph &graph, Scope &scope) {
  for (const Tensor &tensor : graph.initializers) {
    NodeValue value;
    value.type = tensor.type;
    value.variable = forward.parameters->declare(forward.builder, tensor);
    if (!value.variable) {
      if (std::optional<Literal> literal = Literal::decode(forward.builder, tensor))
        value.literal = std::make_shared<const Literal>(std::move(*literal));
      else
        error(tensor.name, tensor.type == DataType::String
                               ? llvm::Twine(kTextFault)
                               : "constants of type " + spell(tensor.type) + " are not supported");
    }
    scope.set(tensor.name, std::move(value));
  }
}

// ---- Nodes --------------------------------------------------------------------------------------

/// The node's name, or of its first output, below that of what is around it; told apart by a
/// number.
std::string GraphImporter::makePath(const Node &node, llvm::StringRef prefix) {
  std::string name = node.name;
  for (const std::string &output : node.outputs)
    if (name.empty())
      name = output;
  if (name.empty())
    name = node.op;
  const std::string path = prefix.empty() ? name : (prefix + "/" + name).str();
  std::string unique = path;
  for (unsigned suffix = 1; !paths.insert(unique).second; ++suffix)
    unique = path + "_" + std::to_string(suffix);
  return unique;
}

const Function *GraphImporter::findOwnFunction(const Node &node) const {
  for (const Function &function : model.functions)
    if (function.name == node.op && function.domain == node.domain &&
        function.overload == node.overload)
      return &function;
  return nullptr;
}

/// Operations on values of the graph see shapes alone, and a bounded one has no known shape.
bool GraphImporter::refuseBounded(const Node &node, const Scope &scope, llvm::StringRef path) {
  for (const std::string &input : node.inputs) {
    const NodeValue *value = input.empty() ? nullptr : scope.find(input);
    if (!value || !value->bound)
      continue;
    error(path, node.op + ": values say how many elements '" + input + "' has along dimension " +
                    llvm::Twine(value->bound->axis) +
                    ", and the operation needs a known shape; make it an output, and leave the "
                    "rest to the program behind the model");
    return true;
  }
  return false;
}

bool GraphImporter::importNode(const Node &node, Scope &scope, llvm::StringRef prefix) {
  if (++nodeCount > kMostNodes) {
    if (nodeCount == kMostNodes + 1)
      error(prefix, "the model computes more than " + llvm::Twine(kMostNodes) + " nodes; refused");
    return false;
  }
  const std::string path = makePath(node, prefix);
  for (unsigned i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty())
      continue;
    const NodeValue *value = read(node, i, scope, path);
    if (!value || value->isLost())
      return false;
  }
  if (const Function *function = findOwnFunction(node))
    return importFunction(*function, node, scope, path);
  const int64_t opset = getOpset(node);
  const bool readsText = llvm::any_of(node.inputs, [&](const std::string &input) {
    return !input.empty() && isText(*scope.find(input));
  });
  const OpEntry *entry =
      readsText ? findTextOp(node.domain, node.op, opset) : findOp(node.domain, node.op, opset);
  const Function *known = entry || readsText || !node.domain.empty()
                              ? nullptr
                              : mpc::onnx::findFunction(node.op, opset);
  if (known)
    return importFunction(*known, node, scope, path);
  if (!entry) {
    const std::string reason = reasonAgainst(node.op).str();
    error(
        path,
        describe(node, opset) +
            (readsText
                 ? " does not take text; expected an operation on texts of "
                   "docs/generated/onnx-operations.md; do what it does in the program before the "
                   "model, and give the model numbers"
             : reason.empty()
                 ? " is not supported; expected one of docs/generated/onnx-operations.md; express "
                   "it by these, or leave it to the program before or behind the model"
                 : " is not supported: " + reason +
                       "; leave it to the program before or behind the model"));
    return false;
  }
  if (!entry->importWhole)
    return emitNode(*this, *entry, node, scope, path);
  if (!entry->takesBounded && refuseBounded(node, scope, path))
    return false;
  const NodeAttributes attributes(node);
  if (!entry->importWhole(*this, node, scope, path, attributes))
    return false;
  return refuseUnread(node, path, attributes.getUnread());
}

bool GraphImporter::importNodes(llvm::ArrayRef<Node> nodes, Scope &scope, llvm::StringRef prefix) {
  bool good = true;
  for (const Node &node : nodes) {
    if (importNode(node, scope, prefix))
      continue;
    good = false;
    for (const std::string &output : node.outputs)
      if (!output.empty() && !scope.find(output))
        scope.set(output, {});
  }
  return good;
}

bool GraphImporter::importSubgraph(const Graph &graph, Scope &inner, llvm::StringRef path,
                                   llvm::SmallVectorImpl<NodeValue> &outputs) {
  if (++depth > kMostDepth) {
    error(path, "graphs lie in each other deeper than " + llvm::Twine(kMostDepth) + "; refused");
    --depth;
    return false;
  }
  llvm::scope_exit leave([&] { --depth; });
  importInitializers(graph, inner);
  if (!importNodes(graph.nodes, inner, path))
    return false;
  for (const ValueInfo &output : graph.outputs) {
    const NodeValue *value = inner.find(output.name);
    if (!value || value->isLost()) {
      error(path, "nothing computes '" + output.name + "', an output of the graph inside");
      return false;
    }
    if (isText(*value)) {
      error(path,
            "'" + output.name + "', an output of the graph inside, is text; supported are numbers");
      return false;
    }
    if (value->bound) {
      error(path, "values say how many elements '" + output.name +
                      "' has, an output of the graph inside; expected outputs of known shapes "
                      "there");
      return false;
    }
    outputs.push_back(*value);
  }
  return true;
}

bool GraphImporter::refuseUnread(const Node &node, llvm::StringRef path,
                                 llvm::ArrayRef<llvm::StringRef> attributes) {
  for (llvm::StringRef name : attributes)
    error(path, node.op + ": the attribute '" + name +
                    "' is not supported, or of another kind than ONNX's");
  return attributes.empty();
}

/// The body's nodes, whose attributes are those of the call where they refer to them.
bool GraphImporter::importFunction(const Function &function, const Node &node, Scope &scope,
                                   llvm::StringRef path) {
  if (++depth > kMostDepth) {
    error(path, "functions call each other deeper than " + llvm::Twine(kMostDepth) + "; refused");
    --depth;
    return false;
  }
  const llvm::ArrayRef<OpsetImport> outerOpsets = opsets;
  llvm::scope_exit leave([&] {
    --depth;
    opsets = outerOpsets;
  });
  if (!function.opsets.empty())
    opsets = function.opsets;
  Scope inner;
  for (const auto &[i, name] : llvm::enumerate(function.inputs))
    if (i < node.inputs.size() && !node.inputs[i].empty())
      inner.set(name, *scope.find(node.inputs[i]));
  auto findAttribute = [&](llvm::StringRef name) -> const Attribute * {
    for (const Attribute &attribute : node.attributes)
      if (attribute.name == name)
        return &attribute;
    for (const Attribute &attribute : function.defaults)
      if (attribute.name == name)
        return &attribute;
    return nullptr;
  };
  llvm::SmallVector<llvm::StringRef> unread = NodeAttributes(node).getUnread();
  llvm::erase_if(unread, [&](llvm::StringRef name) {
    return llvm::is_contained(function.attributes, name) ||
           llvm::any_of(function.defaults,
                        [&](const Attribute &attribute) { return attribute.name == name; });
  });
  if (!refuseUnread(node, path, unread))
    return false;
  std::vector<Node> nodes = function.nodes;
  for (Node &called : nodes) {
    std::vector<Attribute> attributes;
    for (Attribute &attribute : called.attributes) {
      if (attribute.reference.empty()) {
        attributes.push_back(std::move(attribute));
      } else if (const Attribute *given = findAttribute(attribute.reference)) {
        attributes.push_back(*given);
        attributes.back().name = attribute.name;
      }
    }
    called.attributes = std::move(attributes);
    // An input that the call leaves out is left out inside, too.
    for (std::string &input : called.inputs)
      if (!inner.find(input) && llvm::is_contained(function.inputs, input))
        input.clear();
  }
  if (!importNodes(nodes, inner, path))
    return false;
  for (const auto &[i, name] : llvm::enumerate(function.outputs)) {
    if (i >= node.outputs.size() || node.outputs[i].empty())
      continue;
    const NodeValue *value = inner.find(name);
    if (!value || value->isLost()) {
      error(path, "the function " + node.op + " does not compute its output '" + name + "'");
      return false;
    }
    scope.set(node.outputs[i], *value);
  }
  return true;
}

// ---- The model ----------------------------------------------------------------------------------

mlir::OwningOpRef<mlir::ModuleOp> GraphImporter::run() {
  Scope scope;
  ModelInputs inputs(model.graph, options);
  const auto report = [&](llvm::StringRef path, const llvm::Twine &message) {
    error(path, message);
  };
  inputs.import(forward, scope, report);
  for (const ValueInfo &input : model.graph.inputs)
    if (input.type && input.type->kind == Type::Kind::Optional)
      warn(input.name, "the input is optional; the library takes it as one that is given");
  importInitializers(model.graph, scope);
  importNodes(model.graph.nodes, scope, "");
  const llvm::SmallVector<ForwardOutput> outputs = GraphOutputs(*this, model.graph).import(scope);
  if (outputs.empty() && !failed)
    error("", "the model has no outputs");
  if (asksForBatch)
    inputs.askForBatch(report);
  if (failed)
    return {};
  return forward.finish(outputs);
}

} // namespace mpc::onnx
