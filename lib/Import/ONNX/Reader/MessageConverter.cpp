// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Message by message; what is counted is counted before the struct for it is made.
#include "lib/Import/ONNX/Reader/MessageConverter.h"
#include "mpc/Import/ONNX/DataTypes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/JSON.h"

#include <set>
#include <tuple>

using namespace mpc::onnx;

/// AttributeProto.AttributeType by its numbers.
namespace {
namespace attribute {
enum Type {
  Undefined = 0,
  Float = 1,
  Int = 2,
  Text = 3,
  OneTensor = 4,
  OneGraph = 5,
  Floats = 6,
  Ints = 7,
  Texts = 8,
  Tensors = 9,
  Graphs = 10,
  Sparse = 11,
  Sparses = 12,
  OneType = 13,
  Types = 14,
};
} // namespace attribute
} // namespace

/// The newest version of the format that this reader knows.
static constexpr int64_t kNewestIR = 14;
static constexpr int64_t kOldestOpset = 1, kNewestOpset = 28;

bool MessageConverter::fail(const llvm::Twine &what) {
  if (fault.empty())
    fault = (file + ":" + (place.empty() ? "" : place + ":") + " " + what).str();
  return false;
}

llvm::Error MessageConverter::takeError() {
  return llvm::createStringError(llvm::errc::invalid_argument, fault);
}

bool MessageConverter::count(uint64_t more) {
  parts += more;
  return parts <= limits.parts ||
         fail("the model has more than " + llvm::Twine(limits.parts) +
              " nodes, attributes, tensors, values and types; expected fewer");
}

bool MessageConverter::takeName(const std::string &from, std::string &to) {
  nameBytes += from.size();
  if (from.size() > limits.nameBytes || nameBytes > limits.allNameBytes)
    return fail("a name has " + llvm::Twine(from.size()) +
                " bytes, or all names together have "
                "too many; expected at most " +
                llvm::Twine(limits.nameBytes) + " and " + llvm::Twine(limits.allNameBytes));
  if (!llvm::json::isUTF8(from))
    return fail("a name is no UTF-8");
  to = from;
  return true;
}

bool MessageConverter::takeDomain(const std::string &from, std::string &to) {
  return from == "ai.onnx" || takeName(from, to);
}

bool MessageConverter::convertNames(const google::protobuf::RepeatedPtrField<std::string> &from,
                                    std::vector<std::string> &to) {
  if (!count(uint64_t(from.size())))
    return false;
  to.resize(size_t(from.size()));
  for (int i = 0; i < from.size(); ++i)
    if (!takeName(from.Get(i), to[size_t(i)]))
      return false;
  return true;
}

/// Each message into a struct of its own; counted by convert() or before.
template <class Protos, class Results>
bool MessageConverter::convertAll(const Protos &from, Results &to) {
  if (!count(uint64_t(from.size())))
    return false;
  to.resize(size_t(from.size()));
  for (int i = 0; i < from.size(); ++i)
    if (!convert(from.Get(i), to[size_t(i)]))
      return false;
  return true;
}

template <class Proto> bool MessageConverter::convertTensor(const Proto &from, Tensor &to) {
  llvm::Expected<Tensor> tensor = tensors.read(from);
  std::string name;
  if constexpr (std::is_same_v<Proto, file::SparseTensorProto>)
    name = from.values().name();
  else
    name = from.name();
  if (!tensor) {
    std::string what = llvm::toString(tensor.takeError());
    std::string shown;
    if (!takeName(name, shown))
      return false;
    return fail((name.empty() ? llvm::Twine("a tensor ") : "tensor '" + llvm::Twine(shown) + "' ") +
                what);
  }
  to = std::move(*tensor);
  return takeName(name, to.name);
}

bool MessageConverter::convert(const file::TypeProto &from, Type &to, unsigned depth) {
  if (!count(1))
    return false;
  const auto element = [&](const file::TypeProto::Element &inner) {
    if (depth >= limits.graphDepth)
      return fail("types are nested deeper than " + llvm::Twine(limits.graphDepth) + " levels");
    to.element = std::make_shared<Type>();
    return convert(inner.elem_type(), *to.element, depth + 1);
  };
  switch (from.value_case()) {
  case file::TypeProto::kSequenceType:
    to.kind = Type::Kind::Sequence;
    return element(from.sequence_type());
  case file::TypeProto::kOptionalType:
    to.kind = Type::Kind::Optional;
    return element(from.optional_type());
  case file::TypeProto::kTensorType:
    break;
  default:
    to.kind = Type::Kind::Other;
    return true;
  }
  const file::TypeProto::Tensor &tensor = from.tensor_type();
  to.type = static_cast<DataType>(tensor.elem_type());
  if (tensor.elem_type() && dataTypeName(to.type) == "undefined")
    return fail("a value has the element type " + llvm::Twine(tensor.elem_type()) +
                "; expected one of ONNX's, 1 to 28");
  if (!tensor.has_shape())
    return true;
  if (tensor.shape().dim_size() > int(limits.rank))
    return fail("a value has " + llvm::Twine(tensor.shape().dim_size()) +
                " dimensions; expected at most " + llvm::Twine(limits.rank));
  to.shape.emplace(size_t(tensor.shape().dim_size()));
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const file::ShapeProto::Dimension &dim = tensor.shape().dim(i);
    Extent &extent = (*to.shape)[size_t(i)];
    // Some exporters write an open extent as -1.
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      extent.value = dim.dim_value();
    else if (dim.has_dim_param() && !takeName(dim.dim_param(), extent.symbol))
      return false;
  }
  return true;
}

bool MessageConverter::convert(const file::ValueProto &from, ValueInfo &to) {
  if (!takeName(from.name(), to.name))
    return false;
  return !from.has_type() || convert(from.type(), to.type.emplace(), 0);
}

template <class Proto> std::shared_ptr<Graph> MessageConverter::convertGraph(const Proto &from) {
  auto graph = std::make_shared<Graph>();
  if (graphDepth >= limits.graphDepth) {
    fail("graphs are nested deeper than " + llvm::Twine(limits.graphDepth) + " levels");
    return nullptr;
  }
  const std::string outer = place;
  ++graphDepth;
  const bool isDone = convert(from, *graph);
  --graphDepth;
  place = outer;
  return isDone ? graph : nullptr;
}

/// The type that a file without `type` (before IR version 3) means by the field that it fills.
static int typeByField(const file::AttributeProto &from) {
  const std::pair<bool, int> fields[] = {{from.has_f(), attribute::Float},
                                         {from.has_i(), attribute::Int},
                                         {from.has_s(), attribute::Text},
                                         {from.has_t(), attribute::OneTensor},
                                         {from.has_g(), attribute::OneGraph},
                                         {from.floats_size() > 0, attribute::Floats},
                                         {from.ints_size() > 0, attribute::Ints},
                                         {from.strings_size() > 0, attribute::Texts},
                                         {from.tensors_size() > 0, attribute::Tensors},
                                         {from.graphs_size() > 0, attribute::Graphs},
                                         {from.has_sparse_tensor(), attribute::Sparse},
                                         {from.has_tp(), attribute::OneType}};
  int type = attribute::Undefined;
  for (const auto &[isFilled, number] : fields)
    if (isFilled && type != attribute::Undefined)
      return -1;
    else if (isFilled)
      type = number;
  return type;
}

bool MessageConverter::convertByType(const file::AttributeProto &from, int type, Attribute &to) {
  switch (type) {
  // A writer of protobuf's third syntax leaves zeros and empty texts out.
  case attribute::Float:
    to.value = from.f();
    return true;
  case attribute::Int:
    to.value = from.i();
    return true;
  case attribute::Text:
    to.value = from.s();
    return true;
  case attribute::Floats:
    to.value = std::vector<float>(from.floats().begin(), from.floats().end());
    return true;
  case attribute::Ints:
    to.value = std::vector<int64_t>(from.ints().begin(), from.ints().end());
    return true;
  case attribute::Texts:
    to.value = std::vector<std::string>(from.strings().begin(), from.strings().end());
    return count(uint64_t(from.strings_size()));
  case attribute::OneTensor:
    return from.has_t() ? convertTensor(from.t(), to.value.emplace<Tensor>())
                        : fail("has no tensor");
  case attribute::Sparse:
    return from.has_sparse_tensor()
               ? convertTensor(from.sparse_tensor(), to.value.emplace<Tensor>())
               : fail("has no tensor");
  case attribute::OneType:
    return convert(from.tp(), to.value.emplace<Type>(), 0);
  case attribute::OneGraph: {
    auto graph = convertGraph(from.g());
    to.value = graph;
    return graph != nullptr;
  }
  case attribute::Tensors: {
    auto &list = to.value.emplace<std::vector<Tensor>>();
    for (const file::TensorProto &tensor : from.tensors())
      if (!count(1) || !convertTensor(tensor, list.emplace_back()))
        return false;
    return true;
  }
  case attribute::Graphs: {
    auto &list = to.value.emplace<std::vector<std::shared_ptr<Graph>>>();
    for (const file::GraphProto &graph : from.graphs())
      if (!count(1) || !list.emplace_back(convertGraph(graph)))
        return false;
    return true;
  }
  default:
    return fail("has the type " + llvm::Twine(type) +
                "; expected a number, text, tensor, graph or "
                "type, or a list of them");
  }
}

bool MessageConverter::convert(const file::AttributeProto &from, Attribute &to) {
  if (!takeName(from.name(), to.name))
    return false;
  const std::string outer = place;
  place = (place.empty() ? "" : place + ":") + "attribute '" + to.name + "'";
  if (to.name.empty())
    return fail("has no name");
  if (from.has_ref_attr_name() && !from.ref_attr_name().empty()) {
    if (!isFunction)
      return fail("takes the attribute of a function's call; expected that in functions only");
    if (!takeName(from.ref_attr_name(), to.reference))
      return false;
  } else {
    const int type = from.type() ? from.type() : typeByField(from);
    // An attribute without anything is an empty list of a file that says no types.
    if (type != attribute::Undefined && !convertByType(from, type, to))
      return false;
  }
  place = outer;
  return true;
}

bool MessageConverter::convert(const file::NodeProto &from, Node &to) {
  if (!takeName(from.name(), to.name) || !takeName(from.op_type(), to.op) ||
      !takeDomain(from.domain(), to.domain) || !takeName(from.overload(), to.overload) ||
      !convertNames(from.input(), to.inputs) || !convertNames(from.output(), to.outputs))
    return false;
  const std::string outer = place;
  place = !to.name.empty() ? to.name : !to.outputs.empty() ? to.outputs.front() : to.op;
  if (to.op.empty())
    return fail("a node has no op_type");
  if (!convertAll(from.attribute(), to.attributes))
    return false;
  llvm::StringSet<> names;
  for (const Attribute &attribute : to.attributes)
    if (!names.insert(attribute.name).second)
      return fail("has the attribute '" + attribute.name + "' twice");
  place = outer;
  return true;
}

bool MessageConverter::convert(const file::GraphProto &from, Graph &to) {
  if (!takeName(from.name(), to.name) || !convertAll(from.input(), to.inputs) ||
      !convertAll(from.output(), to.outputs) || !convertAll(from.value_info(), to.values))
    return false;
  if (!count(uint64_t(from.initializer_size()) + uint64_t(from.sparse_initializer_size())))
    return false;
  to.initializers.reserve(size_t(from.initializer_size()) + size_t(from.sparse_initializer_size()));
  for (const file::TensorProto &tensor : from.initializer())
    if (!convertTensor(tensor, to.initializers.emplace_back()))
      return false;
  for (const file::SparseTensorProto &tensor : from.sparse_initializer())
    if (!convertTensor(tensor, to.initializers.emplace_back()))
      return false;
  llvm::StringSet<> names;
  for (const Tensor &tensor : to.initializers) {
    if (tensor.name.empty())
      return fail("an initializer has no name");
    if (!names.insert(tensor.name).second)
      return fail("two initializers have the name '" + tensor.name + "'");
  }
  return convertAll(from.node(), to.nodes);
}

bool MessageConverter::convertOpsets(
    const google::protobuf::RepeatedPtrField<file::OpsetProto> &from,
    std::vector<OpsetImport> &to) {
  if (!count(uint64_t(from.size())))
    return false;
  llvm::StringSet<> domains;
  for (const file::OpsetProto &opset : from) {
    OpsetImport &import = to.emplace_back();
    import.version = opset.version();
    if (!takeDomain(opset.domain(), import.domain))
      return false;
    if (!domains.insert(import.domain).second)
      return fail("imports two opsets of the domain '" + import.domain + "'");
    if (import.domain.empty() && (import.version < kOldestOpset || import.version > kNewestOpset))
      return fail("is of ONNX's opset " + llvm::Twine(import.version) + "; expected " +
                  llvm::Twine(kOldestOpset) + " to " + llvm::Twine(kNewestOpset) +
                  "; convert it with onnx.version_converter");
  }
  return true;
}

bool MessageConverter::convert(const file::FunctionProto &from, Function &to) {
  if (!takeName(from.name(), to.name) || !takeDomain(from.domain(), to.domain) ||
      !takeName(from.overload(), to.overload))
    return false;
  place = "function '" + to.name + "'";
  if (to.name.empty())
    return fail("a function has no name");
  isFunction = true;
  const bool isDone =
      convertNames(from.input(), to.inputs) && convertNames(from.output(), to.outputs) &&
      convertNames(from.attribute(), to.attributes) &&
      convertAll(from.attribute_proto(), to.defaults) && convertAll(from.node(), to.nodes) &&
      convertOpsets(from.opset_import(), to.opsets);
  isFunction = false;
  place.clear();
  return isDone;
}

bool MessageConverter::convert(const file::ModelProto &from, Model &to) {
  to.irVersion = from.ir_version();
  if (to.irVersion < 3 || to.irVersion > kNewestIR)
    return fail("is of ONNX's format " + llvm::Twine(to.irVersion) +
                " (ir_version); expected 3 to " + llvm::Twine(kNewestIR));
  if (!from.has_graph())
    return fail("has no graph; expected an ONNX model");
  if (!takeName(from.producer_name(), to.producer) ||
      !convertOpsets(from.opset_import(), to.opsets) || !convertAll(from.functions(), to.functions))
    return false;
  std::set<std::tuple<std::string, std::string, std::string>> names;
  for (const Function &function : to.functions)
    if (!names.emplace(function.domain, function.name, function.overload).second)
      return fail("two functions have the name '" + function.name + "'");
  return convert(from.graph(), to.graph);
}
