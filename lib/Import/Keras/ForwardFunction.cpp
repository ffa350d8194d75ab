// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ForwardSignature.cpp has the end, when all layers are there.
#include "lib/Import/Keras/ForwardFunction.h"

namespace mpc::keras {

using mlir::Value;

bool ForwardFunction::limitInput(Value input, int64_t limit) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(input);
  if (!argument || argument.getOwner() != body || argument.getArgNumber() >= inputNames.size())
    return false;
  int64_t &known = indexLimits.try_emplace(input, limit).first->second;
  known = std::min(known, limit);
  return true;
}

void ForwardFunction::addLossTerm(
    llvm::StringRef path, llvm::StringRef kind, Value input,
    llvm::function_ref<Value(mlir::OpBuilder &, mlir::Location, Value)> compute) {
  mlir::Location loc = mlir::NameLoc::get(builder.getStringAttr(path));
  auto block = std::make_unique<mlir::Block>();
  Value inside = block->addArgument(input.getType(), loc);
  mlir::OpBuilder inner(builder.getContext());
  inner.setInsertionPointToEnd(block.get());
  Value term = compute ? compute(inner, loc, inside) : inside;
  YieldOp::create(inner, loc, mlir::ValueRange(term));
  LayerOp op = LayerOp::create(builder, loc, mlir::TypeRange(term.getType()), path, kind,
                               mlir::ValueRange(input), mlir::ValueRange(), mlir::StringAttr(),
                               makePrecision(builder.getF32Type(), "loss term"),
                               /*autocast=*/true, /*casts_integers=*/false);
  op.getBody().push_back(block.release());
  lossTerms.push_back(op.getResult(0));
}

bool ForwardFunction::addMetric(llvm::StringRef path, llvm::StringRef name, Value input) {
  if (llvm::any_of(addedMetrics, [&](const AddedMetric &other) {
        return other.name == name && other.path != path;
      }))
    return false;
  addLossTerm(path, "AddMetric", input);
  addedMetrics.push_back({path.str(), name.str(), lossTerms.pop_back_val()});
  return true;
}

} // namespace mpc::keras
