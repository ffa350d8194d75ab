// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The border between @forward and @loss.
#include "lib/Transforms/LossBoundary.h"

using namespace mlir;
using namespace mpc;

func::FuncOp mpc::lookupFunction(ModuleOp module, StringRef name) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  return function && !function.isDeclaration() ? function : func::FuncOp();
}

void mpc::updateFunctionType(func::FuncOp function) {
  Block &body = function.getBody().front();
  function.setType(FunctionType::get(function.getContext(), body.getArgumentTypes(),
                                     body.getTerminator()->getOperandTypes()));
}

void mpc::retypeArgument(func::FuncOp function, unsigned index, RankedTensorType type) {
  BlockArgument argument = function.getArgument(index);
  auto inside = cast<RankedTensorType>(argument.getType());
  if (inside == type)
    return;
  // Casts at the border start from the new type; one that gives it is not needed any more.
  bool onlyCasts = !argument.use_empty() && llvm::all_of(argument.getUsers(), [](Operation *user) {
    return isa<CastOp>(user);
  });
  argument.setType(type);
  if (onlyCasts) {
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers()))
      if (auto cast = dyn_cast<CastOp>(user); cast.getType() == type) {
        cast.getResult().replaceAllUsesWith(argument);
        cast.erase();
      }
  } else if (!argument.use_empty()) {
    OpBuilder builder(function.getBody());
    auto cast = CastOp::create(builder, argument.getLoc(), inside, argument);
    argument.replaceAllUsesExcept(cast.getResult(), cast);
  }
  updateFunctionType(function);
}

void mpc::matchLossArguments(ModuleOp module) {
  func::FuncOp forward = lookupFunction(module, "forward"), loss = lookupFunction(module, "loss");
  if (!forward || !loss)
    return;
  llvm::StringMap<RankedTensorType> outputs;
  for (unsigned i = 0; i < forward.getNumResults(); ++i)
    if (auto name = forward.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr))
      outputs[name.getValue()] = cast<RankedTensorType>(forward.getResultTypes()[i]);
  for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
    auto name = loss.getArgAttrOfType<StringAttr>(i, MpcDialect::kInputAttr);
    if (!name)
      continue;
    if (auto found = outputs.find(name.getValue()); found != outputs.end())
      retypeArgument(loss, i, found->second);
  }
}
