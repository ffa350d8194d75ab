// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of layers: a Functional model in dependency order, a Sequential model as a chain, nested
// models inline, and the mpc.layer of one call.
#include "GraphImporter.h"

#include "LayerRegistry.h"
#include "Objects.h"

#include "llvm/ADT/StringSwitch.h"

#include <map>
#include <set>

namespace mpc::keras {

using mlir::Value;

namespace {

std::string join(llvm::StringRef container, llvm::StringRef name) {
  return container.empty() ? name.str() : (container + "/" + name).str();
}

constexpr uint64_t kMaxCalls = 100000;

std::string printShape(llvm::ArrayRef<int64_t> shape) {
  std::string text = "(";
  for (const auto &[axis, extent] : llvm::enumerate(shape))
    text += (axis ? ", " : "") + (extent < 0 ? "None" : std::to_string(extent));
  return text + ")";
}

/// The element type that values of a Keras dtype have in the phase import: every floating one is
/// float32. Null for what mpc has no tensors of.
mlir::Type importedType(mlir::Builder &builder, llvm::StringRef dtype) {
  if (dtype.starts_with("float8"))
    return {};
  if (dtype.starts_with("float") || dtype == "bfloat16")
    return builder.getF32Type();
  if (dtype == "bool")
    return builder.getI1Type();
  llvm::StringRef width = dtype;
  const bool isUnsigned = width.consume_front("u");
  unsigned bits = 0;
  if (!width.consume_front("int") || width.getAsInteger(10, bits) ||
      !llvm::is_contained({8u, 16u, 32u, 64u}, bits))
    return {};
  return mlir::IntegerType::get(builder.getContext(), bits,
                                isUnsigned ? mlir::IntegerType::Unsigned
                                           : mlir::IntegerType::Signless);
}

/// The dtype in which an InputLayer hands a floating input on; float32 for integers.
mlir::Type floatType(mlir::Builder &builder, llvm::StringRef dtype) {
  return llvm::StringSwitch<mlir::Type>(dtype)
      .Case("float16", builder.getF16Type())
      .Case("bfloat16", builder.getBF16Type())
      .Case("float64", builder.getF64Type())
      .Default(builder.getF32Type());
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

} // namespace

/// What no policy decides: the dtype of an Input, loss terms. mpc-apply-policy leaves it alone.
PrecisionAttr GraphImporter::makePrecision(mlir::Type compute, llvm::StringRef rule) {
  return PrecisionAttr::get(&context, compute, compute, widerOf32(compute),
                            builder.getStringAttr(rule));
}

// ---- Inputs -------------------------------------------------------------------------------------

Value GraphImporter::makeInputLayer(const LayerConfig &layer, llvm::StringRef path, Value value,
                                    mlir::Type elementType, llvm::StringRef dtype) {
  mlir::Location loc = mlir::NameLoc::get(builder.getStringAttr(path));
  const bool floating = mlir::isa<mlir::FloatType>(elementType);
  auto block = std::make_unique<mlir::Block>();
  Value result = block->addArgument(value.getType(), loc);
  mlir::OpBuilder inner(&context);
  inner.setInsertionPointToEnd(block.get());
  if (elementTypeOf(result) != elementType)
    result = CastOp::create(
        inner, loc, mlir::RankedTensorType::get(tensorTypeOf(result).getShape(), elementType),
        result);
  YieldOp::create(inner, loc, mlir::ValueRange(result));
  LayerOp op =
      LayerOp::create(builder, loc, mlir::TypeRange(result.getType()), path, layer.className,
                      mlir::ValueRange(value), mlir::ValueRange(), mlir::StringAttr(),
                      makePrecision(floatType(builder, dtype), "Input"),
                      /*autocast=*/floating,
                      /*casts_integers=*/floating);
  op.getBody().push_back(block.release());
  return op.getResult(0);
}

Value GraphImporter::importInput(const LayerConfig &layer, llvm::StringRef path, Value outer) {
  for (llvm::StringRef flag : {"sparse", "ragged"})
    if (layer.config.getBoolean(flag).value_or(false)) {
      report(path, llvm::Twine(flag) + " inputs are not supported; give the model dense tensors");
      return {};
    }
  llvm::StringRef dtype = "float32";
  SerializedObject object = readObject(layer.config.get("dtype"));
  if (object.className == "DTypePolicy")
    object.className = object.config.getString("name").value_or("").str();
  if (!object.className.empty())
    dtype = object.className;
  mlir::Type elementType = importedType(builder, dtype);
  std::optional<llvm::SmallVector<int64_t>> shape = declaredShape(layer);
  if (!elementType || !shape) {
    report(path, !shape ? "the InputLayer has no readable 'batch_shape'"
                        : "inputs of dtype '" + dtype.str() + "' are not supported");
    return {};
  }
  // The batch is free at run time, also where the file fixes it.
  shape->front() = mlir::ShapedType::kDynamic;
  if (llvm::is_contained(llvm::drop_begin(*shape), mlir::ShapedType::kDynamic)) {
    report(path, "the input has the shape " + printShape(*shape) +
                     "; only the batch may be unknown: fix the other extents in the Input");
    return {};
  }
  if (!outer) {
    outer = body->insertArgument(unsigned(inputNames.size()),
                                 mlir::RankedTensorType::get(*shape, elementType),
                                 mlir::NameLoc::get(builder.getStringAttr(path)));
    inputNames.push_back(layer.name);
    // Data become float32 at the border, as in Keras's fit and predict.
    return dtype == "float32" || !mlir::isa<mlir::FloatType>(elementType)
               ? outer
               : makeInputLayer(layer, path, outer, elementType, dtype);
  }
  if (tensorTypeOf(outer).getShape() != llvm::ArrayRef(*shape)) {
    report(path, "the nested model is called with a tensor of shape " +
                     printShape(tensorTypeOf(outer).getShape()) + "; its input has " +
                     printShape(*shape));
    return {};
  }
  // A nested model casts what it is given, integers too, to the declared dtype.
  if (elementTypeOf(outer) == elementType && !mlir::isa<mlir::FloatType>(elementType))
    return outer;
  return makeInputLayer(layer, path, outer, elementType, dtype);
}

// ---- One call -----------------------------------------------------------------------------------

bool GraphImporter::importCall(const LayerConfig &layer, llvm::StringRef path, bool trainable,
                               llvm::ArrayRef<Value> inputs, Values &outputs) {
  // Models nested in each other and called twice per level grow exponentially.
  if (++callCount > kMaxCalls) {
    if (callCount == kMaxCalls + 1)
      report(path,
             "the model calls layers more than " + llvm::Twine(kMaxCalls) + " times; refused");
    return false;
  }
  trainable &= layer.config.getBoolean("trainable").value_or(true);
  if (layer.model)
    return importModel(*layer.model, path, trainable && layer.model->trainable, inputs, outputs);
  const LayerEntry *entry = findLayer(layer);
  if (!entry || inputs.empty()) {
    report(path, entry ? "the layer is called without a tensor" : "unsupported layer class");
    return false;
  }
  mlir::Location loc = mlir::NameLoc::get(builder.getStringAttr(path));
  auto block = std::make_unique<mlir::Block>();
  for (Value input : inputs)
    block->addArgument(input.getType(), loc);
  LayerBuilder lb(*this, layer, path, trainable, *block);
  Value result = entry->import(lb);
  mlir::StringAttr policy = getPolicy(layer, path);
  if (!result || lb.hasFailed())
    return false;
  YieldOp::create(lb.builder, loc, mlir::ValueRange(result));
  LayerOp op = LayerOp::create(builder, loc, mlir::TypeRange(result.getType()), path,
                               layer.className, inputs, lb.variables, policy, PrecisionAttr(),
                               /*autocast=*/true, lb.castsIntegers);
  op.getBody().push_back(block.release());
  outputs.push_back(op.getResult(0));
  addActivityLoss(layer, path, outputs.back());
  return true;
}

/// (l1 sum|y| + l2 sum y^2) / batch (keras/src/layers/layer.py). Keras computes it in the layer's
/// compute dtype; here it is a float32 layer of its own, as every loss term (docs/numerics.md).
void GraphImporter::addActivityLoss(const LayerConfig &layer, llvm::StringRef path, Value output) {
  RegularizerAttr regularizer =
      parseRegularizer(context, layer.config.get("activity_regularizer"),
                       [&](const llvm::Twine &message) { report(path, message); });
  if (!regularizer)
    return;
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(output)))
    return report(path, "an activity regularizer needs a floating output");
  mlir::Location loc = mlir::NameLoc::get(builder.getStringAttr(path));
  auto block = std::make_unique<mlir::Block>();
  Value x = block->addArgument(output.getType(), loc);
  mlir::OpBuilder inner(&context);
  inner.setInsertionPointToEnd(block.get());
  auto sampleAxes = llvm::to_vector(llvm::seq<int64_t>(1, tensorTypeOf(x).getRank()));
  Value total;
  auto addTerm = [&](double factor, Value values) {
    if (!sampleAxes.empty())
      values = ReduceOp::create(inner, loc, ReduceKind::Sum, values, sampleAxes, false);
    Value mean =
        ReduceOp::create(inner, loc, ReduceKind::Mean, values, llvm::ArrayRef<int64_t>{0}, false);
    Value scale = scalarConstant(inner, loc, builder.getF32Type(), factor);
    Value term = MultiplyOp::create(inner, loc, mean, scale);
    total = total ? Value(AddOp::create(inner, loc, total, term)) : term;
  };
  const double l1 = regularizer.getL1().getValueAsDouble();
  const double l2 = regularizer.getL2().getValueAsDouble();
  if (l1 != 0.0)
    addTerm(l1, AbsOp::create(inner, loc, x));
  if (l2 != 0.0)
    addTerm(l2, MultiplyOp::create(inner, loc, x, x));
  if (!total)
    return;
  YieldOp::create(inner, loc, mlir::ValueRange(total));
  LayerOp op = LayerOp::create(builder, loc, mlir::TypeRange(total.getType()),
                               join(path, "activity_regularizer"), "ActivityRegularizer",
                               mlir::ValueRange(output), mlir::ValueRange(), mlir::StringAttr(),
                               makePrecision(builder.getF32Type(), "loss term"),
                               /*autocast=*/true, /*casts_integers=*/false);
  op.getBody().push_back(block.release());
  lossTerms.push_back(op.getResult(0));
}

// ---- Models -------------------------------------------------------------------------------------

bool GraphImporter::importModel(const ModelConfig &model, llvm::StringRef path, bool trainable,
                                llvm::ArrayRef<Value> inputs, Values &outputs) {
  return model.kind == ModelConfig::Kind::Sequential
             ? importSequential(model, path, trainable, inputs, outputs)
             : importFunctional(model, path, trainable, inputs, outputs);
}

bool GraphImporter::importSequential(const ModelConfig &model, llvm::StringRef path, bool trainable,
                                     llvm::ArrayRef<Value> inputs, Values &outputs) {
  if (model.layers.empty() || inputs.size() > 1) {
    report(path, model.layers.empty() ? "the Sequential model has no layers"
                                      : "a Sequential model takes one input tensor");
    return false;
  }
  llvm::ArrayRef<LayerConfig> layers = model.layers;
  Value value = inputs.empty() ? Value() : inputs.front();
  if (layers.front().className == "InputLayer") {
    value = importInput(layers.front(), join(path, layers.front().name), value);
    layers = layers.drop_front();
  } else if (!value) {
    if (!model.buildShape) {
      report(path, "the Sequential model has no input shape; add an Input layer, or build the "
                   "model before saving it");
      return false;
    }
    // Keras inserts an InputLayer of the first layer's compute dtype. The first layer casts floats
    // to it anyway, so the input is float32.
    LayerConfig input;
    input.className = "InputLayer";
    input.name = "input_layer";
    llvm::json::Array shape;
    for (int64_t extent : *model.buildShape)
      shape.push_back(extent < 0 ? llvm::json::Value(nullptr) : llvm::json::Value(extent));
    input.config["batch_shape"] = std::move(shape);
    value = importInput(input, join(path, input.name), {});
  }
  if (!value)
    return false;
  for (const LayerConfig &layer : layers) {
    Values results;
    if (!importCall(layer, join(path, layer.name), trainable, {value}, results))
      return false;
    if (results.size() != 1) {
      report(join(path, layer.name), "a layer of a Sequential model must have one output");
      return false;
    }
    value = results.front();
  }
  outputs.push_back(value);
  return true;
}

struct GraphImporter::Call {
  const LayerConfig *layer;
  std::vector<const TensorRef *> tensors; ///< in the order of the layer's inputs
  unsigned waiting = 0;                   ///< tensors that are not computed yet
  std::vector<unsigned> consumers;        ///< calls, once per tensor that they take
  bool done = false;
  Values results;
};

bool GraphImporter::importFunctional(const ModelConfig &model, llvm::StringRef path, bool trainable,
                                     llvm::ArrayRef<Value> inputs, Values &outputs) {
  const bool nested = !inputs.empty();
  bool good = true;
  auto complain = [&](const std::string &place, const llvm::Twine &message) {
    report(place, message);
    good = false;
  };

  // Every call of every layer, in file order. An InputLayer is one call without tensors.
  std::vector<Call> calls;
  std::map<std::pair<llvm::StringRef, uint64_t>, unsigned> find;
  for (const LayerConfig &layer : model.layers) {
    if (layer.className == "InputLayer" || layer.calls.empty()) {
      find[{layer.name, 0}] = unsigned(calls.size());
      calls.push_back({&layer, {}, 0, {}, false, {}});
      continue;
    }
    for (const auto &[number, node] : llvm::enumerate(layer.calls)) {
      Call call{&layer, {}, 0, {}, false, {}};
      for (const Argument &argument : node.arguments)
        for (const TensorRef *tensor : argument.tensors())
          call.tensors.push_back(tensor);
      for (const auto &[keyword, argument] : node.keywords)
        if (!argument.tensors().empty()) {
          if (keyword == "inputs" && call.tensors.empty())
            call.tensors = argument.tensors();
          else
            complain(join(path, layer.name),
                     "a tensor is passed as the keyword '" + keyword + "', which is not supported");
        }
      find[{layer.name, number}] = unsigned(calls.size());
      calls.push_back(std::move(call));
    }
  }
  auto lookup = [&](const TensorRef &tensor) -> Call * {
    auto found = find.find({tensor.layer, tensor.node});
    return found == find.end() ? nullptr : &calls[found->second];
  };
  for (unsigned number = 0; number < calls.size(); ++number)
    for (const TensorRef *tensor : calls[number].tensors) {
      Call *producer = lookup(*tensor);
      if (!producer) {
        complain(join(path, calls[number].layer->name),
                 "an input is call " + llvm::Twine(tensor->node) + " of layer '" + tensor->layer +
                     "', which the model does not have");
        continue;
      }
      producer->consumers.push_back(number);
      ++calls[number].waiting;
    }

  // The model's inputs, in the order of the signature.
  std::vector<const TensorRef *> declared = model.inputs.tensors();
  if (nested && declared.size() != inputs.size())
    complain(path.str(), "the nested model takes " + llvm::Twine(declared.size()) +
                             " tensors but is called with " + llvm::Twine(inputs.size()));
  if (declared.empty())
    complain(path.str(), "the model has no inputs");
  if (!good)
    return false;
  for (const auto &[position, tensor] : llvm::enumerate(declared)) {
    Call *input = lookup(*tensor);
    if (!input || input->layer->className != "InputLayer" || input->done) {
      complain(path.str(),
               "the model's input '" + tensor->layer + "' is no InputLayer of its own, used once");
      continue;
    }
    input->done = true;
    if (Value value = importInput(*input->layer, join(path, input->layer->name),
                                  nested ? inputs[position] : Value()))
      input->results.push_back(value);
  }

  // Ready calls in file order, so that the same file gives the same IR.
  std::set<unsigned> ready;
  auto finishCall = [&](Call &call) {
    for (unsigned consumer : call.consumers)
      if (--calls[consumer].waiting == 0)
        ready.insert(consumer);
  };
  for (Call &call : calls)
    if (call.done && !call.results.empty())
      finishCall(call);
  while (!ready.empty()) {
    Call &call = calls[*ready.begin()];
    ready.erase(ready.begin());
    call.done = true;
    const std::string place = join(path, call.layer->name);
    Values arguments;
    for (const TensorRef *tensor : call.tensors) {
      Call *producer = lookup(*tensor);
      if (tensor->tensor < producer->results.size())
        arguments.push_back(producer->results[tensor->tensor]);
    }
    if (arguments.size() != call.tensors.size()) {
      complain(place, "an input is an output that its layer does not have");
      continue;
    }
    if (importCall(*call.layer, place, trainable, arguments, call.results))
      finishCall(call);
  }
  if (failed)
    return false;
  for (const Call &call : calls)
    if (!call.done)
      complain(join(path, call.layer->name),
               "the layer is never reached from the model's inputs (a cycle, or an InputLayer "
               "that is no input)");
  for (const TensorRef *tensor : model.outputs.tensors()) {
    Call *producer = lookup(*tensor);
    if (producer && tensor->tensor < producer->results.size())
      outputs.push_back(producer->results[tensor->tensor]);
    else
      complain(path.str(), "the model's output '" + tensor->layer + "' is not computed");
  }
  return good;
}

} // namespace mpc::keras
