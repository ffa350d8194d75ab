// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ElementKernel.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mpc;

std::optional<ElementAccess> mpc::findElementAccess(BlockArgument argument) {
  auto kernel = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  Value begin = kernel.getArguments().drop_back().back(), end = kernel.getArguments().back();
  ElementAccess access;
  for (OpOperand &use : argument.getUses()) {
    auto loop = dyn_cast<scf::ForOp>(use.getOwner()->getParentOp());
    if (!loop || loop->getParentOp() != kernel || loop.getLowerBound() != begin ||
        loop.getUpperBound() != end)
      return std::nullopt;
    ValueRange indices;
    if (auto load = dyn_cast<memref::LoadOp>(use.getOwner())) {
      access.isRead = true;
      indices = load.getIndices();
    } else if (auto store = dyn_cast<memref::StoreOp>(use.getOwner())) {
      access.isWritten = true;
      indices = store.getIndices();
    }
    if (indices.size() != 1 || indices.front() != loop.getInductionVar())
      return std::nullopt;
  }
  return access;
}

unsigned InPlaceKernels::merge(mpcrt::LaunchOp launch, unsigned read, unsigned written) {
  func::FuncOp kernel = uses.kernelOf(launch);
  func::FuncOp &copy = copies[{kernel, read, written}];
  if (!copy) {
    copy = kernel.clone();
    copy.setSymName((kernel.getSymName() + "_in_place").str());
    copy.getArgument(written).replaceAllUsesWith(copy.getArgument(read));
    (void)copy.eraseArgument(written);
    uses.insert(copy, kernel);
  }
  launch.setKernelAttr(FlatSymbolRefAttr::get(copy.getSymNameAttr()));
  launch.getArgumentsMutable().erase(written);
  return read - (written < read);
}

void InPlaceKernels::eraseUnused(ModuleOp module) {
  llvm::DenseSet<StringAttr> used;
  module.walk([&](mpcrt::LaunchOp launch) { used.insert(launch.getKernelAttr().getAttr()); });
  // One kernel may have several copies.
  llvm::SmallSetVector<Operation *, 8> kernels;
  for (auto &[key, copy] : copies)
    kernels.insert(std::get<0>(key));
  for (Operation *kernel : kernels)
    if (!used.contains(cast<func::FuncOp>(kernel).getSymNameAttr()))
      uses.erase(cast<func::FuncOp>(kernel));
  copies.clear();
}
