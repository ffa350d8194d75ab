// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes of the phase buffers, in the order of the pipeline (docs/pipeline.md).

#ifndef MPC_BUFFERS_PASSES
#define MPC_BUFFERS_PASSES

include "mpc/Analysis/PhasePass.td"

def PassDestinations : PhasePass<"mpc-pass-destinations", "Tensors"> {
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

def SeparateFills : Pass<"mpc-separate-fills", "::mlir::ModuleOp"> {
  let summary = "give every accumulation a start of its own";
  let description = [{
    Two reductions that start from one linalg.fill cannot both be in place: bufferization would copy
    the filled buffer, which costs more than filling another. Ops that start from one tensor.empty
    would share its buffer one after the other, and the second could not be moved before the last
    reader of the first; mpc-plan-memory lets buffers share memory after ops have been grouped. A concatenation that starts
    from a tensor.empty is an allocation of its own (bufferization.alloc_tensor), for mpc-lower-concatenations.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect", "::mlir::bufferization::BufferizationDialect"];
}

def PlaceInsertions : Pass<"mpc-place-insertions", "::mlir::func::FuncOp"> {
  let summary = "what is inserted into a larger tensor is computed there";
  let description = [{
    Upstream's elimination of `tensor.empty`, which analyses the whole function, for functions that
    insert slices (padding, steps of scans) alone: in others mpc-pass-destinations has left nothing to
    it.

    ```mlir
    %e = tensor.empty() : tensor<4xf32>
    %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %r = tensor.insert_slice %a into %t[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
    // becomes
    %e = tensor.extract_slice %t[2] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %r = tensor.insert_slice %a into %t[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::tensor::TensorDialect"];
}

def Bufferize : Pass<"mpc-bufferize", "::mlir::ModuleOp"> {
  let summary = "one-shot bufferization of each function by itself";
  let description = [{
    Upstream's pass with its default options analyses all functions of the module as one. No value goes
    from one to another here, since mpc-pass-destinations has made results arguments: functions do not
    need each other and run on all cores. Those with constants of tensors, which become globals of the
    module, come one by one behind the others.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect"];
}

def OverlapReductions : PhasePass<"mpc-overlap-reductions", "Buffers"> {
  let summary = "reduce over ranks in buckets, while the rank goes on computing";
  let description = [{
    Each mpcrt.all_reduce gets a `bucket`: neighbours of one type whose arrays together have at most `bucket-bytes`, and
    none of which is needed before the last one is there, which sends them all (`ends_bucket`). mpcrt.wait_for_ranks of
    every array stands in front of the first op that touches one of them, or at the end.

    Precondition: buffers, after the groups of rows, whose ops stay, and before mpc-plan-memory, which then keeps an array's
    memory until it has been waited for. A second run changes nothing.

    Remark: `mpc-distribute` / `buckets`.
  }];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t", "4194304", "largest message of several arrays">];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect"];
}

def LowerConcatenations : PhasePass<"mpc-lower-concatenations", "Buffers"> {
  let summary = "compute parts where their concatenation has them, and copy the others";
  let description = [{
    A part that is an allocation of its own, in this shape or another, becomes a view of the whole: then nothing is to
    be copied. That is done where it is provably right. Before the concatenation nothing else touches the whole, which is
    an argument of the entry or an allocation of the same block; and after it the part is not written, nor read if the
    whole is written. Library calls take dense operands: where one of them uses the part, the view must be dense,
    too. All other parts are copied.

    Precondition: buffers, before mpc-group-rows. Postcondition: no mpcrt.concatenate.

    ```mlir
    %a = memref.alloc(%n) : memref<?x2xf32>
    linalg.generic ... outs(%a : memref<?x2xf32>)
    %c = memref.alloc(%n) : memref<?x5xf32>
    mpcrt.concatenate ins(%a, %x : memref<?x2xf32>, memref<?x3xf32>) outs(%c : memref<?x5xf32>) axis 1
    // becomes
    %c = memref.alloc(%n) : memref<?x5xf32>
    %a = memref.subview %c[0, 0] [%n, 2] [1, 1] : memref<?x5xf32> to memref<?x2xf32, strided<[5, 1]>>
    linalg.generic ... outs(%a : memref<?x2xf32, strided<[5, 1]>>)
    %b = memref.subview %c[0, 2] [%n, 3] [1, 1] : memref<?x5xf32> to memref<?x3xf32, strided<[5, 1], offset: 2>>
    memref.copy %x, %b
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def GroupRows : EntryPass<"mpc-group-rows", "Buffers"> {
  let summary = "gather row-wise structured ops on buffers into mpcrt.rows";
  let description = [{
    Softmax, normalisations and losses are chains of reductions over a row and elementwise ops on it.
    A chain whose ops depend row by row becomes one mpcrt.rows and later one kernel that runs it on a
    few rows at a time, while they are in the first-level cache; temporaries that nothing else reads
    become memory of one block of rows. The ops of a group sink to its last one, past ops that touch
    nothing of what they write and write nothing of what they read; an op that needs what the group
    computes is postponed until after the group, unless a later op of the group needs that op in turn.
    Library calls end a group, and a group without any reduction over a row is not worth one.
    On CUDA, where a warp takes a row, an op that would make rows longer starts a group of its own, and
    so does one with more than twice as much to do in a row as the others sum; an op whose sums lie
    between the loops of its result, where a thread takes a column, is in no group. On a
    CPU an op starts its own where temporaries of the group would no longer fit into a block, and would be more
    bytes than what it reads.

    Remark `rows` (category mpc-kernels): how many ops and local temporaries a group has.
  }];
  let options = [Option<"device", "target", "::mpc::Device", "::mpc::Device::cpu", "cpu, cuda or cuda:sm_N,…">];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ParallelizeRows : PhasePass<"mpc-parallelize-rows", "Buffers"> {
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

def PrepareWeights : PhasePass<"mpc-prepare-weights", "Buffers"> {
  let summary = "compute what depends on weights alone when these change, not in every call";
  let description = [{
    Buffers that structured ops and copies of an entry compute of constants and of weights that it does
    not write (dequantized, transposed or padded kernels) get a place in memory that stays between
    calls, the argument `mpcrt.prepared`, and the ops that write them move into an mpcrt.prepare at the
    beginning. Only of predict, evaluate and train_step: the entries of a caller's own loop run once per
    update. On a CPU only of predict.

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
  let options = [
    Option<"device", "target", "::mpc::Device", "::mpc::Device::cuda", "cpu, cuda or cuda:sm_N,…">,
  ];
}

def PlanMemory : EntryPass<"mpc-plan-memory", "Buffers"> {
  let summary = "replace every temporary of an entry by a view of one arena";
  let description = [{
    Offsets are known at compile time but for the batch. Buffers whose lives do not overlap share
    memory; an elementwise op writes over an input that it reads last. Adds the argument `mpcrt.arena`
    and the attributes `mpcrt.arena_fixed` and `mpcrt.arena_per_sample`. Also replaces dimensions of
    buffers by arithmetic on the batch. On CUDA small buffers that the batch does not change share nothing, so that
    mpc-order-launches may change the order of what touches them.

    Remark `memory-plan` (category mpc-memory): bytes planned and bytes without sharing.
  }];
  let options = [Option<"device", "target", "::mpc::Device", "::mpc::Device::cpu", "cpu, cuda or cuda:sm_N,…">];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect", "::mlir::arith::ArithDialect"];
}

def VerifyBuffers : Pass<"mpc-verify-buffers", "::mlir::ModuleOp"> {
  let summary = "check the exit contract of the phase buffers";
  let description = [{
    No tensors; no allocation; no results; every argument of an entry says what it is; outputs and
    updated variables are written; buffers are dense in memory with a dynamic leading extent at most;
    globals are constant.
  }];
}

#endif // MPC_BUFFERS_PASSES
