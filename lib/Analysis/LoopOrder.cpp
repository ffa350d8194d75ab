// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc/Analysis/LoopOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

bool mpc::combinesInAnyOrder(scf::ForOp loop) {
  for (auto [carried, yielded] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    Operation *combiner = yielded.getDefiningOp();
    if (!isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                         arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
                         arith::AndIOp, arith::OrIOp>(combiner) ||
        !carried.hasOneUse() || *carried.user_begin() != combiner ||
        !combiner->getResult(0).hasOneUse())
      return false;
  }
  return loop.getNumRegionIterArgs() != 0;
}
