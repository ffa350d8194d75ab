// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From IR with layers to boxes and arrows.
#include "lib/Target/Picture/LayerGraph.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpc/Pipelines/Phases.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>
#include <set>

using namespace mlir;
using namespace mpc;
using namespace mpc::picture;

const char *mpc::picture::fillOf(const std::string &dtype) {
  // Colours that stay apart for readers who do not tell red from green.
  static const std::map<std::string, const char *> fills = {
      {"f32", "#fbeec2"}, {"bf16", "#a9d3f5"}, {"f16", "#8fdcc8"}, {"f64", "#d9c2ef"}};
  auto at = fills.find(dtype);
  return at == fills.end() ? "#e4e4e4" : at->second;
}

std::string mpc::picture::groupOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

template <typename T> static std::string printed(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// Keras's way to write a shape: "(None, 784)".
static std::string shapeOf(Type type) {
  std::string text = "(";
  if (auto shaped = dyn_cast<ShapedType>(type))
    for (auto [i, extent] : llvm::enumerate(shaped.getShape()))
      text += (i ? ", " : "") + (ShapedType::isDynamic(extent) ? "None" : std::to_string(extent));
  return text + ")";
}

namespace {
class GraphReader {
public:
  explicit GraphReader(func::FuncOp function) : function(function) {}

  LayerGraph read() {
    for (BlockArgument argument : function.getArguments())
      if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "mpc.input")) {
        const std::string dtype = printed(getElementTypeOrSelf(argument.getType()));
        producers[argument] = graph.boxes.size();
        graph.boxes.push_back(
            {name.str(),
             {name.str() + " (InputLayer)", "output " + shapeOf(argument.getType()), dtype},
             dtype});
      }
    function.walk([&](LayerOp layer) {
      if (layer->getParentOp() == function)
        readLayer(layer);
    });
    return std::move(graph);
  }

private:
  static Type computeType(LayerOp layer) {
    if (PrecisionAttr precision = layer.getPrecisionAttr())
      return precision.getCompute();
    return Float32Type::get(layer.getContext());
  }

  /// The dtype in which a value leaves its layer.
  static Type dtypeOf(Value value) {
    Type own = getElementTypeOrSelf(value.getType());
    auto layer = value.getDefiningOp<LayerOp>();
    return layer && isa<FloatType>(own) ? computeType(layer) : own;
  }

  /// Whether the value is a variable's new one, which no caller of the layer sees.
  static bool isUpdate(Value value) {
    return llvm::any_of(value.getUses(), [](OpOperand &use) {
      auto end = dyn_cast<func::ReturnOp>(use.getOwner());
      return end && end->getParentOfType<func::FuncOp>().getResultAttr(use.getOperandNumber(),
                                                                       MpcDialect::kUpdatesAttr);
    });
  }

  /// A box of each layer, whatever the number of its calls.
  size_t boxOf(LayerOp layer) {
    auto [at, isNew] = boxes.try_emplace(layer.getPath().str(), graph.boxes.size());
    if (!isNew)
      return at->second;
    const std::string compute = printed(computeType(layer));
    Box box{layer.getPath().str(), {}, compute};
    StringRef name = layer.getPath();
    box.lines.push_back((name.rsplit('/').second.empty() ? name : name.rsplit('/').second).str() +
                        " (" + layer.getKind().str() + ")");
    std::string in, out;
    for (Value value : layer.getInputs())
      in += (in.empty() ? "" : ", ") + shapeOf(value.getType());
    for (Value value : layer.getResults())
      if (!isUpdate(value))
        out += (out.empty() ? "" : ", ") + shapeOf(value.getType());
    if (!in.empty())
      box.lines.push_back("input " + in);
    box.lines.push_back("output " + out);
    std::string dtypes = compute;
    PrecisionAttr precision = layer.getPrecisionAttr();
    if (precision && !layer.getVariables().empty() &&
        precision.getVariable() != precision.getCompute())
      dtypes += ", variables " + printed(precision.getVariable());
    box.lines.push_back(dtypes);
    graph.boxes.push_back(std::move(box));
    return at->second;
  }

  void readLayer(LayerOp layer) {
    const size_t box = boxOf(layer);
    llvm::SetVector<Value> pending;
    for (Value value : layer.getInputs())
      pending.insert(value);
    for (size_t i = 0; i < pending.size(); ++i) {
      const Value value = pending[i];
      if (value.getDefiningOp<LayerOp>() || producers.contains(value)) {
        connect(value, layer, box);
        continue;
      }
      if (Operation *between = value.getDefiningOp())
        for (Value operand : between->getOperands())
          pending.insert(operand);
    }
  }

  void connect(Value value, LayerOp layer, size_t box) {
    auto producer = value.getDefiningOp<LayerOp>();
    const size_t from = producer ? boxOf(producer) : producers.lookup(value);
    const Type has = dtypeOf(value), takes = computeType(layer);
    const bool isCast =
        has != takes && layer.getAutocast() && (isa<FloatType>(has) || layer.getCastsIntegers());
    std::string cast = isCast ? printed(has) + " → " + printed(takes) : "";
    if (from != box && known.insert({from, box, cast}).second)
      graph.arrows.push_back({from, box, std::move(cast)});
  }

  func::FuncOp function;
  LayerGraph graph;
  llvm::DenseMap<Value, size_t> producers; // arguments
  std::map<std::string, size_t> boxes;
  std::set<std::tuple<size_t, size_t, std::string>> known;
};
} // namespace

static func::FuncOp findFunctionWithLayers(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !function.getOps<LayerOp>().empty())
      return function;
  return nullptr;
}

FailureOr<LayerGraph> mpc::picture::readLayerGraph(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  func::FuncOp function = findFunctionWithLayers(*copy);
  if (!function) {
    module.emitError("has no layers; expected IR of the phase import or policy, before the casts "
                     "are inserted; make it with mpcc --compile-to=policy");
    return failure();
  }
  auto layers = function.getOps<LayerOp>();
  if (llvm::any_of(layers, [](LayerOp layer) { return !layer.getPrecision(); })) {
    PassManager manager(module.getContext());
    addPhase(manager, Phase::Policy, PipelineOptions());
    if (failed(manager.run(*copy)))
      return failure();
    function = findFunctionWithLayers(*copy);
  }
  return GraphReader(function).read();
}
