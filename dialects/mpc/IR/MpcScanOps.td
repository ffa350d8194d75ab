// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recurrence: a loop over the steps of a sequence as one op, and the reversal of an axis.

#ifndef MPC_SCAN_OPS
#define MPC_SCAN_OPS

include "dialects/mpc/IR/MpcTensorOps.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Mpc_ScanOp : Mpc_Op<"scan", [AttrSizedOperandSegments, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"::mpc::YieldOp">, RecursiveMemoryEffects, Mpc_Precise,
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands", "getRegionInvocationBounds"]>,
    DeclareOpInterfaceMethods<Mpc_DifferentiableOpInterface, ["buildWithSavedValues"]>, Mpc_Referenced]> {
  let summary = "one body for every step of a sequence, with values carried from step to step";
  let description = [{
    Runs the body `steps` times. Its arguments are the carried values, then the step's slice of each
    scanned tensor (dimension 1 is the steps and is dropped; the batch stays first), then the captures,
    which are the same in every step. It yields the next carried values, which have the types of
    `inits`, then the outputs of the step. Results are the carried values after the last step, then
    each output stacked along a new dimension 1. With `reverse` the last step runs first; slices and
    outputs stay at their step's index.

    What does not depend on carried values belongs in front of the scan, where it is one op for all
    steps (the projection of a recurrent layer's inputs). The derivative is a scan in the other
    direction. It reads values of the forward body that the forward scan stacked: training entries
    build scans that stack every value which is not cheap to compute again, and what no derivative
    reads is dropped by canonicalisation. Gradients of captures that a contraction reads are one
    contraction behind the loop, with the sum over steps in the accumulator. They are float32 (float64)
    also where the capture is narrower, as Keras casts a variable anew in every step.

    Example: the running sum of a sequence.
    ```mlir
    %last, %sums = mpc.scan inits(%zero) scanned(%x) {steps = 4 : i64}
        : (tensor<?x8xf32>, tensor<?x4x8xf32>) -> (tensor<?x8xf32>, tensor<?x4x8xf32>) {
    ^bb0(%sum: tensor<?x8xf32>, %slice: tensor<?x8xf32>):
      %next = mpc.add %sum, %slice : tensor<?x8xf32>, tensor<?x8xf32>
      mpc.yield %next, %next : tensor<?x8xf32>, tensor<?x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Mpc_Tensor>:$inits, Variadic<Mpc_Tensor>:$scanned,
                       Variadic<Mpc_Tensor>:$captures, I64Attr:$steps, UnitAttr:$reverse);
  let results = (outs Variadic<Mpc_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`inits` `(` $inits^ `)`)? (`scanned` `(` $scanned^ `)`)? (`captures` `(` $captures^ `)`)? attr-dict
    `:` functional-type(operands, results) $body
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The body's arguments by what they stand for.
    ::mlir::Block::BlockArgListType getCarried();
    ::mlir::Block::BlockArgListType getSlices();
    ::mlir::Block::BlockArgListType getCaptured();
    ::mpc::YieldOp getYield();
    /// Carried values after the last step.
    ::mlir::ResultRange getFinals() { return getResults().take_front(getInits().size()); }
    ::mlir::ResultRange getStacked() { return getResults().drop_front(getInits().size()); }
    /// Values of the body that the derivative reads from stacks.
    ::llvm::SmallVector<::mlir::Value> getValuesToSave();
    /// The result that stacks `value` of the body, or null.
    ::mlir::Value findStack(::mlir::Value value);
    /// `type` with (without) the steps as dimension 1.
    static ::mlir::RankedTensorType stackType(::mlir::RankedTensorType type, int64_t steps);
    static ::mlir::RankedTensorType sliceType(::mlir::RankedTensorType type);
  }];
}

def Mpc_ReverseOp : Mpc_MovementOp<"reverse", [Mpc_CheaperThanStack, AllTypesMatch<["input", "result"]>]> {
  let summary = "the elements along an axis (not the batch) in the opposite order";
  let description = "Example: `%r = mpc.reverse %x {axis = 1 : i64} : tensor<?x4x8xf32>`";
  let arguments = (ins Mpc_Tensor:$input, I64Attr:$axis);
  let results = (outs Mpc_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // MPC_SCAN_OPS
