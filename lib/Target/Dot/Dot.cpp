// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Export of IR as a Graphviz graph in which narrow element types are visible at a glance.
#include "mpc/Target/Dot.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "mpc/InitAll.h"
#include "runtime/untrusted/outlets.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

static std::string text(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}

static StringRef colorOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isBF16() || element.isF16())
    return "lightskyblue";
  if (element.isF64())
    return "plum";
  if (isa<FloatType>(element))
    return "palegoldenrod";
  return "lightgray";
}

namespace {
class DotWriter {
public:
  explicit DotWriter(llvm::raw_ostream &os) : os(os) {}

  void writeFunction(func::FuncOp function) {
    os << "  subgraph cluster_" << clusters++ << " {\n    label=\"@"
       << untrusted::forDot(function.getName()) << "\";\n";
    for (BlockArgument argument : function.getArguments()) {
      std::string name = "argument " + std::to_string(argument.getArgNumber());
      for (NamedAttribute attribute :
           function_interface_impl::getArgAttrs(function, argument.getArgNumber()))
        llvm::raw_string_ostream(name) << " " << attribute.getValue();
      writeNode(name, argument.getType(), "ellipse");
      nodes[argument] = nextNode - 1;
    }
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != function)
        writeOp(op);
    });
    os << "  }\n";
  }

private:
  void writeNode(StringRef label, Type type, StringRef shape) {
    os << "    n" << nextNode++ << " [label=\"" << untrusted::forDot(label) << "\", shape=" << shape
       << ", style=filled, fillcolor=" << colorOf(type) << "];\n";
  }

  void writeOp(Operation *op) {
    std::string label = op->getName().getStringRef().str();
    op->getLoc()->walk([&](Location loc) {
      if (auto named = dyn_cast<NameLoc>(loc))
        label += " (" + named.getName().str() + ")";
      return WalkResult::advance();
    });
    writeNode(label,
              op->getNumResults() ? op->getResult(0).getType() : NoneType::get(op->getContext()),
              "box");
    size_t node = nextNode - 1;
    for (Value result : op->getResults())
      nodes[result] = node;
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        nodes[argument] = node;
    for (Value operand : op->getOperands())
      if (auto from = nodes.find(operand); from != nodes.end())
        os << "    n" << from->second << " -> n" << node << " [label=\""
           << untrusted::forDot(text(operand.getType())) << "\"];\n";
  }

  llvm::raw_ostream &os;
  llvm::DenseMap<Value, size_t> nodes;
  size_t nextNode = 0, clusters = 0;
};
} // namespace

void mpc::exportDot(ModuleOp module, llvm::raw_ostream &os) {
  os << "digraph mpc {\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n";
  DotWriter writer(os);
  for (auto function : module.getOps<func::FuncOp>())
    writer.writeFunction(function);
  os << "}\n";
}

void mpc::registerExportDot(std::function<void(DialectRegistry &)> extend) {
  auto addDialects = [extend = std::move(extend)](DialectRegistry &registry) {
    registerAllDialects(registry);
    extend(registry);
  };
  using Export = LogicalResult (*)(ModuleOp, llvm::raw_ostream &);
  auto of = [](Export exportModule) {
    return [exportModule](Operation *op, llvm::raw_ostream &os) -> LogicalResult {
      if (auto module = dyn_cast<ModuleOp>(op))
        return exportModule(module, os);
      return op->emitError("expected a module");
    };
  };
  auto ops = [](ModuleOp module, llvm::raw_ostream &os) {
    exportDot(module, os);
    return success();
  };
  static TranslateFromMLIRRegistration byOp(
      "export-dot",
      "write the module's functions as a Graphviz graph, a node per op (=ops) or a "
      "node per layer (=layers)",
      of(ops), addDialects);
  static TranslateFromMLIRRegistration byLayer(
      "export-dot-layers", "the same as --export-dot=layers", of(exportLayersDot), addDialects);
  static TranslateFromMLIRRegistration picture(
      "export-svg", "write a picture of the layers as SVG, to standard output or =FILE",
      of(exportLayersSvg), addDialects);
}
