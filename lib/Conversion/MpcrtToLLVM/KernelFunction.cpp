// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels as mpc_rt_kernel_fn: arguments are read from an array of addresses.
#include "Emitter.h"
#include "Lowering.h"

using namespace mlir;
using namespace mpc;

void mpc::lowerKernel(func::FuncOp kernel) {
  MLIRContext *ctx = kernel.getContext();
  Location loc = kernel.getLoc();
  Type ptr = LLVM::LLVMPointerType::get(ctx), i64 = IntegerType::get(ctx, 64);
  OpBuilder before(kernel);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(ctx), {ptr, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(before, loc, kernel.getSymName(), type);
  Block *block = function.addEntryBlock(before);
  Emitter emit{OpBuilder::atBlockBegin(block), loc};
  Block &body = kernel.getBody().front();
  unsigned count = body.getNumArguments() - 2;
  for (BlockArgument argument : body.getArguments()) {
    unsigned index = argument.getArgNumber();
    Type target = argument.getType();
    Value raw;
    if (index >= count) {
      raw = block->getArgument(1 + index - count);
    } else {
      raw = emit.load(block->getArgument(0), 8 * int64_t(index), ptr);
      if (!isa<MemRefType>(target))
        raw = LLVM::LoadOp::create(emit.builder, loc, target.isIndex() ? i64 : target, raw);
    }
    argument.replaceAllUsesWith(emit.cast(raw, target));
  }
  Operation *terminator = body.getTerminator();
  block->getOperations().splice(block->end(), body.getOperations());
  Emitter end{OpBuilder(terminator), loc};
  LLVM::ReturnOp::create(end.builder, loc, ValueRange());
  terminator->erase();
  kernel.erase();
}
