// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signatures and runtime calls: the generated side of include/mpc-rt/executable.h.
#include "lib/Conversion/MpcrtToLLVM/HostFunction.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc-rt/executable.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using mpcrt::MpcrtDialect;

/// `mpcrt.entry`: what the tables of the executable say about this function.
DictionaryAttr HostFunction::describe() {
  Builder builder(entry.getContext());
  SmallVector<Attribute> inputs, outputs, read;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto named = [&](Attribute name) {
      auto type = cast<MemRefType>(entry.getArgument(i).getType());
      // Callers see the declared type, also where lowering made it signless.
      auto declared = entry.getArgAttrOfType<TypeAttr>(i, MpcDialect::kElementTypeAttr);
      Type element = declared ? declared.getValue() : type.getElementType();
      SmallVector<NamedAttribute> fields{
          builder.getNamedAttr("name", name),
          builder.getNamedAttr("type",
                               TypeAttr::get(RankedTensorType::get(type.getShape(), element)))};
      if (Attribute limit = entry.getArgAttr(i, MpcDialect::kIndexLimitAttr))
        fields.push_back(builder.getNamedAttr("index_limit", limit));
      if (Attribute forms = entry.getArgAttr(i, MpcDialect::kFormAttr))
        fields.push_back(builder.getNamedAttr("forms", forms));
      return builder.getDictionaryAttr(fields);
    };
    if (Attribute name = entry.getArgAttr(i, MpcDialect::kInputAttr))
      inputs.push_back(named(name));
    else if (Attribute name = entry.getArgAttr(i, MpcDialect::kTargetAttr))
      inputs.push_back(named(name));
    else if (Attribute name = entry.getArgAttr(i, MpcrtDialect::kOutputAttr))
      outputs.push_back(named(name));
    else if (Attribute symbol = entry.getArgAttr(i, MpcDialect::kVariableAttr);
             symbol && !rhsVariables.areOnlyUsesOf(entry.getArgument(i)))
      read.push_back(symbol);
  }
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("arena_fixed", entry->getAttr(MpcrtDialect::kArenaFixedAttr)),
       builder.getNamedAttr("arena_per_sample", entry->getAttr(MpcrtDialect::kArenaPerSampleAttr)),
       builder.getNamedAttr("inputs", builder.getArrayAttr(inputs)),
       builder.getNamedAttr("outputs", builder.getArrayAttr(outputs)),
       builder.getNamedAttr("variables_read", builder.getArrayAttr(read))});
}

LogicalResult HostFunction::callLibrary(Operation *before, Operation *op, Value kernel) {
  const bool hasRhs = isa<mpcrt::LibraryCallOpInterface>(op);
  auto table = describeCall(op, hasRhs ? rhsVariables.lookup(op) : -1, tables);
  if (failed(table))
    return failure();
  table->getDefiningOp()->moveBefore(before);
  Emitter emit{OpBuilder(before), op->getLoc()};
  Value batch = emit.cast(getBatchArgument(entry), emit.builder.getI64Type());
  runtime.callService(emit, serviceOf(op), {*table, storeCall(emit, prologue, op, batch, kernel)});
  return success();
}

LogicalResult HostFunction::lowerCall(Operation *op) {
  if (failed(callLibrary(op, op, /*kernel=*/Value())))
    return failure();
  op->erase();
  return success();
}

// ---- Loops over rows ----------------------------------------------------------------------------

/// The call as the body of a loop over rows gets it: where the entry has prepared memory, a copy of
/// its own with the memory's address behind it, at `place`.
static Value makeCallOfRows(func::FuncOp entry, RuntimeCalls &runtime, Value call, int64_t place,
                            Emitter &emit) {
  auto memory = llvm::find_if(entry.getArguments(), [&](BlockArgument argument) {
    return entry.getArgAttr(argument.getArgNumber(), MpcrtDialect::kPreparedAttr) != nullptr;
  });
  if (memory == entry.getArguments().end())
    return call;
  Value copy = runtime.allocateSlots(emit, size_t(place) + sizeof(void *));
  LLVM::MemcpyOp::create(emit.builder, emit.loc, copy, call, emit.i64(place),
                         /*isVolatile=*/false);
  // A newer runtime's call may be longer.
  LLVM::StoreOp::create(emit.builder, emit.loc, emit.i32(place),
                        emit.offset(copy, offsetof(mpc_rt_call_t, struct_size)));
  LLVM::StoreOp::create(emit.builder, emit.loc, pointerTo(emit, *memory), emit.offset(copy, place));
  return copy;
}

LogicalResult HostFunction::lowerRows(mpcrt::ParallelRowsOp op) {
  Location loc = op.getLoc();
  auto count = evaluateIndex(op.getCount());
  if (!count)
    return op.emitOpError("has a count that is no function of the batch");
  Emitter emit{OpBuilder(op), loc};
  Type ptr = emit.pointer(), i64 = emit.builder.getI64Type();
  SmallVector<mpcrt::ContractOp> products;
  op.walk([&](mpcrt::ContractOp contract) { products.push_back(contract); });
  Value array = runtime.allocateSlots(emit, std::max<size_t>(1, products.size()) *
                                                sizeof(mpc_rt_rows_product_t));
  for (auto [i, contract] : llvm::enumerate(products)) {
    auto table = describeCall(contract, rhsVariables.lookup(contract), tables);
    if (failed(table))
      return failure();
    table->getDefiningOp()->moveBefore(op);
    Value bias = contract.getBias() ? pointerTo(emit, contract.getBias())
                                    : LLVM::ZeroOp::create(emit.builder, loc, ptr).getResult();
    const std::pair<size_t, Value> fields[] = {
        {offsetof(mpc_rt_rows_product_t, descriptor), *table},
        {offsetof(mpc_rt_rows_product_t, rhs), pointerTo(emit, contract.getRhs())},
        {offsetof(mpc_rt_rows_product_t, bias), bias}};
    for (auto [offset, value] : fields)
      LLVM::StoreOp::create(emit.builder, loc, value,
                            emit.offset(array, i * sizeof(mpc_rt_rows_product_t) + offset));
  }
  std::string name = (entry.getSymName() + "_rows_" + std::to_string(tables.rowLoops++)).str();
  auto function = outlineBody(op, name);
  if (failed(function) || failed(HostFunction(*function, tables, Kind::rows, count).run()))
    return failure();
  runtime.callService(emit, offsetof(mpc_rt_services_t, parallel_rows),
                      {makeCallOfRows(entry, runtime, call, kPreparedOfRows, emit),
                       LLVM::AddressOfOp::create(emit.builder, loc, ptr, name),
                       emit.cast(op.getCount(), i64), array, emit.i32(products.size()),
                       emit.cast(getBatchArgument(entry), i64)});
  op.erase();
  return success();
}

LogicalResult HostFunction::lowerOwnPart(mpcrt::OwnPartOp op) {
  Emitter emit{OpBuilder(op), op.getLoc()};
  Type i64 = emit.builder.getI64Type(), index = emit.builder.getIndexType();
  Value part = runtime.allocateSlots(emit, 2 * sizeof(int64_t));
  runtime.callService(emit, offsetof(mpc_rt_services_t, own_part),
                      {emit.i64(static_cast<int64_t>(op.getElements())), part});
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    result.replaceAllUsesWith(emit.cast(emit.load(part, i * sizeof(int64_t), i64), index));
  op.erase();
  return success();
}

LogicalResult HostFunction::lowerContractOfRows(mpcrt::ContractOp op) {
  Emitter emit{OpBuilder(op), op.getLoc()};
  runtime.callService(emit, offsetof(mpc_rt_services_t, contract_rows),
                      {emit.i32(productRank++), pointerTo(emit, op.getLhs()),
                       pointerTo(emit, op.getOut()), begin, end});
  op.erase();
  return success();
}

LogicalResult HostFunction::lowerLaunchOfRows(mpcrt::LaunchOp op) {
  // Iterations are row by row, as the first loop counts the rows.
  auto count = evaluateIndex(op.getCount());
  const int64_t all = rows->isFixed() ? rows->fixed : rows->perSample;
  const int64_t iterations = !count ? 0 : rows->isFixed() ? count->fixed : count->perSample;
  if (!count || all == 0 || iterations % all != 0 ||
      !(*count == *rows * BatchExtent{iterations / all, 0}))
    return op.emitOpError("in mpcrt.parallel_rows has a count that is no multiple of the rows");
  Emitter emit{OpBuilder(op), op.getLoc()};
  Value perRow = emit.i64(iterations / all);
  auto firstOf = [&](Value row) -> Value {
    return LLVM::MulOp::create(emit.builder, emit.loc, row, perRow);
  };
  Value array = runtime.argumentsOf(op, emit), kernel = runtime.kernelOf(op, emit);
  runtime.callWithoutStatus(emit, offsetof(mpc_rt_services_t, launch_rows),
                            {kernel, array, firstOf(begin), firstOf(end), emit.i64(op.getGrain())});
  op.erase();
  return success();
}

FailureOr<Value> HostFunction::prepare() {
  auto ops = entry.getBody().front().getOps<mpcrt::PrepareOp>();
  if (ops.empty())
    return entry.emitOpError("has memory for what no mpcrt.prepare writes");
  mpcrt::PrepareOp op = *ops.begin();
  std::string name = (entry.getSymName() + "_prepare").str();
  auto function = outlineBody(op, name);
  if (failed(function) || failed(HostFunction(*function, tables, Kind::preparation).run()))
    return failure();
  Emitter emit{OpBuilder::atBlockEnd(prologue), op.getLoc()};
  Type ptr = emit.pointer();
  Value slot = LLVM::AllocaOp::create(emit.builder, emit.loc, ptr, ptr, emit.i64(1));
  runtime.callService(emit, offsetof(mpc_rt_services_t, prepare),
                      {call, LLVM::AddressOfOp::create(emit.builder, emit.loc, ptr, name),
                       emit.i64(static_cast<int64_t>(op.getBytes())), slot});
  return LLVM::LoadOp::create(emit.builder, emit.loc, ptr, slot).getResult();
}

LogicalResult HostFunction::lowerCopy(memref::CopyOp op) {
  auto bytes = bytesOfCopy(op);
  if (failed(bytes))
    return failure();
  Emitter emit{OpBuilder(op), op.getLoc()};
  Value size = emit.cast(materialize(emit.builder, op.getLoc(), *bytes, getBatchArgument(entry)),
                         emit.builder.getI64Type());
  LLVM::MemcpyOp::create(emit.builder, op.getLoc(), pointerTo(emit, op.getTarget()),
                         pointerTo(emit, op.getSource()), size, /*isVolatile=*/false);
  op.erase();
  return success();
}

static bool isCall(Operation *op) { return isa<mpcrt::HostCallOpInterface, memref::CopyOp>(op); }

LogicalResult HostFunction::lower(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mpcrt::ParallelRowsOp loop) { return lowerRows(loop); })
      .Case([&](mpcrt::InterleaveOp both) { return lowerInterleave(both); })
      .Case([&](mpcrt::PrepareOp op) {
        op.erase(); // the prologue has called it
        return success();
      })
      .Case([&](mpcrt::OwnPartOp part) { return lowerOwnPart(part); })
      .Case([&](mpcrt::LaunchAllOp all) { return lowerLaunchAll(all); })
      .Case([&](mpcrt::LaunchOp launch) {
        return rows ? lowerLaunchOfRows(launch) : lowerLaunch(launch);
      })
      .Case([&](mpcrt::ContractOp contract) {
        return rows ? lowerContractOfRows(contract) : lowerCall(contract);
      })
      .Case<mpcrt::ServiceCallOpInterface, mpcrt::TraceOp>(
          [&](auto call) { return lowerCall(call); })
      .Case([&](memref::CopyOp copy) { return lowerCopy(copy); })
      .Default([](Operation *other) { return other->emitOpError("has no service"); });
}

/// The ops that are lowered by themselves; loops, pairs and preparations lower the ops inside.
SmallVector<Operation *> HostFunction::findCalls() {
  SmallVector<Operation *> calls;
  for (Operation &step : entry.getBody().front().without_terminator())
    step.walk([&](Operation *op) {
      if (isa<mpcrt::InterleaveOp, mpcrt::LaunchAllOp>(op->getParentOp()) ||
          op->getParentOfType<mpcrt::ParallelRowsOp>() || op->getParentOfType<mpcrt::PrepareOp>())
        return;
      if (isCall(op))
        calls.push_back(op);
    });
  return calls;
}

LogicalResult HostFunction::lowerRun(ArrayRef<Operation *> run) {
  CallTable table(places, rhsVariables, runtime, tables);
  bool failedOnce = false; // all errors are reported together
  for (Operation *op : run)
    failedOnce |= failed(table.add(op));
  if (failedOnce)
    return failure();
  Emitter emit{OpBuilder(run.back()), run.back()->getLoc()};
  table.run(emit, call);
  for (Operation *op : run)
    op->erase();
  return success();
}

/// In the order of the entry: descriptors have numbers.
LogicalResult HostFunction::lowerAll(ArrayRef<CallRun> runs) {
  DenseMap<Operation *, const CallRun *> runOf;
  for (const CallRun &run : runs)
    for (Operation *op : run)
      runOf[op] = &run;
  bool failedOnce = false;
  DenseSet<const CallRun *> lowered;
  auto lowerOnce = [&](const CallRun *run) {
    if (lowered.insert(run).second)
      failedOnce |= failed(lowerRun(*run));
  };
  for (Operation *op : findCalls()) {
    if (const CallRun *run = runOf.lookup(op))
      lowerOnce(run);
    else
      failedOnce |= failed(lower(op));
  }
  for (const CallRun &run : runs)
    lowerOnce(&run);
  return failure(failedOnce);
}

void mpc::eraseUnused(Block &block, ArrayRef<Operation *> kept) {
  const DenseSet<Operation *> keeps(kept.begin(), kept.end());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op) && !keeps.contains(&op))
      op.erase();
}

LogicalResult HostFunction::run() {
  createFunction();
  readCall();
  FailureOr<SmallVector<Value>> arguments = readArguments();
  if (failed(arguments)) {
    function.erase();
    return failure();
  }
  // Calls are lowered while the entry is still a function of buffers: extents are asked for.
  SmallVector<CallRun> runs;
  if (kind == Kind::entry)
    runs = findCallRuns(entry);
  SmallVector<Operation *> markers = markFailures(runs);
  if (kind == Kind::entry)
    function->setAttr(mpcrt::MpcrtDialect::kEntryTableAttr, describe());
  const LogicalResult lowered = lowerAll(runs);
  // After a failure, too: the calls that were lowered use what the prologue has read.
  takeBody(*arguments);
  if (!runs.empty())
    eraseUnused(*prologue, markers);
  if (failed(lowered) || kind != Kind::entry || !cutIntoStages(markers))
    returnFailures(function, runtime.getStatus(), markers);
  return lowered;
}

LogicalResult mpc::lowerEntry(func::FuncOp entry, TablePositions &tables) {
  return HostFunction(entry, tables).run();
}
