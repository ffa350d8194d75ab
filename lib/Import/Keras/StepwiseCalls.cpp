// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of layers on every step of a sequence, as a scan in @forward.
#include "lib/Import/Common/ScanBuilder.h"
#include "lib/Import/Keras/GraphImporter.h"

namespace mpc::keras {

using mlir::Value;

ScanOp GraphImporter::importScan(
    llvm::StringRef path, llvm::ArrayRef<Value> inits, llvm::ArrayRef<Value> scanned, bool reverse,
    bool isRandom,
    llvm::function_ref<bool(ScanBuilder &scan, Values &next, Values &stacked)> step) {
  const size_t terms = forward.lossTerms.size(), metrics = forward.addedMetrics.size();
  const Values before = llvm::map_to_vector(variables.getAll(),
                                            [](const ModelVariable &v) { return v.getCurrent(); });
  mlir::Location loc = mlir::NameLoc::get(forward.builder.getStringAttr(path));
  ScanBuilder scan(forward.builder, loc, inits, scanned,
                   tensorTypeOf(scanned.front()).getDimSize(1), reverse);
  Values next, stacked;
  if (!step(scan, next, stacked)) {
    scan.abandon();
    return {};
  }
  while (forward.addedMetrics.size() > metrics) {
    const ForwardFunction::AddedMetric &metric = forward.addedMetrics.back();
    report.warn(metric.path + ": the metric '" + metric.name +
                "' of each step is left out: training and evaluation do not show it");
    forward.addedMetrics.pop_back();
  }
  // Loss terms of a step, as results of one element; each counts as often as there are steps.
  const size_t outputCount = stacked.size();
  while (forward.lossTerms.size() > terms) {
    Value term = forward.lossTerms.pop_back_val();
    auto type = mlir::RankedTensorType::get({1}, elementTypeOf(term));
    stacked.push_back(ReshapeOp::create(forward.builder, loc, type, term));
  }
  // Variables that a step renews are carried.
  llvm::SmallVector<ModelVariable *> renewed;
  for (auto [number, variable] : llvm::enumerate(variables.getAll())) {
    Value old = number < before.size() ? before[number] : Value(variable.argument);
    if (variable.getCurrent() == old)
      continue;
    scan.carry(old, variable.getCurrent(), /*inTraining=*/!variable.stateful);
    renewed.push_back(&variable);
  }
  if (isRandom)
    scan.varyRandomness(forward.findRandomState());
  ScanOp op = scan.finish(next, stacked);
  for (auto [variable, last] : llvm::zip(renewed, op.getFinals().drop_front(next.size())))
    variable->updates.push_back(last);
  for (Value term : op.getStacked().drop_front(outputCount))
    forward.lossTerms.push_back(ReduceOp::create(forward.builder, loc, ReduceKind::Sum, term,
                                                 llvm::ArrayRef<int64_t>{0, 1},
                                                 /*keep_dims=*/false));
  return op;
}

bool GraphImporter::importStepwise(const LayerConfig &layer, const Node *node, llvm::StringRef path,
                                   bool trainable, llvm::ArrayRef<Value> sequences,
                                   Values &outputs) {
  size_t count = 0;
  ScanOp op = importScan(path, {}, sequences, /*reverse=*/false, /*isRandom=*/true,
                         [&](ScanBuilder &scan, Values &, Values &stacked) {
                           const bool good =
                               importCall(layer, node, path, trainable, scan.getSlices(), stacked);
                           count = stacked.size();
                           return good;
                         });
  if (op)
    llvm::append_range(outputs, op.getStacked().take_front(count));
  return bool(op);
}

} // namespace mpc::keras
