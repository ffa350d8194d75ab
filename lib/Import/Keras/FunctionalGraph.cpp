// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Functional model: the calls of its layers in dependency order, and the arrays that they take.
#include "lib/Import/Keras/ArrayLiteral.h"
#include "lib/Import/Keras/CallOrder.h"
#include "lib/Import/Keras/GraphImporter.h"

#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Legacy/TensorFlowNodes.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include <map>
#include <set>

namespace mpc::keras {

using mlir::Value;

namespace {

using Values = llvm::SmallVector<Value>;
using TensorKey = std::tuple<llvm::StringRef, uint64_t, uint64_t>;
TensorKey keyOf(const TensorRef &tensor) { return {tensor.layer, tensor.node, tensor.tensor}; }

/// A call in a Functional model: its layer and which of the layer's calls it is.
struct Call {
  const LayerConfig *layer;
  const Node *node;                       ///< null for an InputLayer
  std::vector<const TensorRef *> tensors; ///< in the order of the layer's inputs
  unsigned waiting = 0;                   ///< tensors that are not computed yet
  std::vector<unsigned> consumers;        ///< calls, once per tensor that they take
  bool done = false;
  llvm::SmallVector<Value> results;
};

/// Whether the call takes masks off its arguments, or gives them others (a
/// nested model that is called with some): layers that read these later find what it left.
bool changesMasks(const Call &call) {
  const LayerEntry *entry = findLayer(*call.layer);
  return call.node &&
         ((entry && entry->masking == Masking::TakesOff && !call.layer->version.isKeras2()) ||
          (call.layer->model && llvm::any_of(call.node->keywords, [](const auto &entry) {
             return entry.first == "mask" && !entry.second.tensors().empty();
           })));
}

/// One Functional model on its way into @forward. The steps stand in the order in which import
/// takes them.
class FunctionalGraph {
public:
  FunctionalGraph(GraphImporter &importer, const ModelConfig &model, llvm::StringRef path,
                  bool trainable)
      : importer(importer), model(model), path(path), trainable(trainable) {}

  /// `inputs`: what a nested model is called with; none for the root. False where an output is
  /// missing after an error.
  bool import(llvm::ArrayRef<Value> inputs, Values &outputs) {
    collectCalls();
    linkConsumers();
    checkInputs(inputs);
    if (!good)
      return false;
    importInputs(inputs);
    if (!good)
      return false;
    orderCallsAsKeras();
    runCalls();
    gatherOutputs(outputs);
    return good;
  }

private:
  void collectCalls();
  void linkConsumers();
  void checkInputs(llvm::ArrayRef<Value> inputs);
  void importInputs(llvm::ArrayRef<Value> inputs);
  void orderCallsAsKeras();
  void runCalls();
  bool runCall(Call &call);
  /// A constant array that a layer is called with, in @forward; null after an error.
  Value importArray(const llvm::json::Object &array, llvm::StringRef place);
  bool runTimesBatch(Call &call, const std::string &place, llvm::ArrayRef<Value> arguments);
  void gatherOutputs(Values &outputs);

  Call *lookup(const TensorRef &tensor) {
    auto found = numbers.find({tensor.layer, tensor.node});
    return found == numbers.end() ? nullptr : &calls[found->second];
  }
  Call *lookupOutput(const TensorRef &tensor);
  unsigned numberOf(const Call *call) const { return unsigned(call - calls.data()); }
  std::string placeOf(const Call &call) const { return join(path, call.layer->name); }
  void runAfter(unsigned before, unsigned number) {
    calls[before].consumers.push_back(number);
    ++calls[number].waiting;
  }
  void complain(const std::string &place, const llvm::Twine &message) {
    importer.report.error(place, message);
    good = false;
  }

  GraphImporter &importer;
  const ModelConfig &model;
  const std::string path;
  const bool trainable;
  std::vector<Call> calls; ///< in file order
  /// A layer's name and the number of its call, to the place in `calls`.
  std::map<std::pair<llvm::StringRef, uint64_t>, unsigned> numbers;
  bool complete = true; ///< every call that ran has results
  bool good = true;
};

/// Every call of every layer. An InputLayer is one call without tensors.
void FunctionalGraph::collectCalls() {
  for (const LayerConfig &layer : model.layers) {
    if (layer.className == "InputLayer" || layer.calls.empty()) {
      numbers[{layer.name, 0}] = unsigned(calls.size());
      calls.push_back({&layer, nullptr, {}, 0, {}, false, {}});
      continue;
    }
    for (const auto &[number, node] : llvm::enumerate(layer.calls)) {
      Call call{&layer, &node, {}, 0, {}, false, {}};
      for (const Argument &argument : node.arguments)
        llvm::append_range(call.tensors, argument.tensors());
      for (const Argument &argument : llvm::make_second_range(node.keywords))
        llvm::append_range(call.tensors, argument.tensors());
      numbers[{layer.name, number}] = unsigned(calls.size());
      calls.push_back(std::move(call));
    }
  }
}

void FunctionalGraph::linkConsumers() {
  for (unsigned number = 0; number < calls.size(); ++number)
    for (const TensorRef *tensor : calls[number].tensors) {
      if (tensor->array)
        continue;
      if (const Call *producer = lookup(*tensor))
        runAfter(numberOf(producer), number);
      else
        complain(placeOf(calls[number]), "an input is call " + llvm::Twine(tensor->node) +
                                             " of layer '" + tensor->layer +
                                             "', which the model does not have");
    }
}

void FunctionalGraph::checkInputs(llvm::ArrayRef<Value> inputs) {
  const size_t declared = model.inputs.tensors().size();
  if (!inputs.empty() && declared != inputs.size())
    complain(path, "the nested model takes " + llvm::Twine(declared) +
                       " tensors but is called with " + llvm::Twine(inputs.size()));
  if (!declared)
    complain(path, "the model has no inputs");
}

/// In the order of the signature.
void FunctionalGraph::importInputs(llvm::ArrayRef<Value> inputs) {
  for (const auto &[position, tensor] : llvm::enumerate(model.inputs.tensors())) {
    Call *input = lookup(*tensor);
    if (!input || input->layer->className != "InputLayer" || input->done) {
      complain(path,
               "the model's input '" + tensor->layer + "' is no InputLayer of its own, used once");
      continue;
    }
    input->done = true;
    if (Value value = importer.modelInputs.import(*input->layer, placeOf(*input),
                                                  inputs.empty() ? Value() : inputs[position]))
      input->results.push_back(value);
    else
      complete = false;
  }
}

/// Every Keras counts the calls of a nested Functional model from 1 in output_layers; reading, it
/// takes the last one for 0 (functional_from_config, get_tensor).
Call *FunctionalGraph::lookupOutput(const TensorRef &tensor) {
  auto layer = llvm::find_if(model.layers,
                             [&](const LayerConfig &layer) { return layer.name == tensor.layer; });
  if (layer == model.layers.end() || !layer->model || layer->calls.empty() ||
      layer->model->kind != ModelConfig::Kind::Functional)
    return lookup(tensor);
  TensorRef called = tensor;
  called.node = tensor.node ? tensor.node - 1 : layer->calls.size() - 1;
  return lookup(called);
}

/// A layer's calls wait for those of the same layer that Keras runs before, and calls that take a
/// tensor whose mask another call changes run in Keras's order.
void FunctionalGraph::orderCallsAsKeras() {
  std::vector<OrderedCall> ordered;
  std::set<TensorKey> remasked; // tensors whose masks are others after a call that takes them
  for (const Call &call : calls) {
    ordered.push_back({call.layer, {}});
    const bool changes = changesMasks(call);
    for (const TensorRef *tensor : call.tensors) {
      if (tensor->array)
        continue;
      ordered.back().producers.push_back(numberOf(lookup(*tensor)));
      if (changes)
        remasked.insert(keyOf(*tensor));
    }
  }
  llvm::SmallVector<unsigned> ends;
  for (const TensorRef *tensor : model.outputs.tensors())
    if (const Call *producer = lookupOutput(*tensor))
      ends.push_back(numberOf(producer));

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
}

/// Ready calls in file order, so that the same file gives the same IR.
void FunctionalGraph::runCalls() {
  std::set<unsigned> ready;
  auto finishCall = [&](const Call &call) {
    for (unsigned consumer : call.consumers)
      if (--calls[consumer].waiting == 0)
        ready.insert(consumer);
  };
  for (const Call &call : calls)
    if (call.done && !call.results.empty())
      finishCall(call);
    else if (call.node && call.tensors.empty() && isTensorFlowClass(call.layer->className))
      ready.insert(numberOf(&call)); // a function of constants
  while (!ready.empty()) {
    Call &call = calls[*ready.begin()];
    ready.erase(ready.begin());
    call.done = true;
    if (runCall(call))
      finishCall(call);
    else
      complete = false;
  }
}

Value FunctionalGraph::importArray(const llvm::json::Object &array, llvm::StringRef place) {
  mlir::OpBuilder &builder = importer.forward.builder;
  const mlir::DenseElementsAttr elements = readArrayObject(builder, array);
  if (elements && !elements.empty())
    return ConstantOp::create(builder, mlir::NameLoc::get(builder.getStringAttr(place)),
                              llvm::cast<mlir::ElementsAttr>(elements));
  importer.report.error(place, "a constant array is passed that is empty or not readable; expected "
                               "numbers or truth values of equal rows, in a dtype that mpc has");
  return {};
}

/// Whether the call has results.
bool FunctionalGraph::runCall(Call &call) {
  const std::string place = placeOf(call);
  Values arguments;
  for (const TensorRef *tensor : call.tensors) {
    if (tensor->array) {
      if (Value array = importArray(*tensor->array, place))
        arguments.push_back(array);
      continue;
    }
    const Call *producer = lookup(*tensor);
    if (tensor->tensor < producer->results.size())
      arguments.push_back(producer->results[tensor->tensor]);
    else
      complain(place, "an input is an output that its layer does not have");
  }
  if (arguments.size() != call.tensors.size())
    return false;
  if (call.node && isOperation(*call.layer))
    return importer.importOperation(*call.layer, *call.node, place, arguments, call.results);
  if (llvm::any_of(arguments, [&](Value argument) {
        return !importer.forward.batchPlaces.get(argument).isFirst();
      }))
    return runTimesBatch(call, place, arguments);
  return importer.importCall(*call.layer, call.node, place, trainable, arguments, call.results);
}

/// A layer of tensors whose first dimension is a multiple of the batch: the layer at each of its
/// places.
bool FunctionalGraph::runTimesBatch(Call &call, const std::string &place,
                                    llvm::ArrayRef<Value> arguments) {
  const LayerConfig &layer = *call.layer;
  BatchPlaces &places = importer.forward.batchPlaces;
  const std::optional<int64_t> times = places.getTimesBatch(arguments.front());
  const bool areAlike = llvm::all_of(arguments, [&](Value argument) {
    return places.getTimesBatch(argument) == times &&
           tensorTypeOf(argument).getRank() == tensorTypeOf(arguments.front()).getRank();
  });
  if (!times || !areAlike || layer.className == "BatchNormalization") {
    complain(place,
             "the layer takes a tensor that has the batch together with another axis, or not as "
             "the first one. Layers without statistics of the batch take tensors whose first "
             "dimension is one multiple of it; keep the batch as a dimension of its own");
    return false;
  }
  const LayerEntry *entry = layer.model ? nullptr : findLayer(layer);
  const bool isAlike = entry && entry->onLastAxis && !layer.config.get("noise_shape");
  const bool hasResults =
      isAlike
          ? importer.importCall(layer, call.node, place, trainable, arguments, call.results)
          : importer.importStepwise(layer, call.node, place, trainable, arguments, call.results);
  for (Value result : call.results)
    places.setTimesBatch(result, *times);
  return hasResults;
}

/// Outputs behind a call that failed are missing for that reason alone, and are not told.
void FunctionalGraph::gatherOutputs(Values &outputs) {
  for (const Call &call : calls)
    if (!call.done && complete)
      complain(placeOf(call), "the layer is never reached from the model's inputs (a cycle, or an "
                              "InputLayer that is no input)");
  for (const TensorRef *tensor : model.outputs.tensors()) {
    const Call *producer = lookupOutput(*tensor);
    if (producer && tensor->tensor < producer->results.size()) {
      outputs.push_back(producer->results[tensor->tensor]);
      if (!importer.forward.batchPlaces.get(outputs.back()).isFirst())
        complain(path, "the model's output '" + tensor->layer +
                           "' has the batch together with another axis, or not as the first one; "
                           "reshape it so that the first dimension is the batch");
    } else if (complete)
      complain(path, "the model's output '" + tensor->layer + "' is not computed");
    else
      good = false;
  }
}

} // namespace

bool GraphImporter::importFunctional(const ModelConfig &model, llvm::StringRef path, bool trainable,
                                     llvm::ArrayRef<Value> inputs, Values &outputs) {
  return FunctionalGraph(*this, model, path, trainable).import(inputs, outputs);
}

} // namespace mpc::keras
