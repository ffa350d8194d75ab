// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels as mpc_rt_kernel_fn: arguments are read from an array of addresses. Loops that entries
// share: arguments are in registers.
#include "lib/Conversion/MpcrtToLLVM/Emitter.h"
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"

using namespace mlir;
using namespace mpc;

/// A buffer is a pointer.
static Type lowered(Type type) {
  if (isa<MemRefType>(type))
    return LLVM::LLVMPointerType::get(type.getContext());
  return type.isIndex() ? IntegerType::get(type.getContext(), 64) : type;
}

/// Behind what `block` has; the function goes.
static void moveBody(func::FuncOp function, Block *block) {
  Block &body = function.getBody().front();
  Operation *terminator = body.getTerminator();
  block->getOperations().splice(block->end(), body.getOperations());
  Emitter end{OpBuilder(terminator), function.getLoc()};
  LLVM::ReturnOp::create(end.builder, function.getLoc(),
                         llvm::map_to_vector(terminator->getOperands(), [&](Value result) {
                           return end.cast(result, lowered(result.getType()));
                         }));
  terminator->erase();
  function.erase();
}

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
  moveBody(kernel, block);
}

static LLVM::LLVMFuncOp lowerHostLoop(func::FuncOp loop) {
  OpBuilder before(loop);
  Type result = loop.getNumResults() ? lowered(loop.getResultTypes().front())
                                     : LLVM::LLVMVoidType::get(loop.getContext());
  auto type =
      LLVM::LLVMFunctionType::get(result, llvm::map_to_vector(loop.getArgumentTypes(), lowered));
  auto function = LLVM::LLVMFuncOp::create(before, loop.getLoc(), loop.getSymName(), type,
                                           LLVM::Linkage::Internal);
  // Inlining would copy the code, which is here to stand once.
  function.setNoInline(true);
  Block *block = function.addEntryBlock(before);
  Emitter emit{OpBuilder::atBlockBegin(block), loop.getLoc()};
  for (auto [argument, value] : llvm::zip_equal(loop.getArguments(), block->getArguments()))
    argument.replaceAllUsesWith(emit.cast(value, argument.getType()));
  moveBody(loop, block);
  return function;
}

void mpc::lowerHostLoops(ModuleOp module, ArrayRef<func::FuncOp> loops) {
  llvm::StringMap<LLVM::LLVMFuncOp> functions;
  for (func::FuncOp loop : loops) {
    const std::string name = loop.getSymName().str();
    functions[name] = lowerHostLoop(loop);
  }
  SmallVector<func::CallOp> calls;
  module.walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls) {
    LLVM::LLVMFuncOp function = functions.lookup(call.getCallee());
    if (!function)
      continue;
    Emitter emit{OpBuilder(call), call.getLoc()};
    SmallVector<Value> operands = llvm::map_to_vector(call.getOperands(), [&](Value operand) {
      return emit.cast(operand, lowered(operand.getType()));
    });
    auto lower = LLVM::CallOp::create(emit.builder, emit.loc, function, operands);
    for (auto [result, number] : llvm::zip_equal(call.getResults(), lower.getResults()))
      result.replaceAllUsesWith(emit.cast(number, result.getType()));
    call.erase();
  }
}
