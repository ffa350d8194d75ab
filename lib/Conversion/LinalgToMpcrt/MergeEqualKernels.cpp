// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Equal kernels of a module, of several entries or of several layers, become one function.
#include "lib/Conversion/LinalgToMpcrt/KernelOutliner.h"

using namespace mlir;
using namespace mpc;

/// Equal for equal kernels.
static llvm::hash_code hashOf(func::FuncOp kernel) {
  llvm::hash_code hash = hash_value(kernel.getFunctionType());
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto ignore = [](Value) { return llvm::hash_code(0); };
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(op, ignore, OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

void mpc::mergeEqualKernels(ModuleOp module) {
  DenseMap<size_t, SmallVector<func::FuncOp, 1>> keptByHash;
  DenseMap<StringAttr, StringAttr> replaced;
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!function->hasAttr(mpcrt::MpcrtDialect::kKernelAttr))
      continue;
    SmallVector<func::FuncOp, 1> &kept = keptByHash[hashOf(function)];
    auto *equal = llvm::find_if(kept, [&](func::FuncOp other) {
      return other.getFunctionType() == function.getFunctionType() &&
             OperationEquivalence::isRegionEquivalentTo(&other.getBody(), &function.getBody(),
                                                        OperationEquivalence::IgnoreLocations);
    });
    if (equal == kept.end()) {
      kept.push_back(function);
      continue;
    }
    replaced[function.getSymNameAttr()] = equal->getSymNameAttr();
    function.erase();
  }
  module.walk([&](mpcrt::LaunchOp launch) {
    if (StringAttr name = replaced.lookup(launch.getKernelAttr().getAttr()))
      launch.setKernelAttr(FlatSymbolRefAttr::get(name));
  });
}
