// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: each rank of a job updates its part of variables.
#include "lib/Conversion/LinalgToMpcrt/UpdatesOfRanks.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/LayerPath.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_SHARDUPDATES
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The op of the entry's block that the launch is, or is in.
static Operation *stepOf(mpcrt::LaunchOp launch) {
  auto all = dyn_cast<mpcrt::LaunchAllOp>(launch->getParentOp());
  return all ? all.getOperation() : launch.getOperation();
}

static int64_t bytesOf(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

namespace {
/// The part of so many elements that each rank owns, in front of one step of an entry.
struct OwnPart {
  Value begin, count;
};

/// Rewrites one entry.
class EntryRewriter {
public:
  EntryRewriter(func::FuncOp entry, UpdatesOfRanks &updates,
                const llvm::SetVector<Operation *> &gathered, int64_t bucketBytes)
      : entry(entry), updates(updates), gathered(gathered), bucketBytes(bucketBytes) {
    entry.walk([&](mpcrt::WaitForRanksOp wait) {
      bucket = std::max<int64_t>(bucket, static_cast<int64_t>(wait.getBucket()) + 1);
    });
  }

  void run() {
    for (auto reduction : llvm::make_early_inc_range(entry.getOps<mpcrt::AllReduceOp>()))
      if (reduction.getByElements() && updates.needsOwnPart(reduction))
        scatter(reduction);
    SmallVector<const RankUpdate *> own;
    for (auto &[op, update] : updates.all())
      if (op->getParentOfType<func::FuncOp>() == entry)
        own.push_back(&update);
    // First, while launches have the buffers themselves.
    gather(own);
    for (const RankUpdate *update : own)
      restrict(*update);
  }

private:
  static void scatter(mpcrt::AllReduceOp op) {
    OpBuilder builder(op);
    mpcrt::ReduceScatterOp::create(builder, op.getLoc(), TypeRange(), op.getKind(), op.getOut(),
                                   op.getBucket(), op.getEndsBucket(), op.getLayer(),
                                   op.getInBfloat16());
    op.erase();
  }

  /// The variables that other ranks need, with the last step that writes each.
  void gather(ArrayRef<const RankUpdate *> own) {
    llvm::MapVector<Value, Operation *> last;
    for (const RankUpdate *update : own)
      for (unsigned index : update->own) {
        Value buffer = update->argument(index);
        VariableOp variable = updates.variableOf(buffer);
        if (!variable || !gathered.contains(variable) || !updates.isWritten(update->launch, index))
          continue;
        Operation *&step = last[baseOf(buffer)];
        if (!step || step->isBeforeInBlock(stepOf(update->launch)))
          step = stepOf(update->launch);
      }
    llvm::MapVector<std::pair<Operation *, Type>, SmallVector<Value>> groups;
    for (auto [buffer, step] : last)
      groups[{step, getElementTypeOrSelf(buffer.getType())}].push_back(buffer);
    for (auto &[key, buffers] : groups)
      gatherBehind(key.first, buffers);
  }

  void gatherBehind(Operation *step, ArrayRef<Value> buffers) {
    while (!buffers.empty()) {
      size_t many = 1;
      for (int64_t bytes = bytesOf(buffers[0]);
           many < buffers.size() && (bytes += bytesOf(buffers[many])) <= bucketBytes;)
        ++many;
      send(step, buffers.take_front(many));
      buffers = buffers.drop_front(many);
    }
  }

  /// One message, which is waited for in front of what touches the first of its arrays.
  void send(Operation *step, ArrayRef<Value> buffers) {
    Block *block = step->getBlock();
    Operation *first = block->getTerminator();
    for (Value buffer : buffers)
      for (OpOperand *touch : findTouches(buffer))
        if (Operation *user = block->findAncestorOpInBlock(*touch->getOwner());
            user && step->isBeforeInBlock(user) && user->isBeforeInBlock(first))
          first = user;
    OpBuilder behind(step->getContext()), before(first);
    while (isa<mpcrt::AllGatherOp>(step->getNextNode()))
      step = step->getNextNode(); // messages that were sent before
    behind.setInsertionPointAfter(step);
    for (Value buffer : buffers) {
      const StringRef layer = layerPathOf(step->getLoc());
      mpcrt::AllGatherOp::create(behind, step->getLoc(), TypeRange(), buffer, bucket,
                                 /*ends_bucket=*/buffer == buffers.back(), layer);
      mpcrt::WaitForRanksOp::create(before, step->getLoc(), TypeRange(), buffer, bucket, layer);
    }
    ++bucket;
  }

  /// The launch goes through the own elements alone: through views that begin there.
  void restrict(const RankUpdate &update) {
    mpcrt::LaunchOp launch = update.launch;
    Location loc = launch.getLoc();
    OpBuilder builder(stepOf(launch));
    OwnPart &part = parts[{stepOf(launch), update.elements}];
    if (!part.begin) {
      Type index = builder.getIndexType();
      auto own = mpcrt::OwnPartOp::create(builder, loc, index, index, update.elements);
      part = {own.getBegin(), own.getCount()};
    }
    launch.getCountMutable().assign(part.count);
    for (unsigned index : update.own) {
      Value buffer = launch.getArguments()[index];
      const OpFoldResult begin(part.begin), count(part.count), one(builder.getIndexAttr(1));
      Value view =
          memref::SubViewOp::create(builder, loc, buffer, ArrayRef<OpFoldResult>(begin),
                                    ArrayRef<OpFoldResult>(count), ArrayRef<OpFoldResult>(one));
      launch.getArgumentsMutable()[index].assign(
          memref::CastOp::create(builder, loc, buffer.getType(), view));
    }
  }

  func::FuncOp entry;
  UpdatesOfRanks &updates;
  const llvm::SetVector<Operation *> &gathered;
  const int64_t bucketBytes;
  int64_t bucket = 0; // the next one
  llvm::DenseMap<std::pair<Operation *, int64_t>, OwnPart> parts;
};

/// Launches of @train_backward that make nothing but results of sums over ranks: a part of a batch
/// whose results nobody reads makes none.
void limitResults(ModuleOp module) {
  func::FuncOp entry = findEntry(module, EntryRole::TrainBackward);
  if (!entry)
    return;
  UpdatesOfRanks uses(module);
  llvm::DenseSet<Value> sums;
  for (auto reduction : entry.getOps<mpcrt::AllReduceOp>())
    if (reduction.getByElements())
      sums.insert(baseOf(reduction.getOut()));
  auto isResult = [&](Value buffer) {
    auto argument = dyn_cast<BlockArgument>(baseOf(buffer));
    return argument && entry.getArgAttr(argument.getArgNumber(), mpcrt::MpcrtDialect::kOutputAttr);
  };
  entry.walk([&](mpcrt::LaunchOp launch) {
    if (stepOf(launch)->getParentOp() != entry)
      return;
    auto count = evaluateIndex(launch.getCount());
    bool readsSum = false;
    for (auto [index, argument] : llvm::enumerate(launch.getArguments())) {
      if (!isa<MemRefType>(argument.getType()))
        continue;
      const bool isSum = sums.contains(baseOf(argument));
      readsSum |= isSum;
      if (uses.isWritten(launch, index) ? !isResult(argument) : !isSum)
        return;
    }
    if (!readsSum || !count || !count->isFixed() || count->fixed < kFewestSharedElements)
      return;
    OpBuilder builder(stepOf(launch));
    Type type = builder.getIndexType();
    auto own = mpcrt::OwnPartOp::create(builder, launch.getLoc(), type, type, count->fixed);
    launch.getCountMutable().assign(own.getCount());
  });
}

struct ShardUpdatesPass : mpc::impl::ShardUpdatesBase<ShardUpdatesPass> {
  using ShardUpdatesBase::ShardUpdatesBase;

  void runOnModule() override {
    ModuleOp module = getOperation();
    if (module.walk([](mpcrt::OwnPartOp) { return WalkResult::interrupt(); }).wasInterrupted())
      return; // a run before this one
    if (llvm::none_of(module.getOps<VariableOp>(),
                      [](VariableOp variable) { return variable.getSharded(); }))
      return limitResults(module);
    UpdatesOfRanks updates(module);
    llvm::SetVector<Operation *> gathered;
    int64_t inParts = 0;
    const llvm::SetVector<Operation *> written = updates.findWritten();
    for (Operation *op : written)
      if (auto variable = cast<VariableOp>(op); updates.areOnlyUsersOf(variable)) {
        variable.setInParts(true);
        ++inParts;
      } else {
        gathered.insert(op);
      }
    if (failed(tellWhole(written)))
      return signalPassFailure();
    remark::passed(module.getLoc(), remark::RemarkOpts::name("shards").category("mpc-distribute"))
        << (llvm::Twine(inParts) + " variables are in parts, " + llvm::Twine(gathered.size()) +
            " are gathered after each update")
               .str();
    for (EntryRole role : {EntryRole::TrainStep, EntryRole::TrainApply})
      if (func::FuncOp entry = findEntry(module, role))
        EntryRewriter(entry, updates, gathered, bucketBytes).run();
  }

private:
  /// Names the variables that every rank updates whole although they were to be in parts.
  LogicalResult tellWhole(const llvm::SetVector<Operation *> &written) {
    llvm::DenseSet<StringRef> inParts; // variables, and those with a shadow that is
    for (Operation *op : written) {
      auto variable = cast<VariableOp>(op);
      inParts.insert(variable.getShadowOf().value_or(variable.getSymName()));
    }
    SmallVector<VariableOp> wanted, whole;
    for (auto variable : getOperation().getOps<VariableOp>()) {
      if (!variable.getSharded())
        continue;
      wanted.push_back(variable);
      const int64_t elements = cast<RankedTensorType>(variable.getType()).getNumElements();
      // Nobody expects it of a few elements.
      if (!inParts.contains(variable.getSymName()) && elements >= kFewestSharedElements)
        whole.push_back(variable);
    }
    for (VariableOp variable : whole)
      variable.emitWarning() << "'" << variable.getSymName()
                             << "': every rank updates all of it: its optimizer reads the whole of "
                                "what it updates (norms, rows, factors)";
    if (!wanted.empty() && written.empty())
      return wanted.front().emitError()
             << "--shard=optimizer: no update of a variable can be shared by ranks; "
             << (whole.empty() ? "all variables have fewer than " +
                                     std::to_string(kFewestSharedElements) + " elements"
                               : "the optimizer reads the whole of what it updates")
             << "; leave the option out";
    return success();
  }
};
} // namespace
