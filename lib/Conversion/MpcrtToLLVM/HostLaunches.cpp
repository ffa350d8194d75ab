// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of the runtime that run kernels.
#include "lib/Conversion/MpcrtToLLVM/HostFunction.h"
#include "mpc-rt/executable.h"

using namespace mlir;
using namespace mpc;

LogicalResult HostFunction::lowerLaunch(mpcrt::LaunchOp op) {
  Emitter emit{OpBuilder(op), op.getLoc()};
  Value array = runtime.argumentsOf(op, emit), kernel = runtime.kernelOf(op, emit);
  runtime.callWithoutStatus(emit, offsetof(mpc_rt_services_t, parallel_for),
                            {kernel, array, emit.cast(op.getCount(), emit.builder.getI64Type()),
                             emit.i64(op.getGrain())});
  op.erase();
  return success();
}

LogicalResult HostFunction::lowerLaunchAll(mpcrt::LaunchAllOp op) {
  Emitter emit{OpBuilder(op), op.getLoc()};
  Block &body = op.getBody().front();
  const size_t count = body.getOperations().size();
  Value array = runtime.allocateSlots(emit, count * sizeof(mpc_rt_launch_t));
  for (auto [i, launch] : llvm::enumerate(body.getOps<mpcrt::LaunchOp>())) {
    const std::pair<size_t, Value> fields[] = {
        {offsetof(mpc_rt_launch_t, kernel), runtime.kernelOf(launch, emit)},
        {offsetof(mpc_rt_launch_t, arguments), runtime.argumentsOf(launch, emit)},
        {offsetof(mpc_rt_launch_t, count), emit.cast(launch.getCount(), emit.builder.getI64Type())},
        {offsetof(mpc_rt_launch_t, grain), emit.i64(launch.getGrain())}};
    for (auto [offset, value] : fields)
      LLVM::StoreOp::create(emit.builder, emit.loc, value,
                            emit.offset(array, i * sizeof(mpc_rt_launch_t) + offset));
  }
  runtime.callWithoutStatus(emit, offsetof(mpc_rt_services_t, parallel_for_all),
                            {array, emit.i32(count)});
  op.erase();
  return success();
}

#define FIELD(name) MPC_C_FIELD(mpc_rt_result_kernel_t, name)
LogicalResult HostFunction::lowerInterleave(mpcrt::InterleaveOp op) {
  mpcrt::LaunchOp launch = op.getLaunch();
  Emitter emit{OpBuilder(op), op.getLoc()};
  const int64_t counts = int64_t(launch.getArguments().size());
  StackStruct kernel;
  kernel.set(FIELD(function), runtime.kernelOf(launch, emit));
  kernel.set(FIELD(arguments), runtime.argumentsOf(launch, emit));
  // Two numbers of 32 bits are stored apart.
  kernel.set(FIELD(argument_count), emit.i32(counts));
  kernel.set(FIELD(result), emit.i32(op.getResult()));
  kernel.set(FIELD(grain), emit.i64(launch.getGrain()));
  Value address = kernel.store(emit, prologue, sizeof(mpc_rt_result_kernel_t),
                               /*startsWithSize=*/false);
  if (failed(callLibrary(op, op.getProduct(), address)))
    return failure();
  op.erase();
  return success();
}
#undef FIELD
