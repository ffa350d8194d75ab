// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/rnn: Bidirectional, TimeDistributed.
#include "../GraphImporter.h"
#include "../LayerRegistry.h"
#include "../ScanBuilder.h"

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

/// Both directions are layers of their own, with their policies; the wrapper's layer casts and
/// merges what they return (keras/src/layers/rnn/bidirectional.py).
bool importBidirectional(GraphImporter &importer, const LayerConfig &layer, const Node *node,
                         llvm::StringRef path, bool trainable, llvm::ArrayRef<Value> inputs,
                         Values &outputs) {
  // Arguments: sequences, initial_state, mask.
  Values states;
  Value mask;
  size_t next = 1;
  if (node) {
    unsigned position = 0;
    auto take = [&](llvm::StringRef name, const Argument &argument) {
      const size_t count = argument.tensors().size();
      if (name == "initial_state")
        llvm::append_range(states, inputs.slice(next, count));
      else if (name == "mask" && count == 1)
        mask = inputs[next];
      else if (count > 0)
        importer.report(path, "a tensor is passed to Bidirectional as the argument '" + name +
                                  "', which is not supported");
      next += count;
    };
    constexpr llvm::StringLiteral names[] = {"sequences", "initial_state", "mask"};
    for (const Argument &argument : node->arguments)
      if (position++ > 0)
        take(names[std::min(position - 1, 2u)], argument);
    bool isFirst = node->arguments.empty();
    for (const auto &[keyword, argument] : node->keywords) {
      if (argument.tensors().empty())
        continue;
      if (!isFirst)
        take(keyword, argument);
      isFirst = false;
    }
  }
  if (next != inputs.size()) {
    importer.report(path, "Bidirectional takes one tensor of sequences");
    return false;
  }
  if (states.size() % 2 != 0) {
    importer.report(path, "initial_state of Bidirectional must hold the states of both directions");
    return false;
  }
  if (!mask && states.empty())
    mask = importer.getMask(inputs.front());

  auto adjust = [](LayerConfig &child) {
    child.config["zero_output_for_mask"] =
        child.config.getBoolean("return_sequences").value_or(false);
  };
  const LayerConfig *forward = importer.getChild(layer, path, "layer", std::nullopt, adjust);
  const LayerConfig *backward =
      importer.getChild(layer, path, "backward_layer", std::nullopt, adjust);
  if (!forward || !backward)
    return false;
  importer.placeChild(layer, *forward, "forward_layer");
  importer.placeChild(layer, *backward, "backward_layer");
  auto flag = [](const LayerConfig &child, llvm::StringRef key) {
    return child.config.getBoolean(key).value_or(false);
  };
  if (flag(*forward, "go_backwards") == flag(*backward, "go_backwards") ||
      flag(*forward, "return_sequences") != flag(*backward, "return_sequences") ||
      flag(*forward, "return_state") != flag(*backward, "return_state")) {
    importer.report(path,
                    "the layers of Bidirectional must run in opposite directions and agree in "
                    "return_sequences and return_state");
    return false;
  }

  const size_t half = states.size() / 2;
  Values results[2];
  for (int direction = 0; direction < 2; ++direction) {
    const LayerConfig &child = direction ? *backward : *forward;
    Node call;
    call.arguments.push_back(tensorArgument(1));
    Values arguments{inputs.front()};
    if (half > 0) {
      call.keywords.emplace_back("initial_state", tensorArgument(half));
      llvm::append_range(arguments, llvm::ArrayRef(states).slice(direction * half, half));
    }
    if (mask) {
      call.keywords.emplace_back("mask", tensorArgument(1));
      arguments.push_back(mask);
    }
    if (!importer.importLayer(child, &call, join(path, child.name),
                              trainable && child.config.getBoolean("trainable").value_or(true),
                              arguments, results[direction]))
      return false;
  }

  const bool sequences = flag(*forward, "return_sequences");
  const llvm::json::Value *configured = layer.config.get("merge_mode");
  const std::optional<llvm::StringRef> mode =
      configured ? configured->getAsString() : std::optional<llvm::StringRef>("concat");
  Value pair[] = {results[0].front(), results[1].front()};
  Values merged;
  auto merge = [&](LayerBuilder &b) -> Value {
    Value y = b.getInputs()[0], reversed = b.getInputs()[1];
    if (sequences)
      reversed = b.make<ReverseOp>(reversed, int64_t(1));
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
  };
  if (!importer.emitLayer(layer, nullptr, path, trainable, pair, merged, merge,
                          /*passesMasksOn=*/false))
    return false;
  Value passed = mask ? mask : importer.getMask(inputs.front());
  for (Value output : merged) {
    outputs.push_back(output);
    if (sequences && passed)
      importer.setMask(output, passed);
  }
  for (const Values &direction : results)
    llvm::append_range(outputs, llvm::drop_begin(direction));
  return true;
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
  if (Value passed = mask ? mask : b.getMaskOf(x))
    b.setMask(0, passed);
  const llvm::json::Value *noise = child.config.get("noise_shape");
  const bool isFree = entry.onLastAxis && (!noise || noise->kind() == llvm::json::Value::Null);
  if (isFree) {
    LayerBuilder inner(b, child, "", "layer", {x});
    inner.giveMask(mask);
    Value result;
    importForEveryStep(*x.getParentBlock(), [&] { result = entry.import(inner); });
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
  const LayerConfig *child = importer.getChild(layer, path, "layer");
  if (!child)
    return false;
  importer.placeChild(layer, *child, "layer");
  const LayerEntry *entry = child->model ? nullptr : findLayer(*child);
  if (!child->model && !entry) {
    importer.report(path, "TimeDistributed wraps the layer class '" + child->className +
                              "', which is not supported");
    return false;
  }
  if (entry && entry->import)
    return importer.emitLayer(
        layer, node, path, trainable, inputs, outputs,
        [&](LayerBuilder &b) { return importSteps(b, *child, *entry); }, /*passesMasksOn=*/false);
  // Models, wrappers and composites consist of layers with policies of their own.
  if (inputs.size() != 1 || tensorTypeOf(inputs.front()).getRank() < 3) {
    importer.report(path, "TimeDistributed of a model takes one tensor of at least 3 dimensions, "
                          "without a mask");
    return false;
  }
  if (!importer.importStepwise(*child, join(path, child->name), trainable, inputs.front(), outputs))
    return false;
  if (Value mask = importer.getMask(inputs.front()))
    for (Value output : outputs)
      importer.setMask(output, mask);
  return true;
}

constexpr LayerEntry kRecurrentWrappers[] = {
    {"Bidirectional", nullptr, Masking::Stops, importBidirectional},
    {"TimeDistributed", nullptr, Masking::Stops, importTimeDistributed},
};

} // namespace

llvm::ArrayRef<LayerEntry> recurrentWrappers() { return kRecurrentWrappers; }

} // namespace mpc::keras
