// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: entries keep addresses, launches and library calls; what touches a buffer is a kernel.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "lib/Conversion/LinalgToMpcrt/HostSpill.h"
#include "lib/Conversion/LinalgToMpcrt/KernelOutliner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/EntrySignature.h"
#include "mpc/Analysis/ReshapedBuffer.h"
#include "mpc/Conversion/Passes.h"
#include "llvm/ADT/IntEqClasses.h"

namespace mpc {
#define GEN_PASS_DEF_OUTLINEHOSTCODE
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The device runs such an op as a whole, or has run all before it, in the order of the host's
/// calls.
static bool isCall(Operation *op) {
  return isa<mpcrt::LaunchOp, mpcrt::TraceOp, mpcrt::ServiceCallOpInterface>(op);
}

static bool containsCall(Operation *op) {
  // Its memory belongs to the entry, whatever the body is.
  if (isa<mpcrt::PrepareOp>(op))
    return true;
  return op
      ->walk([](Operation *inner) {
        return isCall(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
class HostOutliner {
public:
  explicit HostOutliner(func::FuncOp entry)
      : entry(entry), module(entry->getParentOfType<ModuleOp>()), spill(entry) {}

  LogicalResult run() {
    spill.replaceAllocas();
    if (failed(outline(entry.getBody().front())))
      return failure();
    spill.finish();
    return verify();
  }

private:
  LogicalResult outline(Block &block);
  /// Values of the run that something after it reads go through memory.
  LogicalResult spillResults();
  /// Ops that become one kernel, in their order.
  using Run = llvm::SetVector<Operation *>;
  LogicalResult flush();
  /// The ops in parts that neither need each other nor touch what another one writes: one that
  /// waits for something makes no other one wait.
  static std::vector<Run> partsOf(ArrayRef<Operation *> ops);
  /// Puts a launch where `host` stands in the place of the ops.
  void outline(const Run &run, OpBuilder host);
  LogicalResult verify();

  func::FuncOp entry;
  ModuleOp module;
  HostSpill spill;
  /// Ops that become kernels: no call stands between them.
  llvm::SetVector<Operation *> current;
  unsigned kernels = 0;
};
} // namespace

LogicalResult HostOutliner::outline(Block &block) {
  // The next op is asked for late: a spilled value is loaded before its next use.
  for (Operation *op = &block.front(); op; op = op->getNextNode()) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      break;
    bool isOnDevice = !isMemoryEffectFree(op) || llvm::any_of(op->getOperands(), [&](Value value) {
      return value.getDefiningOp() && current.contains(value.getDefiningOp());
    });
    if (isCall(op) || containsCall(op)) {
      if (failed(flush()))
        return failure();
      for (Region &region : op->getRegions())
        for (Block &inner : region)
          if (failed(outline(inner)))
            return failure();
      continue;
    }
    if (isOnDevice)
      current.insert(op);
  }
  return flush();
}

/// Whatever is left is a number that a call or a loop needs on the host.
LogicalResult HostOutliner::verify() {
  bool failedOnce = false;
  entry.walk([&](Operation *op) {
    if (isCall(op) || op->getNumRegions() || isMemoryEffectFree(op) || isa<func::ReturnOp>(op))
      return;
    op->emitOpError("is code of the host that touches a buffer; a step on CUDA may not wait for "
                    "what the device computes");
    failedOnce = true;
  });
  return failure(failedOnce);
}

LogicalResult HostOutliner::spillResults() {
  SmallVector<Operation *> ops(current.begin(), current.end());
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      SmallVector<OpOperand *> outside;
      for (OpOperand &use : result.getUses()) {
        Operation *top = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
        if (!top || !current.contains(top))
          outside.push_back(&use);
      }
      if (outside.empty())
        continue;
      if (isa<MemRefType>(result.getType()))
        return op->emitOpError("has an index that the device computes; a step on CUDA may not wait "
                               "for one");
      current.insert(spill.throughMemory(result, outside));
    }
  return success();
}

/// The buffers that an op touches, as far as it names them.
static SmallVector<BufferUse> buffersOf(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  SmallVector<BufferUse> uses;
  for (Value value : values)
    if (isa<MemRefType>(value.getType()))
      uses.emplace_back(value, !isa<memref::LoadOp>(op));
  return uses;
}

std::vector<HostOutliner::Run> HostOutliner::partsOf(ArrayRef<Operation *> ops) {
  llvm::DenseMap<Operation *, unsigned> numbers;
  for (auto [i, op] : llvm::enumerate(ops))
    numbers[op] = i;
  llvm::IntEqClasses parts(ops.size());
  SmallVector<std::pair<unsigned, SmallVector<BufferUse>>> touching;
  for (auto [i, op] : llvm::enumerate(ops)) {
    llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), values);
    for (Value value : values)
      if (auto found = numbers.find(value.getDefiningOp()); found != numbers.end())
        parts.join(i, found->second);
    if (isMemoryEffectFree(op))
      continue;
    SmallVector<BufferUse> own = buffersOf(op);
    for (auto &[before, others] : touching)
      for (const BufferUse &x : others)
        for (const BufferUse &y : own)
          if ((x.isWritten || y.isWritten) && mayOverlap(x.base, y.base))
            parts.join(before, i);
    touching.emplace_back(i, std::move(own));
  }
  parts.compress();
  std::vector<Run> runs(parts.getNumClasses());
  for (auto [i, op] : llvm::enumerate(ops))
    runs[parts[i]].insert(op);
  return runs;
}

LogicalResult HostOutliner::flush() {
  if (current.empty())
    return success();
  if (failed(spillResults()))
    return failure();
  SmallVector<Operation *> ordered(current.begin(), current.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Block *block = ordered.back()->getBlock();
  const Block::iterator end = std::next(ordered.back()->getIterator());
  for (const Run &run : partsOf(ordered))
    outline(run, OpBuilder(block, end));
  current.clear();
  return success();
}

void HostOutliner::outline(const Run &run, OpBuilder host) {
  llvm::SetVector<Value> outside;
  auto need = [&](Value value) {
    Operation *producer = value.getDefiningOp();
    if (!producer || !run.contains(producer))
      outside.insert(value);
  };
  for (Operation *op : run) {
    llvm::for_each(op->getOperands(), need);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::for_each(captured, need);
  }
  SmallVector<Value> arguments, constants;
  for (Value value : outside) {
    bool isLocal = value.getDefiningOp() && (matchPattern(value, m_Constant()) ||
                                             value.getDefiningOp<memref::GetGlobalOp>());
    (isLocal ? constants : arguments).push_back(value);
  }

  Location loc = run.front()->getLoc();
  OpBuilder builder(entry);
  SmallVector<Type> types(ValueRange(arguments).getTypes());
  types.append(2, builder.getIndexType());
  std::string name;
  do {
    name = "kernel_" + entry.getSymName().str() + "_scalars_" + std::to_string(kernels++);
  } while (SymbolTable::lookupSymbolIn(module, name));
  auto kernel = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  kernel.setPrivate();
  kernel->setAttr(mpcrt::MpcrtDialect::kKernelAttr, builder.getUnitAttr());
  Block *body = kernel.addEntryBlock();
  OpBuilder inside = OpBuilder::atBlockBegin(body);
  IRMapping mapping;
  for (auto [value, argument] : llvm::zip(arguments, body->getArguments()))
    mapping.map(value, argument);
  for (Value value : constants)
    mapping.map(value, inside.clone(*value.getDefiningOp())->getResult(0));
  for (Operation *op : run)
    inside.clone(*op, mapping);
  func::ReturnOp::create(inside, loc);

  Value one = arith::ConstantIndexOp::create(host, loc, 1);
  mpcrt::LaunchOp::create(host, loc, name, one, /*grain=*/1, arguments);
  for (Operation *op : llvm::reverse(run))
    op->erase();
}

/// A constant array has no address on the device that the host knows: the kernel names it itself.
static void sinkGlobals(mpcrt::LaunchOp launch, ModuleOp module) {
  auto globalOf = [](Value value) -> Operation * {
    return skipBufferReshapes(value).getDefiningOp<memref::GetGlobalOp>();
  };
  if (!llvm::any_of(launch.getArguments(), globalOf))
    return;
  auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel());
  OpBuilder builder(kernel);
  auto own = cast<func::FuncOp>(builder.clone(*kernel));
  std::string name = kernel.getSymName().str() + "_of_constant";
  for (unsigned number = 1; SymbolTable::lookupSymbolIn(module, name); ++number)
    name = kernel.getSymName().str() + "_of_constant_" + std::to_string(number);
  own.setSymName(name);
  OpBuilder inside = OpBuilder::atBlockBegin(&own.getBody().front());
  SmallVector<Value> left;
  llvm::BitVector erased(own.getNumArguments());
  for (auto [i, argument] : llvm::enumerate(launch.getArguments())) {
    Operation *global = globalOf(argument);
    if (!global) {
      left.push_back(argument);
      continue;
    }
    SmallVector<Operation *> views;
    for (Operation *view = argument.getDefiningOp(); view != global;
         view = view->getOperand(0).getDefiningOp())
      views.push_back(view);
    IRMapping mapping;
    inside.clone(*global, mapping);
    for (Operation *view : llvm::reverse(views))
      inside.clone(*view, mapping);
    own.getArgument(i).replaceAllUsesWith(mapping.lookup(argument));
    erased.set(i);
  }
  if (failed(own.eraseArguments(erased)))
    return;
  OpBuilder host(launch);
  mpcrt::LaunchOp::create(host, launch.getLoc(), name, launch.getCount(), launch.getGrain(), left);
  launch.erase();
}

namespace {
struct OutlineHostCodePass : mpc::impl::OutlineHostCodeBase<OutlineHostCodePass> {
  void runOnModule() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> entries;
    for (auto function : module.getOps<func::FuncOp>())
      if (isEntry(function))
        entries.push_back(function);
    bool failedOnce = false;
    for (func::FuncOp entry : entries) {
      if (failed(verifyEntrySignature(entry)))
        return signalPassFailure();
      SmallVector<mpcrt::LaunchOp> launches;
      entry.walk([&](mpcrt::LaunchOp launch) { launches.push_back(launch); });
      for (mpcrt::LaunchOp launch : launches)
        sinkGlobals(launch, module);
      failedOnce |= failed(HostOutliner(entry).run());
    }
    // Kernels that only constants called for.
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function->hasAttr(mpcrt::MpcrtDialect::kKernelAttr) &&
          SymbolTable::symbolKnownUseEmpty(function, module))
        function.erase();
    mergeEqualKernels(module);
    if (failedOnce)
      signalPassFailure();
  }
};
} // namespace
