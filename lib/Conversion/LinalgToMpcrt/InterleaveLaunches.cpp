// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: launches that go through a contraction's result element by element join it.
#include "BufferPlace.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mpc-rt/executable.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Codegen/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_INTERLEAVELAUNCHESPASS
#include "mpc/Codegen/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Whether iteration i of the kernel reads element i of `argument` and no other one.
static bool isReadByElement(BlockArgument argument) {
  auto kernel = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  Value begin = kernel.getArguments().drop_back().back(), end = kernel.getArguments().back();
  return llvm::all_of(argument.getUsers(), [&](Operation *user) {
    auto load = dyn_cast<memref::LoadOp>(user);
    auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
    return load && loop && loop->getParentOp() == kernel && loop.getLowerBound() == begin &&
           loop.getUpperBound() == end && load.getIndices().size() == 1 &&
           load.getIndices().front() == loop.getInductionVar();
  });
}

static Value baseOf(Value buffer) { return memref::skipViewLikeOps(cast<MemrefValue>(buffer)); }

/// The argument of the launch that is `out`, element for element; none if it is used otherwise.
static std::optional<unsigned> findResult(mpcrt::LaunchOp launch, Value out,
                                          const BufferUses &uses) {
  std::optional<unsigned> result;
  for (auto [index, argument] : llvm::enumerate(launch.getArguments())) {
    if (!isa<MemRefType>(argument.getType()) || !mayOverlap(argument, out))
      continue;
    if (result || baseOf(argument) != baseOf(out))
      return std::nullopt;
    result = index;
  }
  if (!result)
    return std::nullopt;
  func::FuncOp kernel = uses.kernelOf(launch);
  auto count = evaluateIndex(launch.getCount()), elements = getElementCount(out);
  bool whole = count && elements && *count == *elements;
  return whole && kernel && isReadByElement(kernel.getArgument(*result)) ? result : std::nullopt;
}

/// Whether nothing between the two ops cares when `launch` runs.
static bool isFreeToRise(mpcrt::LaunchOp launch, mpcrt::ContractOp contract, BufferUses &uses) {
  for (Operation *op = contract->getNextNode(); op != launch; op = op->getNextNode())
    if (!isMemoryEffectFree(op) && uses.dependOnEachOther(op, launch))
      return false;
  return true;
}

/// Whether the launch leaves alone what the contraction reads besides its result.
static bool leavesOperands(mpcrt::LaunchOp launch, mpcrt::ContractOp contract, BufferUses &uses) {
  auto touched = uses.of(launch);
  return touched && llvm::none_of(*touched, [&](const BufferUse &use) {
           return use.isWritten && llvm::any_of(contract.getOperands(), [&](Value operand) {
                    return mayOverlap(use.buffer, operand);
                  });
         });
}

/// Whether only these two ops use the memory of the result.
static bool isConsumed(mpcrt::ContractOp contract, mpcrt::LaunchOp launch) {
  SmallVector<Value> pending{baseOf(contract.getOut())};
  if (!pending.front().getDefiningOp<mpcrt::ViewOp>() || contract.getAccumulate())
    return false;
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (isa<ViewLikeOpInterface>(user))
        pending.append(user->result_begin(), user->result_end());
      else if (user != contract && user != launch)
        return false;
    }
  return true;
}

static bool touches(Operation *op, Value buffer, BufferUses &uses) {
  auto touched = uses.of(op);
  return !touched || llvm::any_of(*touched, [&](const BufferUse &use) {
    return mayOverlap(use.buffer, buffer);
  });
}

/// What uses the contraction's result first, if that is a launch that may join it.
static mpcrt::LaunchOp findPartner(mpcrt::ContractOp contract, unsigned &result, BufferUses &uses) {
  for (Operation *op = contract->getNextNode(); op; op = op->getNextNode()) {
    if (isMemoryEffectFree(op) || !touches(op, contract.getOut(), uses))
      continue;
    auto launch = dyn_cast<mpcrt::LaunchOp>(op);
    if (!launch || launch.getArguments().size() > MPC_RT_MAX_KERNEL_ARGUMENTS)
      return nullptr;
    auto found = findResult(launch, contract.getOut(), uses);
    if (!found || !leavesOperands(launch, contract, uses) || !isFreeToRise(launch, contract, uses))
      return nullptr;
    result = *found;
    return launch;
  }
  return nullptr;
}

static void interleave(mpcrt::ContractOp contract, BufferUses &uses) {
  auto out = dyn_cast<MemRefType>(contract.getOut().getType());
  if (!out || !contract.isPlainBesideSums() || !isa<FloatType>(out.getElementType()))
    return;
  unsigned result = 0;
  mpcrt::LaunchOp launch = findPartner(contract, result, uses);
  if (!launch)
    return;
  IRRewriter builder(contract.getContext());
  if (failed(moveValueDefinitions(builder, launch->getOperands(), contract)))
    return;
  builder.setInsertionPointAfter(contract);
  auto both =
      mpcrt::InterleaveOp::create(builder, contract.getLoc(), result, isConsumed(contract, launch));
  Block &body = both.getBody().emplaceBlock();
  contract->moveBefore(&body, body.end());
  launch->moveBefore(&body, body.end());
  remark::passed(contract.getLoc(), remark::RemarkOpts::name("interleave").category("mpc-kernels"))
      << (launch.getKernel() + " runs on each part of the product of " + contract.getLayer() +
          (both.getConsumed() ? ", which is not stored" : ""))
             .str();
}

namespace {
struct InterleaveLaunches : mpc::impl::InterleaveLaunchesPassBase<InterleaveLaunches> {
  void runOnOperation() override {
    BufferUses uses(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(MpcDialect::kEntryAttr))
        for (auto contract :
             llvm::make_early_inc_range(function.getBody().front().getOps<mpcrt::ContractOp>()))
          interleave(contract, uses);
  }
};
} // namespace
