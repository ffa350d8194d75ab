// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of the runtime's services in one host function.
#ifndef MPC_LIB_CONVERSION_MPCRTTOLLVM_RUNTIMECALLS_H
#define MPC_LIB_CONVERSION_MPCRTTOLLVM_RUNTIMECALLS_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcrtToLLVM/Emitter.h"
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"

namespace mpc {

class RuntimeCalls {
public:
  explicit RuntimeCalls(TablePositions &tables) : tables(tables) {}
  /// The prologue reads what the calls need from the function's mpc_rt_call_t, `call`.
  void read(mlir::Block *prologue, mlir::Value call, mlir::Location loc);

  /// Calls service(context, arguments...), which returns a status. `service` is in bytes into
  /// mpc_rt_services_t.
  void callService(Emitter &emit, int64_t service, llvm::ArrayRef<mlir::Value> arguments);
  void callWithoutStatus(Emitter &emit, int64_t service, llvm::ArrayRef<mlir::Value> arguments);
  /// Memory of the stack, in the prologue: a launch in a loop must not grow the stack.
  mlir::Value allocateSlots(Emitter &emit, size_t bytes);
  /// The kernel's arguments in an array of addresses.
  mlir::Value argumentsOf(mpcrt::LaunchOp op, Emitter &emit);
  mlir::Value kernelOf(mpcrt::LaunchOp op, Emitter &emit);
  /// Where the first failure of a call is kept.
  mlir::Value getStatus() const { return status; }

  /// The first failure counts; whoever comes to the end of the enclosing step returns it.
  void keepStatus(Emitter &emit, mlir::Value code);
  /// Says that the code calls this service.
  void require(int64_t service);

private:
  /// The address of a service.
  mlir::Value readService(Emitter &emit, int64_t service);

  TablePositions &tables;
  mlir::Block *prologue = nullptr;
  mlir::Value services, context, kernels, status;
};

/// The address of a buffer's elements.
inline mlir::Value pointerTo(Emitter &emit, mlir::Value buffer) {
  return emit.cast(buffer, emit.pointer());
}

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCRTTOLLVM_RUNTIMECALLS_H
