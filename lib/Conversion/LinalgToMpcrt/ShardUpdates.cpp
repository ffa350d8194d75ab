// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: each rank of a job updates its part of variables.
#include "lib/Conversion/LinalgToMpcrt/SummedProducts.h"
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
      : entry(entry), updates(updates), gathered(gathered), bucketBytes(bucketBytes),
        repeats(entryRoleOf(entry) == EntryRole::TrainStep) {
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
    llvm::MapVector<std::tuple<Operation *, Type, unsigned>, SmallVector<Gather>> groups;
    for (auto [buffer, step] : last) {
      const auto [first, isNextRun] = findReader(buffer, step);
      SmallVector<Gather> &group =
          groups[{step, getElementTypeOrSelf(buffer.getType()), unsigned(isNextRun)}];
      group.push_back({buffer, first, group.size()});
    }
    for (auto &[key, group] : groups) {
      // Messages go in the order in which they are waited for.
      llvm::sort(group, [](const Gather &a, const Gather &b) {
        return a.reader == b.reader ? a.number < b.number : a.reader->isBeforeInBlock(b.reader);
      });
      gatherBehind(std::get<0>(key), group, /*isNextRun=*/std::get<2>(key) != 0);
    }
    if (gathers != 0)
      remark::passed(
          entry.getLoc(),
          remark::RemarkOpts::name("gathers").category("mpc-distribute").function(entry.getName()))
          << (llvm::Twine(gathers) + " arrays of " + llvm::Twine(gatheredBytes) +
              " bytes are gathered in " + llvm::Twine(messages) + " messages; " +
              llvm::Twine(nextRunBytes) + " bytes go while the next step begins")
                 .str();
  }

  /// An array that is gathered, and the first op behind that touches it.
  struct Gather {
    Value buffer;
    Operation *reader;
    size_t number; // of those behind one step
  };

  /// The first op that touches the buffer when `step` has written it, and whether that is one of
  /// the entry's next run. Only entries read a shadow, so that the runtime knows when somebody
  /// does.
  std::pair<Operation *, bool> findReader(Value buffer, Operation *step) {
    Operation *behind = nullptr, *next = step;
    for (OpOperand *touch : findTouches(buffer)) {
      Operation *user = step->getBlock()->findAncestorOpInBlock(*touch->getOwner());
      if (!user || user == step)
        continue;
      Operation *&first = step->isBeforeInBlock(user) ? behind : next;
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    VariableOp variable = updates.variableOf(buffer);
    if (!behind && repeats && variable.getShadowOf())
      return {next, true};
    return {behind ? behind : step->getBlock()->getTerminator(), false};
  }

  void gatherBehind(Operation *step, ArrayRef<Gather> group, bool isNextRun) {
    while (!group.empty()) {
      size_t many = 1;
      int64_t bytes = bytesOf(group[0].buffer);
      for (; many < group.size() && bytes + bytesOf(group[many].buffer) <= bucketBytes; ++many)
        bytes += bytesOf(group[many].buffer);
      send(step, group.take_front(many));
      ++messages;
      gathers += static_cast<int64_t>(many);
      gatheredBytes += bytes;
      nextRunBytes += isNextRun ? bytes : 0;
      group = group.drop_front(many);
    }
  }

  /// One message, which is waited for in front of what touches the first of its arrays.
  void send(Operation *step, ArrayRef<Gather> group) {
    OpBuilder behind(step->getContext()), before(group.front().reader);
    const Location loc = step->getLoc();
    while (isa<mpcrt::AllGatherOp>(step->getNextNode()))
      step = step->getNextNode(); // messages that were sent before
    behind.setInsertionPointAfter(step);
    for (const Gather &gather : group) {
      const StringRef layer = layerPathOf(loc);
      mpcrt::AllGatherOp::create(behind, loc, TypeRange(), gather.buffer, bucket,
                                 /*ends_bucket=*/&gather == &group.back(), layer);
      mpcrt::WaitForRanksOp::create(before, loc, TypeRange(), gather.buffer, bucket, layer);
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
  const bool repeats; // training runs this entry again and again, not stages with others between
  int64_t bucket = 0; // the next one
  int64_t messages = 0, gathers = 0, gatheredBytes = 0, nextRunBytes = 0;
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
                      [](VariableOp variable) { return variable.getSharded(); })) {
      limitResults(module);
      return markSummedProducts(module); // behind it, by the counts of launches
    }
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
