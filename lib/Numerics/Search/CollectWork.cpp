// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The work of each layer, counted on IR that still has layers.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpc/Analysis/LayerPath.h"
#include "mpc/Numerics/Search/LayerWork.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;

/// Other extents than the batch that nobody knows: lengths of sequences.
static constexpr int64_t kOpenExtent = 64;

static double countElements(Type type, int64_t batch) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<FloatType>(tensor.getElementType()))
    return 0;
  double count = 1;
  for (auto [i, extent] : llvm::enumerate(tensor.getShape()))
    count *= double(!ShapedType::isDynamic(extent) ? extent : i == 0 ? batch : kOpenExtent);
  return count;
}

/// How often an op of a layer's body runs: once per step of the scans around it.
static double countRuns(Operation *op) {
  double runs = 1;
  for (auto scan = op->getParentOfType<ScanOp>(); scan; scan = scan->getParentOfType<ScanOp>())
    runs *= double(scan.getSteps());
  return runs;
}

/// Multiply-adds of one run of the op; 0 of ops that multiply no matrices.
static double countProducts(Operation *op, int64_t batch) {
  auto elements = [&](Value value) { return countElements(value.getType(), batch); };
  auto perFilter = [&](Value filter) {
    const int64_t filters = tensorTypeOf(filter).getShape().back();
    return elements(filter) / double(std::max<int64_t>(1, filters));
  };
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](ContractOp contract) {
        double terms = 1;
        for (int64_t axis : contract.getLhsContracting()) {
          const int64_t extent = tensorTypeOf(contract.getLhs()).getDimSize(axis);
          terms *= double(ShapedType::isDynamic(extent) ? kOpenExtent : extent);
        }
        return terms * elements(contract.getResult());
      })
      .Case([&](ConvolutionOp convolution) {
        return elements(convolution.getResult()) * perFilter(convolution.getFilter());
      })
      // A transposed convolution: every element of its operand meets every tap.
      .Case([&](ConvolutionInputGradientOp transposed) {
        return elements(transposed->getOperand(0)) * perFilter(transposed->getOperand(1));
      })
      .Default([](Operation *) { return 0.0; });
}

/// Adds the products of an op and of those in it; the elements of their results.
static double addProducts(Operation *outer, int64_t batch, LayerWork &work) {
  double made = 0;
  outer->walk([&](Operation *op) {
    const double products = countProducts(op, batch) * countRuns(op);
    work.products += products;
    if (products > 0)
      made += countElements(op->getResult(0).getType(), batch) * countRuns(op);
  });
  return made;
}

/// Whether the layer's results are its inputs: it reshapes them, or its work is that of layers in
/// it.
static bool isView(LayerOp layer) {
  return llvm::all_of(layer.getBody().front(),
                      [](Operation &op) { return isa<ReshapeOp, YieldOp>(op); });
}

static void addCall(LayerOp layer, int64_t batch, LayerWork &work) {
  if (isView(layer))
    return;
  const double made = addProducts(layer, batch, work);
  double outputs = 0;
  for (Value result : layer.getResults())
    outputs += countElements(result.getType(), batch);
  work.outputs += outputs;
  work.inner += std::max(0.0, made - outputs);
}

namespace {
class WorkCollector {
public:
  explicit WorkCollector(int64_t batch) : batch(batch) {}
  void visit(Operation *op) {
    if (auto layer = dyn_cast<LayerOp>(op))
      visitLayer(layer);
    else
      visitOther(op);
  }
  std::vector<LayerWork> take() { return std::move(layers); }

private:
  LayerWork &findOrAdd(LayerOp layer);
  void visitLayer(LayerOp layer);
  void visitOther(Operation *op);
  std::optional<size_t> findMaker(Value value) const {
    auto maker = makers.find(value);
    return maker == makers.end() ? std::nullopt : std::optional(maker->second);
  }

  int64_t batch;
  std::vector<LayerWork> layers;
  llvm::StringMap<size_t> places;
  llvm::DenseMap<Value, size_t> makers;
};
} // namespace

LayerWork &WorkCollector::findOrAdd(LayerOp layer) {
  auto [place, isNew] = places.try_emplace(layer.getPath(), layers.size());
  if (!isNew)
    return layers[place->second];
  LayerWork &work = layers.emplace_back();
  work.path = layer.getPath().str();
  work.kind = layer.getKind().str();
  // Inputs of models, and what the importer itself decided, are no policy's business.
  work.isDecided = layer.getKind() != "InputLayer" && (layer.getPolicy() || !layer.getPrecision());
  for (Value variable : layer.getVariables())
    work.weights += countElements(variable.getType(), batch);
  if (std::optional<DictionaryAttr> refusals = layer.getRefuses())
    for (NamedAttribute refusal : *refusals)
      work.refused.insert(refusal.getName().str());
  if (std::optional<ArrayAttr> forms = layer.getQuantizedForms())
    for (StringRef form : forms->getAsValueRange<StringAttr>())
      work.quantizedForms.insert(form.str());
  return work;
}

void WorkCollector::visitLayer(LayerOp layer) {
  LayerWork &work = findOrAdd(layer);
  for (Value input : layer.getInputs())
    if (const double elements = countElements(input.getType(), batch); elements > 0)
      work.inputs.push_back({findMaker(input), elements, !isView(layer)});
  addCall(layer, batch, work);
  for (Value result : layer.getResults())
    makers[result] = places.lookup(layer.getPath());
}

/// Ops between the layers inside of a composite one (attention): their work is that layer's, and
/// their results have the dtype of what they read.
void WorkCollector::visitOther(Operation *op) {
  if (auto place = places.find(layerPathOf(op->getLoc())); place != places.end())
    layers[place->second].inner += addProducts(op, batch, layers[place->second]);
  for (Value operand : op->getOperands())
    if (std::optional<size_t> maker = findMaker(operand)) {
      for (Value result : op->getResults())
        makers[result] = *maker;
      return;
    }
}

std::vector<LayerWork> mpc::collectWork(ModuleOp module, int64_t batch) {
  WorkCollector collector(batch);
  if (auto forward = module.lookupSymbol<func::FuncOp>("forward"))
    for (Operation &op : forward.getBody().front())
      collector.visit(&op);
  return collector.take();
}
