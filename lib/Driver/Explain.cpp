// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of decisions: which layer runs in which dtype and why.
#include "lib/Driver/Explain.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>

using namespace mlir;
using namespace mpc;

static std::string text(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}

/// "bf16[?x784] bf16[784x64]"
static std::string shapes(TypeRange types) {
  std::string result;
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    if (!result.empty())
      result += ' ';
    result += text(tensor.getElementType()) + "[";
    for (auto [i, extent] : llvm::enumerate(tensor.getShape()))
      result += (i ? "x" : "") +
                (ShapedType::isDynamic(extent) ? std::string("?") : std::to_string(extent));
    result += "]";
  }
  return result;
}

static std::string layerOf(Location loc) {
  std::string name;
  loc->walk([&](Location inner) {
    if (auto named = dyn_cast<NameLoc>(inner)) {
      name = named.getName().str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return name;
}

void Explanation::recordLayers(ModuleOp module) {
  llvm::StringSet<> seen;
  module.walk([&](LayerOp layer) {
    if (!seen.insert(layer.getPath()).second)
      return;
    Layer row{layer.getPath().str(), layer.getKind().str(), "", "", "", ""};
    if (auto precision = layer.getPrecision()) {
      row.compute = text(precision->getCompute());
      row.variable = layer.getVariables().empty() ? "-" : text(precision->getVariable());
      row.accumulate = text(precision->getAccumulate());
      row.rule = precision->getRule().str();
    }
    layers.push_back(row);
  });
}

void Explanation::recordOps(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(MpcDialect::kEntryAttr))
      continue;
    function.walk([&](Operation *op) {
      if (!isa_and_nonnull<MpcDialect>(op->getDialect()) || op->hasTrait<OpTrait::ConstantLike>() ||
          op->getNumResults() == 0)
        return;
      Op row;
      row.entry = function.getName().str();
      row.layer = layerOf(op->getLoc());
      row.name = op->getName().stripDialect().str();
      row.inputs = shapes(op->getOperandTypes());
      row.output = shapes(op->getResultTypes());
      if (auto precise = dyn_cast<PrecisionOpInterface>(op))
        if (precise.getPrecisionClass() != PrecisionClass::Follow && op->getNumOperands())
          if (auto element = dyn_cast<FloatType>(elementTypeOf(op->getOperand(0))))
            row.accumulate = text(precise.getDefaultAccumulator(element));
      if (auto contract = dyn_cast<ContractOp>(op)) {
        if (auto accumulate = contract.getAccumulate())
          row.accumulate = text(*accumulate);
        row.kernel = "oneDNN matmul";
        if (contract.getBias())
          row.kernel += " + bias";
        if (contract.getActivation() != Activation::None)
          row.kernel += (" + " + stringifyActivation(contract.getActivation())).str();
      } else {
        row.kernel = "generated";
      }
      ops.push_back(row);
    });
  }
}

void Explanation::recordRemark(std::string place, std::string name, std::string remark) {
  decisions.push_back({std::move(place), std::move(name), std::move(remark)});
}

/// Prints rows under a header, columns padded to their widest cell.
static void printColumns(llvm::raw_ostream &os, std::vector<std::vector<std::string>> rows) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto &row : rows)
    for (auto [i, cell] : llvm::enumerate(row))
      widths[i] = std::max(widths[i], cell.size());
  for (auto [r, row] : llvm::enumerate(rows)) {
    for (auto [i, cell] : llvm::enumerate(row))
      os << (i + 1 < row.size() ? llvm::left_justify(cell, widths[i] + 2)
                                : llvm::left_justify(cell, 0));
    os << '\n';
    if (r == 0)
      os << std::string(std::accumulate(widths.begin(), widths.end(), size_t(0)) +
                            2 * (widths.size() - 1),
                        '-')
         << '\n';
  }
}

void Explanation::printTable(llvm::raw_ostream &os) const {
  std::vector<std::vector<std::string>> rows{
      {"layer", "class", "compute", "variables", "accumulate", "decided by"}};
  for (const Layer &layer : layers)
    rows.push_back(
        {layer.path, layer.kind, layer.compute, layer.variable, layer.accumulate, layer.rule});
  printColumns(os, rows);
  llvm::SetVector<StringRef> entries;
  for (const Op &op : ops)
    entries.insert(op.entry);
  for (StringRef entry : entries) {
    os << "\n@" << entry << '\n';
    rows = {{"layer", "op", "inputs", "accumulate", "output", "kernel"}};
    for (const Op &op : ops)
      if (op.entry == entry)
        rows.push_back({op.layer, op.name, op.inputs, op.accumulate, op.output, op.kernel});
    printColumns(os, rows);
  }
  if (decisions.empty())
    return;
  os << "\ndecisions\n";
  rows = {{"place", "decision", "reason"}};
  for (const Decision &decision : decisions)
    rows.push_back({decision.place, decision.name, decision.text});
  printColumns(os, rows);
}

void Explanation::printJson(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os, 1);
  json.object([&] {
    json.attributeArray("layers", [&] {
      for (const Layer &layer : layers)
        json.object([&] {
          json.attribute("path", layer.path);
          json.attribute("class", layer.kind);
          json.attribute("compute", layer.compute);
          json.attribute("variable", layer.variable);
          json.attribute("accumulate", layer.accumulate);
          json.attribute("rule", layer.rule);
        });
    });
    json.attributeArray("ops", [&] {
      for (const Op &op : ops)
        json.object([&] {
          json.attribute("entry", op.entry);
          json.attribute("layer", op.layer);
          json.attribute("op", op.name);
          json.attribute("inputs", op.inputs);
          json.attribute("accumulate", op.accumulate);
          json.attribute("output", op.output);
          json.attribute("kernel", op.kernel);
        });
    });
    json.attributeArray("decisions", [&] {
      for (const Decision &decision : decisions)
        json.object([&] {
          json.attribute("place", decision.place);
          json.attribute("name", decision.name);
          json.attribute("text", decision.text);
        });
    });
  });
  os << '\n';
}
