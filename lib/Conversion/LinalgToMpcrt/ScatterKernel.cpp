// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loops of mpcrt.scatter_add. Each iteration of the launch owns some columns of one outer
// position and adds all rows to them in order, so no two iterations write one number and the sums
// do not depend on the number of threads.
#include "lib/Conversion/LinalgToMpcrt/ScatterKernel.h"
#include "lib/Conversion/LinalgToMpcrt/OpKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mpc/Analysis/BatchExtent.h"

using namespace mlir;
using namespace mpc;

/// Columns that one iteration adds to: a cache line of float32.
static constexpr int64_t kColumns = 16;

namespace {
struct ScatterKernel {
  Location loc;
  Value indices, updates, out, rows;

  Value constant(OpBuilder &b, int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  MemRefType getOutType() { return cast<MemRefType>(out.getType()); }
  /// The indices of an element of `out` or `updates`, without the first dimension where they have
  /// none.
  SmallVector<Value> positionOf(Value outer, Value row, Value column) {
    SmallVector<Value> position{outer, row, column};
    if (getOutType().getRank() == 2)
      position.erase(position.begin());
    return position;
  }
  /// `outer` is the index in the first dimension, `first` the first column.
  void emitRows(OpBuilder &b, Value outer, Value first);
  void emitColumns(OpBuilder &b, Value outer, Value row, Value target, Value first);
};
} // namespace

void ScatterKernel::emitRows(OpBuilder &b, Value outer, Value first) {
  auto loop = scf::ForOp::create(b, loc, constant(b, 0), rows, constant(b, 1));
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value row = loop.getInductionVar();
  SmallVector<Value> position{row};
  if (cast<MemRefType>(indices.getType()).getRank() == 2)
    position.insert(position.begin(), outer);
  Value index = memref::LoadOp::create(inner, loc, indices, position);
  Value target = arith::IndexCastOp::create(inner, loc, inner.getIndexType(), index);
  Value extent = constant(inner, getOutType().getShape().drop_back().back());
  Value negative =
      arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::slt, target, constant(inner, 0));
  Value fromEnd = arith::AddIOp::create(inner, loc, target, extent);
  target = arith::SelectOp::create(inner, loc, negative, fromEnd, target);
  // Unsigned: what is still negative is outside, too.
  Value inside = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::ult, target, extent);
  auto guard = scf::IfOp::create(inner, loc, inside, /*withElseRegion=*/false);
  OpBuilder then = guard.getThenBodyBuilder();
  emitColumns(then, outer, row, target, first);
}

void ScatterKernel::emitColumns(OpBuilder &b, Value outer, Value row, Value target, Value first) {
  int64_t width = getOutType().getShape().back();
  Value end = constant(b, width);
  if (width % kColumns != 0)
    end = arith::MinUIOp::create(b, loc,
                                 arith::AddIOp::create(b, loc, first, constant(b, kColumns)), end);
  else
    end = arith::AddIOp::create(b, loc, first, constant(b, kColumns));
  auto loop = scf::ForOp::create(b, loc, first, end, constant(b, 1));
  loop->setAttr(mpcrt::MpcrtDialect::kIndependentAttr, b.getUnitAttr());
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value column = loop.getInductionVar();
  Value update = memref::LoadOp::create(inner, loc, updates, positionOf(outer, row, column));
  Type wide = getOutType().getElementType();
  if (update.getType().getIntOrFloatBitWidth() < wide.getIntOrFloatBitWidth())
    update = arith::ExtFOp::create(inner, loc, wide, update);
  SmallVector<Value> position = positionOf(outer, target, column);
  Value sum = memref::LoadOp::create(inner, loc, out, position);
  memref::StoreOp::create(inner, loc, arith::AddFOp::create(inner, loc, sum, update), out,
                          position);
}

LogicalResult mpc::outlineScatterAdd(func::FuncOp entry, mpcrt::ScatterAddOp op) {
  Location loc = op.getLoc();
  Value batch = getBatchArgument(entry);
  auto type = cast<MemRefType>(op.getOut().getType());
  const int64_t rank = type.getRank();
  auto outers = getExtent(op.getOut(), 0), rows = getExtent(op.getUpdates(), rank - 2);
  if (!outers || !rows || type.isDynamicDim(rank - 2) || type.isDynamicDim(rank - 1))
    return op.emitOpError("has an extent that is no function of the batch");
  int64_t blocks = llvm::divideCeil(type.getShape().back(), kColumns);

  OpKernel own(entry, op, "scatter_add");
  OpBuilder &builder = own.builder;
  ScatterKernel kernel{loc, own.operands[0], own.operands[1], own.operands[2],
                       materialize(builder, loc, *rows, own.batch)};
  auto loop = scf::ForOp::create(builder, loc, own.begin, own.end, kernel.constant(builder, 1));
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value outer =
      arith::DivUIOp::create(inner, loc, loop.getInductionVar(), kernel.constant(inner, blocks));
  Value number =
      arith::RemUIOp::create(inner, loc, loop.getInductionVar(), kernel.constant(inner, blocks));
  Value first = arith::MulIOp::create(inner, loc, number, kernel.constant(inner, kColumns));
  kernel.emitRows(inner, outer, first);

  OpBuilder host(op);
  Value count = arith::ConstantIndexOp::create(host, loc, blocks);
  if (rank == 3)
    count = arith::MulIOp::create(host, loc, materialize(host, loc, *outers, batch), count);
  own.launch(op, count, "columns");
  return success();
}
