// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/rnn: Bidirectional, TimeDistributed.
#include "lib/Import/Common/ScanBuilder.h"
#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/GraphImporter.h"
#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using Values = llvm::SmallVector<Value>;

/// An argument that stands for `count` tensors of a call.
Argument tensorArgument(size_t count) {
  Argument argument;
  argument.kind = Argument::Kind::List;
  argument.items.resize(count);
  for (Argument &item : argument.items)
    item.kind = Argument::Kind::Tensor;
  return argument;
}

/// One call of Bidirectional. Both directions are layers of their own, with their policies; the
/// wrapper's layer casts and merges what they return (keras/src/layers/rnn/bidirectional.py).
class BidirectionalCall {
public:
  BidirectionalCall(GraphImporter &importer, const LayerConfig &layer, llvm::StringRef path,
                    bool trainable)
      : importer(importer), layer(layer), path(path), trainable(trainable) {}

  bool run(const Node *node, llvm::ArrayRef<Value> inputs, Values &outputs);

private:
  /// Finds states and mask among the inputs; false after an error.
  bool readArguments(const Node *node, llvm::ArrayRef<Value> inputs);
  size_t assignInputs(const Node &node, llvm::ArrayRef<Value> inputs);
  bool findDirections();
  bool checkDirections();
  bool importDirection(const LayerConfig &child, llvm::ArrayRef<Value> initial, Values &results);
  /// The results of both directions as the wrapper returns them, in its layer's body.
  Value merge(LayerBuilder &b, std::optional<llvm::StringRef> mode);
  bool mergeResults(Values &outputs);

  static bool flag(const LayerConfig &child, llvm::StringRef key) {
    return readFlag(child.config.get(key)).value_or(false);
  }

  GraphImporter &importer;
  const LayerConfig &layer;
  const llvm::StringRef path;
  const bool trainable;
  const LayerConfig *forward = nullptr, *backward = nullptr;
  Value sequences, mask;
  Values states; ///< of both directions
  Values forwardResults, backwardResults;
};

/// Arguments: sequences, initial_state, mask. Returns how many inputs they are.
size_t BidirectionalCall::assignInputs(const Node &node, llvm::ArrayRef<Value> inputs) {
  size_t next = 1;
  auto take = [&](llvm::StringRef name, const Argument &argument) {
    const size_t count = argument.tensors().size();
    if (name == "initial_state")
      llvm::append_range(states, inputs.slice(next, count));
    else if (name == "mask" && count == 1)
      mask = inputs[next];
    else if (count > 0)
      importer.report.error(path, "a tensor is passed to Bidirectional as the argument '" + name +
                                      "', which is not supported");
    next += count;
  };
  unsigned position = 0;
  constexpr llvm::StringLiteral names[] = {"sequences", "initial_state", "mask"};
  for (const Argument &argument : node.arguments)
    if (position++ > 0)
      take(names[std::min(position - 1, 2u)], argument);
  bool isFirst = node.arguments.empty();
  for (const auto &[keyword, argument] : node.keywords) {
    if (argument.tensors().empty())
      continue;
    if (!isFirst)
      take(keyword, argument);
    isFirst = false;
  }
  return next;
}

bool BidirectionalCall::readArguments(const Node *node, llvm::ArrayRef<Value> inputs) {
  const size_t count = node ? assignInputs(*node, inputs) : 1;
  if (count != inputs.size()) {
    importer.report.error(path, "Bidirectional takes one tensor of sequences");
    return false;
  }
  if (states.size() % 2 != 0) {
    importer.report.error(path,
                          "initial_state of Bidirectional must hold the states of both directions");
    return false;
  }
  sequences = inputs.front();
  if (!mask && (states.empty() || layer.version.isKeras2()))
    mask = importer.forward.getMask(sequences);
  return true;
}

bool BidirectionalCall::findDirections() {
  auto adjust = [](LayerConfig &child) {
    child.config["zero_output_for_mask"] = flag(child, "return_sequences");
  };
  forward = importer.tree.getChild(layer, path, "layer", std::nullopt, adjust);
  backward = importer.tree.getChild(layer, path, "backward_layer", std::nullopt, adjust);
  if (!forward || !backward)
    return false;
  importer.tree.placeChild(layer, *forward, "forward_layer");
  importer.tree.placeChild(layer, *backward, "backward_layer");
  return true;
}

bool BidirectionalCall::checkDirections() {
  if (flag(*forward, "go_backwards") != flag(*backward, "go_backwards") &&
      flag(*forward, "return_sequences") == flag(*backward, "return_sequences") &&
      flag(*forward, "return_state") == flag(*backward, "return_state"))
    return true;
  importer.report.error(path,
                        "the layers of Bidirectional must run in opposite directions and agree in "
                        "return_sequences and return_state");
  return false;
}

bool BidirectionalCall::importDirection(const LayerConfig &child, llvm::ArrayRef<Value> initial,
                                        Values &results) {
  Node call;
  call.arguments.push_back(tensorArgument(1));
  Values arguments{sequences};
  if (!initial.empty()) {
    call.keywords.emplace_back("initial_state", tensorArgument(initial.size()));
    llvm::append_range(arguments, initial);
  }
  if (mask) {
    call.keywords.emplace_back("mask", tensorArgument(1));
    arguments.push_back(mask);
  }
  return importer.importLayer(child, &call, join(path, child.name), isTrainable(child, trainable),
                              arguments, results);
}

Value BidirectionalCall::merge(LayerBuilder &b, std::optional<llvm::StringRef> mode) {
  Value y = b.getInputs()[0], reversed = b.getInputs()[1];
  if (flag(*forward, "return_sequences"))
    reversed = b.make<ReverseOp>(reversed, int64_t(flag(*forward, "time_major") ? 0 : 1));
  if (b.shapeOf(y) != b.shapeOf(reversed) && mode != llvm::StringRef("concat") && mode)
    return b.error("both directions of Bidirectional must have equal units to be merged");
  if (!mode) {
    b.addOutput(reversed);
    return y;
  }
  if (*mode == "concat")
    return b.make<ConcatenateOp>(mlir::ValueRange{y, reversed}, b.rankOf(y) - 1);
  if (*mode == "sum")
    return b.make<AddOp>(y, reversed);
  if (*mode == "mul")
    return b.make<MultiplyOp>(y, reversed);
  if (*mode == "ave")
    return b.make<DivideOp>(b.make<AddOp>(y, reversed), b.makeConstant(2.0));
  return b.error("unknown merge_mode '" + *mode + "' of Bidirectional");
}

bool BidirectionalCall::mergeResults(Values &outputs) {
  const llvm::json::Value *configured = layer.config.get("merge_mode");
  const std::optional<llvm::StringRef> mode =
      configured ? configured->getAsString() : std::optional<llvm::StringRef>("concat");
  Value pair[] = {forwardResults.front(), backwardResults.front()};
  Values merged;
  if (!importer.emitLayer(
          layer, nullptr, path, trainable, pair, merged,
          [&](LayerBuilder &b) { return merge(b, mode); }, /*passesMasksOn=*/false))
    return false;
  Value passed = mask ? mask : importer.forward.getMask(sequences);
  for (Value output : merged) {
    outputs.push_back(output);
    if (flag(*forward, "return_sequences") && passed)
      importer.forward.setMask(output, passed);
  }
  return true;
}

bool BidirectionalCall::run(const Node *node, llvm::ArrayRef<Value> inputs, Values &outputs) {
  if (!readArguments(node, inputs) || !findDirections() || !checkDirections())
    return false;
  const llvm::ArrayRef<Value> initial(states);
  const size_t half = initial.size() / 2;
  if (!importDirection(*forward, initial.take_front(half), forwardResults) ||
      !importDirection(*backward, initial.drop_front(half), backwardResults) ||
      !mergeResults(outputs))
    return false;
  // The states after the last step.
  llvm::append_range(outputs, llvm::drop_begin(forwardResults));
  llvm::append_range(outputs, llvm::drop_begin(backwardResults));
  return true;
}

bool importBidirectional(GraphImporter &importer, const LayerConfig &layer, const Node *node,
                         llvm::StringRef path, bool trainable, llvm::ArrayRef<Value> inputs,
                         Values &outputs) {
  return BidirectionalCall(importer, layer, path, trainable).run(node, inputs, outputs);
}

/// Whether the layer, or one inside it, renews statistics of the batch that it is called with.
bool hasBatchStatistics(const LayerConfig &layer) {
  auto isOne = [](llvm::StringRef name) {
    return name == "BatchNormalization" || name == "SyncBatchNormalization" ||
           name == "SpectralNormalization";
  };
  const llvm::json::Object *inner = layer.config.getObject("layer");
  for (unsigned depth = 0; inner && depth < 64; ++depth) {
    if (isOne(inner->getString("class_name").value_or("")))
      return true;
    const llvm::json::Object *config = inner->getObject("config");
    inner = config ? config->getObject("layer") : nullptr;
  }
  return isOne(layer.className) ||
         (layer.model && llvm::any_of(layer.model->layers, hasBatchStatistics));
}

/// Keras 2 hands all steps to the layer at once, as samples of the batch, unless the Input says how
/// many samples there are.
bool joinsSteps(const LayerConfig &layer, Value x) {
  return layer.version.isKeras2() && mlir::ShapedType::isDynamic(tensorTypeOf(x).getDimSize(0));
}

constexpr int64_t kLastAxis = -1;

/// Statistics over all steps: the steps become part of the places, where channels are last.
Value normalizeJoinedSteps(LayerBuilder &b, const LayerConfig &child, const LayerEntry &entry,
                           Value x, Value mask) {
  llvm::SmallVector<int64_t> shape(b.shapeOf(x)), joined(shape);
  if (shape.size() > 3) {
    joined.erase(joined.begin() + 1);
    joined[1] *= shape[1];
  }
  LayerBuilder inner(b, child, "", "layer", {b.makeReshape(x, joined)});
  if (mask)
    inner.giveMask(mask);
  Value y = entry.import(inner);
  return y ? b.makeReshape(y, shape) : Value();
}

/// The mask of the result: the layer's own, or, where it has none, which steps have any.
Value maskOfJoinedSteps(LayerBuilder &b, const LayerEntry &entry, Value mask, Value own) {
  if (own || !mask || entry.masking == Masking::PassesOn)
    return own ? own : mask;
  while (b.rankOf(mask) > 2)
    mask =
        b.make<ReduceOp>(ReduceKind::Any, mask, llvm::ArrayRef<int64_t>{b.rankOf(mask) - 1}, false);
  return mask;
}

/// The wrapped layer's call, without its __call__: in the wrapper's dtype
/// (keras/src/layers/rnn/time_distributed.py).
Value importSteps(LayerBuilder &b, const LayerConfig &child, const LayerEntry &entry) {
  llvm::ArrayRef<Value> given = b.getArgument(0, "inputs");
  if (given.size() != 1 || b.rankOf(given.front()) < 3)
    return b.error("TimeDistributed takes one tensor of at least 3 dimensions");
  Value x = given.front(), mask = b.getMask(1);
  const int64_t steps = b.shapeOf(x)[1];
  if (mask && (b.rankOf(mask) < 2 || b.shapeOf(mask)[1] != steps))
    return b.error("the mask of TimeDistributed must have the shape (batch, steps, …)");
  const bool joins = joinsSteps(b.layer, x);
  if (Value passed = mask ? mask : b.getMaskOf(x))
    b.setMask(0, joins ? maskOfJoinedSteps(b, entry, passed, {}) : passed);
  if (joins && b.trainable && hasBatchStatistics(child)) {
    const bool isSimple = llvm::StringRef(child.className).ends_with("BatchNormalization");
    if (isSimple && child.config.getInteger("axis") == kLastAxis)
      return normalizeJoinedSteps(b, child, entry, x, mask);
    b.setInferenceOnly("TimeDistributed of statistics of all steps together");
  }
  const llvm::json::Value *noise = child.config.get("noise_shape");
  const bool isFree = entry.onLastAxis && (!noise || noise->kind() == llvm::json::Value::Null);
  if (isFree) {
    LayerBuilder inner(b, child, "", "layer", {x});
    inner.giveMask(mask);
    Value result;
    importForEveryStep(*x.getParentBlock(), [&] { result = entry.import(inner); });
    if (joins && inner.getOutputMask())
      b.setMask(0, inner.getOutputMask());
    return result;
  }
  Values scanned{x};
  if (mask)
    scanned.push_back(mask);
  ScanBuilder scan(b.builder, b.location, {}, scanned, steps, /*reverse=*/false);
  LayerBuilder inner(b, child, "", "layer", {scan.getSlices().front()});
  if (mask)
    inner.giveMask(scan.getSlices().back());
  Value result = entry.import(inner);
  if (!result || b.hasFailed())
    return {};
  return b.finishSteps(scan, {result}).getStacked().front();
}

bool importTimeDistributed(GraphImporter &importer, const LayerConfig &layer, const Node *node,
                           llvm::StringRef path, bool trainable, llvm::ArrayRef<Value> inputs,
                           Values &outputs) {
  // A number of the last axis counts those of a step.
  auto adjust = [&](LayerConfig &child) {
    if (!inputs.empty() &&
        child.config.getInteger("axis") == tensorTypeOf(inputs.front()).getRank() - 2 &&
        llvm::StringRef(child.className).ends_with("BatchNormalization"))
      child.config["axis"] = kLastAxis;
  };
  const LayerConfig *child = importer.tree.getChild(layer, path, "layer", std::nullopt, adjust);
  if (!child)
    return false;
  importer.tree.placeChild(layer, *child, "layer");
  const LayerEntry *entry = child->model ? nullptr : findLayer(*child);
  if (!child->model && !entry) {
    importer.report.error(path, "TimeDistributed wraps the layer class '" + child->className +
                                    "', which is not supported");
    return false;
  }
  if (entry && entry->import)
    return importer.emitLayer(
        layer, node, path, trainable, inputs, outputs,
        [&](LayerBuilder &b) { return importSteps(b, *child, *entry); }, /*passesMasksOn=*/false);
  if (!inputs.empty() && joinsSteps(layer, inputs.front()) && hasBatchStatistics(*child))
    importer.noteInferenceOnly(path, "TimeDistributed of statistics of all steps together");
  // Models, wrappers and composites consist of layers with policies of their own.
  if (inputs.size() != 1 || tensorTypeOf(inputs.front()).getRank() < 3) {
    importer.report.error(path,
                          "TimeDistributed of a model takes one tensor of at least 3 dimensions, "
                          "without a mask");
    return false;
  }
  if (!importer.importStepwise(*child, nullptr, join(path, child->name), trainable, inputs.front(),
                               outputs))
    return false;
  if (Value mask = importer.forward.getMask(inputs.front()))
    for (Value output : outputs)
      importer.forward.setMask(output, mask);
  return true;
}

constexpr LayerEntry kRecurrentWrappers[] = {
    {"Bidirectional", nullptr, Masking::Stops, importBidirectional},
    {"TimeDistributed", nullptr, Masking::Stops, importTimeDistributed},
};

} // namespace

llvm::ArrayRef<LayerEntry> recurrentWrappers() { return kRecurrentWrappers; }

} // namespace mpc::keras
