// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mpcrt dialect and its op base class.

#ifndef MPCRT_BASE
#define MPCRT_BASE

include "dialects/mpcrt/IR/MpcrtInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mpcrt_Dialect : Dialect {
  let name = "mpcrt";
  let cppNamespace = "::mpc::mpcrt";
  let summary = "What generated code asks of the runtime: library calls, launches, arena views";
  let description = [{
    The late dialect. It says in IR what include/mpc-rt/executable.h says in C. See
    dialects/mpcrt/README.md for the reasons.
  }];
  let dependentDialects = ["::mpc::MpcDialect"]; // for the enum of activations
  let hasRegionArgAttrVerify = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Argument of a buffers-phase entry: the memref receives the output of this name.
    static constexpr ::llvm::StringLiteral kOutputAttr = "mpcrt.output";
    /// Argument of a buffers-phase entry: the extent of every dynamic dimension.
    static constexpr ::llvm::StringLiteral kBatchAttr = "mpcrt.batch";
    /// Argument of an entry after mpc-plan-memory: memref<?xi8>, the scratch memory of the call.
    static constexpr ::llvm::StringLiteral kArenaAttr = "mpcrt.arena";
    /// Argument of an entry after mpc-prepare-weights: memref<?xi8>, memory that stays between calls.
    static constexpr ::llvm::StringLiteral kPreparedAttr = "mpcrt.prepared";
    /// Entry after mpc-plan-memory: bytes of the arena, arena_fixed + batch * arena_per_sample.
    static constexpr ::llvm::StringLiteral kArenaFixedAttr = "mpcrt.arena_fixed";
    static constexpr ::llvm::StringLiteral kArenaPerSampleAttr = "mpcrt.arena_per_sample";
    /// Unit attribute of functions that mpcrt.launch runs; the last two arguments are the bounds.
    static constexpr ::llvm::StringLiteral kKernelAttr = "mpcrt.kernel";
    /// Unit attribute of an scf.for whose iterations touch no memory that another one writes.
    static constexpr ::llvm::StringLiteral kIndependentAttr = "mpcrt.independent";
    /// Unit attribute of an arith.select after mpc-expand-math: what it chooses is no NaN where that is
    /// its false value.
    static constexpr ::llvm::StringLiteral kElseNumberAttr = "mpcrt.else_number";
    /// Function after lowering: what the entry's table says (dictionary).
    static constexpr ::llvm::StringLiteral kEntryTableAttr = "mpcrt.entry";
    /// Module after lowering: symbols of the kernels in the order of their table (array).
    static constexpr ::llvm::StringLiteral kKernelsAttr = "mpcrt.kernels";
    /// Module after lowering: the lowest version of the runtime's ABI that the code needs.
    static constexpr ::llvm::StringLiteral kAbiVersionAttr = "mpcrt.abi_version";
  }];
}

class Mpcrt_Op<string mnemonic, list<Trait> traits = []> : Op<Mpcrt_Dialect, mnemonic, traits>;

/// An op whose call takes the address of a function: what its body becomes.
class Mpcrt_CallOfBody<string mnemonic> : Mpcrt_Op<mnemonic, [Mpcrt_FallibleInterface, DeclareOpInterfaceMethods<Mpcrt_HostCallInterface, ["isTableStep"]>,
    RecursiveMemoryEffects, SingleBlock, NoTerminator]> {
  let extraClassDefinition = [{
    bool $cppClass::isTableStep() { return false; }
  }];
}

#endif // MPCRT_BASE
