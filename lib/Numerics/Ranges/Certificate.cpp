// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Certificates: what was proved of each value, for mpc-check-certificate.
#include "mpc/Analysis/LayerPath.h"
#include "mpc/Numerics/Ranges/Ranges.h"
#include "mpc/Support/Sha256.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mpc;

/// JSON has no infinity: null stands for no bound. -0 is written as 0, which it reads as.
static llvm::json::Value number(double value) {
  return std::isfinite(value) ? llvm::json::Value(value + 0.0) : llvm::json::Value(nullptr);
}

static std::string nameOfType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static llvm::json::Object describe(Value value, const Bound &bound) {
  Operation *op = value.getDefiningOp();
  const Type type = elementTypeOf(value);
  llvm::json::Object row;
  row["layer"] = llvm::json::fixUTF8(layerPathOf(value.getLoc()));
  row["op"] = op ? op->getName().stripDialect().str() : "argument";
  row["dtype"] = nameOfType(type);
  row["low"] = number(bound.low);
  row["high"] = number(bound.high);
  row["nan"] = bound.mayBeNan;
  row["error"] = number(bound.error);
  if (isa<FloatType>(type))
    row["float16"] = fitsFloat16(bound) ? "cannot overflow" : "cannot be shown";
  return row;
}

llvm::json::Object mpc::makeCertificate(const RangeAnalysis &analysis) {
  // A fact that decides nothing could be another one as well.
  const RangeFacts &facts = analysis.getUsedFacts();
  llvm::json::Object inputs;
  for (const auto &[name, range] : facts.inputs)
    inputs[llvm::json::fixUTF8(name)] = llvm::json::Array{range.first, range.second};
  llvm::json::Array values;
  llvm::DenseMap<Value, int64_t> places;
  func::FuncOp function = analysis.getFunction();
  forEachValue(function, [&](Value value) {
    places[value] = int64_t(values.size());
    values.push_back(describe(value, analysis.at(value)));
  });
  llvm::json::Object outputs;
  for (OpOperand &operand : function.getBody().front().getTerminator()->getOpOperands())
    if (auto name = function.getResultAttrOfType<StringAttr>(operand.getOperandNumber(),
                                                             MpcDialect::kOutputAttr))
      outputs[llvm::json::fixUTF8(name.getValue())] = places[operand.get()];
  llvm::json::Object certificate;
  certificate["certificate"] = "mpc-ranges-3";
  certificate["function"] = function.getSymName();
  certificate["inputs"] = std::move(inputs);
  certificate["outputs"] = std::move(outputs);
  certificate["training"] = facts.training;
  certificate["weights"] = facts.weights != nullptr;
  certificate["values"] = std::move(values);
  // The hash is that of the object printed without it, keys in their order.
  const std::string text = llvm::formatv("{0}", llvm::json::Value(llvm::json::Object(certificate)));
  certificate["sha256"] = Sha256::of(text);
  return certificate;
}
