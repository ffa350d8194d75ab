// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between dialects and what prepares and follows them (phases tensors, kernels and module), in
// the order of the pipeline (docs/pipeline.md).

#ifndef MPC_CONVERSION_PASSES
#define MPC_CONVERSION_PASSES

include "mpc/Analysis/PhasePass.td"

def ConvertMpcToLinalg : PhasePass<"convert-mpc-to-linalg", "Fusion"> {
  let summary = "lower the bodies of entries to linalg, tensor, arith, math and mpcrt.contract";
  let description = [{
    Precondition: functions with `mpc.entry` contain ops of the mpc dialect whose types are final.
    Postcondition: no mpc op is left in them; declarations (mpc.variable, mpc.optimizer, mpc.metric,
    mpc.loss_scale) and the attributes of arguments and results stay.

    Each mpc op rounds its result once: 16-bit operands are extended to float32, the arithmetic is
    float32 (float64 for float64) and one truncation follows. Unsigned integers become signless;
    an argument or result whose element type changed so keeps it in `mpc.element_type`.
    Contractions become `mpcrt.contract`, scans `scf.for`; optimizer steps one multi-result linalg.generic whose
    destinations are the variable and its slots.

    mpc.all_finite becomes one maximum of bit patterns per gradient. With `finite-tests`, where the gradient is
    what mpcrt.contract writes (or a reshape of it), the contraction reports the maximum itself, block by block
    while the block is in cache, and the pass over memory is gone. Remarks: `mpc-fusion` / `finite-test`, for each
    that a contraction tests and each that stays a kernel.

    Contractions take over more on demand, outside of loops. Operands may be there in another shape. What they do
    not take over stays a kernel, and a remark of category `mpc-fusion` says why.

    - `relu-masks` (remark `relu-mask`): the derivative of relu, which is a selection between the cotangent and 0 where relu's
      result is greater than 0. A contraction with the activation relu leaves a bit per element; the one that writes the cotangent, for
      this selection alone, writes 0 where it is not set.
    - `gelu` (remark `gelu`), in 16 bits: where a contraction writes the argument of mpc.gelu, it writes the result, and the
      argument beside when something else reads it. Where one writes the cotangent, for mpc.gelu_gradient alone, it writes
      the cotangent of the argument.
    - `column-sums` (remark `column-sums`): the gradient of a bias, which is the sum of the rows that the
      contraction for the gradient of the weights has on its right. That contraction sums them in float32 while it packs them. What is
      computed from the sums before it moves behind it; sums of columns that mpc-pad-dims added are sliced off. With `rounded-sums`, for
      cuBLASLt, sums have the type of the contraction's result, and take in the rounding that mpc.reduce ends with.
    - `turned-operands`: cuBLASLt multiplies rows of float8 by rows. An operand that lies otherwise is turned where its numbers are (mpcrt.turn).
    - `input-casts` (remark `input-cast`): an input of the model that is rounded from f32 to 16 bits for left operands of contractions
      alone. They take it as it is, and round while they pack it.

    ```mlir
    %y = mpc.contract %x, %w contracting [1] x [0] {activation = #mpc<activation relu>} : …
    %g = mpc.contract %dz, %v contracting [1] x [1] : …
    %p = mpc.compare gt %y, %zero : tensor<?x256xf16>, tensor<f16>
    %d = mpc.select %p, %g, %zero : …
    // becomes, with relu-masks
    %y, %m = mpcrt.contract ins(%x, %w : …) outs(%e : tensor<?x256xf16>) mask(%f : tensor<?x32xi8>)
        activation(relu) -> tensor<?x256xf16>, tensor<?x32xi8>
    %d = mpcrt.contract ins(%dz, %v : …) where(%m : tensor<?x32xi8>) outs(%e : tensor<?x256xf16>) {transpose_rhs}
    ```

    ```mlir
    %y = mpc.relu %x : tensor<?x8xbf16>
    ```
    becomes
    ```mlir
    %y = linalg.generic ... ins(%x : tensor<?x8xbf16>) outs(%e : tensor<?x8xbf16>) {
    ^bb0(%a: bf16, %o: bf16):
      %w = arith.extf %a : bf16 to f32
      %m = arith.maximumf %w, %zero : f32
      %r = arith.truncf %m : f32 to bf16
      linalg.yield %r : bf16
    } -> tensor<?x8xbf16>
    ```
  }];
  let options = [Option<"narrowWeights", "narrow-weights", "bool", "false",
                        "let products read integer weights as they are stored">,
                 Option<"shortProducts", "short-products", "bool", "false",
                        "products of few terms as elementwise ops instead of library calls">,
                 Option<"finiteTests", "finite-tests", "bool", "false",
                        "let products test whether the gradients are finite that they write">,
                 Option<"reluMasks", "relu-masks", "bool", "false",
                        "let products apply the derivative of relu to the cotangents that they write">,
                 Option<"gelu", "gelu", "bool", "false", "let products apply gelu and its derivative">,
                 Option<"columnSums", "column-sums", "bool", "false",
                        "let products sum the columns of what they have on their right">,
                 Option<"turnedOperands", "turned-operands", "bool", "false",
                        "operands of float8 have the columns one after the other where products want that">,
                 Option<"roundedSums", "rounded-sums", "bool", "false",
                        "sums of columns have the type of the product's result">,
                 Option<"inputCasts", "input-casts", "bool", "false",
                        "let products round the inputs of the model that they have on their left">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mpc::mpcrt::MpcrtDialect"];
}

def ConvertLinalgToMpcrt : PhasePass<"convert-linalg-to-mpcrt", "Buffers"> {
  let summary = "linalg on buffers to outlined kernels and launches";
  let description = [{
    Each structured op becomes a kernel function with a loop over [begin, end) and an mpcrt.launch;
    ops of a few iterations stay in the host function as loops, dense copies become memory copies.
    The split of the iteration space is the remark `kernel` (category mpc-kernels).
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::linalg::LinalgDialect"];
  let options = [Option<"device", "target", "::mpc::Device", "::mpc::Device::cpu",
                        "cpu, cuda or cuda:sm_N,…: on CUDA one row is a block, and dense copies are kernels">];
}

def OutlineHostCode : PhasePass<"mpc-outline-host-code", "Kernels"> {
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

def GatherLaunches : PhasePass<"mpc-gather-launches", "Kernels"> {
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

def MergeLaunches : PhasePass<"mpc-merge-launches", "Kernels"> {
  let summary = "for GPUs: launches of a host loop that go through the same elements become one";
  let description = [{
    In a loop of the host, as over the steps of an LSTM, launches are short, and each costs more than what it computes.
    Two of them with one count become one where each iteration touches its own element of what one writes and
    the other one touches, or other slices of it. So does one that fills a temporary which the other one reads slice
    by slice, or that copies what the other one wrote slice by slice. Remark `merge-launches` (category
    mpc-kernels).

    ```mlir
    mpcrt.launch @copy count(%n) grain(16384) args(%h, %kept : ...)
    mpcrt.launch @cell count(%n) grain(862) args(%z, %c, %h : ...)
    // becomes
    mpcrt.launch @cell_merged count(%n) grain(862) args(%h, %kept, %z, %c : ...)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::scf::SCFDialect",
                           "::mpc::mpcrt::MpcrtDialect"];
}

def OrderLaunches : PhasePass<"mpc-order-launches", "Kernels"> {
  let summary = "for GPUs: launches between two library calls in the order in which a GPU waits least";
  let description = [{
    Before: launches in the order of the model. After: launches between two library calls stand behind what they need,
    narrow ones next to each other, and those that are independent of each other in mpcrt.launch_all. A kernel with
    stages waits between forks, not inside of one (lib/Codegen/CUDA/LaunchGroups.h). Remark `order-launches`
    (category mpc-kernels).

    ```mlir
    mpcrt.launch @largest count(%c1) grain(1) args(%parts, %a : ...)
    mpcrt.launch @move count(%c1024) grain(1) args(%a, %history : ...)
    mpcrt.launch @largest count(%c1) grain(1) args(%others, %b : ...)
    // becomes
    mpcrt.launch_all {
      mpcrt.launch @largest count(%c1) grain(1) args(%parts, %a : ...)
      mpcrt.launch @largest count(%c1) grain(1) args(%others, %b : ...)
    }
    mpcrt.launch @move count(%c1024) grain(1) args(%a, %history : ...)
    ```
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect"];
}

def InterleaveLaunches : PhasePass<"mpc-interleave-launches", "Kernels"> {
  let summary = "for CPUs: kernels run on parts of a product's result while these are in the cache";
  let description = [{
    A launch whose iteration i reads element i of what a contraction or convolution before it wrote, and no other
    one, moves up to that product, or that down to the launch, when nothing between depends on either
    order: both become mpcrt.interleave. That saves writing the result and reading it again, and the kernel waits for
    memory while another thread multiplies. Among the launches are an optimizer's updates, if
    nothing has to be known of all gradients before (loss scaling, clipping): remark `interleave`
    (category mpc-kernels). A result that nobody else reads is `consumed`. One that the launch
    overwrites, as activations do, is `replaced`, unless the launch touches other buffers of that size and parts of the
    result are no whole rows, as those of contractions are not: where
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

def CompactArena : EntryPass<"mpc-compact-arena", "Kernels"> {
  let summary = "for CPUs: no memory for results that kernels consume";
  let description = [{
    mpc-plan-memory gave every temporary a place, before it was known which results of products
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

def JoinLaunches : PhasePass<"mpc-join-launches", "Kernels"> {
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

def ShardUpdates : PhasePass<"mpc-shard-updates", "Kernels"> {
  let summary = "each rank of a job updates its part of variables";
  let description = [{
    For `mpcc --shard=optimizer`. A launch of a step that goes element by element through variables with `sharded`, and
    what an optimizer has of them, goes through the elements that the rank owns alone. A gradient that nothing else reads
    becomes mpcrt.reduce_scatter. What other ops read of these variables (16-bit copies of weights, or weights) is gathered
    behind the update; variables that nothing else touches get `in_parts`: a rank has memory for its part only. Arrays go in
    the order in which something waits for them: what touches them behind the update, or, of a shadow of weights in
    @train_step, what touches it first in the next run.

    Where no variable is sharded, launches of @train_backward that make nothing but results of sums over ranks get the count
    of mpcrt.own_part: all of them, or none in a part of a batch whose results nobody reads. Products of which nothing else
    is read than such sums get `summed_by_parts`.

    A launch stays whole where something reads all that it wrote (norms of variables), and for fewer than 1,024 elements. A
    warning names variables that stay whole for the first reason; where all do, that is an error. A second run changes
    nothing. Remarks: `mpc-distribute` / `shards`, `gathers`.

    ```mlir
    mpcrt.launch @update count(%n) grain(1365) args(%g, %w, %m : memref<?xf32>, memref<?xf32>, memref<?xf32>)
    // becomes, with views of the three
    %begin, %count = mpcrt.own_part of 50176
    mpcrt.launch @update count(%count) grain(1365) args(%own_g, %own_w, %own_m : ...)
    mpcrt.all_gather outs(%w : memref<784x64xf32>) {bucket = 1 : i64, ends_bucket}
    mpcrt.wait_for_ranks outs(%w : memref<784x64xf32>) {bucket = 1 : i64}
    ```
  }];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t", "4194304", "the largest message of several arrays">];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect", "::mlir::memref::MemRefDialect"];
}

def VerifyKernels : Pass<"mpc-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "check the exit contract of the phase kernels";
  let description = [{
    No linalg, tensors or allocations; kernels neither call nor launch; hosts launch only kernels;
    every argument of an entry says what it is, and the entry how large its arena is.
  }];
}

def ShareHostLoops : PhasePass<"mpc-share-host-loops", "Kernels"> {
  let summary = "equal loops of entries become calls of one function";
  let description = [{
    What is too little for a launch is a loop of the entry, and a network of many layers has the same one
    for each layer and entry. Loops that differ only in the buffers, indices and numbers that they use
    from outside, and have at most one number as their result, become calls of a private function. A loop
    that occurs once stays, except in an entry of more than `long-entry` ops: it becomes several functions, which LLVM
    optimises where they have a loop.
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
  let options = [Option<"longEntry", "long-entry", "int64_t", "400",
                        "entries of more ops keep no loop that can be a function">];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def ExpandMath : Pass<"mpc-expand-math"> {
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

def ConvertMpcrtToLLVM : PhasePass<"convert-mpcrt-to-llvm", "Kernels"> {
  let summary = "entries and kernels to the LLVM dialect, with the ABI of include/mpc-rt/executable.h";
  let description = [{
    A buffer becomes one pointer, because strides are static. Entries become `int32_t (call)`, kernels
    `void (arguments, begin, end)`. Structure ops (mpc.variable, ...) stay for the tables. Sums that may
    be regrouped get an order that depends on their length alone. Eight calls or more with nothing between
    them that does something become a constant table, through which @mpcrt_run_calls goes: the entry has
    code for what else it does.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

def VerifyModule : Pass<"mpc-verify-module", "::mlir::ModuleOp"> {
  let summary = "check the exit contract of the phase module, as far as it is IR";
  let description = [{
    Functions, globals and their bodies are of the LLVM dialect; beside them stand declarations of
    mpc, from which code generation makes the library's tables.
  }];
}

#endif // MPC_CONVERSION_PASSES
