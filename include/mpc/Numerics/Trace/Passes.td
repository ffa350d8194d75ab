// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass that makes entries report their values (docs/numerics-tools.md).

#ifndef MPC_NUMERICS_TRACE_PASSES
#define MPC_NUMERICS_TRACE_PASSES

include "mpc/Analysis/PhasePass.td"

def TraceNumerics : PhasePass<"mpc-trace-numerics", "Scaling"> {
  let summary = "entries that report their values, and the same in float32";
  let description = [{
    Before: phase scaling. After: beside `@predict` and `@train_step`, which stay as they are, there are

    - `@trace_predict` and `@trace_step`: the same ops with an mpc.trace for each floating value that
      is computed, each variable, input and gradient, each value that leaves its layer, and each
      update that the optimizer makes (the difference to the old value). Ops that only move
      elements are passed over unless the value leaves the layer. They change no variable.
    - `@twin_predict` and `@twin_step`: copies of those two in which every narrower floating type is
      float32. Their traces have the same slots.
    - `@apart_predict` and `@apart_step`: copies of the first two that compute the twins'
      values, too. What an op reads of another layer is the twin's value, rounded to the type that it has.

    Values in bodies of loops are not reported; those that leave the loop are. A module that has
    `@trace_predict` stays as it is. An entry that has no form in float32 gets no twin.

    ```mlir
    %1 = mpc.cast %0 : tensor<?x8xf32> to tensor<?x8xf16>
    // becomes, in @trace_predict,
    %1 = mpc.cast %0 : tensor<?x8xf32> to tensor<?x8xf16>
    mpc.trace forward 1 "cast" of "dense" (%1 before %0) from [0] : tensor<?x8xf16>, tensor<?x8xf32>
    ```

    Remarks: `mpc-numerics` / `traced-values`, one per entry; `no-twin` where there is none.
  }];
  let dependentDialects = ["::mpc::MpcDialect"];
}

def WatchStep : PhasePass<"mpc-watch-step", "Kernels"> {
  let summary = "the training step once more, with reports of what its kernels leave in memory";
  let description = [{
    Before: all kernels, launches and library calls of `@train_step` exist. After: beside it, which stays as it
    is, there is `@watched_step`, which does the same: it updates the variables, with the same bits. Behind an op
    stands an mpcrt.trace for each buffer of floating numbers that is complete there and leaves its layer, is
    narrower than float32, has a part for each step of a scan, is a gradient or belongs to a variable. Weights
    have a second one, with the weights as they were: the change. Results of products that kernels consume are
    stored for the reports. Kernels that round to float8 have copies that store these numbers, too (WatchedRoundings.h).
    Where a buffer is padded for products, the part without padding is copied and reported; for a device these copies
    and those of weights become launches by convert-linalg-to-mpcrt and mpc-outline-host-code.
    A module that has `@watched_step` stays as it is.

    Remark `watched-values` (category mpc-numerics): how many values are reported.

    ```mlir
    mpcrt.contract ins(%x, %w : ...) outs(%y : memref<?x8xbf16>) loc("dense")
    // is followed, in @watched_step, by
    mpcrt.trace forward 1 "contract" of "dense"(%y) : memref<?x8xbf16>
    ```
  }];
  let dependentDialects = ["::mpc::mpcrt::MpcrtDialect"];
}

#endif // MPC_NUMERICS_TRACE_PASSES
