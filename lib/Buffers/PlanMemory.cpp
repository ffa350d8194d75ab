// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts the temporaries of each entry into the arena, as the analysis MemoryPlan says.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/MemoryPlan.h"
#include "mpc/Buffers/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_PLANMEMORY
#include "mpc/Buffers/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Dimensions of buffers become arithmetic on the batch: a pointer knows no extent.
static LogicalResult replaceDimensions(func::FuncOp entry, Value batch) {
  LogicalResult result = success();
  entry.walk([&](memref::DimOp dim) {
    auto index = dim.getConstantIndex();
    auto extent = index ? getExtent(dim.getSource(), *index) : std::nullopt;
    if (!extent) {
      dim.emitOpError("is no function of the batch");
      result = failure();
      return;
    }
    OpBuilder builder(dim);
    dim.replaceAllUsesWith(materialize(builder, dim.getLoc(), *extent, batch));
    dim.erase();
  });
  return result;
}

/// On a GPU launches that share no memory have no order: the temporaries of small work, of which
/// there is much at the end of a step, are worth their own.
static constexpr int64_t kApartBytes = 8192;

static LogicalResult plan(func::FuncOp entry, Device device) {
  BlockArgument batch = getBatchArgument(entry);
  if (!batch)
    return entry.emitOpError("has no argument mpcrt.batch; run mpc-pass-destinations first");
  if (entry->hasAttr(mpcrt::MpcrtDialect::kArenaFixedAttr))
    return success();
  auto plan = MemoryPlan::compute(entry, device == Device::cuda ? kApartBytes : 0);
  if (failed(plan) || failed(replaceDimensions(entry, batch)))
    return failure();

  OpBuilder builder = OpBuilder::atBlockBegin(&entry.getBody().front());
  auto arenaType = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  unsigned index = entry.getNumArguments();
  NamedAttribute role =
      builder.getNamedAttr(mpcrt::MpcrtDialect::kArenaAttr, builder.getUnitAttr());
  if (failed(
          entry.insertArgument(index, arenaType, builder.getDictionaryAttr(role), entry.getLoc())))
    return failure();
  Value arena = entry.getArgument(index);
  for (const MemoryPlan::Buffer &buffer : plan->getBuffers()) {
    memref::AllocOp alloc = buffer.alloc;
    // A position kept from before would not do: the op that stood there may be an allocation,
    // erased by now.
    builder.setInsertionPointToStart(&entry.getBody().front());
    Value view = mpcrt::ViewOp::create(builder, alloc.getLoc(), alloc.getType(), arena, batch,
                                       static_cast<uint64_t>(buffer.offset.fixed),
                                       static_cast<uint64_t>(buffer.offset.perSample),
                                       static_cast<uint64_t>(buffer.extentPerSample));
    for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
      if (isa<memref::DeallocOp>(user))
        user->erase();
    alloc.replaceAllUsesWith(view);
    alloc.erase();
  }
  BatchExtent bytes = plan->getArena(), sum = plan->getSum();
  entry->setAttr(mpcrt::MpcrtDialect::kArenaFixedAttr, builder.getI64IntegerAttr(bytes.fixed));
  entry->setAttr(mpcrt::MpcrtDialect::kArenaPerSampleAttr,
                 builder.getI64IntegerAttr(bytes.perSample));
  remark::passed(entry.getLoc(), remark::RemarkOpts::name("memory-plan").category("mpc-memory"))
      << "@" << entry.getSymName().str() << " plans " << remark::metric("fixed", bytes.fixed)
      << " bytes + " << remark::metric("per_sample", bytes.perSample)
      << " per sample; without sharing " << remark::metric("fixed_unshared", sum.fixed) << " + "
      << remark::metric("per_sample_unshared", sum.perSample);
  return success();
}

namespace {
struct PlanMemoryPass : mpc::impl::PlanMemoryBase<PlanMemoryPass> {
  using PlanMemoryBase::PlanMemoryBase;

  LogicalResult runOnEntry(func::FuncOp entry) const override { return plan(entry, device); }
};
} // namespace
