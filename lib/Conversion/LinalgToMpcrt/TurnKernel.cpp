// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop of mpcrt.turn goes through the numbers as they lie, so that it can become one with the
// loop that writes them.
#include "lib/Conversion/LinalgToMpcrt/TurnKernel.h"
#include "lib/Conversion/LinalgToMpcrt/OpKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mpc/Analysis/BatchExtent.h"

using namespace mlir;
using namespace mpc;

/// All elements of the buffer, whose number the type does not say: kernels for all sizes are alike.
static Value flatten(OpBuilder &builder, Location loc, Value buffer) {
  Value flat =
      memref::CollapseShapeOp::create(builder, loc, buffer, ArrayRef<ReassociationIndices>{{0, 1}});
  auto type =
      MemRefType::get({ShapedType::kDynamic}, cast<MemRefType>(buffer.getType()).getElementType());
  return flat.getType() == type ? flat
                                : memref::CastOp::create(builder, loc, type, flat).getResult();
}

LogicalResult mpc::outlineTurn(func::FuncOp entry, mpcrt::TurnOp op) {
  const Location loc = op.getLoc();
  auto type = cast<MemRefType>(op.getNumbers().getType());
  auto rowCount = getExtent(op.getNumbers(), 0), count = getElementCount(op.getNumbers());
  if (!rowCount || !count || type.isDynamicDim(1))
    return op.emitOpError("has an extent that is no function of the batch");
  OpBuilder host(op);
  SmallVector<Value> operands{flatten(host, loc, op.getNumbers()), flatten(host, loc, op.getOut())};
  // Where they are no constant they are one name in the kernel, which tells tiles where to go.
  if (!rowCount->isFixed())
    operands.push_back(materialize(host, loc, *rowCount, getBatchArgument(entry)));
  OpKernel own(entry, op, operands, "turn");
  own.function->setAttr(mpcrt::kTurnsAttr, host.getUnitAttr());
  OpBuilder &builder = own.builder;
  Value rows = rowCount->isFixed()
                   ? arith::ConstantIndexOp::create(builder, loc, rowCount->fixed).getResult()
                   : own.operands[2];
  Value columns = arith::ConstantIndexOp::create(builder, loc, type.getDimSize(1));
  auto loop = scf::ForOp::create(builder, loc, own.begin, own.end,
                                 arith::ConstantIndexOp::create(builder, loc, 1));
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value i = loop.getInductionVar();
  Value column = arith::RemUIOp::create(inner, loc, i, columns);
  Value row = arith::DivUIOp::create(inner, loc, i, columns);
  Value place =
      arith::AddIOp::create(inner, loc, arith::MulIOp::create(inner, loc, column, rows), row);
  Value number = memref::LoadOp::create(inner, loc, own.operands[0], i);
  memref::StoreOp::create(inner, loc, number, own.operands[1], place);
  own.launch(op, materialize(host, loc, *count, getBatchArgument(entry)), "elements");
  return success();
}
