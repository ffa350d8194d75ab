// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: launches that go through a product's result element by element join it.
#include "dialects/mpcrt/IR/Requantization.h"
#include "lib/Conversion/LinalgToMpcrt/ElementKernel.h"
#include "lib/Conversion/LinalgToMpcrt/MemoryOrder.h"
#include "lib/Conversion/LinalgToMpcrt/Requantization.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mpc-rt/executable.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/ReshapedBuffer.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_INTERLEAVELAUNCHES
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Whether the buffer is all of `base`, in another shape at most.
static bool isWhole(Value buffer, Value base) {
  return skipBufferReshapes(buffer) == skipBufferReshapes(base);
}

/// Whether the views of the arena are the same part.
static bool isSameView(Value a, Value b) {
  auto first = a.getDefiningOp<mpcrt::ViewOp>(), second = b.getDefiningOp<mpcrt::ViewOp>();
  return a == b || (first && second && first.getArena() == second.getArena() &&
                    rangeOf(first) == rangeOf(second));
}

namespace {
/// A launch that goes through a product's result element by element.
struct Partner {
  mpcrt::LaunchOp launch;
  std::optional<unsigned> read, written; ///< arguments that are the result; they may be the same
  bool isByRows = false;                 ///< an iteration is a row of elements
  bool rises = true;                     ///< to the product, or else that sinks to the launch
};
} // namespace

/// None if the launch uses the result of the product otherwise.
static std::optional<Partner>
findResult(mpcrt::LaunchOp launch, mpcrt::LibraryCallOpInterface product, const BufferUses &uses) {
  Value out = product.getOut();
  func::FuncOp kernel = uses.kernelOf(launch);
  auto count = evaluateIndex(launch.getCount()), elements = getElementCount(out);
  Value base = baseOf(out);
  if (!kernel || !count || !elements || !isWhole(out, base))
    return std::nullopt;
  std::optional<RowLoops> rows;
  if (!(*count == *elements)) {
    rows = findRowLoops(kernel);
    if (!rows || !(*count * BatchExtent{rows->width, 0} == elements))
      return std::nullopt;
  }
  Partner partner{launch, std::nullopt, std::nullopt, rows.has_value()};
  bool isAlone = true;
  for (auto [index, argument] : llvm::enumerate(launch.getArguments())) {
    if (!isa<MemRefType>(argument.getType()))
      continue;
    if (!mayOverlap(argument, out)) {
      auto others = getElementCount(argument);
      isAlone &= others && !(*others == *elements);
      continue;
    }
    auto access = rows ? findElementAccess(kernel.getArgument(index), *rows)
                       : findElementAccess(kernel.getArgument(index));
    Value own = baseOf(argument);
    if (!access || !isSameView(own, base) || !isWhole(argument, own) ||
        (access->isRead && (partner.read || own != base)) || (access->isWritten && partner.written))
      return std::nullopt;
    if (access->isRead)
      partner.read = index;
    if (access->isWritten)
      partner.written = index;
  }
  if (!partner.read)
    return std::nullopt;
  auto typeOf = [&](unsigned index) { return kernel.getArgument(index).getType(); };
  if (partner.written && typeOf(*partner.read) != typeOf(*partner.written))
    return std::nullopt;
  // Other arrays of that size, as derivatives read them, are read faster by a pass of their own
  // than a part of a row at a time (docs/decisions/0064). Rows that go elsewhere were measured of
  // whole rows alone.
  const bool needsWholeRows = partner.written ? !isAlone : rows.has_value();
  if (needsWholeRows && !product.hasPartsOfWholeRows())
    return std::nullopt;
  return partner;
}

/// Whether nothing between the two ops cares when `moved`, one of them, runs.
static bool isFreeBetween(mpcrt::LibraryCallOpInterface product, mpcrt::LaunchOp launch,
                          Operation *moved, MemoryOrder &order) {
  return !order.anyOrderedWith(moved, product, launch,
                               [&](Operation *other) { return other != product; });
}

/// Whether the launch leaves alone what the product reads besides its result, and what else it
/// writes, sums of columns, which are complete behind it only.
static bool leavesOperands(mpcrt::LaunchOp launch, mpcrt::LibraryCallOpInterface product,
                           BufferUses &uses) {
  const auto &touched = uses.of(launch);
  auto style = cast<DestinationStyleOpInterface>(product.getOperation());
  return touched && llvm::none_of(*touched, [&](const BufferUse &use) {
           return llvm::any_of(product->getOpOperands(), [&](OpOperand &operand) {
             return (use.isWritten || style.isDpsInit(&operand)) &&
                    operand.get() != product.getOut() && mayOverlap(use.buffer, operand.get());
           });
         });
}

/// Whether the op of an entry's block writes all of `base` and reads none of it: the product of
/// another value that has the same memory later.
static bool overwrites(Operation *op, Value base) {
  if (auto both = dyn_cast<mpcrt::InterleaveOp>(op))
    op = both.getProduct();
  auto product = dyn_cast<mpcrt::LibraryCallOpInterface>(op);
  auto style = dyn_cast<DestinationStyleOpInterface>(op);
  if (!product || !style || !isWhole(product.getOut(), base) ||
      product.readsInit(*style.getDpsInitOperand(0)))
    return false;
  return llvm::none_of(op->getOpOperands(), [&](OpOperand &operand) {
    return operand.get() != product.getOut() && mayOverlap(operand.get(), base);
  });
}

/// Whether only these two ops use the result: what uses its memory behind the launch begins with an
/// op that writes all of it.
static bool isConsumed(mpcrt::LibraryCallOpInterface product, mpcrt::LaunchOp launch) {
  Value base = baseOf(product.getOut());
  SmallVector<Value> pending{base};
  auto style = cast<DestinationStyleOpInterface>(product.getOperation());
  if (!base.getDefiningOp<mpcrt::ViewOp>() || product.readsInit(*style.getDpsInitOperand(0)))
    return false;
  Operation *next = nullptr; // behind the launch
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (isa<ViewLikeOpInterface>(user)) {
        pending.append(user->result_begin(), user->result_end());
        continue;
      }
      Operation *outer = launch->getBlock()->findAncestorOpInBlock(*user);
      if (outer == product || outer == launch || (outer && outer->isBeforeInBlock(product)))
        continue;
      if (!outer || outer->isBeforeInBlock(launch))
        return false;
      if (!next || outer->isBeforeInBlock(next))
        next = outer;
    }
  return !next || overwrites(next, base);
}

/// Finds the first user of the product's result, if that is a launch that may join it.
static std::optional<Partner> findPartner(mpcrt::LibraryCallOpInterface product, BufferUses &uses,
                                          MemoryOrder &order) {
  auto launch = dyn_cast_or_null<mpcrt::LaunchOp>(order.findNext(product, product.getOut()));
  if (!launch || launch.getArguments().size() > MPC_RT_MAX_KERNEL_ARGUMENTS)
    return std::nullopt;
  auto found = findResult(launch, product, uses);
  if (!found || !leavesOperands(launch, product, uses))
    return std::nullopt;
  // Between them may stand what makes the vectors that the launch reads.
  found->rises = isFreeBetween(product, launch, launch, order);
  if (!found->rises && !isFreeBetween(product, launch, product, order))
    return std::nullopt;
  return found;
}

static void interleave(mpcrt::LibraryCallOpInterface product, BufferUses &uses, MemoryOrder &order,
                       KernelCopies &copies) {
  if (!mpcrt::takesRequantization(product))
    return;
  auto partner = findPartner(product, uses, order);
  if (!partner)
    return;
  const bool isConsumed = !partner->written && ::isConsumed(product, partner->launch);
  std::optional<rules::Requantization> requantization;
  if (partner->isByRows && !partner->written)
    requantization = findRequantization(uses.kernelOf(partner->launch), *partner->read);
  IRRewriter builder(product.getContext());
  if (!(product.takesKernel() || (requantization && isConsumed)) ||
      (partner->rises && !order.moveDefinitions(
                             builder, llvm::to_vector<8>(partner->launch->getOperands()), product)))
    return;
  auto [launch, read, written, isByRows, rises] = *partner;
  Operation *point = rises ? product.getOperation() : launch;
  auto place = order.replace(product, launch, point);
  // Its kernel and its arguments may change.
  uses.forget(launch);
  if (isByRows) {
    builder.setInsertionPoint(point);
    copies.splitRows(builder, launch);
  }
  unsigned result = *read;
  if (written && *written != result)
    result = copies.mergeInPlace(launch, result, *written);
  builder.setInsertionPoint(point);
  const bool isReplaced = written.has_value();
  auto both =
      mpcrt::InterleaveOp::create(builder, product.getLoc(), result, isConsumed, isReplaced);
  if (requantization)
    mpcrt::setRequantization(both, *requantization);
  Block &body = both.getBody().emplaceBlock();
  product->moveBefore(&body, body.end());
  launch->moveBefore(&body, body.end());
  place(both);
  remark::passed(product.getLoc(), remark::RemarkOpts::name("interleave").category("mpc-kernels"))
      << (launch.getKernel() + " runs on each part of the product of " + product.getLayer() +
          (isReplaced           ? ", in its place"
           : both.getConsumed() ? ", which is not stored"
                                : ""))
             .str();
}

namespace {
struct InterleaveLaunchesPass : mpc::impl::InterleaveLaunchesBase<InterleaveLaunchesPass> {
  void runOnModule() override {
    BufferUses uses(getOperation());
    KernelCopies copies(uses);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!isEntry(function))
        continue;
      Block &block = function.getBody().front();
      MemoryOrder order(block, uses);
      for (auto product : llvm::make_early_inc_range(block.getOps<mpcrt::LibraryCallOpInterface>()))
        interleave(product, uses, order, copies);
    }
    copies.eraseUnused();
  }
};
} // namespace
