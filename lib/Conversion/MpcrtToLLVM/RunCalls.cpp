// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The function that goes through tables of calls. It is the same in each library.
#include "lib/Conversion/MpcrtToLLVM/CallTable.h"
#include "mpc-rt/executable.h"

using namespace mlir;
using namespace mpc;

static constexpr llvm::StringLiteral kName = "mpcrt_run_calls";

namespace {
/// Its blocks, in the order of the run.
class RunCallsBuilder {
public:
  RunCallsBuilder(ModuleOp module)
      : builder(OpBuilder::atBlockBegin(module.getBody())), loc(module.getLoc()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())), i32(builder.getI32Type()),
        i64(builder.getI64Type()) {}

  LLVM::LLVMFuncOp build();

private:
  Emitter in(Block *block) { return {OpBuilder::atBlockEnd(block), loc}; }
  Block *addBlock(TypeRange arguments) {
    Block *block = new Block();
    function.getBody().push_back(block);
    for (Type type : arguments)
      block->addArgument(type, loc);
    return block;
  }
  /// Element `index` of an array of words.
  Value element(Emitter &emit, Type type, Value array, Value index) {
    Value address =
        LLVM::GEPOp::create(emit.builder, loc, pointer, i64, array, ArrayRef<LLVM::GEPArg>{index});
    return LLVM::LoadOp::create(emit.builder, loc, type, address);
  }
  Value isEqual(Emitter &emit, Value lhs, Value rhs) {
    return LLVM::ICmpOp::create(emit.builder, loc, LLVM::ICmpPredicate::eq, lhs, rhs);
  }
  Value high(Emitter &emit, Value word) {
    return LLVM::LShrOp::create(emit.builder, loc, word, emit.i64(32));
  }
  Value low(Emitter &emit, Value word) {
    return LLVM::AndOp::create(emit.builder, loc, word, emit.i64(0xffffffff));
  }
  void storeTables(Emitter &emit);
  void fillWord(Block *word, Block *fill);
  void callService(Block *call);
  void call(Block *block, Type result, ValueRange arguments);

  OpBuilder builder;
  Location loc;
  Type pointer, i32, i64;
  LLVM::LLVMFuncOp function;
  Value argument, tables, frame, batch, services, context;
  // A step, and a word of it.
  Value service, shape, count, place, index;
  Block *next = nullptr, *done = nullptr;
};
} // namespace

/// The tables of CallWord, in its order.
void RunCallsBuilder::storeTables(Emitter &emit) {
  auto allocate = [&](int64_t words) -> Value {
    return LLVM::AllocaOp::create(emit.builder, loc, pointer, i64, emit.i64(words));
  };
  auto store = [&](Value value, Value array, int64_t index) {
    LLVM::StoreOp::create(emit.builder, loc, value, emit.offset(array, 8 * index));
  };
  auto field = [&](size_t offset) { return emit.load(argument, int64_t(offset), pointer); };
  Value numbers = allocate(CallWord::numberCount);
  tables = allocate(CallWord::count);
  frame = LLVM::AllocaOp::create(emit.builder, loc, pointer, i64, function.getArgument(5));
  store(emit.i64(0), numbers, CallWord::zero);
  store(field(offsetof(mpc_rt_call_t, arena)), numbers, CallWord::arena);
  store(frame, numbers, CallWord::frame);
  store(numbers, tables, CallWord::numbers);
  store(field(offsetof(mpc_rt_call_t, inputs)), tables, CallWord::inputs);
  store(field(offsetof(mpc_rt_call_t, outputs)), tables, CallWord::outputs);
  store(field(offsetof(mpc_rt_call_t, variables)), tables, CallWord::variables);
  store(field(offsetof(mpc_rt_call_t, kernels)), tables, CallWord::kernels);
  store(function.getArgument(1), tables, CallWord::locals);
  store(function.getArgument(3), tables, CallWord::symbols);
  batch = emit.load(argument, offsetof(mpc_rt_call_t, batch), i64);
  services = field(offsetof(mpc_rt_call_t, services));
  context = field(offsetof(mpc_rt_call_t, context));
}

/// The table's element, and what is added to it, into the frame.
void RunCallsBuilder::fillWord(Block *word, Block *fill) {
  Emitter emit = in(word);
  auto add = [&](Value lhs, Value rhs) -> Value {
    return LLVM::AddOp::create(emit.builder, loc, lhs, rhs);
  };
  Value where = emit.load(place, 0, i64);
  Value table = element(emit, pointer, tables, high(emit, where));
  Value base = element(emit, i64, table, low(emit, where));
  Value scaled = LLVM::MulOp::create(emit.builder, loc, emit.load(place, 16, i64), batch);
  Value sum = add(add(base, emit.load(place, 8, i64)), scaled);
  Value target =
      LLVM::GEPOp::create(emit.builder, loc, pointer, i64, frame, ArrayRef<LLVM::GEPArg>{index});
  LLVM::StoreOp::create(emit.builder, loc, sum, target);
  LLVM::BrOp::create(emit.builder, loc, ValueRange{emit.offset(place, 24), add(index, emit.i64(1))},
                     fill);
}

/// Calls the service in a block of its own and goes on, or returns its failure.
void RunCallsBuilder::call(Block *block, Type result, ValueRange arguments) {
  Emitter emit = in(block);
  Value address = LLVM::GEPOp::create(emit.builder, loc, pointer, emit.builder.getI8Type(),
                                      services, ArrayRef<LLVM::GEPArg>{service});
  SmallVector<Value> operands{LLVM::LoadOp::create(emit.builder, loc, pointer, address), context};
  llvm::append_range(operands, arguments);
  SmallVector<Type> types(ValueRange(operands).drop_front().getTypes());
  auto called =
      LLVM::CallOp::create(emit.builder, loc, LLVM::LLVMFunctionType::get(result, types), operands);
  if (isa<LLVM::LLVMVoidType>(result)) {
    LLVM::BrOp::create(emit.builder, loc, ValueRange(), next);
    return;
  }
  LLVM::CondBrOp::create(emit.builder, loc, isEqual(emit, called.getResult(), emit.i32(0)), next,
                         ValueRange(), done, ValueRange{called.getResult()});
}

void RunCallsBuilder::callService(Block *block) {
  Emitter emit = in(block);
  Type nothing = LLVM::LLVMVoidType::get(builder.getContext());
  SmallVector<Value> words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(emit.load(frame, 8 * i, i64));
  auto toPointer = [&](Emitter &emit, Value word) -> Value {
    return LLVM::IntToPtrOp::create(emit.builder, loc, pointer, word);
  };
  const CallShape shapes[] = {CallShape::library, CallShape::launch, CallShape::launches,
                              CallShape::copy, CallShape::function};
  SmallVector<Block *> blocks;
  SmallVector<int32_t> cases;
  for (CallShape shape : shapes) {
    Block *own = addBlock({});
    blocks.push_back(own);
    cases.push_back(int32_t(shape));
    Emitter emit = in(own);
    switch (shape) {
    case CallShape::library:
      call(own, i32, {toPointer(emit, words[0]), toPointer(emit, words[1])});
      break;
    case CallShape::launch:
      call(own, nothing,
           {toPointer(emit, words[0]), toPointer(emit, words[1]), words[2], words[3]});
      break;
    case CallShape::launches:
      call(own, nothing,
           {toPointer(emit, words[0]),
            LLVM::TruncOp::create(emit.builder, loc, i32, words[1]).getResult()});
      break;
    case CallShape::copy:
      LLVM::MemcpyOp::create(emit.builder, loc, toPointer(emit, words[0]),
                             toPointer(emit, words[1]), words[2], /*isVolatile=*/false);
      LLVM::BrOp::create(emit.builder, loc, ValueRange(), next);
      break;
    case CallShape::function:
      LLVM::CallOp::create(emit.builder, loc, LLVM::LLVMFunctionType::get(nothing, pointer),
                           ValueRange{toPointer(emit, words[0]), toPointer(emit, words[1])});
      LLVM::BrOp::create(emit.builder, loc, ValueRange(), next);
      break;
    }
  }
  SmallVector<ValueRange> none(blocks.size());
  LLVM::SwitchOp::create(emit.builder, loc, shape, blocks.back(), ValueRange(), cases,
                         BlockRange(blocks), none);
}

LLVM::LLVMFuncOp RunCallsBuilder::build() {
  function = LLVM::LLVMFuncOp::create(
      builder, loc, kName,
      LLVM::LLVMFunctionType::get(i32, {pointer, pointer, pointer, pointer, i64, i64}),
      LLVM::Linkage::Internal);
  function.setNoInline(true);
  Block *entry = function.addEntryBlock(builder);
  argument = entry->getArgument(0);
  Emitter emit = in(entry);
  storeTables(emit);
  Block *step = addBlock({pointer, i64}), *head = addBlock({}), *fill = addBlock({pointer, i64}),
        *word = addBlock({}), *ready = addBlock({});
  next = addBlock({});
  done = addBlock({i32});
  LLVM::BrOp::create(emit.builder, loc,
                     ValueRange{function.getArgument(2), function.getArgument(4)}, step);

  Emitter atStep = in(step);
  Value left = step->getArgument(1);
  Value isOver = isEqual(atStep, left, atStep.i64(0));
  LLVM::CondBrOp::create(atStep.builder, loc, isOver, done, ValueRange{atStep.i32(0)}, head,
                         ValueRange());

  Emitter atHead = in(head);
  Value first = atHead.load(step->getArgument(0), 0, i64);
  count = high(atHead, first);
  shape = LLVM::TruncOp::create(atHead.builder, loc, i32, first);
  service = atHead.load(step->getArgument(0), 8, i64);
  LLVM::BrOp::create(atHead.builder, loc,
                     ValueRange{atHead.offset(step->getArgument(0), 16), atHead.i64(0)}, fill);

  Emitter atFill = in(fill);
  place = fill->getArgument(0);
  index = fill->getArgument(1);
  LLVM::CondBrOp::create(atFill.builder, loc, isEqual(atFill, index, count), ready, ValueRange(),
                         word, ValueRange());
  fillWord(word, fill);
  callService(ready);

  Emitter atNext = in(next);
  LLVM::BrOp::create(
      atNext.builder, loc,
      ValueRange{place, LLVM::SubOp::create(atNext.builder, loc, left, atNext.i64(1))}, step);
  Emitter atDone = in(done);
  LLVM::ReturnOp::create(atDone.builder, loc, done->getArgument(0));
  return function;
}

LLVM::LLVMFuncOp mpc::getRunCalls(ModuleOp module) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(kName))
    return known;
  return RunCallsBuilder(module).build();
}
