// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc/Analysis/ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mpc;

namespace {
class Table {
public:
  Table();
  ScalarProperties lookup(Operation *op) const { return rows.lookup(op->getName().getTypeID()); }

private:
  template <typename... Ops> void add(ScalarProperties properties) {
    (rows.try_emplace(TypeID::get<Ops>(), properties), ...);
  }

  llvm::DenseMap<TypeID, ScalarProperties> rows;
};
} // namespace

Table::Table() {
  const ScalarProperties arithmetic{/*isInstruction=*/true, /*isCheap=*/false, /*keepsNaNs=*/true};
  add<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, math::SqrtOp, math::FmaOp,
      LLVM::FMulAddOp>(arithmetic);
  add<arith::MaximumFOp, arith::MinimumFOp, math::AbsFOp, math::CopySignOp>(
      {/*isInstruction=*/true, /*isCheap=*/false, /*keepsNaNs=*/true, /*choosesNumbers=*/true});
  add<arith::NegFOp>(
      {/*isInstruction=*/true, /*isCheap=*/true, /*keepsNaNs=*/true, /*choosesNumbers=*/true});
  add<arith::CmpFOp, arith::CmpIOp, arith::SelectOp, arith::AndIOp, linalg::IndexOp>(
      {/*isInstruction=*/true, /*isCheap=*/true, /*keepsNaNs=*/false});
  add<math::RsqrtOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp,
      math::IsFiniteOp, math::IsNaNOp, math::IsInfOp, math::CountLeadingZerosOp,
      math::CountTrailingZerosOp, math::CtPopOp>(
      {/*isInstruction=*/true, /*isCheap=*/false, /*keepsNaNs=*/false});
}

ScalarProperties mpc::scalarPropertiesOf(Operation *op) {
  static const Table table;
  return table.lookup(op);
}
