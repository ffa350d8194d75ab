// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An op says what its call holds; each word of it is found where the run finds it: an argument of
// the entry, a part of the arena, a number. What is none of these is computed by code in front.
#include "lib/Conversion/MpcrtToLLVM/CallTable.h"
#include "lib/Conversion/MpcrtToLLVM/CallStruct.h"
#include "lib/Conversion/MpcrtToLLVM/Descriptors.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;

/// A call of a loop that entries share: it has no result.
static bool isCallOfLoop(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  return call && call.getNumResults() == 0;
}

bool CallTable::takes(Operation *op) {
  if (auto call = dyn_cast<mpcrt::HostCallOpInterface>(op))
    return call.isTableStep();
  return isa<memref::CopyOp>(op) || isCallOfLoop(op);
}

/// A few calls are a few instructions; many of them in one table would be a large constant, which
/// grows element by element.
static constexpr size_t kFewestCalls = 8, kMostCalls = 128;

SmallVector<CallRun> mpc::findCallRuns(func::FuncOp entry) {
  SmallVector<CallRun> runs(1);
  auto end = [&] {
    if (runs.back().size() < kFewestCalls)
      runs.back().clear();
    else
      runs.emplace_back();
  };
  for (Operation &step : entry.getBody().front().without_terminator()) {
    if (CallTable::takes(&step)) {
      runs.back().push_back(&step);
      if (runs.back().size() == kMostCalls)
        end();
    } else if (!isMemoryEffectFree(&step) && !isa<memref::AllocaOp>(step)) {
      end();
    }
  }
  end();
  runs.pop_back();
  return runs;
}

LogicalResult CallTable::add(Operation *op) {
  frame.clear();
  ++steps;
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mpcrt::InterleaveOp both) { return addInterleave(both); })
      .Case([&](mpcrt::LaunchOp launch) { return addLaunch(launch); })
      .Case([&](mpcrt::LaunchAllOp all) { return addLaunches(all); })
      .Case([&](memref::CopyOp copy) { return addCopy(copy); })
      .Case([&](func::CallOp call) { return addFunction(call); })
      .Default([&](Operation *library) { return addLibrary(library, std::nullopt); });
}

// ---- Steps --------------------------------------------------------------------------------------

size_t CallTable::reserve(size_t words) {
  const size_t first = frame.size();
  frame.resize(first + words);
  return first;
}

void CallTable::finish(CallShape shape, int64_t service) {
  words.push_back(int64_t(frame.size() << 32 | uint32_t(shape)));
  words.push_back(service);
  for (const CallWord &word : frame)
    words.append(
        {int64_t(uint64_t(word.table) << 32 | word.index), word.plus.fixed, word.plus.perSample});
  largestFrame = std::max(largestFrame, frame.size());
}

LogicalResult CallTable::addLibrary(Operation *op, std::optional<CallWord> kernel) {
  const bool hasRhs = isa<mpcrt::LibraryCallOpInterface>(op);
  auto table = describeCall(op, hasRhs ? rhsVariables.lookup(op) : -1, tables);
  if (failed(table))
    return failure();
  auto address = table->getDefiningOp<LLVM::AddressOfOp>();
  const CallWord descriptor = symbolOf(address.getGlobalName());
  address.erase();
  const CallFields call = fieldsOf(op, kernel.has_value());
  size_t bytes = call.minimum;
  for (const CallField &field : call.fields)
    bytes = std::max(bytes, field.field.end());
  const size_t arguments = kernel ? 0 : reserve(2), first = reserve(llvm::divideCeil(bytes, 8));
  frame[arguments] = descriptor;
  frame[arguments + 1] = addressOf(first);
  frame[first] = constant(int64_t(bytes)); // the struct's size, and zeros
  for (const CallField &field : call.fields) {
    CallWord &word = frame[first + field.field.offset / 8];
    switch (field.holds) {
    case CallField::Holds::buffer:
      word = wordOf(field.buffer);
      break;
    case CallField::Holds::batch:
      word = {CallWord::numbers, CallWord::zero, {0, 1}};
      break;
    case CallField::Holds::kernel:
      word = *kernel;
      break;
    case CallField::Holds::number:
      word = constant(field.number);
      break;
    }
  }
  const int64_t service = serviceOf(op);
  runtime.require(service);
  finish(CallShape::library, service);
  return success();
}

CallWord CallTable::kernelOf(mpcrt::LaunchOp op) const {
  return {CallWord::kernels, tables.kernelIndex.lookup(op.getKernelAttr().getAttr()), {}};
}

/// Addresses of buffers and of numbers.
size_t CallTable::addArguments(OperandRange arguments) {
  const size_t first = reserve(std::max<size_t>(1, arguments.size()));
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    const CallWord word =
        isa<MemRefType>(argument.getType()) ? wordOf(argument) : addressOfNumber(argument);
    frame[first + i] = word;
  }
  return first;
}

LogicalResult CallTable::addLaunch(mpcrt::LaunchOp op) {
  reserve(4);
  const size_t arguments = addArguments(op.getArguments());
  frame[0] = kernelOf(op);
  frame[1] = addressOf(arguments);
  frame[2] = numberOf(op.getCount());
  frame[3] = constant(op.getGrain());
  runtime.require(offsetof(mpc_rt_services_t, parallel_for));
  finish(CallShape::launch, offsetof(mpc_rt_services_t, parallel_for));
  return success();
}

LogicalResult CallTable::addLaunches(mpcrt::LaunchAllOp op) {
  auto launches = llvm::to_vector(op.getBody().front().getOps<mpcrt::LaunchOp>());
  constexpr size_t kWords = sizeof(mpc_rt_launch_t) / 8;
  reserve(2);
  const size_t first = reserve(kWords * launches.size());
  frame[0] = addressOf(first);
  frame[1] = constant(int64_t(launches.size()));
  for (auto [i, launch] : llvm::enumerate(launches)) {
    const size_t arguments = addArguments(launch.getArguments());
    CallWord *words = &frame[first + kWords * i];
    words[offsetof(mpc_rt_launch_t, kernel) / 8] = kernelOf(launch);
    words[offsetof(mpc_rt_launch_t, arguments) / 8] = addressOf(arguments);
    words[offsetof(mpc_rt_launch_t, count) / 8] = numberOf(launch.getCount());
    words[offsetof(mpc_rt_launch_t, grain) / 8] = constant(launch.getGrain());
  }
  runtime.require(offsetof(mpc_rt_services_t, parallel_for_all));
  finish(CallShape::launches, offsetof(mpc_rt_services_t, parallel_for_all));
  return success();
}

LogicalResult CallTable::addInterleave(mpcrt::InterleaveOp op) {
  mpcrt::LaunchOp launch = op.getLaunch();
  reserve(2); // the library's
  const size_t kernel = reserve(sizeof(mpc_rt_result_kernel_t) / 8);
  const size_t arguments = addArguments(launch.getArguments());
  CallWord *words = &frame[kernel];
  words[offsetof(mpc_rt_result_kernel_t, function) / 8] = kernelOf(launch);
  words[offsetof(mpc_rt_result_kernel_t, arguments) / 8] = addressOf(arguments);
  // Two numbers of 32 bits are one word.
  static_assert(offsetof(mpc_rt_result_kernel_t, result) ==
                offsetof(mpc_rt_result_kernel_t, argument_count) + 4);
  words[offsetof(mpc_rt_result_kernel_t, argument_count) / 8] =
      constant(int64_t(uint64_t(op.getResult()) << 32 | launch.getArguments().size()));
  words[offsetof(mpc_rt_result_kernel_t, grain) / 8] = constant(launch.getGrain());
  return addLibrary(op.getProduct(), addressOf(kernel));
}

FailureOr<BatchExtent> mpc::bytesOfCopy(memref::CopyOp op) {
  auto count = getElementCount(op.getSource());
  Type element = getElementTypeOrSelf(op.getSource().getType());
  if (!count)
    return op.emitOpError("copies a size that is no function of the batch");
  auto bytes =
      *count * BatchExtent{llvm::divideCeil(storageType(element).getIntOrFloatBitWidth(), 8), 0};
  if (!bytes)
    return op.emitOpError("copies more than memory");
  return *bytes;
}

LogicalResult CallTable::addCopy(memref::CopyOp op) {
  auto bytes = bytesOfCopy(op);
  if (failed(bytes))
    return failure();
  reserve(3);
  frame[0] = wordOf(op.getTarget());
  frame[1] = wordOf(op.getSource());
  frame[2] = {CallWord::numbers, CallWord::zero, *bytes};
  finish(CallShape::copy);
  return success();
}

/// A function that calls `callee` with what an array of addresses holds, as kernels take it.
static std::string makeCallable(func::CallOp call, TablePositions &tables) {
  const std::string name = (call.getCallee() + "_of_array").str();
  if (!tables.callables.insert(name).second)
    return name;
  MLIRContext *context = call.getContext();
  OpBuilder before(call->getParentOfType<func::FuncOp>());
  Type pointer = LLVM::LLVMPointerType::get(context);
  auto function = LLVM::LLVMFuncOp::create(
      before, call.getLoc(), name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), pointer),
      LLVM::Linkage::Internal);
  Block *block = function.addEntryBlock(before);
  Emitter emit{OpBuilder::atBlockEnd(block), call.getLoc()};
  SmallVector<Value> arguments;
  for (auto [i, type] : llvm::enumerate(call.getOperandTypes())) {
    Value value = emit.load(block->getArgument(0), int64_t(8 * i), pointer);
    if (!isa<MemRefType>(type))
      value = LLVM::LoadOp::create(emit.builder, emit.loc,
                                   type.isIndex() ? emit.builder.getI64Type() : type, value);
    arguments.push_back(emit.cast(value, type));
  }
  func::CallOp::create(emit.builder, emit.loc, call.getCallee(), TypeRange(), arguments);
  LLVM::ReturnOp::create(emit.builder, emit.loc, ValueRange());
  return name;
}

LogicalResult CallTable::addFunction(func::CallOp op) {
  reserve(2);
  const size_t arguments = addArguments(op.getOperands());
  frame[0] = symbolOf(makeCallable(op, tables));
  frame[1] = addressOf(arguments);
  finish(CallShape::function);
  return success();
}

// ---- Words --------------------------------------------------------------------------------------

CallWord CallTable::symbolOf(StringRef symbol) {
  symbols.push_back(symbol.str());
  return {CallWord::symbols, uint32_t(symbols.size() - 1), {}};
}

CallWord CallTable::localOf(Value value, bool byAddress) {
  auto [known, isNew] =
      localIndex.try_emplace({value, unsigned(byAddress)}, uint32_t(locals.size()));
  if (isNew)
    locals.push_back({value, byAddress});
  return {CallWord::locals, known->second, {}};
}

/// Its bits, if they are known when the table is made or follow from the batch.
static std::optional<BatchExtent> bitsOf(Value number) {
  if (number.getType().isIndex())
    return evaluateIndex(number);
  Attribute constant;
  if (!matchPattern(number, m_Constant(&constant)))
    return std::nullopt;
  llvm::APInt bits;
  if (auto integer = dyn_cast<IntegerAttr>(constant))
    bits = integer.getValue();
  else if (auto real = dyn_cast<FloatAttr>(constant))
    bits = real.getValue().bitcastToAPInt();
  else
    return std::nullopt;
  if (bits.getBitWidth() > 64)
    return std::nullopt;
  return BatchExtent{int64_t(bits.getZExtValue()), 0};
}

CallWord CallTable::numberOf(Value number) {
  if (auto bits = bitsOf(number))
    return {CallWord::numbers, CallWord::zero, *bits};
  return localOf(number, /*byAddress=*/false);
}

CallWord CallTable::addressOfNumber(Value number) {
  auto bits = bitsOf(number);
  if (!bits)
    return localOf(number, /*byAddress=*/true);
  const size_t place = reserve(1);
  frame[place] = {CallWord::numbers, CallWord::zero, *bits};
  return addressOf(place);
}

CallWord CallTable::wordOf(Value buffer) {
  auto place = placeOf(buffer);
  return place ? *place : localOf(buffer, /*byAddress=*/false);
}

/// How many bytes behind the first element of its source a view begins.
static std::optional<BatchExtent> offsetOf(memref::SubViewOp view) {
  SmallVector<int64_t> strides;
  int64_t start;
  if (failed(view.getSourceType().getStridesAndOffset(strides, start)))
    return std::nullopt;
  const int64_t element = llvm::divideCeil(
      storageType(view.getSourceType().getElementType()).getIntOrFloatBitWidth(), 8);
  std::optional<BatchExtent> sum = BatchExtent{};
  for (auto [offset, stride] : llvm::zip_equal(view.getMixedOffsets(), strides)) {
    std::optional<BatchExtent> place =
        isa<Attribute>(offset) ? BatchExtent{cast<IntegerAttr>(cast<Attribute>(offset)).getInt(), 0}
                               : evaluateIndex(cast<Value>(offset));
    if (!place || ShapedType::isDynamic(stride))
      return std::nullopt;
    auto bytes = *place * BatchExtent{stride, 0};
    bytes = bytes ? *bytes * BatchExtent{element, 0} : std::nullopt;
    sum = sum && bytes ? *sum + *bytes : std::nullopt;
  }
  return sum;
}

std::optional<CallWord> CallTable::placeOf(Value buffer) const {
  if (auto known = places.find(buffer); known != places.end())
    return known->second;
  Operation *op = buffer.getDefiningOp();
  if (isa_and_nonnull<memref::CollapseShapeOp, memref::ExpandShapeOp, memref::CastOp>(op))
    return placeOf(op->getOperand(0));
  std::optional<BatchExtent> offset;
  std::optional<CallWord> source;
  if (auto view = dyn_cast_or_null<mpcrt::ViewOp>(op)) {
    if (view.getUnstored())
      return constant(0);
    source = placeOf(view.getArena());
    offset = BatchExtent{int64_t(view.getFixed()), int64_t(view.getPerSample())};
  } else if (auto view = dyn_cast_or_null<memref::SubViewOp>(op)) {
    source = placeOf(view.getSource());
    offset = offsetOf(view);
  }
  if (!source || !offset)
    return std::nullopt;
  offset = source->plus + *offset;
  if (!offset)
    return std::nullopt;
  source->plus = *offset;
  return source;
}

// ---- The table ----------------------------------------------------------------------------------

static OpBuilder atFront(Emitter &emit) {
  return OpBuilder::atBlockBegin(
      emit.builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>().getBody());
}

std::string CallTable::createTable(Emitter &emit) {
  OpBuilder builder = atFront(emit);
  const std::string name = "mpcrt_calls_" + std::to_string(tables.callTables++);
  Type type = builder.getI64Type();
  auto values = DenseElementsAttr::get(RankedTensorType::get({int64_t(words.size())}, type),
                                       ArrayRef<int64_t>(words));
  LLVM::GlobalOp::create(builder, emit.loc, LLVM::LLVMArrayType::get(type, words.size()), true,
                         LLVM::Linkage::Internal, name, values);
  return name;
}

std::string CallTable::createSymbols(Emitter &emit) {
  OpBuilder builder = atFront(emit);
  const std::string name = "mpcrt_calls_" + std::to_string(tables.callTables) + "_symbols";
  Type type = LLVM::LLVMArrayType::get(emit.pointer(), symbols.size());
  auto global = LLVM::GlobalOp::create(builder, emit.loc, type, true, LLVM::Linkage::Internal, name,
                                       Attribute());
  Block *block = new Block();
  global.getInitializer().push_back(block);
  Emitter inside{OpBuilder::atBlockEnd(block), emit.loc};
  Value value = LLVM::UndefOp::create(inside.builder, inside.loc, type);
  for (auto [i, symbol] : llvm::enumerate(symbols))
    value = LLVM::InsertValueOp::create(
        inside.builder, inside.loc, value,
        LLVM::AddressOfOp::create(inside.builder, inside.loc, inside.pointer(), symbol),
        ArrayRef<int64_t>{int64_t(i)});
  LLVM::ReturnOp::create(inside.builder, inside.loc, value);
  return name;
}

Value CallTable::storeLocals(Emitter &emit) {
  Value array = runtime.allocateSlots(emit, 8 * std::max<size_t>(1, locals.size()));
  for (auto [i, local] : llvm::enumerate(locals)) {
    auto [value, byAddress] = local;
    Type type = value.getType();
    Value word = emit.cast(value, isa<MemRefType>(type) ? emit.pointer()
                                  : type.isIndex()      ? emit.builder.getI64Type()
                                                        : type);
    if (byAddress) {
      Value slot = runtime.allocateSlots(emit, 8);
      LLVM::StoreOp::create(emit.builder, emit.loc, word, slot);
      word = slot;
    }
    LLVM::StoreOp::create(emit.builder, emit.loc, word, emit.offset(array, int64_t(8 * i)));
  }
  return array;
}

void CallTable::run(Emitter &emit, Value call) {
  Value stored = storeLocals(emit);
  auto addressOfGlobal = [&](StringRef name) -> Value {
    return LLVM::AddressOfOp::create(emit.builder, emit.loc, emit.pointer(), name);
  };
  Value named = symbols.empty()
                    ? LLVM::ZeroOp::create(emit.builder, emit.loc, emit.pointer()).getResult()
                    : addressOfGlobal(createSymbols(emit));
  Value table = addressOfGlobal(createTable(emit));
  LLVM::LLVMFuncOp function =
      getRunCalls(emit.builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>());
  auto code =
      LLVM::CallOp::create(emit.builder, emit.loc, function,
                           ValueRange{call, stored, table, named, emit.i64(int64_t(steps)),
                                      emit.i64(int64_t(std::max<size_t>(largestFrame, 4)))});
  runtime.keepStatus(emit, code.getResult());
}
