// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Functional model: the calls of its layers in dependency order, and the arrays that they take.
#include "ArrayLiteral.h"
#include "CallOrder.h"
#include "GraphImporter.h"

#include "LayerRegistry.h"
#include "Operations/OperationBuilder.h"

#include <map>
#include <set>

namespace mpc::keras {

using mlir::Value;

Value GraphImporter::importArray(const llvm::json::Object &array, llvm::StringRef path) {
  const mlir::DenseElementsAttr elements = readArrayObject(builder, array);
  if (elements && !elements.empty())
    return ConstantOp::create(builder, mlir::NameLoc::get(builder.getStringAttr(path)),
                              llvm::cast<mlir::ElementsAttr>(elements));
  report(path,
         "a constant array is passed that is empty or not readable; expected numbers or truth "
         "values of equal rows, in a dtype that mpc has");
  return {};
}

struct GraphImporter::Call {
  const LayerConfig *layer;
  const Node *node;                       ///< null for an InputLayer
  std::vector<const TensorRef *> tensors; ///< in the order of the layer's inputs
  unsigned waiting = 0;                   ///< tensors that are not computed yet
  std::vector<unsigned> consumers;        ///< calls, once per tensor that they take
  bool done = false;
  Values results;
};

namespace {

using TensorKey = std::tuple<llvm::StringRef, uint64_t, uint64_t>;
TensorKey keyOf(const TensorRef &tensor) { return {tensor.layer, tensor.node, tensor.tensor}; }

} // namespace

/// Whether the call takes masks off its arguments, or gives them others (a
/// nested model that is called with some): layers that read these later find what it left.
bool GraphImporter::changesMasks(const Call &call) {
  const LayerEntry *entry = findLayer(*call.layer);
  return call.node &&
         ((entry && entry->masking == Masking::TakesOff) ||
          (call.layer->model && llvm::any_of(call.node->keywords, [](const auto &entry) {
             return entry.first == "mask" && !entry.second.tensors().empty();
           })));
}

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
      calls.push_back({&layer, nullptr, {}, 0, {}, false, {}});
      continue;
    }
    for (const auto &[number, node] : llvm::enumerate(layer.calls)) {
      Call call{&layer, &node, {}, 0, {}, false, {}};
      for (const Argument &argument : node.arguments)
        llvm::append_range(call.tensors, argument.tensors());
      for (const Argument &argument : llvm::make_second_range(node.keywords))
        llvm::append_range(call.tensors, argument.tensors());
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
      if (tensor->array)
        continue;
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

  // Every Keras counts the calls of a nested Functional model from 1 in output_layers; reading, it
  // takes the last one for 0 (functional_from_config, get_tensor).
  auto lookupOutput = [&](const TensorRef &tensor) -> Call * {
    auto layer = llvm::find_if(
        model.layers, [&](const LayerConfig &layer) { return layer.name == tensor.layer; });
    if (layer == model.layers.end() || !layer->model || layer->calls.empty() ||
        layer->model->kind != ModelConfig::Kind::Functional)
      return lookup(tensor);
    TensorRef called = tensor;
    called.node = tensor.node ? tensor.node - 1 : layer->calls.size() - 1;
    return lookup(called);
  };

  // A layer's calls wait for those that Keras runs before.
  if (!good)
    return false;
  std::vector<OrderedCall> ordered;
  llvm::SmallVector<unsigned> ends;
  auto numberOf = [&](const Call *call) { return unsigned(call - calls.data()); };
  for (const Call &call : calls) {
    ordered.push_back({call.layer, {}});
    for (const TensorRef *tensor : call.tensors)
      if (!tensor->array)
        ordered.back().producers.push_back(numberOf(lookup(*tensor)));
  }
  for (const TensorRef *tensor : model.outputs.tensors())
    if (const Call *producer = lookupOutput(*tensor))
      ends.push_back(numberOf(producer));
  auto runAfter = [&](unsigned before, unsigned number) {
    calls[before].consumers.push_back(number);
    ++calls[number].waiting;
  };
  std::set<TensorKey> remasked; // tensors whose masks are others after a call that takes them
  for (const Call &call : calls)
    if (changesMasks(call))
      for (const TensorRef *tensor : call.tensors)
        if (!tensor->array)
          remasked.insert(keyOf(*tensor));
  llvm::DenseMap<const LayerConfig *, unsigned> previous;
  std::map<TensorKey, unsigned> lastReader;
  for (unsigned number : orderCalls(ordered, ends)) {
    if (auto [before, isFirst] = previous.try_emplace(calls[number].layer, number); !isFirst)
      runAfter(std::exchange(before->second, number), number);
    for (const TensorRef *tensor : calls[number].tensors) {
      if (tensor->array || !remasked.count(keyOf(*tensor)))
        continue;
      auto [before, isFirst] = lastReader.try_emplace(keyOf(*tensor), number);
      if (!isFirst && before->second != number)
        runAfter(std::exchange(before->second, number), number);
    }
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
      if (tensor->array) {
        if (Value array = importArray(*tensor->array, place))
          arguments.push_back(array);
        continue;
      }
      Call *producer = lookup(*tensor);
      if (tensor->tensor < producer->results.size())
        arguments.push_back(producer->results[tensor->tensor]);
      else
        complain(place, "an input is an output that its layer does not have");
    }
    if (arguments.size() != call.tensors.size())
      continue;
    if (call.node && isOperation(*call.layer)
            ? importOperation(*call.layer, *call.node, place, arguments, call.results)
            : importCall(*call.layer, call.node, place, trainable, arguments, call.results))
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
    Call *producer = lookupOutput(*tensor);
    if (producer && tensor->tensor < producer->results.size())
      outputs.push_back(producer->results[tensor->tensor]);
    else
      complain(path.str(), "the model's output '" + tensor->layer + "' is not computed");
  }
  return good;
}

} // namespace mpc::keras
