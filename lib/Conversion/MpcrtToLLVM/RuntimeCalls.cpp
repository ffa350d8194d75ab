// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Conversion/MpcrtToLLVM/RuntimeCalls.h"
#include "mpc-rt/executable.h"

using namespace mlir;
using namespace mpc;

void RuntimeCalls::read(Block *block, Value call, Location loc) {
  prologue = block;
  Emitter emit{OpBuilder::atBlockEnd(prologue), loc};
  Type ptr = emit.pointer();
  services = emit.load(call, offsetof(mpc_rt_call_t, services), ptr);
  context = emit.load(call, offsetof(mpc_rt_call_t, context), ptr);
  kernels = emit.load(call, offsetof(mpc_rt_call_t, kernels), ptr);
  status =
      LLVM::AllocaOp::create(emit.builder, emit.loc, ptr, emit.builder.getI32Type(), emit.i64(1));
  LLVM::StoreOp::create(emit.builder, emit.loc, emit.i32(0), status);
}

void RuntimeCalls::callService(Emitter &emit, int64_t service, ArrayRef<Value> arguments) {
  Type i32 = emit.builder.getI32Type();
  SmallVector<Value> operands{readService(emit, service), context};
  operands.append(arguments.begin(), arguments.end());
  SmallVector<Type> types(ValueRange(operands).drop_front().getTypes());
  auto type = LLVM::LLVMFunctionType::get(i32, types);
  keepStatus(emit, LLVM::CallOp::create(emit.builder, emit.loc, type, operands).getResult());
}

void RuntimeCalls::keepStatus(Emitter &emit, Value code) {
  Type i32 = emit.builder.getI32Type();
  Value before = LLVM::LoadOp::create(emit.builder, emit.loc, i32, status);
  Value isFirst =
      LLVM::ICmpOp::create(emit.builder, emit.loc, LLVM::ICmpPredicate::eq, before, emit.i32(0));
  Value now = LLVM::SelectOp::create(emit.builder, emit.loc, isFirst, code, before);
  LLVM::StoreOp::create(emit.builder, emit.loc, now, status);
}

void RuntimeCalls::require(int64_t service) {
  tables.servicesSize = std::max<int64_t>(tables.servicesSize, service + sizeof(void *));
}

Value RuntimeCalls::readService(Emitter &emit, int64_t service) {
  require(service);
  return emit.load(services, service, emit.pointer());
}

void RuntimeCalls::callWithoutStatus(Emitter &emit, int64_t service, ArrayRef<Value> arguments) {
  SmallVector<Value> operands{readService(emit, service), context};
  operands.append(arguments.begin(), arguments.end());
  SmallVector<Type> types(ValueRange(operands).drop_front().getTypes());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(emit.builder.getContext()), types);
  LLVM::CallOp::create(emit.builder, emit.loc, type, operands);
}

Value RuntimeCalls::allocateSlots(Emitter &emit, size_t bytes) {
  Emitter slots{OpBuilder::atBlockBegin(prologue), emit.loc};
  return LLVM::AllocaOp::create(slots.builder, emit.loc, emit.pointer(), emit.builder.getI64Type(),
                                slots.i64(int64_t(llvm::divideCeil(bytes, 8))));
}

Value RuntimeCalls::argumentsOf(mpcrt::LaunchOp op, Emitter &emit) {
  Location loc = op.getLoc();
  // Stack slots stand in the prologue: a launch in a loop must not grow the stack.
  Emitter slots{OpBuilder::atBlockBegin(prologue), loc};
  Type ptr = emit.pointer(), i64 = emit.builder.getI64Type();
  Value array = LLVM::AllocaOp::create(slots.builder, loc, ptr, ptr,
                                       slots.i64(std::max<int64_t>(1, op.getArguments().size())));
  for (auto [i, argument] : llvm::enumerate(op.getArguments())) {
    Value address;
    if (isa<MemRefType>(argument.getType())) {
      address = pointerTo(emit, argument);
    } else {
      Type type = argument.getType().isIndex() ? i64 : argument.getType();
      address = LLVM::AllocaOp::create(slots.builder, loc, ptr, type, slots.i64(1));
      LLVM::StoreOp::create(emit.builder, loc, emit.cast(argument, type), address);
    }
    LLVM::StoreOp::create(emit.builder, loc, address, emit.offset(array, 8 * i));
  }
  return array;
}

Value RuntimeCalls::kernelOf(mpcrt::LaunchOp op, Emitter &emit) {
  unsigned index = tables.kernelIndex.lookup(op.getKernelAttr().getAttr());
  return emit.load(kernels, 8 * int64_t(index), emit.pointer());
}
