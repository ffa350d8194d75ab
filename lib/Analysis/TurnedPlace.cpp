// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc/Analysis/TurnedPlace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mpc;

std::optional<TurnedPlace> mpc::findTurnedPlace(memref::StoreOp store, Value linear) {
  if (!isa<BlockArgument>(store.getMemRef()) || !store.getMemRef().hasOneUse() ||
      store.getIndices().size() != 1 || !store.getMemRefType().getLayout().isIdentity())
    return std::nullopt;
  auto sum = store.getIndices().front().getDefiningOp<arith::AddIOp>();
  auto product = sum ? sum.getLhs().getDefiningOp<arith::MulIOp>() : arith::MulIOp();
  auto row = sum ? sum.getRhs().getDefiningOp<arith::DivUIOp>() : arith::DivUIOp();
  auto column = product ? product.getLhs().getDefiningOp<arith::RemUIOp>() : arith::RemUIOp();
  if (!row || !column || row.getLhs() != linear || column.getLhs() != linear)
    return std::nullopt;
  auto columns = getConstantIntValue(column.getRhs());
  if (!columns || getConstantIntValue(row.getRhs()) != columns)
    return std::nullopt;
  return TurnedPlace{*columns, product.getRhs()};
}
