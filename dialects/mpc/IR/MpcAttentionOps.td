// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention as one op, for targets that compute it without the matrix of scores in memory.

#ifndef MPC_ATTENTION_OPS
#define MPC_ATTENTION_OPS

include "dialects/mpc/IR/MpcTensorOps.td"

def Mpc_AttentionOp : Mpc_Op<"attention", [Pure, Mpc_RandomOfSamples, AttrSizedOperandSegments, Mpc_Inferred, Mpc_PreciseOverride, Mpc_Differentiable,
    Mpc_Referenced, Mpc_RuntimeCallOpInterface, DeclareOpInterfaceMethods<Mpc_TrainingPartOpInterface>]> {
  let summary = "softmax(scale query key^T) value for each sample and head";
  let description = [{
    Of queries [batch, targets, heads, width], keys [batch, sources, heads, width] and values [batch,
    sources, heads, value width], with the scores
    `s[b, h, t, u] = scale * sum_w query[b, t, h, w] * key[b, u, h, w]`:
    `result[b, t, h, v] = sum_u softmax_u(s[b, h, t, u]) * value[b, u, h, v]`. With `causal` the
    sources u > t do not count. With `mask` [batch, heads, targets, sources], whose extents but the last may be 1, only the
    sources count where it is true, whatever the scores of the others are; of a target with none all count, with
    scores of 0 that do not depend on queries and keys (as Keras, which gives what is masked the lowest number). With
    `hidden_score`, a finite number, sources that do not count have that score in the softmax, and then the
    probability 0 (as Keras's Softmax layer with a mask): of a target with none the result is 0. Scores, their softmax and all sums are in float32 (float64 for float64);
    the result is rounded once, and an implementation may round the softmax for the second product.
    `log_sums[b, h, t] = log(sum_u e^s[b, h, t, u])`, in float32 or wider, is what the derivative needs
    to know of the softmax; it has none of its own.

    With `dropout`, the state of random numbers, what is multiplied with values is `mpc.dropout` of the softmax [batch,
    heads, targets, sources], with the same numbers for the same state, `rate` and `stream`; `log_sums` knows nothing of it. mpc-differentiate drops it
    from inference functions.

    Example:
    ```mlir
    %y, %l = mpc.attention %q, %k, %v {causal, scale = 0.125 : f64}
        : tensor<?x10x8x64xf16>, tensor<?x10x8x64xf16>, tensor<?x10x8x64xf16>
    %z, %n = mpc.attention %q, %k, %v mask(%m : tensor<?x1x1x10xi1>) {scale = 0.125 : f64}
        : tensor<?x10x8x64xf16>, tensor<?x10x8x64xf16>, tensor<?x10x8x64xf16>
    %h, %p = mpc.attention %q, %k, %v {causal, hidden_score = -1.0e9 : f64, scale = 0.125 : f64}
        : tensor<?x10x8x64xf16>, tensor<?x10x8x64xf16>, tensor<?x10x8x64xf16>
    %d, %o = mpc.attention %q, %k, %v dropout(%s : tensor<2xi64>) {rate = 0.1 : f64, scale = 0.125 : f64, stream = 3 : i64}
        : tensor<?x10x8x64xf16>, tensor<?x10x8x64xf16>, tensor<?x10x8x64xf16>
    ```
  }];
  let arguments = (ins Mpc_FloatTensor:$query, Mpc_FloatTensor:$key, Mpc_FloatTensor:$value,
                       Optional<Mpc_BoolTensor>:$mask, Optional<Mpc_RandomState>:$state, F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<F64Attr>:$hidden_score, OptionalAttr<F64Attr>:$rate, OptionalAttr<I64Attr>:$stream);
  let results = (outs Mpc_FloatTensor:$result, Mpc_FloatTensor:$log_sums);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`dropout` `(` $state^ `:` type($state) `)`)? attr-dict `:` type($query) `,` type($key)
    `,` type($value)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef getRuntimeCall() { return "attention"; }
  }];
}

def Mpc_AttentionGradientOp : Mpc_Op<"attention_gradient", [Pure, Mpc_RandomOfSamples, AttrSizedOperandSegments, Mpc_Inferred, Mpc_PreciseOverride, Mpc_Referenced,
    Mpc_RuntimeCallOpInterface, AllTypesMatch<["cotangent", "result"]>]> {
  let summary = "derivative of mpc.attention";
  let description = [{
    The cotangents of query, key and value from that of the result. With the scores s of mpc.attention
    `p[b, h, t, u] = e^(s[b, h, t, u] - log_sums[b, h, t])`,
    `d[b, h, t, u] = scale * p[b, h, t, u] * sum_v cotangent[b, t, h, v] * (value[b, u, h, v] - result[b, t, h, v])`:
    those of query and key are the products of d with key and query, that of value is the product of p with the
    cotangent. What a mask hides has p = 0; where it hides all, p is the same for all (with `hidden_score` 0) and d = 0. With `dropout`
    each value in d is multiplied by `f[b, h, t, u]`, by which mpc.dropout multiplies what it keeps, 0 for the rest, and so is p for the product with the cotangent. Sums are in float32 or wider, each result is rounded once; p and d may be rounded for these products.
    It is not differentiable itself.

    Example:
    ```mlir
    %dq, %dk, %dv = mpc.attention_gradient %dy of %y, %l, %q, %k, %v {scale = 0.125 : f64}
        : tensor<?x10x8x64xf16>, tensor<?x8x10xf32>, tensor<?x10x8x64xf16>, tensor<?x12x8x64xf16>, tensor<?x12x8x64xf16>
    ```
  }];
  let arguments = (ins Mpc_FloatTensor:$cotangent, Mpc_FloatTensor:$result, Mpc_FloatTensor:$log_sums,
                       Mpc_FloatTensor:$query, Mpc_FloatTensor:$key, Mpc_FloatTensor:$value,
                       Optional<Mpc_BoolTensor>:$mask, Optional<Mpc_RandomState>:$state, F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<F64Attr>:$hidden_score, OptionalAttr<F64Attr>:$rate, OptionalAttr<I64Attr>:$stream);
  let results = (outs Mpc_FloatTensor:$query_gradient, Mpc_FloatTensor:$key_gradient,
                      Mpc_FloatTensor:$value_gradient);
  let assemblyFormat = [{
    $cotangent `of` $result `,` $log_sums `,` $query `,` $key `,` $value (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`dropout` `(` $state^ `:` type($state) `)`)? attr-dict `:` type($result) `,` type($log_sums) `,` type($query) `,` type($key) `,` type($value)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool staysWide(unsigned operandIndex) { return operandIndex == 2; }
    ::llvm::StringRef getRuntimeCall() { return "attention"; }
  }];
}

#endif // MPC_ATTENTION_OPS
