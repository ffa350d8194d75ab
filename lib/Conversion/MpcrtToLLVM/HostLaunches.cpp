// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of the runtime that run kernels.
#include "lib/Conversion/MpcrtToLLVM/HostFunction.h"
#include "mpc-rt/executable.h"

using namespace mlir;
using namespace mpc;

/// Memory of the stack, in the prologue: a launch in a loop must not grow the stack.
Value HostFunction::allocateSlots(Emitter &emit, size_t bytes) {
  Emitter slots{OpBuilder::atBlockBegin(prologue), emit.loc};
  return LLVM::AllocaOp::create(slots.builder, emit.loc, emit.pointer(), emit.builder.getI64Type(),
                                slots.i64(int64_t(llvm::divideCeil(bytes, 8))));
}

/// The kernel's arguments in an array of addresses.
Value HostFunction::argumentsOf(mpcrt::LaunchOp op, Emitter &emit) {
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

Value HostFunction::kernelOf(mpcrt::LaunchOp op, Emitter &emit) {
  unsigned index = tables.kernelIndex.lookup(op.getKernelAttr().getAttr());
  return emit.load(kernels, 8 * int64_t(index), emit.pointer());
}

LogicalResult HostFunction::lowerLaunch(mpcrt::LaunchOp op) {
  Emitter emit{OpBuilder(op), op.getLoc()};
  Value array = argumentsOf(op, emit), kernel = kernelOf(op, emit);
  callWithoutStatus(emit, offsetof(mpc_rt_services_t, parallel_for),
                    {kernel, array, emit.cast(op.getCount(), emit.builder.getI64Type()),
                     emit.i64(op.getGrain())});
  op.erase();
  return success();
}

LogicalResult HostFunction::lowerLaunchAll(mpcrt::LaunchAllOp op) {
  Emitter emit{OpBuilder(op), op.getLoc()};
  Block &body = op.getBody().front();
  const size_t count = body.getOperations().size();
  Value array = allocateSlots(emit, count * sizeof(mpc_rt_launch_t));
  for (auto [i, launch] : llvm::enumerate(body.getOps<mpcrt::LaunchOp>())) {
    const std::pair<size_t, Value> fields[] = {
        {offsetof(mpc_rt_launch_t, kernel), kernelOf(launch, emit)},
        {offsetof(mpc_rt_launch_t, arguments), argumentsOf(launch, emit)},
        {offsetof(mpc_rt_launch_t, count), emit.cast(launch.getCount(), emit.builder.getI64Type())},
        {offsetof(mpc_rt_launch_t, grain), emit.i64(launch.getGrain())}};
    for (auto [offset, value] : fields)
      LLVM::StoreOp::create(emit.builder, emit.loc, value,
                            emit.offset(array, i * sizeof(mpc_rt_launch_t) + offset));
  }
  callWithoutStatus(emit, offsetof(mpc_rt_services_t, parallel_for_all), {array, emit.i32(count)});
  op.erase();
  return success();
}

#define FIELD(name) MPC_C_FIELD(mpc_rt_result_kernel_t, name)
LogicalResult HostFunction::lowerInterleave(mpcrt::InterleaveOp op) {
  mpcrt::LaunchOp launch = op.getLaunch();
  Emitter emit{OpBuilder(op), op.getLoc()};
  const int64_t counts = int64_t(launch.getArguments().size());
  StackStruct kernel;
  kernel.set(FIELD(function), kernelOf(launch, emit));
  kernel.set(FIELD(arguments), argumentsOf(launch, emit));
  // Two numbers of 32 bits are stored apart.
  kernel.set(FIELD(argument_count), emit.i32(counts));
  kernel.set(FIELD(result), emit.i32(op.getResult()));
  kernel.set(FIELD(grain), emit.i64(launch.getGrain()));
  Value address = kernel.store(emit, prologue, sizeof(mpc_rt_result_kernel_t),
                               /*startsWithSize=*/false);
  if (failed(callLibrary(op, op.getContract(), address)))
    return failure();
  op.erase();
  return success();
}
#undef FIELD
