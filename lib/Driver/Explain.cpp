// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of decisions: which layer runs in which dtype and why.
#include "lib/Driver/Explain.h"
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Autodiff/TrainStages.h"
#include "lib/Driver/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/LayerPath.h"
#include "runtime/untrusted/outlets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <climits>
#include <numeric>
#include <set>
#include <tuple>

using namespace mlir;
using namespace mpc;

namespace {

/// Feeds remarks of the passes into the explanation.
class ExplainStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit ExplainStreamer(Explanation &explanation) : explanation(explanation) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string text, pairs;
    std::map<std::string, std::string> values;
    for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
      // A value after an open sentence is a part of it; the others follow the text.
      if (arg.key == "Remark" || arg.key == "Reason" || StringRef(text).ends_with(" ")) {
        text += arg.val;
        continue;
      }
      pairs += (pairs.empty() ? "" : ", ") + arg.key + "=" + arg.val;
      values[arg.key] = arg.val;
    }
    explanation.recordRemark(placeOf(remark.getLocation()), remark.getRemarkName().str(),
                             text.empty() ? pairs : text, values);
  }

private:
  Explanation &explanation;
};
} // namespace

void Explanation::listen(MLIRContext &context) {
  // A kind without a filter of its own is off, whatever the filter for all says.
  const std::string ours = "mpc-.*";
  remark::RemarkCategories all{std::nullopt, ours, ours, ours, ours};
  (void)remark::enableOptimizationRemarks(context, std::make_unique<ExplainStreamer>(*this),
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(), all);
}

static std::string text(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}

/// "bf16[?x784]" for each tensor.
static std::vector<std::string> shapes(TypeRange types) {
  std::vector<std::string> result;
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    std::string one = text(tensor.getElementType()) + "[";
    for (auto [i, extent] : llvm::enumerate(tensor.getShape()))
      one += (i ? "x" : "") +
             (ShapedType::isDynamic(extent) ? std::string("?") : std::to_string(extent));
    result.push_back(one + "]");
  }
  return result;
}

/// "f32[784x64]*3 f32[]": what repeats is counted.
static std::string joinShapes(const std::vector<std::string> &shapes) {
  std::string result;
  for (size_t i = 0, end = 0; i < shapes.size(); i = end) {
    while (end < shapes.size() && shapes[end] == shapes[i])
      ++end;
    result += (i ? " " : "") + shapes[i];
    if (end - i > 1)
      result += "*" + std::to_string(end - i);
  }
  return result;
}

void Explanation::recordLayers(ModuleOp module, const std::map<std::string, std::string> &reasons) {
  llvm::StringSet<> seen;
  module.walk([&](LayerOp layer) {
    if (!seen.insert(layer.getPath()).second)
      return;
    Layer row;
    row.path = layer.getPath().str();
    row.kind = layer.getKind().str();
    if (auto precision = layer.getPrecision()) {
      row.compute = text(precision->getCompute());
      row.variable = layer.getVariables().empty() ? "-" : text(precision->getVariable());
      row.accumulate = text(precision->getAccumulate());
      row.rule = precision->getRule().str();
      row.policy = policies[row.path];
      if (auto reason = reasons.find(row.path); reason != reasons.end())
        row.reason = reason->second;
    }
    layers.push_back(row);
  });
}

std::vector<LayerSummary> Explanation::listLayers() const {
  std::vector<LayerSummary> list;
  for (const Layer &layer : layers)
    list.push_back({layer.path, layer.kind, layer.policy});
  return list;
}

void Explanation::recordOps(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    // The stages of the training step are its own ops again.
    const std::optional<EntryRole> role = entryRoleOf(function);
    if (!role || isTrainStage(*role))
      continue;
    function.walk([&](Operation *op) {
      if (!isa_and_nonnull<MpcDialect>(op->getDialect()) || op->hasTrait<OpTrait::ConstantLike>() ||
          op->getNumResults() == 0)
        return;
      Op row;
      row.entry = function.getName().str();
      row.layer = layerPathOf(op->getLoc()).str();
      row.name = op->getName().stripDialect().str();
      row.inputs = shapes(op->getOperandTypes());
      row.outputs = shapes(op->getResultTypes());
      if (auto precise = dyn_cast<PrecisionOpInterface>(op))
        if (precise.getPrecisionClass() != PrecisionClass::Follow && op->getNumOperands())
          if (auto element = dyn_cast<FloatType>(elementTypeOf(op->getOperand(0))))
            row.accumulate = text(precise.getDefaultAccumulator(element));
      if (auto contract = dyn_cast<ContractOp>(op); contract && contract.getAccumulate())
        row.accumulate = text(*contract.getAccumulate());
      auto call = dyn_cast<RuntimeCallOpInterface>(op);
      row.kernel = call ? ("runtime " + call.getRuntimeCall()).str() : "generated";
      if (auto epilogue = dyn_cast<EpilogueOpInterface>(op)) {
        if (epilogue.getEpilogueBias())
          row.kernel += " + bias";
        if (Activation activation = epilogue.getEpilogueActivation();
            activation != Activation::None)
          row.kernel += (" + " + stringifyActivation(activation)).str();
      }
      // The last op of a layer returns the layer's output.
      if (Layer *layer = role == EntryRole::Predict ? findLayer(row.layer) : nullptr)
        layer->output = text(getElementTypeOrSelf(op->getResult(0).getType()));
      ops.push_back(row);
    });
  }
}

void Explanation::recordMemory(ModuleOp module) {
  for (auto variable : module.getOps<VariableOp>()) {
    std::string role = stringifyVariableRole(variable.getRole()).str();
    auto type = cast<RankedTensorType>(variable.getType());
    int64_t bytes =
        type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), CHAR_BIT);
    auto same = llvm::find_if(variables, [&](const Memory &row) { return row.place == role; });
    if (same == variables.end())
      variables.push_back({role, bytes, 0});
    else
      same->fixed += bytes;
  }
  for (auto entry : module.getOps<func::FuncOp>()) {
    auto fixed = entry->getAttrOfType<IntegerAttr>(mpcrt::MpcrtDialect::kArenaFixedAttr);
    auto perSample = entry->getAttrOfType<IntegerAttr>(mpcrt::MpcrtDialect::kArenaPerSampleAttr);
    if (fixed && perSample)
      entries.push_back({entry.getSymName().str(), fixed.getInt(), perSample.getInt()});
  }
}

Explanation::Layer *Explanation::findLayer(StringRef path) {
  for (Layer &layer : layers)
    if (layer.path == path)
      return &layer;
  return nullptr;
}

static std::string plural(StringRef count, StringRef noun) {
  return (count + " " + noun + (count == "1" ? "" : "s")).str();
}

void Explanation::recordRemark(std::string place, std::string name, std::string text,
                               const std::map<std::string, std::string> &values) {
  auto valueOf = [&](const char *key) {
    auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  };
  // These two are columns of the layers' table.
  if (name == "layer-policy") {
    policies[valueOf("layer")] = valueOf("policy");
    return;
  }
  if (name == "layer-casts") {
    if (Layer *layer = findLayer(valueOf("layer"))) {
      std::string inputs = valueOf("input_casts"), variables = valueOf("variable_casts");
      std::string casts = inputs == "0" ? "" : plural(inputs, "input");
      if (variables != "0")
        casts += (casts.empty() ? "" : ", ") + plural(variables, "variable");
      layer->casts = casts;
    }
    return;
  }
  decisions.push_back({std::move(place), std::move(name), std::move(text)});
}

/// Why, in a sentence whose subject stands before it.
static constexpr StringLiteral kWideConvolution =
    "stay in float32 where cuDNN computes them: Tensor Cores cut the sums of its TF32, which are "
    "too long for float32's digits; as products of columns they are three of TF32 each";

void Explanation::recordWideConvolutions(ModuleOp module) {
  module.walk([&](mpcrt::ConvolveOp op) {
    std::string place = placeOf(op.getLoc());
    if (!getElementTypeOrSelf(op.getLhs()).isF32() || llvm::is_contained(wideConvolutions, place))
      return;
    wideConvolutions.push_back(place);
    recordRemark(place, "fp32-precision", kWideConvolution.str(), {});
  });
}

void Explanation::printWideConvolutions(llvm::raw_ostream &os) const {
  if (!wideConvolutions.empty())
    os << "\nconvolutions of float32 (" << untrusted::forLine(llvm::join(wideConvolutions, ", "))
       << ") " << kWideConvolution << '\n';
}

/// Prints rows under a header, columns padded to their widest cell.
static void printColumns(llvm::raw_ostream &os, std::vector<std::vector<std::string>> rows) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (auto &row : rows)
    for (auto [i, cell] : llvm::enumerate(row)) {
      cell = untrusted::forLine(cell);
      widths[i] = std::max(widths[i], cell.size());
    }
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

/// A cell that is never empty, so that columns can be told apart.
static std::string orDash(const std::string &text) { return text.empty() ? "-" : text; }

/// The rule of mpc-apply-policy in the words of the command line: "file", "option", and after a
/// colon what of a policy map decided.
static std::string ruleText(StringRef rule) {
  auto [source, detail] = rule.split(": ");
  std::string result = source == "file"     ? "the file"
                       : source == "option" ? "--policy"
                                            : source.str();
  detail.consume_front("policy ");
  return detail.empty() ? result : result + ", " + detail.str();
}

void Explanation::printLayers(llvm::raw_ostream &os) const {
  std::vector<std::vector<std::string>> rows{{"layer", "class", "policy", "compute", "variables",
                                              "accumulate", "output", "casts of", "decided by"}};
  for (const Layer &layer : layers) {
    std::string rule = layer.reason.empty() ? ruleText(layer.rule) : "search: " + layer.reason;
    rows.push_back({layer.path, layer.kind, orDash(layer.policy), orDash(layer.compute),
                    orDash(layer.variable), orDash(layer.accumulate), orDash(layer.output),
                    orDash(layer.casts), rule});
  }
  printColumns(os, rows);
}

void Explanation::printMemory(llvm::raw_ostream &os) const {
  if (entries.empty())
    return;
  std::vector<std::vector<std::string>> rows{{"memory", "bytes", "per sample"}};
  for (const Memory &row : variables)
    rows.push_back({"variables, " + row.place, std::to_string(row.fixed), "-"});
  for (const Memory &row : entries)
    rows.push_back(
        {"arena of @" + row.place, std::to_string(row.fixed), std::to_string(row.perSample)});
  os << '\n';
  printColumns(os, rows);
  os << "What the kernels of a CPU need besides: mpc-run bench LIB --memory\n"
        "Which kernel the runtime takes depends on CPU and batch: mpc-run inspect LIB --kernels\n";
}

void Explanation::printEntry(llvm::raw_ostream &os, StringRef entry) const {
  std::vector<std::vector<std::string>> rows{
      {"layer", "op", "inputs", "accumulate", "output", "kernel"}};
  const Op *last = nullptr;
  unsigned repeated = 1;
  for (const Op &op : ops) {
    if (op.entry != entry)
      continue;
    if (last && op == *last) {
      rows.back()[1] = op.name + " (" + std::to_string(++repeated) + " times)";
      continue;
    }
    last = &op;
    repeated = 1;
    rows.push_back({orDash(op.layer), op.name, orDash(joinShapes(op.inputs)), orDash(op.accumulate),
                    joinShapes(op.outputs), op.kernel});
  }
  if (rows.size() == 1)
    return;
  os << "\n@" << entry << '\n';
  printColumns(os, rows);
}

bool Explanation::Op::operator==(const Op &other) const {
  return std::tie(entry, layer, name, accumulate, kernel, inputs, outputs) ==
         std::tie(other.entry, other.layer, other.name, other.accumulate, other.kernel,
                  other.inputs, other.outputs);
}

void Explanation::printTables(llvm::raw_ostream &os, Explain depth) const {
  printLayers(os);
  printWideConvolutions(os);
  if (depth == Explain::Layers)
    return;
  // The other entries are parts of these two.
  printEntry(os, "predict");
  printEntry(os, "train_step");
  printMemory(os);
  if (depth == Explain::Passes)
    printDecisions(os);
}

void Explanation::printDecisions(llvm::raw_ostream &os) const {
  if (decisions.empty())
    return;
  os << "\ndecisions\n";
  std::vector<std::vector<std::string>> rows{{"place", "decision", "reason"}};
  std::set<std::vector<std::string>> told;
  for (const Decision &decision : decisions) {
    // One for every loop: the ops' tables say what became of them, the JSON has each.
    if (decision.name == "kernel" || decision.name == "elementwise")
      continue;
    std::vector<std::string> row{orDash(decision.place), decision.name, decision.text};
    // The entries have copies of the same ops, of which the same is decided.
    if (told.insert(row).second)
      rows.push_back(std::move(row));
  }
  printColumns(os, rows);
}

void Explanation::printJson(llvm::raw_ostream &os) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  writeJson(stream);
  os << untrusted::forJson(text) << '\n';
}

void Explanation::writeJson(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os, 1);
  json.object([&] {
    json.attributeArray("layers", [&] {
      for (const Layer &layer : layers)
        json.object([&] {
          json.attribute("path", layer.path);
          json.attribute("class", layer.kind);
          json.attribute("policy", layer.policy);
          json.attribute("compute", layer.compute);
          json.attribute("variable", layer.variable);
          json.attribute("accumulate", layer.accumulate);
          json.attribute("output", layer.output);
          json.attribute("casts", layer.casts);
          json.attribute("rule", layer.rule);
          if (!layer.reason.empty())
            json.attribute("reason", layer.reason);
        });
    });
    json.attributeArray("ops", [&] {
      for (const Op &op : ops)
        json.object([&] {
          json.attribute("entry", op.entry);
          json.attribute("layer", op.layer);
          json.attribute("op", op.name);
          json.attributeArray("inputs", [&] {
            for (const std::string &input : op.inputs)
              json.value(input);
          });
          json.attribute("accumulate", op.accumulate);
          json.attributeArray("outputs", [&] {
            for (const std::string &output : op.outputs)
              json.value(output);
          });
          json.attribute("kernel", op.kernel);
        });
    });
    json.attributeObject("memory", [&] {
      json.attributeObject("variables", [&] {
        for (const Memory &row : variables)
          json.attribute(row.place, row.fixed);
      });
      json.attributeObject("arenas", [&] {
        for (const Memory &row : entries)
          json.attributeObject(row.place, [&] {
            json.attribute("bytes", row.fixed);
            json.attribute("per_sample", row.perSample);
          });
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
}
