// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of a host function: what it reads of its call, and how it returns failures.
#include "lib/Conversion/MpcrtToLLVM/HostFunction.h"
#include "mpc-rt/executable.h"

using namespace mlir;
using namespace mpc;
using mpcrt::MpcrtDialect;

void HostFunction::createFunction() {
  MLIRContext *ctx = entry.getContext();
  OpBuilder before(entry);
  Type ptr = LLVM::LLVMPointerType::get(ctx), i32 = IntegerType::get(ctx, 32),
       i64 = IntegerType::get(ctx, 64);
  SmallVector<Type> parameters{ptr};
  if (kind == Kind::rows)
    parameters.append(2, i64);
  if (kind == Kind::preparation)
    parameters.push_back(ptr);
  function = LLVM::LLVMFuncOp::create(before, entry.getLoc(), entry.getSymName(),
                                      LLVM::LLVMFunctionType::get(i32, parameters));
  prologue = function.addEntryBlock(before);
  call = prologue->getArgument(0);
  if (kind != Kind::entry)
    function.setLinkage(LLVM::Linkage::Internal);
  if (kind == Kind::rows) {
    begin = prologue->getArgument(1);
    end = prologue->getArgument(2);
  }
}

/// The prologue reads the call; the body is spliced behind it at the end.
void HostFunction::readCall() {
  runtime.read(prologue, call, entry.getLoc());
  Emitter emit{OpBuilder::atBlockEnd(prologue), entry.getLoc()};
  Type ptr = emit.pointer();
  inputArray = emit.load(call, offsetof(mpc_rt_call_t, inputs), ptr);
  outputArray = emit.load(call, offsetof(mpc_rt_call_t, outputs), ptr);
  variableArray = emit.load(call, offsetof(mpc_rt_call_t, variables), ptr);
}

/// The prologue reads one value for each argument of the entry.
FailureOr<SmallVector<Value>> HostFunction::readArguments() {
  SmallVector<Value> values;
  for (BlockArgument argument : entry.getBody().front().getArguments()) {
    FailureOr<Value> raw = readArgument(argument);
    if (failed(raw))
      return failure();
    Emitter emit{OpBuilder::atBlockEnd(prologue), entry.getLoc()};
    values.push_back(emit.cast(*raw, argument.getType()));
  }
  return values;
}

FailureOr<Value> HostFunction::readArgument(BlockArgument argument) {
  Emitter emit{OpBuilder::atBlockEnd(prologue), entry.getLoc()};
  Type ptr = emit.pointer();
  unsigned index = argument.getArgNumber();
  auto element = [&](Value array, CallWord::Table table, unsigned position) -> FailureOr<Value> {
    places[argument] = {table, position, {}};
    return emit.load(array, 8 * int64_t(position), ptr);
  };
  if (entry.getArgAttr(index, MpcDialect::kInputAttr) ||
      entry.getArgAttr(index, MpcDialect::kTargetAttr))
    return element(inputArray, CallWord::inputs, inputIndex++);
  if (entry.getArgAttr(index, MpcrtDialect::kOutputAttr))
    return element(outputArray, CallWord::outputs, outputIndex++);
  if (Attribute symbol = entry.getArgAttr(index, MpcDialect::kVariableAttr))
    return element(variableArray, CallWord::variables, tables.variables.lookup(symbol));
  if (entry.getArgAttr(index, MpcrtDialect::kArenaAttr)) {
    places[argument] = {CallWord::numbers, CallWord::arena, {}};
    return emit.load(call, offsetof(mpc_rt_call_t, arena), ptr);
  }
  if (entry.getArgAttr(index, MpcrtDialect::kPreparedAttr))
    switch (kind) {
    case Kind::entry:
      return prepare();
    case Kind::rows:
      return emit.load(call, kPreparedOfRows, ptr);
    case Kind::preparation:
      return Value(prologue->getArgument(1));
    }
  return emit.load(call, offsetof(mpc_rt_call_t, batch), emit.builder.getI64Type());
}

/// Puts a marker behind every step of the body that may fail.
SmallVector<Operation *> HostFunction::markFailures(ArrayRef<CallRun> runs) {
  SmallVector<Operation *> resumes; // the steps after those
  // A table returns its first failure; what is behind its last call is behind all of them.
  DenseSet<Operation *> inside;
  for (const CallRun &run : runs)
    inside.insert(run.begin(), std::prev(run.end()));
  for (Operation &step : entry.getBody().front().without_terminator()) {
    if (inside.contains(&step))
      continue;
    const bool isTable =
        llvm::any_of(runs, [&](const CallRun &run) { return run.back() == &step; });
    const WalkResult search =
        step.walk([](mpcrt::FallibleOpInterface) { return WalkResult::interrupt(); });
    if (isTable || search.wasInterrupted())
      resumes.push_back(step.getNextNode());
  }
  // Two failing steps in a row resume at one erased op: the following one's first replacement
  // stands there. Markers survive the rewriting.
  SmallVector<Operation *> markers;
  for (Operation *resume : resumes) {
    OpBuilder builder(resume);
    markers.push_back(LLVM::ConstantOp::create(builder, entry.getLoc(), builder.getI32Type(),
                                               builder.getI32IntegerAttr(0)));
  }
  return markers;
}

/// Moves the entry's body behind the prologue. The entry goes.
void HostFunction::takeBody(ArrayRef<Value> arguments) {
  Block &body = entry.getBody().front();
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    argument.replaceAllUsesWith(value);
  Operation *terminator = body.getTerminator();
  prologue->getOperations().splice(prologue->end(), body.getOperations());
  Emitter emit{OpBuilder(terminator), entry.getLoc()};
  LLVM::ReturnOp::create(emit.builder, emit.loc, emit.i32(0));
  terminator->erase();
  entry.erase();
}

/// At each marker, a failure so far leaves the function with its status.
void HostFunction::returnFailures(LLVM::LLVMFuncOp function, Value status,
                                  ArrayRef<Operation *> markers) {
  if (markers.empty())
    return;
  Location loc = function.getLoc();
  Block *fail = new Block();
  function.getBody().push_back(fail);
  Emitter failing{OpBuilder::atBlockEnd(fail), loc};
  Type i32 = failing.builder.getI32Type();
  LLVM::ReturnOp::create(failing.builder, loc,
                         LLVM::LoadOp::create(failing.builder, loc, i32, status).getResult());
  // The last marker goes first: a split moves what is behind it.
  for (Operation *marker : llvm::reverse(markers)) {
    Block *block = marker->getBlock();
    Block *rest = block->splitBlock(marker);
    Emitter check{OpBuilder::atBlockEnd(block), loc};
    Value code = LLVM::LoadOp::create(check.builder, loc, i32, status);
    Value bad =
        LLVM::ICmpOp::create(check.builder, loc, LLVM::ICmpPredicate::ne, code, check.i32(0));
    LLVM::CondBrOp::create(check.builder, loc, bad, fail, rest);
    marker->erase();
  }
}
