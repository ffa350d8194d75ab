// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops whose indices are data: gather and its derivative.

#ifndef MPC_INDEXING_OPS
#define MPC_INDEXING_OPS

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/mpc/IR/MpcTensorOps.td"

def Mpc_GatherOp : Mpc_Op<"gather", [Pure, Mpc_Inferred, Mpc_Precise, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "elements of a table along an axis, at indices that integers name";
  let description = [{
    `result[o, b, i, r] = table[o, b, indices[b, i], r]`: the result has the table's shape with the
    indices' shape (without its first `batch_dims` dimensions, which are also the table's first) in
    index of dimension `axis`. An index counts from the end when it is negative, as in Keras's
    `take`. Indices stay integers all the way. TensorFlow refuses an index outside
    [-extent, extent); here it reads no memory outside the table: floating results are NaN,
    integers 0. Callers' inputs are checked before a call (`mpc.index_limit`).

    Example:
    ```mlir
    %rows = mpc.gather %table, %ids {axis = 0 : i64} : tensor<100x8xf32>, tensor<?x5xi32> -> tensor<?x5x8xf32>
    ```
  }];
  let arguments = (ins Mpc_Tensor:$table, Mpc_IntegerTensor:$indices, I64Attr:$axis,
                       DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs Mpc_Tensor:$result);
  let assemblyFormat = "$table `,` $indices attr-dict `:` type($table) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool staysWide(unsigned operandIndex) { return operandIndex == 1; }
  }];
}

def Mpc_ScatterAddOp : Mpc_Op<"scatter_add", [Pure, Mpc_SumsSamples, Mpc_Inferred, Mpc_PreciseOverride, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "zeros to which updates are added at indices that integers name: the derivative of gather";
  let description = [{
    `result[o, b, indices[b, i], r] += updates[o, b, i, r]` for each i in order, in float32
    (float64) and rounded once: the same result for every number of threads. Of `like` only the
    shape matters; indices are read as by mpc.gather, and updates at indices outside are dropped.

    Example:
    ```mlir
    %d = mpc.scatter_add %ids, %dy like %table {axis = 0 : i64} : tensor<?x5xi32>, tensor<?x5x8xf32>, tensor<100x8xf32>
    ```
  }];
  let arguments = (ins Mpc_IntegerTensor:$indices, Mpc_FloatTensor:$updates, Mpc_FloatTensor:$like,
                       I64Attr:$axis, DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = [{
    $indices `,` $updates `like` $like attr-dict `:` type($indices) `,` type($updates) `,` type($like)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool staysWide(unsigned operandIndex) { return operandIndex != 1; }
  }];
}

#endif // MPC_INDEXING_OPS
