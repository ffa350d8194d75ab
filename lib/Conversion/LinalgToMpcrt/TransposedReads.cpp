// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels whose launch counts what lies together in an input, as where images of a few channels are
// put into another order: vectors are of iterations of the launch, each of which has a row of a few
// numbers one after the other. LLVM leaves a loop over these as it is.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/LinalgToMpcrt/KernelOutliner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mpc;

bool KernelOutliner::readsTransposed(linalg::GenericOp op, const IterationSpace &space) const {
  constexpr int64_t kFewNumbers = 4;
  if (isOnDevice || space.launched.size() < 2 || space.inner.size() != 1 ||
      space.firstReduction != 1 || !space.innermostIndependent || op.hasIndexSemantics())
    return false;
  const BatchExtent &row = space.extents[space.inner.front()];
  if (!row.isFixed() || row.fixed < 1 || row.fixed > kFewNumbers)
    return false;
  const unsigned last = space.launched.back();
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = op.getMatchingIndexingMap(input);
    auto type = dyn_cast<MemRefType>(input->get().getType());
    auto dim = map.getNumResults() ? dyn_cast<AffineDimExpr>(map.getResults().back()) : nullptr;
    return type && type.getLayout().isIdentity() && dim && dim.getPosition() == last;
  });
}

void KernelOutliner::emitTransposedReads(Kernel &kernel, LoopEmitter &emitter, Location loc,
                                         const IterationSpace &space) {
  OpBuilder &builder = kernel.builder;
  ArrayRef<unsigned> outer = ArrayRef(space.launched).drop_back();
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value).getResult();
  };
  const unsigned row = space.inner.front();
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < space.extents[row].fixed; ++i)
    numbers.push_back(constant(i));
  Value zero = numbers.front(), one = constant(1);
  Value extent = materialize(builder, loc, space.extents[space.launched.back()], kernel.batch);
  Value first = arith::DivUIOp::create(builder, loc, kernel.begin, extent);
  Value behind = arith::CeilDivUIOp::create(builder, loc, kernel.end, extent);
  auto loop = scf::ForOp::create(builder, loc, first, behind, one);
  OpBuilder inLoop = OpBuilder::atBlockBegin(loop.getBody());
  Value left = loop.getInductionVar();
  Value start = arith::MulIOp::create(inLoop, loc, left, extent);
  SmallVector<Value> indices(outer.size());
  for (size_t i = outer.size(); i-- > 1;) {
    Value of = materialize(inLoop, loc, space.extents[outer[i]], kernel.batch);
    indices[i] = arith::RemUIOp::create(inLoop, loc, left, of);
    left = arith::DivUIOp::create(inLoop, loc, left, of);
  }
  indices[0] = left;
  for (auto [launched, index] : llvm::zip_equal(outer, indices))
    emitter.bind(inLoop, launched, index);
  // The launch's part of what the outer loops' indices leave.
  Value begin = arith::MaxSIOp::create(
      inLoop, loc, arith::SubIOp::create(inLoop, loc, kernel.begin, start), zero);
  Value end = arith::MinSIOp::create(inLoop, loc,
                                     arith::SubIOp::create(inLoop, loc, kernel.end, start), extent);
  auto across = scf::ForOp::create(inLoop, loc, begin, end, one);
  across->setAttr(mpcrt::MpcrtDialect::kIndependentAttr, builder.getUnitAttr());
  OpBuilder inner = OpBuilder::atBlockBegin(across.getBody());
  emitter.bind(inner, space.launched.back(), across.getInductionVar());
  for (Value number : numbers) {
    LoopEmitter own(emitter);
    own.bind(inner, row, number);
    own.emit(inner, /*bounds=*/{}, /*firstReduction=*/0, /*innermostIndependent=*/false);
  }
}
