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

def Mpc_CompactOp : Mpc_Op<"compact", [Pure, Mpc_Inferred, Mpc_Referenced]> {
  let summary = "the places of what is true, and how many there are";
  let description = [{
    `places` has the indices of the true elements in ascending order, and zeros behind them; `count` says how many
    they are. Its operand has no batch: places count over all of it. There is no derivative.

    Example: `%p, %n = mpc.compact %m : tensor<8xi1> -> tensor<8xi64>, tensor<i64>`
  }];
  let arguments = (ins Mpc_BoolTensor:$mask);
  let results = (outs RankedTensorOf<[I64]>:$places, Mpc_CounterScalar:$count);
  let assemblyFormat = "$mask attr-dict `:` type($mask) `->` type($places) `,` type($count)";
}

def Mpc_SelectBoxesOp : Mpc_Op<"select_boxes", [Pure, Mpc_Inferred, Mpc_PreciseOverride, Mpc_Referenced]> {
  let summary = "boxes of which none overlaps a better one: non-maximum suppression";
  let description = [{
    Of boxes [batch, boxes, 4] and scores [batch, classes, boxes] the numbers of at most `limit` boxes for each sample and
    class, [batch, classes, limit], best first, and -1 behind them. Of equal scores the lower number comes first; NaN is
    the worst. Chosen is, again and again, the best box whose area shares no more than `overlap` of the united area (for
    some box chosen before: intersection / union > overlap) and, with `least`, whose score is larger than that. Areas of
    0 share nothing.

    A box is [y1, x1, y2, x2] of two opposite corners in any order, `centered` [x, y, width, height]. Arithmetic is in
    float32, in float64 where an operand is, as onnxruntime has it. There is no derivative.

    Example:
    ```mlir
    %i = mpc.select_boxes %b, %s overlap %o least %l {limit = 10 : i64} : tensor<?x99x4xf32>, tensor<?x3x99xf32>, tensor<f32>, tensor<f32> -> tensor<?x3x10xi32>
    ```
  }];
  let arguments = (ins Mpc_FloatTensor:$boxes, Mpc_FloatTensor:$scores, Mpc_FloatScalar:$overlap,
                       Optional<Mpc_FloatScalar>:$least, I64Attr:$limit, UnitAttr:$centered);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = [{
    $boxes `,` $scores `overlap` $overlap (`least` $least^)? attr-dict `:` type($boxes) `,` type($scores) `,` type($overlap)
    (`,` type($least)^)? `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Coordinates are compared: they stay what they are.
    bool staysWide(unsigned) { return true; }
  }];
}

#endif // MPC_INDEXING_OPS
