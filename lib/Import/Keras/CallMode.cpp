// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/CallMode.h"

#include "dialects/mpc/IR/Mpc.h"
#include "lib/Import/Keras/Dtype.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mpc::keras {

CallMode readCallMode(const LayerConfig &layer, const Node *node, CallMode outer) {
  if (!node || !layer.version.isKeras2())
    return outer;
  for (const auto &[keyword, argument] : node->keywords)
    if (keyword == "training" && argument.kind == Argument::Kind::Constant)
      if (const std::optional<bool> flag = readFlag(&argument.constant))
        return *flag ? CallMode::Training : CallMode::Inference;
  return outer;
}

bool fixMode(mlir::Block &body, llvm::MutableArrayRef<mlir::Value> results, CallMode mode) {
  const bool trains = mode == CallMode::Training;
  bool draws = false;
  llvm::SmallVector<TrainingOnlyOpInterface> found;
  body.walk([&](mlir::Operation *op) {
    draws |= llvm::isa<DropoutOp, NormalNoiseOp, UniformNoiseOp>(op);
    if (llvm::isa<InTrainingOp, DropoutOp>(op))
      found.push_back(llvm::cast<TrainingOnlyOpInterface>(op));
  });
  if (trains && draws)
    return false;
  for (TrainingOnlyOpInterface op : found) {
    mlir::Value old = op->getResult(0),
                chosen = trains ? op.getTrainingValue() : op.getInferenceValue();
    old.replaceAllUsesWith(chosen);
    llvm::replace(results, old, chosen);
    op->erase();
  }
  // Ops that the other mode alone needs, such as statistics of the batch, go.
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (mlir::isOpTriviallyDead(&op) && llvm::none_of(op.getResults(), [&](mlir::Value value) {
          return llvm::is_contained(results, value);
        }))
      op.erase();
  return true;
}

} // namespace mpc::keras
