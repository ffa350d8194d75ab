// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes of the phases buffers, kernels and module, in the order of the pipeline.

#ifndef MPC_CODEGEN_PASSES
#define MPC_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def PassDestinationsPass : Pass<"mpc-pass-destinations", "::mlir::ModuleOp"> {
  let summary = "entries take memrefs: variables in place, outputs as arguments, the batch as an index";
  let description = [{
    Before: an entry on tensors (phase tensors). After: a function without results whose arguments are
    memrefs (inputs, targets, variables, outputs as `mpcrt.output`) and the batch (`mpcrt.batch`). The
    body still computes on tensors, between `bufferization.to_tensor` of the arguments and a
    `bufferization.materialize_in_destination` of each result. A result whose value is produced into a
    fresh `tensor.empty` is produced into its destination instead; whether that is allowed in place is
    for one-shot bufferize to decide, which sees every read of a variable in one SSA value. In loops,
    a carried value is computed into the tensor that carries it when nothing reads the old one later.

    ```mlir
    func.func @predict(%x: tensor<?x4xf32> {mpc.input = "x"}) -> (tensor<?x4xf32> {mpc.output = "out0"})
    // becomes
    func.func @predict(%x: memref<?x4xf32> {mpc.input = "x"}, %out: memref<?x4xf32> {mpcrt.output = "out0"},
                       %batch: index {mpcrt.batch})
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mpc::mpcrt::MpcrtDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SeparateFillsPass : Pass<"mpc-separate-fills", "::mlir::ModuleOp"> {
  let summary = "give every accumulation a start of its own";
  let description = [{
    Two reductions that start from one linalg.fill cannot both be in place: bufferization would copy
    the filled buffer, which costs more than filling another. Ops that start from one tensor.empty
    would share its buffer one after the other, and the second could not be moved before the last
    reader of the first; mpc-plan-memory lets buffers share memory after ops have been grouped.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def GroupRowsPass : Pass<"mpc-group-rows", "::mlir::ModuleOp"> {
  let summary = "gather row-wise structured ops on buffers into mpcrt.rows";
  let description = [{
    Softmax, normalisations and losses are chains of reductions over a row and elementwise ops on it.
    A chain whose ops depend row by row becomes one mpcrt.rows and later one kernel that runs it on a
    few rows at a time, while they are in the first-level cache; temporaries that nothing else reads
    become memory of one block of rows. The ops of a group sink to its last one, past ops that touch
    nothing of what they write and write nothing of what they read; an op that needs what the group
    computes is postponed until after the group, unless a later op of the group needs that op in turn.
    Library calls end a group, and a group without any reduction over a row is not worth one.
    On CUDA, where a warp takes a row, an op that would make rows longer starts a group of its own; on a
    CPU it does so where temporaries of the group would no longer fit into a block, and would be more
    bytes than what it reads.

    Remark `rows` (category mpc-kernels): how many ops and local temporaries a group has.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "cpu, cuda or cuda:sm_N,…">];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ParallelizeRowsPass : Pass<"mpc-parallelize-rows", "::mlir::ModuleOp"> {
  let summary = "for CPUs: threads share the rows of a loop over time, not each step's work";
  let description = [{
    A scan is a loop of small products and kernels. When all of them work row by row of the batch,
    rows are independent of each other over all steps, and the loop becomes mpcrt.parallel_rows: one
    fork for the loop instead of one for each op of each step. That they do is proved by their
    accesses: a buffer that the loop writes is indexed, in every op that touches it, by a first loop
    over the rows in its first dimension. Products have the same right operand and bias in all steps.

    Remark `parallel-rows` (category mpc-kernels): passed, or missed with the reason.

    ```mlir
    scf.for %step = %c0 to %c128 step %c1 {
      mpcrt.contract ins(%h, %w : ...) outs(%z : memref<?x64xf32>)
      linalg.generic ... ins(%z : ...) outs(%h : memref<?x64xf32>)
    }
    // becomes
    mpcrt.parallel_rows count(%batch) { scf.for ... }
    ```
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect", "::mlir::arith::ArithDialect"];
}

def PrepareWeightsPass : Pass<"mpc-prepare-weights", "::mlir::ModuleOp"> {
  let summary = "for CUDA: compute what depends on weights alone when these change, not in every call";
  let description = [{
    Buffers that structured ops and copies of an entry compute of constants and of weights that it does
    not write (dequantized, transposed or padded kernels) get a place in memory that stays between
    calls, the argument `mpcrt.prepared`, and the ops that write them move into an mpcrt.prepare at the
    beginning. Only of predict, evaluate and train_step: the entries of a caller's own loop run once per
    update. A CPU's library calls pack weights themselves.

    Precondition: buffers, before mpc-plan-memory. Remark `prepare-weights` (category mpc-memory): the
    bytes that stay.

    ```mlir
    %k = memref.alloc() : memref<784x256xbf16>
    linalg.generic ... ins(%numbers : memref<784x128xi8>) outs(%k : memref<784x256xbf16>)
    // becomes
    %k = mpcrt.view %prepared[%batch] fixed(0) per_sample(0) : memref<?xi8> -> memref<784x256xbf16>
    mpcrt.prepare %prepared bytes(401408) {
      linalg.generic ... ins(%numbers : memref<784x128xi8>) outs(%k : memref<784x256xbf16>)
    } : memref<?xi8>
    ```
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect"];
}

def PlanMemoryPass : Pass<"mpc-plan-memory", "::mlir::ModuleOp"> {
  let summary = "replace every temporary of an entry by a view of one arena";
  let description = [{
    Offsets are known at compile time but for the batch. Buffers whose lives do not overlap share
    memory; an elementwise op writes over an input that it reads last. Adds the argument `mpcrt.arena`
    and the attributes `mpcrt.arena_fixed` and `mpcrt.arena_per_sample`. Also replaces dimensions of
    buffers by arithmetic on the batch.

    Remark `memory-plan` (category mpc-memory): bytes planned and bytes without sharing.
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect", "::mlir::arith::ArithDialect"];
}

def VerifyBuffersPass : Pass<"mpc-verify-buffers", "::mlir::ModuleOp"> {
  let summary = "check the exit contract of the phase buffers";
  let description = [{
    No tensors; no allocation; no results; every argument of an entry says what it is; outputs and
    updated variables are written; buffers are dense in memory with a dynamic leading extent at most;
    globals are constant.
  }];
}

def ConvertLinalgToMpcrtPass : Pass<"convert-linalg-to-mpcrt", "::mlir::ModuleOp"> {
  let summary = "linalg on buffers to outlined kernels and launches";
  let description = [{
    Each structured op becomes a kernel function with a loop over [begin, end) and an mpcrt.launch;
    ops of a few iterations stay in the host function as loops, dense copies become memory copies.
    The split of the iteration space is the remark `kernel` (category mpc-kernels).
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let options = [Option<"target", "target", "std::string", "\"cpu\"",
                        "cpu, cuda or cuda:sm_N,…: on CUDA one row is a block, and dense copies are kernels">];
}

def OutlineHostCodePass : Pass<"mpc-outline-host-code", "::mlir::ModuleOp"> {
  let summary = "for devices with memory of their own: entries read and write no buffer";
  let description = [{
    Before: entries with launches, library calls, and scalar code between them that loads and stores.
    After: every run of such code between two calls is a kernel of one iteration. Arrays of the
    entry's stack and numbers that one run computes and another reads are views at the start of the
    arena, which grows by them. Constant arrays are named inside the kernels that read them.

    ```mlir
    %0 = memref.load %total[] : memref<f32>
    %1 = arith.divf %0, %count : f32
    memref.store %1, %loss[] : memref<f32>
    // becomes
    mpcrt.launch @kernel_evaluate_scalars_0 count(%c1) grain(1) args(%total, %count, %loss : ...)
    ```
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::func::FuncDialect"];
}

def GatherLaunchesPass : Pass<"mpc-gather-launches", "::mlir::ModuleOp"> {
  let summary = "for GPUs: launches next to each other where library calls do not need them apart";
  let description = [{
    Launches that stand between two library calls move before the first one when they touch no
    buffer that it writes and write none that it reads, else behind the second one for the same reason:
    if each of them may go one of the two ways to other launches. What then follows each other becomes
    one kernel with stages (lib/Codegen/CUDA/LaunchGroups.h).

    ```mlir
    mpcrt.launch @cast count(%n) grain(1) args(%x, %half : ...)
    mpcrt.contract ins(%half, %w : ...) outs(%y : ...)
    mpcrt.launch @pad count(%c16) grain(1) args(%v, %padded : ...)  // moves above mpcrt.contract
    ```
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect"];
}

def InterleaveLaunchesPass : Pass<"mpc-interleave-launches", "::mlir::ModuleOp"> {
  let summary = "for CPUs: kernels run on parts of a contraction's result while these are in the cache";
  let description = [{
    A launch whose iteration i reads element i of what a contraction before it wrote, and no other
    one, moves up to the contraction, or that down to the launch, when nothing between depends on either
    order: both become mpcrt.interleave. That saves writing the result and reading it again, and the kernel waits for
    memory while another thread multiplies. Among the launches are an optimizer's updates, if
    nothing has to be known of all gradients before (loss scaling, clipping): remark `interleave`
    (category mpc-kernels). A result that nobody else reads is `consumed`. One that the launch
    overwrites, as activations do, is `replaced`, unless the launch touches other buffers of that size: where
    the kernel has one argument to read it and one to write it, a copy of the kernel (`@..._in_place`) has one
    for both. Where iterations are rows, which read a vector per column (BatchNormalization of a prediction), they
    become elements in a copy (`@..._by_elements`).

    ```mlir
    mpcrt.contract ins(%x, %dy : ...) outs(%dw : ...)
    mpcrt.launch @update count(%n) grain(1365) args(%dw_flat, %rate, %w_flat : ...)
    // becomes
    mpcrt.interleave result(0) consumed {
      mpcrt.contract ins(%x, %dy : ...) outs(%dw : ...)
      mpcrt.launch @update count(%n) grain(1365) args(%dw_flat, %rate, %w_flat : ...)
    }
    ```
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect"];
}

def CompactArenaPass : Pass<"mpc-compact-arena", "::mlir::ModuleOp"> {
  let summary = "for CPUs: no memory for results that kernels consume";
  let description = [{
    mpc-plan-memory gave every temporary a place, before it was known which results of contractions
    never reach memory (`mpcrt.interleave ... consumed`). These become `unstored`, and what lay behind
    places that nothing else uses moves up: `mpcrt.arena_fixed` and `mpcrt.arena_per_sample` are then
    what a run touches. Places that buffers shared they go on to share; alignments stay.

    Remark `arena` (category mpc-memory): the bytes that are left.

    ```mlir
    %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<784x64xf32>
    %db = mpcrt.view %arena[%n] fixed(200704) per_sample(0) : memref<?xi8> -> memref<64xf32>
    mpcrt.interleave result(0) consumed { ... outs(%dw : ...) ... }
    // becomes
    %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) {unstored} : memref<?xi8> -> memref<784x64xf32>
    %db = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<64xf32>
    ```
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect"];
}

def JoinLaunchesPass : Pass<"mpc-join-launches", "::mlir::ModuleOp"> {
  let summary = "for CPUs: launches that are independent of each other become one fork of the threads";
  let description = [{
    Of the launches of an entry between two library calls, those that neither read nor write what another one
    writes, nor depend on what the host does between them but for stores that can move up, too, move up to the
    first one and become mpcrt.launch_all: sums of losses and of metrics, tests of gradients, an optimizer's updates that had
    to wait for all gradients. Remark `join-launches` (category mpc-kernels).

    ```mlir
    mpcrt.launch @update count(%n) grain(1365) args(%da, %a : ...)
    mpcrt.launch @update count(%m) grain(1365) args(%db, %b : ...)
    // becomes
    mpcrt.launch_all {
      mpcrt.launch @update count(%n) grain(1365) args(%da, %a : ...)
      mpcrt.launch @update count(%m) grain(1365) args(%db, %b : ...)
    }
    ```
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect"];
}

def VerifyKernelsPass : Pass<"mpc-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "check the exit contract of the phase kernels";
  let description = [{
    No linalg, tensors or allocations; kernels neither call nor launch; hosts launch only kernels;
    every argument of an entry says what it is, and the entry how large its arena is.
  }];
}

def ShareHostLoopsPass : Pass<"mpc-share-host-loops", "::mlir::ModuleOp"> {
  let summary = "equal loops of entries become calls of one function";
  let description = [{
    What is too little for a launch is a loop of the entry, and a network of many layers has the same one
    for each layer and entry. Loops that differ only in the buffers, indices and numbers that they use
    from outside, and have no results, become calls of a private function; a loop that occurs once stays.
    Functions that are neither entries nor kernels are such loops from here on: convert-mpcrt-to-llvm lets
    LLVM not inline them. Remark `share-host-loops` (category mpc-kernels).

    ```mlir
    scf.for %i = %c0 to %c16 step %c1 {
      memref.store %zero, %a[%i] : memref<16xf32>
    }
    scf.for %i = %c0 to %c16 step %c1 {
      memref.store %zero, %b[%i] : memref<16xf32>
    }
    // becomes
    call @host_loop_0(%a) : (memref<16xf32>) -> ()
    call @host_loop_0(%b) : (memref<16xf32>) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def VerifyModulePass : Pass<"mpc-verify-module", "::mlir::ModuleOp"> {
  let summary = "check the exit contract of the phase module, as far as it is IR";
  let description = [{
    Functions, globals and their bodies are of the LLVM dialect; beside them stand declarations of
    mpc, from which code generation makes the library's tables.
  }];
}

def ExpandMathPass : Pass<"mpc-expand-math"> {
  let summary = "exp, expm1, tanh, erf, log and log1p of float32 to straight-line arithmetic";
  let description = [{
    A call of libm keeps LLVM from vectorising a loop. The arithmetic has no branch and no fast-math
    flags. `llvm.intr.fmuladd` rounds once on x86-64-v3 and v4, which give the same bits, and twice on
    v2. Below 2 units in the last place; NaN, infinities, signed zeros and overflow as in libm
    (docs/numerics.md). float16 and bfloat16 compute in float32 and round once. float64 and other
    functions are left to libm.

    ```mlir
    %e = math.exp %x : f32
    ```
    becomes
    ```mlir
    %rounded = llvm.intr.fmuladd(%x, %log2e, %magic) : (f32, f32, f32) -> f32
    %n = arith.subf %rounded, %magic : f32
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect"];
}

def ConvertMpcrtToLLVMPass : Pass<"convert-mpcrt-to-llvm", "::mlir::ModuleOp"> {
  let summary = "entries and kernels to the LLVM dialect, with the ABI of include/mpc-rt/executable.h";
  let description = [{
    A buffer becomes one pointer, because strides are static. Entries become `int32_t (call)`, kernels
    `void (arguments, begin, end)`. Structure ops (mpc.variable, ...) stay for the tables. Sums that may
    be regrouped get an order that depends on their length alone.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

#endif // MPC_CODEGEN_PASSES
