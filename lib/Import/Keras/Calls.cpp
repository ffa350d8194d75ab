// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of layers: a Sequential model as a chain, nested models inline, and the mpc.layer of one
// call. FunctionalGraph.cpp has the order of calls.
#include "lib/Import/Common/BatchAxis.h"
#include "lib/Import/Keras/GraphImporter.h"

#include "lib/Import/Keras/CompositeBuilder.h"
#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Objects.h"

#include "llvm/Support/SaveAndRestore.h"

namespace mpc::keras {

using mlir::Value;

namespace {

constexpr uint64_t kMaxCalls = 100000;

/// The tensors of a nested model's call in the order of its signature. They come in that order,
/// unless the call passes a dictionary to a model whose inputs are none: then by the inputs' names,
/// and keys that no input has are left out (_standardize_inputs). Null for an input that is
/// missing.
llvm::SmallVector<Value> orderInputs(const ModelConfig &model, const Node *node,
                                     llvm::ArrayRef<Value> inputs) {
  const Argument *given = nullptr;
  if (node && !node->arguments.empty())
    given = &node->arguments.front();
  else if (node && !node->keywords.empty())
    given = &node->keywords.front().second;
  if (!given || given->kind != Argument::Kind::Dict ||
      model.kind != ModelConfig::Kind::Functional || model.inputs.kind == Argument::Kind::Dict)
    return llvm::to_vector(inputs);
  llvm::StringMap<Value> byKey;
  size_t next = 0;
  for (const auto &[key, item] : llvm::zip_equal(given->keys, given->items)) {
    const size_t count = item.tensors().size();
    if (count == 1)
      byKey[key] = inputs[next];
    next += count;
  }
  llvm::SmallVector<Value> ordered;
  for (const TensorRef *input : model.inputs.tensors())
    ordered.push_back(byKey.lookup(input->layer));
  return ordered;
}

/// (l1 sum|y| + l2 sum y^2) / batch (keras/src/layers/layer.py), not divided in Keras 2.0 to 2.3 by
/// itself. Keras computes it in the layer's
/// compute dtype; here it is a float32 layer of its own, as every loss term (docs/numerics.md).
void addActivityLoss(GraphImporter &importer, const LayerConfig &layer, llvm::StringRef path,
                     Value output) {
  // ActivityRegularization writes its numbers instead of the object that it makes of them.
  const bool isOwn = layer.className == "ActivityRegularization";
  const llvm::json::Value made = llvm::json::Object{
      {"class_name", "L1L2"},
      {"config", llvm::json::Object{{"l1", layer.config.getNumber("l1").value_or(0.0)},
                                    {"l2", layer.config.getNumber("l2").value_or(0.0)}}}};
  RegularizerAttr regularizer = parseRegularizer(
      *output.getContext(), isOwn ? &made : layer.config.get("activity_regularizer"),
      [&](const llvm::Twine &message) { importer.report.error(path, message); },
      [&](const llvm::Twine &message) {
        importer.report.leaveOut(layer, path, message, /*onlyTraining=*/true);
      });
  if (!regularizer)
    return;
  if (regularizer.getOrthogonalRows() || regularizer.getOrthogonalColumns())
    return importer.report.error(path,
                                 "OrthogonalRegularizer of a layer's outputs is not supported; "
                                 "supported there are L1, L2 and L1L2; give it to the layer's "
                                 "kernel");
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(output)))
    return importer.report.error(path, "an activity regularizer needs a floating output");
  const double l1 = regularizer.getL1().getValueAsDouble();
  const double l2 = regularizer.getL2().getValueAsDouble();
  if (l1 == 0.0 && l2 == 0.0)
    return;
  const ReduceKind overBatch =
      layer.version.isKeras2() && !layer.version.ofTensorFlow ? ReduceKind::Sum : ReduceKind::Mean;
  auto compute = [&](mlir::OpBuilder &inner, mlir::Location loc, Value x) {
    auto sampleAxes = llvm::to_vector(llvm::seq<int64_t>(1, tensorTypeOf(x).getRank()));
    Value total;
    auto addTerm = [&](double factor, Value values) {
      if (!sampleAxes.empty())
        values = ReduceOp::create(inner, loc, ReduceKind::Sum, values, sampleAxes, false);
      Value ofBatch =
          ReduceOp::create(inner, loc, overBatch, values, llvm::ArrayRef<int64_t>{0}, false);
      Value scale = scalarConstant(inner, loc, inner.getF32Type(), factor);
      Value term = MultiplyOp::create(inner, loc, ofBatch, scale);
      total = total ? Value(AddOp::create(inner, loc, total, term)) : term;
    };
    if (l1 != 0.0)
      addTerm(l1, AbsOp::create(inner, loc, x));
    if (l2 != 0.0)
      addTerm(l2, MultiplyOp::create(inner, loc, x, x));
    return total;
  };
  importer.forward.addLossTerm(join(path, "activity_regularizer"), "ActivityRegularizer", output,
                               compute);
}

} // namespace

// ---- One call -----------------------------------------------------------------------------------

bool GraphImporter::importCall(const LayerConfig &layer, const Node *node, llvm::StringRef path,
                               bool trainable, llvm::ArrayRef<Value> inputs, Values &outputs) {
  // Models nested in each other and called twice per level grow exponentially.
  if (++callCount > kMaxCalls) {
    if (callCount == kMaxCalls + 1)
      report.error(path, "the model calls layers more than " + llvm::Twine(kMaxCalls) +
                             " times; refused");
    return false;
  }
  trainable = isTrainable(layer, trainable);
  const llvm::SaveAndRestore called(mode, readCallMode(layer, node, mode));
  if (layer.model) {
    // Functional.call attaches an explicit mask to its inputs.
    if (node)
      for (const auto &[keyword, argument] : node->keywords)
        if (const size_t count = argument.tensors().size(); keyword == "mask" && count > 0) {
          if (count != inputs.size() - count) {
            report.error(path, "the nested model is called with " + llvm::Twine(count) +
                                   " masks for " + llvm::Twine(inputs.size() - count) + " tensors");
            return false;
          }
          // Each layer inside makes truth values of numbers in its own way.
          if (llvm::any_of(inputs.take_back(count),
                           [](Value mask) { return !elementTypeOf(mask).isInteger(1); })) {
            report.error(path,
                         "the nested model is called with a mask of numbers; give it one of truth "
                         "values (mask > 0)");
            return false;
          }
          for (size_t i = 0; i < count; ++i)
            forward.setMask(inputs[i], inputs[count + i]);
          inputs = inputs.drop_back(count);
        }
    Values ordered = orderInputs(*layer.model, node, inputs);
    if (!llvm::all_of(ordered, [](Value value) { return bool(value); })) {
      report.error(path,
                   "the nested model is called with a dictionary that lacks one of its inputs");
      return false;
    }
    return importModel(*layer.model, path, trainable, ordered, outputs);
  }
  return importLayer(layer, node, path, trainable, inputs, outputs);
}

bool GraphImporter::importLayer(const LayerConfig &layer, const Node *node, llvm::StringRef path,
                                bool trainable, llvm::ArrayRef<Value> inputs, Values &outputs) {
  const LayerEntry *entry = findLayer(layer);
  if (unsupported.contains(&layer))
    return false;
  if (!entry || inputs.empty()) {
    report.error(path, entry ? "the layer is called without a tensor"
                             : "unsupported layer class '" + layer.className + "'");
    return false;
  }
  const bool hasOutputs =
      entry->importWhole ? entry->importWhole(*this, layer, node, path, trainable, inputs, outputs)
      : entry->importComposite
          ? importComposite(layer, node, path, trainable, inputs, entry->importComposite, outputs)
          : emitLayer(layer, node, path, trainable, inputs, outputs, entry->import,
                      entry->masking == Masking::PassesOn);
  return hasOutputs && llvm::all_of(outputs, [](Value output) { return bool(output); });
}

/// Results of the op are those of the layer, then masks that its body computes.
bool GraphImporter::emitLayer(const LayerConfig &layer, const Node *node, llvm::StringRef path,
                              bool trainable, llvm::ArrayRef<Value> inputs, Values &outputs,
                              llvm::function_ref<Value(LayerBuilder &)> import,
                              bool passesMasksOn) {
  mlir::Location loc = mlir::NameLoc::get(forward.builder.getStringAttr(path));
  auto block = std::make_unique<mlir::Block>();
  for (Value input : inputs)
    block->addArgument(input.getType(), loc);
  LayerBuilder lb(*this, layer, node, path, trainable, inputs, *block);
  Values results = {import(lb)};
  llvm::append_range(results, lb.laterOutputs);
  const bool hasOutputs = judgeResults(lb, results);
  // Before masks pass on, which reads the keyword `mask`: a class without that argument refuses it.
  lb.reportUnreadArguments();
  mlir::StringAttr policy = policies.getName(layer, path);
  if (!hasOutputs)
    return false;
  const unsigned count = unsigned(results.size());

  Values given(count); // masks in the body
  for (unsigned i = 0; i < count; ++i) {
    if (auto said = lb.outputMasks.find(i); said != lb.outputMasks.end())
      given[i] = said->second;
    else if (passesMasksOn && i < lb.getInputs().size()) {
      // Keras does not know of a mask that is given by position; then the input's own one passes
      // on.
      Value mask = i == 0 ? lb.getMask() : Value();
      given[i] = mask ? mask : lb.getMaskOf(lb.getInputs()[i]);
    }
  }
  Values carried(count);                // as values of @forward
  llvm::SmallVector<unsigned> computed; // outputs whose masks the body yields
  for (unsigned i = 0; i < count; ++i) {
    auto argument = llvm::dyn_cast_if_present<mlir::BlockArgument>(given[i]);
    if (argument && argument.getOwner() == block.get()) {
      const size_t number = argument.getArgNumber();
      carried[i] = number < inputs.size() ? inputs[number] : lb.variables[number - inputs.size()];
    } else if (given[i]) {
      computed.push_back(i);
      results.push_back(given[i]);
    }
  }
  const unsigned firstUpdate = unsigned(results.size());
  auto isState = [&](Value variable) { return variables.isStateful(lb.getOperandOf(variable)); };
  if (mode == CallMode::Inference)
    lb.updates.remove_if([&](const auto &update) { return !isState(update.first); });
  llvm::append_range(results, llvm::make_second_range(lb.updates));
  if (mode != CallMode::OfModel && !fixMode(*block, results, mode))
    report.warn("'" + path + "' (" + layer.className +
                ") is called with training=True: Keras 2 draws random numbers in predictions and "
                "evaluation, too; a compiled model draws them in training alone, and predicts as "
                "with training=False");
  // The next call in training reads the updated variables: inference renews only the states that
  // stay.
  for (auto [variable, result] :
       llvm::zip_equal(llvm::make_first_range(lb.updates), llvm::drop_begin(results, firstUpdate)))
    if (!isState(variable))
      result = lb.make<InTrainingOp>(result, variable);
  YieldOp::create(lb.builder, loc, results);
  PrecisionAttr precision;
  if (lb.precision().ignoresPolicy) {
    policy = {};
    precision = makePrecision(forward.builder.getF32Type(), "layer");
  }
  LayerOp op =
      LayerOp::create(forward.builder, loc, mlir::ValueRange(results).getTypes(), path,
                      layer.className, inputs, lb.variables, policy, precision,
                      /*autocast=*/lb.precision().autocast != PrecisionWishes::Autocast::KeepsTypes,
                      lb.precision().autocast == PrecisionWishes::Autocast::CastsIntegers);
  mlir::NamedAttrList refusals;
  for (const auto &[elementType, reason] : lb.precision().refusals)
    refusals.set(elementType, forward.builder.getStringAttr(reason));
  if (!refusals.empty())
    op.setRefusesAttr(refusals.getDictionary(forward.builder.getContext()));
  if (!lb.quantizedForms.empty())
    op.setQuantizedFormsAttr(forward.builder.getStrArrayAttr(lb.quantizedForms));
  op.getBody().push_back(block.release());
  policies.markQuantization(op, layer, path, lb.quantization);
  for (const auto &[position, i] : llvm::enumerate(computed))
    carried[i] = op.getResult(count + unsigned(position));
  for (unsigned i = 0; i < count; ++i) {
    outputs.push_back(op.getResult(i));
    if (carried[i])
      forward.setMask(outputs.back(), carried[i]);
    addActivityLoss(*this, layer, path, outputs.back());
  }
  for (const auto &[index, update] : llvm::enumerate(lb.updates))
    variables.setUpdate(lb.getOperandOf(update.first), op.getResult(firstUpdate + unsigned(index)));
  return true;
}

bool GraphImporter::importComposite(
    const LayerConfig &layer, const Node *node, llvm::StringRef path, bool trainable,
    llvm::ArrayRef<Value> inputs,
    bool (*import)(CompositeBuilder &, llvm::SmallVectorImpl<mlir::Value> &), Values &outputs) {
  mlir::Location loc = mlir::NameLoc::get(forward.builder.getStringAttr(path));
  auto block = std::make_unique<mlir::Block>();
  for (Value input : inputs)
    block->addArgument(input.getType(), loc);
  LayerBuilder lb(*this, layer, node, path, trainable, inputs, *block);
  mlir::StringAttr policy = policies.getName(layer, lb.path);
  // A layer that opts out of autocast takes its inputs as they are; the op without results keeps
  // its policy.
  const bool autocasts = readFlag(layer.config.get("autocast")).value_or(true);
  const Values cast = autocasts ? Values(block->getArguments()) : Values();
  YieldOp::create(lb.builder, loc, cast);
  LayerOp op = LayerOp::create(forward.builder, loc, mlir::ValueRange(cast).getTypes(), lb.path,
                               layer.className, inputs, mlir::ValueRange(), policy, PrecisionAttr(),
                               autocasts, /*casts_integers=*/false);
  op.getBody().push_back(block.release());
  policies.markQuantization(op, layer, lb.path, "");
  CompositeBuilder composite(*this, lb, forward.builder, inputs,
                             autocasts ? Values(op.getResults()) : Values(inputs));
  const bool hasOutputs = import(composite, outputs);
  lb.reportUnreadArguments();
  return hasOutputs;
}

void GraphImporter::noteInferenceOnly(llvm::StringRef path, llvm::StringRef what) {
  if (mode == CallMode::OfModel)
    report.noteInferenceOnly(path, what);
  else if (mode == CallMode::Training)
    report.error(path,
                 "the layer is called with training=True, and mpc has only the inference of " +
                     what + "; call it without the argument");
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
    report.error(path, model.layers.empty() ? "the Sequential model has no layers"
                                            : "a Sequential model takes one input tensor");
    return false;
  }
  llvm::ArrayRef<LayerConfig> layers = model.layers;
  Value value = inputs.empty() ? Value() : inputs.front();
  if (layers.front().className == "InputLayer") {
    // Keras gives its automatic InputLayer the first layer's compute dtype; ids of an Embedding do
    // not survive 16 bits (docs/numerics.md).
    LayerConfig input;
    input.className = layers.front().className;
    input.name = layers.front().name;
    input.config = layers.front().config;
    const llvm::StringRef dtype = input.config.getString("dtype").value_or("");
    if (layers.size() > 1 && layers[1].className == "Embedding" &&
        (dtype == "float16" || dtype == "bfloat16"))
      input.config["dtype"] = "float32";
    value = modelInputs.import(input, join(path, input.name), value);
    layers = layers.drop_front();
  } else if (!value) {
    if (!model.buildShape) {
      report.error(path,
                   "the Sequential model has no input shape; add an Input layer, or build the "
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
    value = modelInputs.import(input, join(path, input.name), {});
  }
  if (!value)
    return false;
  for (const LayerConfig &layer : layers) {
    Values results;
    if (!importCall(layer, nullptr, join(path, layer.name), trainable, {value}, results))
      return false;
    if (results.size() != 1) {
      report.error(join(path, layer.name), "a layer of a Sequential model must have one output");
      return false;
    }
    value = results.front();
  }
  outputs.push_back(value);
  return true;
}

} // namespace mpc::keras
