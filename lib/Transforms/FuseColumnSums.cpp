// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-fuse-column-sums: the gradient of a bias in the contraction that makes the gradient of the
// weights, which reads the same cotangent.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Transforms/ContractedMatrix.h"
#include "lib/Transforms/Fusion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_FUSECOLUMNSUMS
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using linalg::GenericOp;

/// Whether the op sums, from 0 on and in float32, all elements that have the same last index.
static bool isColumnSum(GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumLoops() < 2 || op.getNumParallelLoops() != 1)
    return false;
  const unsigned last = op.getNumLoops() - 1;
  auto maps = op.getIndexingMapsArray();
  if (!maps[0].isIdentity() ||
      maps[1] != AffineMap::get(last + 1, 0, getAffineDimExpr(last, op.getContext())))
    return false;
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.getInputs()[0], m_PosZeroFloat()) ||
      !getElementTypeOrSelf(op.getResultTypes()[0]).isF32())
    return false;
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  auto add = yield.getValues()[0].getDefiningOp<arith::AddFOp>();
  if (!add || add.getLhs() != op.getRegionOutputArgs()[0])
    return false;
  Value added = add.getRhs();
  if (auto widened = added.getDefiningOp<arith::ExtFOp>())
    added = widened.getIn();
  return added == op.getRegionInputArgs()[0];
}

/// Whether the op puts a matrix into a corner of zeros, as mpc-pad-dims does: sums of columns stay,
/// and those of zeros come behind them.
static bool isPadding(OpOperand &use) {
  auto insert = dyn_cast<tensor::InsertSliceOp>(use.getOwner());
  if (!insert || &use != &insert.getSourceMutable() || insert.getSourceType().getRank() != 2 ||
      insert.getType().getRank() != 2 || !insert.hasUnitStride() || !insert.hasZeroOffset())
    return false;
  auto fill = insert.getDest().getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.getInputs()[0], m_PosZeroFloat());
}

static int64_t lastExtentOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().back();
}

/// All contractions whose right operand is the value, as it is, in another shape or padded, and has
/// the value's columns as its own: a shape between may be any, as elements keep their order.
static SmallVector<mpcrt::ContractOp> readersOf(Value value) {
  SmallVector<mpcrt::ContractOp> readers;
  SmallVector<std::pair<Value, int64_t>> pending{{skipReshapes(value), lastExtentOf(value)}};
  while (!pending.empty()) {
    auto [shape, columns] = pending.pop_back_val();
    for (OpOperand &use : shape.getUses()) {
      Operation *user = use.getOwner();
      if (isReshape(user))
        pending.push_back({user->getResult(0), columns});
      else if (isPadding(use) && lastExtentOf(shape) == columns)
        pending.push_back({user->getResult(0), lastExtentOf(user->getResult(0))});
      else if (auto contract = dyn_cast<mpcrt::ContractOp>(user))
        if (&use == &contract.getRhsMutable() && lastExtentOf(shape) == columns)
          readers.push_back(contract);
    }
  }
  return readers;
}

/// The ops between the sum and the contraction that are computed from the sum.
static SmallVector<Operation *> findEarlyUsers(GenericOp sum, mpcrt::ContractOp contract) {
  SmallVector<Operation *> users;
  if (contract->isBeforeInBlock(sum))
    return users;
  llvm::SmallPtrSet<Operation *, 8> computed{sum};
  for (Operation &op : llvm::make_range(std::next(sum->getIterator()), contract->getIterator())) {
    const bool reads = op.walk([&](Operation *inner) {
                           return llvm::any_of(inner->getOperands(),
                                               [&](Value operand) {
                                                 return computed.contains(operand.getDefiningOp());
                                               })
                                      ? WalkResult::interrupt()
                                      : WalkResult::advance();
                         }).wasInterrupted();
    if (!reads)
      continue;
    computed.insert(&op);
    users.push_back(&op);
  }
  return users;
}

/// Whether the op rounds its one input to the element type.
static bool isRounding(Operation *op, Type element) {
  auto generic = dyn_cast<GenericOp>(op);
  Value yielded = yieldOfElements(generic, 1);
  auto rounded = yielded ? yielded.getDefiningOp<arith::TruncFOp>() : arith::TruncFOp();
  return rounded && rounded.getIn() == generic.getRegionInputArgs()[0] &&
         rounded.getType() == element;
}

/// Why sums of the type of the contraction's result would not do; empty when they do.
static StringRef obstacleOfRounding(mpcrt::ContractOp contract, GenericOp sum) {
  Type out = getElementTypeOrSelf(contract.getOut().getType());
  if (contract.getAccumulate())
    return "the contraction adds to another result";
  if (out.isF32())
    return "";
  if (!llvm::all_of(sum->getUsers(), [&](Operation *user) { return isRounding(user, out); }))
    return "the sums are not rounded to the type of the contraction's result";
  return "";
}

/// Why the contraction cannot sum; empty when it can.
static std::string obstacleOfSum(mpcrt::ContractOp contract, GenericOp sum, bool rounded) {
  auto rhs = cast<RankedTensorType>(contract.getRhs().getType());
  if (contract->getBlock() != sum->getBlock() || !isa<FunctionOpInterface>(contract->getParentOp()))
    return "the contraction runs in a loop";
  if (rhs.getRank() != 2 || contract.getTransposeRhs() || rhs.getElementType().isF64() ||
      rhs.isDynamicDim(1))
    return "the contraction does not read these columns as columns";
  if (auto obstacle = contract.findObstacle(mpcrt::ContractPart::Sums))
    return "the contraction " + describe(*obstacle).str();
  const SmallVector<Operation *> users = findEarlyUsers(sum, contract);
  if (!llvm::all_of(users, isMemoryEffectFree))
    return "the sums are stored before the contraction";
  if (llvm::any_of(contract->getOperands(), [&](Value operand) {
        return operand.getDefiningOp() == sum || llvm::is_contained(users, operand.getDefiningOp());
      }))
    return "the contraction depends on the sums";
  return rounded ? obstacleOfRounding(contract, sum).str() : "";
}

static void fuseSum(IRRewriter &rewriter, GenericOp sum, bool rounded) {
  std::string obstacle = "no contraction has the summed value on its right";
  for (mpcrt::ContractOp contract : readersOf(sum.getDpsInputs()[0])) {
    obstacle = obstacleOfSum(contract, sum, rounded);
    if (!obstacle.empty())
      continue;
    // A rounding of the sums, for instance.
    Operation *last = contract;
    for (Operation *user : findEarlyUsers(sum, contract)) {
      rewriter.moveOpAfter(user, last);
      last = user;
    }
    rewriter.setInsertionPoint(contract);
    const int64_t columns = cast<RankedTensorType>(sum.getResultTypes()[0]).getDimSize(0);
    const int64_t summed = cast<RankedTensorType>(contract.getRhs().getType()).getDimSize(1);
    Type element = rounded ? getElementTypeOrSelf(contract.getOut().getType())
                           : getElementTypeOrSelf(sum.getResultTypes()[0]);
    mpcrt::ContractOp::Extras extras = contract.getExtras();
    extras.sums = tensor::EmptyOp::create(rewriter, sum.getLoc(), summed, element);
    auto merged = contract.cloneWith(rewriter, extras);
    Value sums = merged.getSumsResult();
    if (summed != columns)
      sums = tensor::ExtractSliceOp::create(rewriter, sum.getLoc(), sums,
                                            ArrayRef<OpFoldResult>(rewriter.getIndexAttr(0)),
                                            ArrayRef<OpFoldResult>(rewriter.getIndexAttr(columns)),
                                            ArrayRef<OpFoldResult>(rewriter.getIndexAttr(1)));
    // Sums of 16 bits are rounded already.
    if (sums.getType() != sum.getResultTypes()[0]) {
      for (Operation *rounding : llvm::to_vector(sum->getUsers()))
        rewriter.replaceOp(rounding, sums);
    }
    remark::passed(sum.getLoc(), fusionRemark("column-sums"))
        << ("columns summed by the contraction of " + contract.getLayer()).str();
    if (sum->use_empty())
      rewriter.eraseOp(sum);
    else
      rewriter.replaceOp(sum, sums);
    SmallVector<Value> results{merged.getResult(0)};
    if (merged.getLargest())
      results.push_back(merged.getLargestResult());
    rewriter.replaceOp(contract, results);
    return;
  }
  remark::missed(sum.getLoc(), fusionRemark("column-sums"))
      << remark::reason("sums of columns not in a contraction: {0}", obstacle);
}

namespace {
struct FuseColumnSumsPass : mpc::impl::FuseColumnSumsBase<FuseColumnSumsPass> {
  using FuseColumnSumsBase::FuseColumnSumsBase;

  void runOnModule() override {
    SmallVector<GenericOp> sums;
    getOperation().walk([&](GenericOp op) {
      if (isColumnSum(op))
        sums.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (GenericOp sum : sums)
      fuseSum(rewriter, sum, rounded);
  }
};
} // namespace
