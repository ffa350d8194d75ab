// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/ModelInputs.h"

#include "lib/Import/Common/Shape.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace mpc::onnx {

const llvm::SmallVector<int64_t> *ModelInputs::findGiven(llvm::StringRef name) const {
  auto given = options.inputShapes.find(name.str());
  if (given == options.inputShapes.end() && count == 1)
    given = options.inputShapes.find("");
  return given == options.inputShapes.end() ? nullptr : &given->second;
}

/// The type of the tensor that an input is, or an optional one has; null where it is none.
static const Type *findTensorType(const ValueInfo &input) {
  const Type *type = input.type ? &*input.type : nullptr;
  if (type && type->kind == Type::Kind::Optional)
    type = type->element.get();
  return type && type->kind == Type::Kind::Tensor ? type : nullptr;
}

/// "(batch, 3, None)": extents that are open have the file's names.
static std::string printDeclared(llvm::ArrayRef<Extent> extents) {
  std::string text;
  for (const Extent &extent : extents)
    text += (text.empty() ? "" : ", ") + (extent.value            ? std::to_string(*extent.value)
                                          : extent.symbol.empty() ? "None"
                                                                  : extent.symbol);
  return "(" + text + ")";
}

/// Shapes of the option say extents that the file names, wherever else these stand.
void ModelInputs::readNames() {
  for (const ValueInfo &input : graph.inputs) {
    const llvm::SmallVector<int64_t> *given = findGiven(input.name);
    const Type *type = findTensorType(input);
    if (!given || !type || !type->shape || given->size() > type->shape->size())
      continue;
    const auto named = llvm::ArrayRef(*type->shape).take_back(given->size());
    for (const auto &[extent, number] : llvm::zip_equal(named, *given))
      if (!extent.value && !extent.symbol.empty() && !mlir::ShapedType::isDynamic(number))
        names.try_emplace(extent.symbol, number);
  }
}

/// One open extent is the batch; all others that are open must be given.
std::optional<llvm::SmallVector<int64_t>> ModelInputs::closeShape(const ValueInfo &input,
                                                                  ReportFn report) {
  const std::optional<std::vector<Extent>> &declared = findTensorType(input)->shape;
  const llvm::SmallVector<int64_t> *given = findGiven(input.name);
  if (!declared) {
    if (given)
      return *given;
    report(input.name, "the file does not say how many dimensions the input has; say its shape: "
                       "--input-shape=" +
                           input.name + ":1,100");
    return std::nullopt;
  }
  llvm::SmallVector<int64_t> shape;
  for (const Extent &extent : *declared)
    shape.push_back(extent.value.value_or(mlir::ShapedType::kDynamic));
  const std::string printed = printDeclared(*declared);
  if (given) {
    const size_t skipped = shape.size() - std::min(shape.size(), given->size());
    bool fits = given->size() <= shape.size() && skipped <= 1;
    for (size_t axis = skipped; fits && axis < shape.size(); ++axis) {
      const int64_t extent = (*given)[axis - skipped];
      fits = mlir::ShapedType::isDynamic(shape[axis]) || shape[axis] == extent;
      shape[axis] = extent;
    }
    if (!fits) {
      report(input.name, "--input-shape gives the extents " + printShape(*given) +
                             "; they must fit the input's shape " + printed +
                             ", with or without the first");
      return std::nullopt;
    }
  }
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (const auto named = names.find((*declared)[axis].symbol);
        mlir::ShapedType::isDynamic(shape[axis]) && named != names.end())
      shape[axis] = named->second;
  return closeBatch(input, shape, report) ? std::optional(shape) : std::nullopt;
}

/// The file's name of an open extent; none for those that exporters and shape inference number.
static llvm::StringRef nameOf(const Extent &extent) {
  llvm::StringRef name = extent.symbol, number = name;
  const bool isNumbered =
      number.consume_front("unk__") && !number.empty() && llvm::all_of(number, llvm::isDigit);
  return isNumbered ? llvm::StringRef() : name;
}

bool ModelInputs::closeBatch(const ValueInfo &input, llvm::SmallVectorImpl<int64_t> &shape,
                             ReportFn report) {
  const std::vector<Extent> &declared = *findTensorType(input)->shape;
  const auto isOpen = [](int64_t extent) { return mlir::ShapedType::isDynamic(extent); };
  const auto openCount = size_t(llvm::count_if(shape, isOpen));
  if (openCount == 0)
    return true;
  const bool isFirst = isOpen(shape.front());
  const bool isBatch = isFirst || (options.batchFirst && openCount == 1);
  if (isBatch) {
    const auto axis = size_t(llvm::find_if(shape, isOpen) - shape.begin());
    const llvm::StringRef symbol = nameOf(declared[axis]);
    if (!batchName)
      batchName = symbol.str();
    if (options.batch)
      shape[axis] = *options.batch;
    else if (!symbol.empty() && !batchName->empty() && symbol != *batchName) {
      report(input.name, "the extents '" + *batchName + "' and '" + symbol +
                             "' of inputs are both open, and a compiled model has one batch; say "
                             "this input's: --input-shape=" +
                             input.name + ":…");
      return false;
    }
  }
  // The batch by the file's name of it, wherever else it stands.
  for (size_t axis = 1; axis < shape.size(); ++axis)
    if (isOpen(shape[axis]) && options.batch && batchName && !batchName->empty() &&
        declared[axis].symbol == *batchName)
      shape[axis] = *options.batch;
  if (llvm::count_if(shape, isOpen) <= (isBatch ? 1 : 0))
    return true;
  // The example is an image, or something else.
  const int64_t size = shape.size() == 4 && !isOpen(shape[1]) ? 224 : 100;
  std::string example;
  for (const auto &[axis, extent] : llvm::enumerate(shape))
    if (axis > 0 || !isOpen(extent))
      example += (example.empty() ? "" : ",") + std::to_string(isOpen(extent) ? size : extent);
  report(input.name,
         "the input has the shape " + printDeclared(declared) +
             "; only the first extent may be open in a compiled model: say the others, for example "
             "--input-shape=" +
             input.name + ":" + example +
             (isFirst ? ""
                      : "; where the batch is another one, --batch=first makes it the first of the "
                        "library's arrays, and '?' stands for it in --input-shape"));
  return false;
}

void ModelInputs::askForBatch(ReportFn report) const {
  for (const std::string &name : open) {
    const auto input =
        llvm::find_if(graph.inputs, [&](const ValueInfo &value) { return value.name == name; });
    report(name, "leaves the batch in its shape " + printDeclared(*findTensorType(*input)->shape) +
                     " open, which nodes of this model cannot; say it: --batch=1, or "
                     "--input-shape=" +
                     name + ":1,… with all extents");
  }
}

int64_t ModelInputs::findTextWidth(llvm::StringRef input) const {
  auto given = options.textWidths.find(input.str());
  if (given == options.textWidths.end())
    given = options.textWidths.find("");
  return given == options.textWidths.end() ? kTextWidth : given->second;
}

NodeValue ModelInputs::importInput(const ValueInfo &input, Forward &forward, ReportFn report) {
  const Type *type = findTensorType(input);
  const mlir::Type element = type ? heldType(forward.builder, type->type) : mlir::Type();
  if (!element) {
    report(input.name,
           type ? "inputs of type " + spell(type->type).str() + " are not supported"
                : std::string("inputs that are no tensors are not supported; give the model the "
                              "tensors, as inputs of their own"));
    return {};
  }
  std::optional<llvm::SmallVector<int64_t>> shape = closeShape(input, report);
  if (!shape)
    return {};
  if (type->type == DataType::String)
    shape->push_back(findTextWidth(input.name));
  if (llvm::is_contained(*shape, 0)) {
    // It tells nothing: no argument of the model, but a list or a tensor that is empty.
    Literal empty;
    empty.type = type->type;
    empty.tensor.elementType = element;
    empty.tensor.shape = *shape;
    return NodeValue::fromLiteral(std::move(empty));
  }
  if (!isAddressable(mlir::RankedTensorType::get(*shape, element))) {
    report(input.name, "the input, of shape " + printShape(*shape) +
                           ", has more than 2^47 bytes; no memory holds that");
    return {};
  }
  NodeValue value;
  const auto *batch = llvm::find(*shape, mlir::ShapedType::kDynamic);
  if (batch != shape->end()) {
    open.push_back(input.name);
    value.place.axis = batch - shape->begin();
    shape = value.place.arrange(*shape);
  }
  value.type = type->type;
  value.value = forward.addInput(input.name, *shape, value.type);
  return value;
}

void ModelInputs::import(Forward &forward, Scope &scope, ReportFn report) {
  llvm::StringSet<> initializers;
  for (const Tensor &tensor : graph.initializers)
    initializers.insert(tensor.name);
  auto isInput = [&](const ValueInfo &value) { return !initializers.contains(value.name); };
  count = size_t(llvm::count_if(graph.inputs, isInput));
  readNames();
  for (const ValueInfo &input : graph.inputs) {
    if (!isInput(input))
      continue;
    NodeValue value = importInput(input, forward, report);
    const bool isLost = !value.value && !value.literal;
    if (!isLost && input.type->kind == Type::Kind::Optional) {
      NodeValue optional;
      optional.elements = std::make_shared<const std::vector<NodeValue>>(1, std::move(value));
      optional.isOptional = true;
      value = std::move(optional);
    }
    scope.set(input.name, std::move(value));
  }
  for (const auto &[name, width] : options.textWidths)
    if (!name.empty() && llvm::none_of(graph.inputs, [&, &name = name](const ValueInfo &v) {
          const Type *type = findTensorType(v);
          return isInput(v) && v.name == name && type && type->type == DataType::String;
        }))
      report("", "--text-width=" + name + ": the model has no such input of text");
  for (const auto &[name, shape] : options.inputShapes)
    if (name.empty() ? count != 1
                     : llvm::none_of(graph.inputs, [&, &name = name](const ValueInfo &v) {
                         return isInput(v) && v.name == name;
                       }))
      report("", "--input-shape=" + name + ": the model has no such input; it has " +
                     llvm::join(forward.getInputNames(), ", "));
}

} // namespace mpc::onnx
