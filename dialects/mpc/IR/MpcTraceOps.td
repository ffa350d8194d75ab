// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The op that reports a value to whoever watches a model's numbers.

#ifndef MPC_TRACE_OPS
#define MPC_TRACE_OPS

include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/mpc/IR/MpcAttributes.td"
include "dialects/mpc/IR/MpcTraceProperties.td"

def Mpc_TraceOp : Mpc_Op<"trace", [DeclareOpInterfaceMethods<Mpc_ReferenceOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "report a value's statistics";
  let description = [{
    Has no result and changes nothing; its effect, on what the runtime keeps, keeps it alive and in
    order. `before` is the value that a narrowing cast rounded: an element that was not 0 and is 0
    afterwards has underflowed. `slot` is the rank of the value among those of its function, by
    execution, and `sources` are the slots of the traced values that it was computed of. `op`,
    `layer` and `direction` name it for people. With `scaled` the value has the loss scale in it.
    With `float8` its numbers are those of a format of float8, in a type that holds them, and `before` is what was rounded to it.

    Example:
    ```mlir
    mpc.trace forward 3 "cast" of "dense" (%y before %x) from [2] : tensor<?x8xf16>, tensor<?x8xf32>
    ```
  }];
  let arguments = !con((ins Mpc_FloatTensor:$value, Optional<Mpc_FloatTensor>:$before), Mpc_TraceProperties);
  let assemblyFormat = [{
    $direction $slot $op `of` $layer `(` $value (`before` $before^)? `)` (`from` $sources^)? (`scaled` $scaled^)? (`float8` $format^)?
    attr-dict `:` type($value) (`,` type($before)^)?
  }];
  let hasVerifier = 1;
}

#endif // MPC_TRACE_OPS
