// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of a bias in the contraction that makes the gradient of the weights, which reads the
// same cotangent.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcToLinalg/ProductParts.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc/Analysis/FusionRemark.h"
#include "mpc/Analysis/Reshapes.h"

using namespace mlir;
using namespace mpc;

/// The tensor whose columns are summed, which the sum may read in float32.
static Value summedTensor(ReduceOp sum) {
  auto cast = sum.getInput().getDefiningOp<CastOp>();
  return cast && isWideningCast(cast) ? cast.getInput() : sum.getInput();
}

bool mpc::isWideningCast(CastOp op) {
  Type type = elementTypeOf(op.getInput());
  return elementTypeOf(op.getResult()).isF32() && (type.isBF16() || type.isF16());
}

bool mpc::isColumnSum(ReduceOp op) {
  const int64_t last = tensorTypeOf(op.getInput()).getRank() - 1;
  Type element = elementTypeOf(op.getInput());
  return op.getKind() == ReduceKind::Sum && last > 0 && isa<FloatType>(element) &&
         widerOf32(element).isF32() && int64_t(op.getAxes().size()) == last &&
         !llvm::is_contained(op.getAxes(), last);
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
static SmallVector<Operation *> findEarlyUsers(ReduceOp sum, mpcrt::ContractOp contract) {
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

/// Why sums of the type of the contraction's result would not do; empty when they do.
static StringRef obstacleOfRounding(mpcrt::ContractOp contract, ReduceOp sum) {
  Type out = getElementTypeOrSelf(contract.getOut().getType());
  if (contract.getAccumulate())
    return "the contraction adds to another result";
  if (out.isF32())
    return "";
  if (elementTypeOf(sum.getResult()) != out)
    return "the sums are not rounded to the type of the contraction's result";
  return "";
}

/// Why the contraction cannot sum; empty when it can.
static std::string obstacleOfSum(mpcrt::ContractOp contract, ReduceOp sum, bool rounded) {
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

/// The value that replaces `sum`, made of the columns that the contraction summed.
static Value asResult(IRRewriter &rewriter, ReduceOp sum, Value sums) {
  Location loc = sum.getLoc();
  const int64_t columns = lastExtentOf(sum.getInput());
  if (lastExtentOf(sums) != columns)
    sums = tensor::ExtractSliceOp::create(rewriter, loc, sums,
                                          ArrayRef<OpFoldResult>(rewriter.getIndexAttr(0)),
                                          ArrayRef<OpFoldResult>(rewriter.getIndexAttr(columns)),
                                          ArrayRef<OpFoldResult>(rewriter.getIndexAttr(1)));
  RankedTensorType type = sum.getResult().getType();
  // Sums of 16 bits are rounded already.
  if (elementTypeOf(sums) != type.getElementType())
    sums = CastOp::create(rewriter, loc, RankedTensorType::get({columns}, type.getElementType()),
                          sums);
  return sums.getType() == type ? sums : Value(ReshapeOp::create(rewriter, loc, type, sums));
}

/// The last contraction that can sum; null where none can, and then why.
static std::pair<mpcrt::ContractOp, std::string> findSummer(ReduceOp sum, bool rounded) {
  mpcrt::ContractOp last;
  std::string obstacle = "no contraction has the summed value on its right";
  for (mpcrt::ContractOp contract : readersOf(summedTensor(sum))) {
    const std::string found = obstacleOfSum(contract, sum, rounded);
    if (!found.empty())
      obstacle = found;
    else if (!last || last->isBeforeInBlock(contract))
      last = contract;
  }
  return {last, obstacle};
}

void mpc::takeColumnSum(IRRewriter &rewriter, ReduceOp sum, bool rounded) {
  auto [contract, obstacle] = findSummer(sum, rounded);
  if (!contract) {
    remark::missed(sum.getLoc(), fusionRemark("column-sums"))
        << remark::reason("sums of columns not in a contraction: {0}", obstacle);
    return;
  }
  Operation *last = contract;
  for (Operation *user : findEarlyUsers(sum, contract)) {
    rewriter.moveOpAfter(user, last);
    last = user;
  }
  rewriter.setInsertionPoint(contract);
  Type element =
      rounded ? getElementTypeOrSelf(contract.getOut().getType()) : rewriter.getF32Type();
  mpcrt::ContractOp::Extras extras = contract.getExtras();
  extras.sums =
      tensor::EmptyOp::create(rewriter, sum.getLoc(), lastExtentOf(contract.getRhs()), element);
  auto merged = contract.cloneWith(rewriter, extras);
  remark::passed(sum.getLoc(), fusionRemark("column-sums"))
      << ("columns summed by the contraction of " + contract.getLayer()).str();
  rewriter.replaceOp(sum, asResult(rewriter, sum, merged.getSumsResult()));
  SmallVector<Value> results{merged.getResult(0)};
  if (merged.getLargest())
    results.push_back(merged.getLargestResult());
  rewriter.replaceOp(contract, results);
}
