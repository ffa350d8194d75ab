// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/ModelInputs.h"

#include "lib/Import/Common/Shape.h"
#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/Objects.h"
#include "lib/Import/Keras/Padding.h"

#include "llvm/ADT/StringExtras.h"

namespace mpc::keras {

using mlir::Value;

namespace {

/// Whether a config, or one of an object inside it, says `stateful`, or `time_major`, where what
/// Input calls the batch are steps.
bool saysStateful(const llvm::json::Object &config, unsigned depth = 0) {
  if (readFlag(config.get("stateful")).value_or(false) ||
      readFlag(config.get("time_major")).value_or(false))
    return true;
  return depth < 16 && llvm::any_of(
                           config,
                           [&](const auto &entry) {
                             const llvm::json::Object *inner = entry.second.getAsObject();
                             return inner && saysStateful(*inner, depth + 1);
                           });
}

bool hasStatefulLayer(const ModelConfig &model) {
  return llvm::any_of(model.layers, [](const LayerConfig &layer) {
    return layer.model ? hasStatefulLayer(*layer.model) : saysStateful(layer.config);
  });
}

/// The element type that values of a Keras dtype have in the phase import: every floating one is
/// float32. Null for what mpc has no tensors of.
mlir::Type importedType(mlir::Builder &builder, llvm::StringRef dtype) {
  mlir::Type element = dtypeElement(builder, dtype);
  return llvm::isa_and_present<mlir::FloatType>(element) ? builder.getF32Type() : element;
}

/// The dtype in which an InputLayer hands a floating input on; float32 for integers.
mlir::Type floatType(mlir::Builder &builder, llvm::StringRef dtype) {
  mlir::Type element = dtypeElement(builder, dtype);
  return llvm::isa_and_present<mlir::FloatType>(element) ? element : builder.getF32Type();
}

/// The shape that an InputLayer declares, -1 for unknown; nothing when it is not readable.
std::optional<llvm::SmallVector<int64_t>> declaredShape(const LayerConfig &layer) {
  const llvm::json::Array *array = layer.config.getArray("batch_shape");
  if (!array)
    array = layer.config.getArray("batch_input_shape"); // Keras 2
  if (!array || array->empty() || array->size() > 32)
    return std::nullopt;
  llvm::SmallVector<int64_t> shape;
  for (const llvm::json::Value &extent : *array) {
    const bool unknown = extent.kind() == llvm::json::Value::Null;
    if (!unknown && extent.getAsInteger().value_or(-1) < 0)
      return std::nullopt;
    shape.push_back(unknown ? mlir::ShapedType::kDynamic : *extent.getAsInteger());
  }
  return shape;
}

/// A nested model takes a tensor that has one dimension of extent 1 too many or too few at its end
/// (keras/src/models/functional.py, _adjust_input_rank).
Value adjustRank(mlir::OpBuilder &builder, mlir::Location loc, Value value,
                 llvm::ArrayRef<int64_t> wanted) {
  llvm::ArrayRef<int64_t> shape = tensorTypeOf(value).getShape();
  const bool squeezes = shape.size() == wanted.size() + 1 && shape.back() == 1;
  const bool expands = shape.size() + 1 == wanted.size() && wanted.back() == 1;
  llvm::SmallVector<int64_t> adjusted(shape);
  if (squeezes)
    adjusted.pop_back();
  else if (expands)
    adjusted.push_back(1);
  else
    return value;
  return ReshapeOp::create(builder, loc,
                           mlir::RankedTensorType::get(adjusted, elementTypeOf(value)), value);
}

} // namespace

Value ModelInputs::makeInputLayer(const LayerConfig &layer, llvm::StringRef path, Value value,
                                  mlir::Type elementType, llvm::StringRef dtype) {
  mlir::Location loc = mlir::NameLoc::get(forward.builder.getStringAttr(path));
  const bool floating = mlir::isa<mlir::FloatType>(elementType);
  auto block = std::make_unique<mlir::Block>();
  Value result = block->addArgument(value.getType(), loc);
  mlir::OpBuilder inner(forward.builder.getContext());
  inner.setInsertionPointToEnd(block.get());
  if (elementTypeOf(result) != elementType)
    result = CastOp::create(
        inner, loc, mlir::RankedTensorType::get(tensorTypeOf(result).getShape(), elementType),
        result);
  YieldOp::create(inner, loc, mlir::ValueRange(result));
  LayerOp op =
      LayerOp::create(forward.builder, loc, mlir::TypeRange(result.getType()), path,
                      layer.className, mlir::ValueRange(value), mlir::ValueRange(),
                      mlir::StringAttr(), makePrecision(floatType(forward.builder, dtype), "Input"),
                      /*autocast=*/floating,
                      /*casts_integers=*/floating);
  op.getBody().push_back(block.release());
  return op.getResult(0);
}

bool ModelInputs::closeShape(llvm::StringRef path, llvm::StringRef name,
                             llvm::MutableArrayRef<int64_t> shape) {
  const std::string declared = printShape(shape);
  auto given = options.inputShapes.find(name.str());
  // Without a name the shape is that of the only input; a second one is without.
  if (given == options.inputShapes.end() && forward.getInputNames().empty())
    given = options.inputShapes.find("");
  if (given != options.inputShapes.end()) {
    closed.insert(given->first);
    llvm::ArrayRef<int64_t> extents = given->second;
    bool fits = extents.size() + 1 == shape.size();
    for (size_t axis = 1; fits && axis < shape.size(); ++axis) {
      fits = mlir::ShapedType::isDynamic(shape[axis]) || shape[axis] == extents[axis - 1];
      shape[axis] = extents[axis - 1];
    }
    if (!fits) {
      report.error(path, "--input-shape gives the extents " + printShape(extents) +
                             " behind the batch; they must fit the input's shape " + declared);
      return false;
    }
  }
  if (options.openExtent > 0)
    for (int64_t &extent : shape.drop_front())
      if (mlir::ShapedType::isDynamic(extent))
        extent = options.openExtent;
  if (!llvm::is_contained(llvm::drop_begin(shape), mlir::ShapedType::kDynamic))
    return true;
  std::string example;
  for (int64_t extent : llvm::drop_begin(shape))
    example += (example.empty() ? "" : ",") +
               std::to_string(mlir::ShapedType::isDynamic(extent) ? 100 : extent);
  std::string others;
  for (const auto &[other, extents] : options.inputShapes)
    if (!closed.count(other))
      others += (others.empty() ? "; --input-shape was given for " : ", ") + other;
  report.error(path,
               "the input has the shape " + declared +
                   "; only the batch may be unknown in a compiled model: say the other extents, "
                   "for example --input-shape=" +
                   name + ":" + example +
                   (masksCoverPadding(model)
                        ? ", and pad shorter sequences to it, with what the model masks"
                        : "; results for padded sequences are others than Keras gives without") +
                   others);
  return false;
}

ModelInputs::ModelInputs(const ModelConfig &model, const ImportOptions &options,
                         ForwardFunction &forward, ImportReport &report)
    : model(model), options(options), forward(forward), report(report),
      keepsBatch(hasStatefulLayer(model)) {
  if (model.inputs.kind == Argument::Kind::Dict)
    for (const auto &[key, input] : llvm::zip_equal(model.inputs.keys, model.inputs.items))
      if (input.kind == Argument::Kind::Tensor)
        keys[input.tensor.layer] = key;
}

void ModelInputs::reportUnusedShapes() {
  for (const auto &[name, shape] : options.inputShapes)
    if (!closed.count(name) && !report.hasErrors())
      report.error("", "--input-shape=" + llvm::Twine(name) +
                           ": the model has no such input; it has " +
                           llvm::join(forward.getInputNames(), ", "));
}

Value ModelInputs::import(const LayerConfig &layer, llvm::StringRef path, Value outer) {
  for (llvm::StringRef flag : {"sparse", "ragged"})
    if (readFlag(layer.config.get(flag)).value_or(false)) {
      report.error(path,
                   llvm::Twine(flag) + " inputs are not supported; give the model dense tensors");
      return {};
    }
  llvm::StringRef dtype = "float32";
  SerializedObject object = readObject(layer.config.get("dtype"));
  if (object.className == "DTypePolicy")
    object.className = object.config.getString("name").value_or("").str();
  if (!object.className.empty())
    dtype = object.className;
  mlir::Type elementType = importedType(forward.builder, dtype);
  std::optional<llvm::SmallVector<int64_t>> shape = declaredShape(layer);
  if (!elementType || !shape) {
    report.error(path, !shape ? "the InputLayer has no readable 'batch_shape'"
                              : "inputs of dtype '" + dtype.str() + "' are not supported");
    return {};
  }
  // The batch is free at run time, also where the file fixes it, unless states depend on it.
  if (!keepsBatch)
    shape->front() = mlir::ShapedType::kDynamic;
  if (llvm::is_contained(*shape, 0)) {
    report.error(path, "the input has the shape " + printShape(*shape) + " and so no elements");
    return {};
  }
  return outer ? takeOuter(layer, path, *shape, elementType, dtype, outer)
               : addArgument(layer, path, *shape, elementType, dtype);
}

Value ModelInputs::addArgument(const LayerConfig &layer, llvm::StringRef path,
                               llvm::MutableArrayRef<int64_t> shape, mlir::Type elementType,
                               llvm::StringRef dtype) {
  auto key = keys.find(layer.name);
  const std::string name = key == keys.end() ? layer.name : key->second;
  if (!closeShape(path, name, shape))
    return {};
  auto type = mlir::RankedTensorType::get(shape, elementType);
  if (!isAddressable(type)) {
    report.error(path, "a row of the input, of shape " + printShape(shape) +
                           ", has more than 2^47 bytes; no memory holds that");
    return {};
  }
  Value input =
      forward.addInput(name, type, mlir::NameLoc::get(forward.builder.getStringAttr(path)));
  // Data become float32 at the border, as in Keras's fit and predict.
  return dtype == "float32" || !mlir::isa<mlir::FloatType>(elementType)
             ? input
             : makeInputLayer(layer, path, input, elementType, dtype);
}

/// The argument of a nested model, as its input layer takes it.
Value ModelInputs::takeOuter(const LayerConfig &layer, llvm::StringRef path,
                             llvm::MutableArrayRef<int64_t> shape, mlir::Type elementType,
                             llvm::StringRef dtype, Value outer) {
  Value mask = forward.getMask(outer);
  outer = adjustRank(forward.builder, forward.location, outer, shape);
  // A nested model takes the extents that it leaves open from its arguments.
  if (tensorTypeOf(outer).getRank() == int64_t(shape.size()))
    for (auto [extent, actual] : llvm::zip_equal(shape, tensorTypeOf(outer).getShape()))
      if (mlir::ShapedType::isDynamic(extent))
        extent = actual;
  if (tensorTypeOf(outer).getShape() != shape) {
    report.error(path, "the nested model is called with a tensor of shape " +
                           printShape(tensorTypeOf(outer).getShape()) + "; its input has " +
                           printShape(shape));
    return {};
  }
  // A nested model casts what it is given, integers too, to the declared dtype.
  if (elementTypeOf(outer) == elementType && !mlir::isa<mlir::FloatType>(elementType))
    return outer;
  Value input = makeInputLayer(layer, path, outer, elementType, dtype);
  if (mask)
    forward.setMask(input, mask); // masks survive the cast
  return input;
}

} // namespace mpc::keras
