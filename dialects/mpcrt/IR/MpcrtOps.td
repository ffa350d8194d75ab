// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every op of the mpcrt dialect.

#ifndef MPCRT_OPS
#define MPCRT_OPS

include "dialects/mpc/IR/MpcEnums.td"
include "dialects/mpc/IR/MpcTraceProperties.td"
include "dialects/mpcrt/IR/MpcrtBase.td"
include "dialects/mpcrt/IR/MpcrtRankOps.td"
include "dialects/mpcrt/IR/MpcrtSelectionOps.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mpcrt_FloatShaped : AnyTypeOf<[RankedTensorOf<[Mpc_Float]>, MemRefOf<[Mpc_Float]>], "ranked tensor or memref of a floating type">;
def Mpcrt_Traced : AnyTypeOf<[Mpcrt_FloatShaped, MemRefOf<[Mpc_Float8]>], "ranked tensor or memref of a floating type, or memref of float8">;
def Mpcrt_Factor : AnyTypeOf<[RankedTensorOf<[Mpc_Float, Mpc_Float8, I8]>, MemRefOf<[Mpc_Float, Mpc_Float8, I8]>],
    "ranked tensor or memref of a floating type, float8 or i8">;
def Mpcrt_Sum : AnyTypeOf<[RankedTensorOf<[Mpc_Float, I32]>, MemRefOf<[Mpc_Float, I32]>],
    "ranked tensor or memref of a floating type or i32">;
def Mpcrt_Convolved : AnyTypeOf<[RankedTensorOf<[Mpc_Float, I8]>, MemRefOf<[Mpc_Float, I8]>],
    "ranked tensor or memref of a floating type or i8">;
def Mpcrt_Bytes : AnyTypeOf<[RankedTensorOf<[I8]>, MemRefOf<[I8]>], "ranked tensor or memref of i8">;
def Mpcrt_Bools : AnyTypeOf<[RankedTensorOf<[I1]>, MemRefOf<[I1]>], "ranked tensor or memref of i1">;
def Mpcrt_Places : AnyTypeOf<[RankedTensorOf<[F32]>, MemRefOf<[F32]>], "ranked tensor or memref of f32">;
def Mpcrt_Shaped : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef], "ranked tensor or strided memref">;
def Mpcrt_BitsScalar : AnyTypeOf<[0DTensorOf<[I16, I32, I64]>, MemRefRankOf<[I16, I32, I64], [0]>],
    "scalar tensor or memref of 16, 32 or 64 bits">;

def Mpcrt_ContractOp : Mpcrt_Op<"contract", [AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<Mpcrt_BufferizedCallInterface, ["readsInit"]>, Mpcrt_LibraryCallInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "library call: matrix product with bias, activation and rounding";
  let description = [{
    `out[b,m,n] = round(activation(round(round(sum_k lhs[b,m,k] * rhs[b,k,n]) + bias[n])))`, each round to the element type
    of `out`; the meaning of mpc_rt_contract_t. [m,k] x [k,n] or [b,m,k] x [b,k,n]; with `transpose_lhs` the left operand is
    stored [(b,) k, m], with `transpose_rhs` the right one [(b,) n, k]. `summed_by_parts`: the sum over the parts of a batch
    is all that is read of `out`, so that parts may add while they compute (MPC_RT_CONTRACT_SUMMED_BY_PARTS).

    | lhs | rhs | out | sums are in |
    |---|---|---|---|
    | f16, bf16, f32 | the same | a floating type | f32 |
    | f64 | f64 | a floating type | f64 |
    | f32 | f16, bf16 | a floating type | f32, of lhs rounded to the element type of rhs |
    | a floating type | i8: weights, multiplied as the numbers they are | a floating type | f32 (f64 for f64) |
    | f8E4M3FN, or one of both f8E5M2 | | f32 | f32 |
    | i8 | i8 | i32 | i32, exact; neither bias nor activation |

    With half as many columns of i8 as `out` (which has two or more), each byte holds two numbers, as mpc.unpack_int4 reads
    them.

    | beside | shape | meaning | excludes |
    |---|---|---|---|
    | `scale`, `zero` | [blocks, n] | weights in blocks: (number - zero[places[k], n]) * scale[places[k], n], rounded to the element type of lhs, is multiplied | |
    | `places` | [k], whole numbers in f32 | the block of each row | |
    | `divisors` | [k] | with `transpose_rhs`: divide the rows (awq), with one more rounding | |
    | `accumulate` | | the product is added to what `out` holds, which is not read otherwise | |
    | `largest` | scalar | receives the largest element of the result without its sign, as the bit pattern of its type: infinities and NaN have the largest ones, so one comparison tells whether all are finite | |
    | `mask` | [m, bytes] | receives a bit per element of the result, whether it is positive (bit j % 8 of byte j / 8 of row i; rows are padded to multiples of 128 bits, and what the padding holds is undefined) | `accumulate`; it needs relu |
    | `where` | [m, bytes] | where its bit is not set, the result is 0, also if the sum is NaN | other activations |
    | `sums` | [n] | receives the sums of the columns of rhs, in f32 from 0 on and row by row (a library may have an order of its own), of 16 bits as `out` rounded once | |
    | `gelu` | | the result is that of mpc.gelu, of what would be written without it or of the sum with bias before its rounding | other activations |
    | `kept` | as `out` | receives what would be written without `gelu` | |
    | `gelu_at` | as `out` | the result is mpc.gelu_gradient at these numbers of the product, rounded before or not | other activations |

    Weights in blocks with `transpose_rhs` are those of gptq and awq as Keras stores them: numbers are unsigned, and `scale` and
    `zero` are [n, blocks]; those of gptq may be one per byte (2, 3 and 8 bits). Where a bit of `mask` is decided of the sum
    before its rounding, the two differ where the rounding gives 0. What no kernel does together, the runtime composes.

    On tensors the op has a result for `out` and one each for `largest`, `mask`, `sums` and `kept`, on memrefs none.

    Example:
    ```mlir
    %y = mpcrt.contract ins(%x, %w : tensor<?x784xbf16>, tensor<784x64xbf16>) bias(%b : tensor<64xbf16>)
        outs(%init : tensor<?x64xbf16>) activation(relu) {layer = "dense"} -> tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins Mpcrt_Factor:$lhs, Mpcrt_Factor:$rhs,
                       Optional<Mpcrt_FloatShaped>:$bias, Optional<Mpcrt_FloatShaped>:$scale,
                       Optional<Mpcrt_Bytes>:$zero, Optional<Mpcrt_Places>:$places,
                       Optional<Mpcrt_Places>:$divisors, Optional<Mpcrt_Bytes>:$where,
                       Optional<Mpcrt_FloatShaped>:$gelu_at, Mpcrt_Sum:$out, Optional<Mpcrt_BitsScalar>:$largest,
                       Optional<Mpcrt_Bytes>:$mask, Optional<Mpcrt_FloatShaped>:$sums, Optional<Mpcrt_FloatShaped>:$kept, UnitAttr:$gelu, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs, UnitAttr:$accumulate, UnitAttr:$summed_by_parts,
                       DefaultValuedAttr<Mpc_ActivationAttr, "::mpc::Activation::None">:$activation,
                       DefaultValuedAttr<StrAttr, "\"\"">:$layer);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)` (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`blocks` `(` $scale^ `,` $zero `,` $places `:` type($scale) `,` type($zero) `,` type($places) `)`)?
    (`divided` `(` $divisors^ `:` type($divisors) `)`)? (`where` `(` $where^ `:` type($where) `)`)?
    (`gelu_at` `(` $gelu_at^ `:` type($gelu_at) `)`)?
    `outs` `(` $out `:` type($out) `)` (`largest` `(` $largest^ `:` type($largest) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`sums` `(` $sums^ `:` type($sums) `)`)? (`gelu` $gelu^)? (`kept` `(` $kept^ `:` type($kept) `)`)? (`activation` `(` $activation^ `)`)? attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let builders = [
    // Result as `out` when it is a tensor.
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::mlir::Value":$bias,
                   "::mlir::Value":$out, CArg<"bool", "false">:$transposeLhs,
                   CArg<"bool", "false">:$transposeRhs,
                   CArg<"::mpc::Activation", "::mpc::Activation::None">:$activation,
                   CArg<"::llvm::StringRef", "\"\"">:$layer)>
  ];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      unsigned first = getOutMutable().getOperandNumber();
      return ::mlir::MutableOperandRange(getOperation(), first,
                                         1 + (getLargest() ? 1 : 0) + (getMask() ? 1 : 0) +
                                             (getSums() ? 1 : 0) + (getKept() ? 1 : 0));
    }
    /// Whether each byte of the right operand holds the numbers of two columns.
    bool hasPackedRhs();
    /// Whether it is a product with bias and relu alone: no weights in blocks, largest, bits, sums or gelu.
    bool isPlain() { return isPlainBesideSums() && !getSums(); }
    /// The same but for sums.
    bool isPlainBesideSums() { return !getScale() && !getLargest() && !getMask() && !getWhere() && !hasGelu(); }
    bool takesKernel(); bool hasPartsOfWholeRows();
    /// Whether it applies gelu or its derivative.
    bool hasGelu() { return getGelu() || getGeluAt(); }
    /// Whether the sums are rounded to the element type of the result.
    bool roundsSums();
    /// Whether the left operand is rounded to the right one's element type first.
    bool roundsLhs();
    /// Whether it has a form for a part of its rows (services->contract_rows).
    bool isByRows();
    /// Whether it is the product alone, in float32 and of a static shape, of operands whose rows are samples: a gradient of
    /// weights, which may be `summed_by_parts`.
    bool isGradientOfWeights();
    /// Operands and results beside those of a product with bias and activation; null for none.
    struct Extras {
      ::mlir::Value largest, where, mask, sums, geluAt, kept;
      bool gelu = false;
    };
    Extras getExtras();
    /// The same contraction, discardable attributes too, with these in place of its own extras.
    ContractOp cloneWith(::mlir::OpBuilder &builder, const Extras &extras);
    /// Whether it has the part.
    bool has(ContractPart part);
    /// Which of its parts excludes `wanted`, or is it already; none where it may have it besides.
    std::optional<ContractPart> findObstacle(ContractPart wanted);
    /// The results for operands that are there.
    ::mlir::OpResult getLargestResult() { return getTiedOpResult(&*getLargestMutable().begin()); }
    ::mlir::OpResult getMaskResult() { return getTiedOpResult(&*getMaskMutable().begin()); }
    ::mlir::OpResult getSumsResult() { return getTiedOpResult(&*getSumsMutable().begin()); }
    ::mlir::OpResult getKeptResult() { return getTiedOpResult(&*getKeptMutable().begin()); }
    /// Bytes of a row of `mask` and `where` for a result of so many columns.
    static int64_t getMaskBytes(int64_t columns) { return (columns + 127) / 128 * 16; }
  }];
}

def Mpcrt_ConvolveOp : Mpcrt_Op<"convolve", [DestinationStyleOpInterface,
    Mpcrt_LibraryCallInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "library call: convolution, or one of its two adjoints, with bias and activation";
  let description = [{
    The meaning of mpc_rt_convolution_t. Images are channels last, filters [kernel..., channels /
    groups, filters]. `direction` says what is computed of what:

    | direction | lhs | rhs | out |
    |---|---|---|---|
    | `forward` | input | filter | output |
    | `input_gradient` | cotangent of the output | filter | cotangent of the input |
    | `filter_gradient` | input | cotangent of the output | cotangent of the filter |

    Sums are in float32 (float64 for float64 operands) and round to the element type of `out`; then
    `bias` (along the last dimension) is added and the result rounded again, then the activation. Of i8 `out` is i32 and exact:
    forward, in one group or with one filter for each channel, without bias and activation, with `border` in the padding. On tensors the op has one result, on memrefs none.

    Example:
    ```mlir
    %y = mpcrt.convolve forward ins(%x, %w : tensor<?x8x3xf32>, tensor<3x3x4xf32>) outs(%init : tensor<?x8x4xf32>)
        strides [1] padding [1] x [1] dilations [1] groups 1 -> tensor<?x8x4xf32>
    ```
  }];
  let arguments = (ins Mpc_ConvolutionDirectionAttr:$direction, Mpcrt_Convolved:$lhs,
                       Mpcrt_Convolved:$rhs, Optional<Mpcrt_FloatShaped>:$bias, Mpcrt_Sum:$out,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding_low,
                       DenseI64ArrayAttr:$padding_high, DenseI64ArrayAttr:$dilations, I64Attr:$groups,
                       DefaultValuedAttr<Mpc_ActivationAttr, "::mpc::Activation::None">:$activation,
                       DefaultValuedAttr<I64Attr, "0">:$border,
                       DefaultValuedAttr<StrAttr, "\"\"">:$layer);
  let results = (outs Variadic<RankedTensorOf<[Mpc_Float, I32]>>:$results);
  let assemblyFormat = [{
    $direction `ins` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)` (`bias` `(` $bias^ `:` type($bias) `)`)?
    `outs` `(` $out `:` type($out) `)` `strides` $strides `padding` $padding_low `x` $padding_high
    `dilations` $dilations `groups` $groups (`border` $border^)? (`activation` `(` $activation^ `)`)? attr-dict
    (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); }
    bool takesKernel(); bool hasPartsOfWholeRows() { return true; }
    /// The operand that plays the part: images before and after the forward convolution, filter.
    ::mlir::Value getImages();
    ::mlir::Value getFilter();
    ::mlir::Value getOutputs();
  }];
}

class Mpcrt_AttentionOp<string mnemonic, list<Trait> traits = []> : Mpcrt_Op<mnemonic, [DestinationStyleOpInterface,
    Mpcrt_ServiceCallInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>] # traits> {
  let results = (outs Variadic<RankedTensorOf<[Mpc_Float]>>:$results);
  let hasVerifier = 1;
}

def Mpcrt_AttendOp : Mpcrt_AttentionOp<"attend", [AttrSizedOperandSegments]> {
  let summary = "library call: attention";
  let description = [{
    mpc.attention, the meaning of mpc_rt_attention_t: query [batch, targets, heads, width], key and
    value [batch, sources, heads, ...], `out` [batch, targets, heads, value width], `log_sums` [batch, heads,
    targets] in float32 (float64 for float64), `mask` [batch, heads, targets, sources] or 1 for all but the last; probabilities count `keep_scale` times for `out`
    where `kept` [batch, heads, targets, sources] is true, not at all where it is false; `hidden_score` as in mpc.attention. On tensors the op has two results, on memrefs none.

    Example:
    ```mlir
    %y:2 = mpcrt.attend ins(%q, %k, %v : tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>)
        outs(%o, %l : tensor<?x4x2x8xf16>, tensor<?x2x4xf32>) scale 3.5e-01 {causal}
        -> tensor<?x4x2x8xf16>, tensor<?x2x4xf32>
    ```
  }];
  let arguments = (ins Mpcrt_FloatShaped:$query, Mpcrt_FloatShaped:$key, Mpcrt_FloatShaped:$value,
                       Mpcrt_FloatShaped:$out, Mpcrt_FloatShaped:$log_sums, Optional<Mpcrt_Bools>:$mask,
                       Optional<Mpcrt_Bools>:$kept, F64Attr:$scale, OptionalAttr<F64Attr>:$keep_scale, UnitAttr:$causal,
                       OptionalAttr<F64Attr>:$hidden_score, DefaultValuedAttr<StrAttr, "\"\"">:$layer);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    (`mask` `(` $mask^ `:` type($mask) `)`)? (`kept` `(` $kept^ `:` type($kept) `)`)? `outs` `(` $out `,` $log_sums `:` type($out) `,` type($log_sums) `)` `scale` $scale attr-dict
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 3, 2);
    }
  }];
}

def Mpcrt_AttendGradientOp : Mpcrt_AttentionOp<"attend_gradient", [AttrSizedOperandSegments, AllTypesMatch<["cotangent", "out"]>]> {
  let summary = "library call: derivative of attention";
  let description = [{
    mpc.attention_gradient, the meaning of mpc_rt_attention_t with
    MPC_RT_ATTENTION_GRADIENT. On tensors the op has three results, on memrefs none.

    Example:
    ```mlir
    %g:3 = mpcrt.attend_gradient ins(%dy of %y, %l, %q, %k, %v : tensor<?x4x2x8xf16>, tensor<?x2x4xf32>,
            tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>)
        outs(%dq, %dk, %dv : tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>)
        scale 3.5e-01 -> tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>
    ```
  }];
  let arguments = (ins Mpcrt_FloatShaped:$cotangent, Mpcrt_FloatShaped:$out, Mpcrt_FloatShaped:$log_sums,
                       Mpcrt_FloatShaped:$query, Mpcrt_FloatShaped:$key, Mpcrt_FloatShaped:$value,
                       Mpcrt_FloatShaped:$query_gradient, Mpcrt_FloatShaped:$key_gradient,
                       Mpcrt_FloatShaped:$value_gradient, Optional<Mpcrt_Bools>:$mask,
                       Optional<Mpcrt_Bools>:$kept, F64Attr:$scale, OptionalAttr<F64Attr>:$keep_scale, UnitAttr:$causal,
                       OptionalAttr<F64Attr>:$hidden_score, DefaultValuedAttr<StrAttr, "\"\"">:$layer);
  let assemblyFormat = [{
    `ins` `(` $cotangent `of` $out `,` $log_sums `,` $query `,` $key `,` $value `:` type($out) `,`
    type($log_sums) `,` type($query) `,` type($key) `,` type($value) `)`
    (`mask` `(` $mask^ `:` type($mask) `)`)? (`kept` `(` $kept^ `:` type($kept) `)`)? `outs` `(` $query_gradient `,` $key_gradient `,` $value_gradient `:` type($query_gradient) `,`
    type($key_gradient) `,` type($value_gradient) `)` `scale` $scale attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 6, 3);
    }
  }];
}

def Mpcrt_ScatterAddOp : Mpcrt_Op<"scatter_add", [DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<Mpcrt_BufferizedCallInterface, ["readsInit"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "adds rows to the rows of a table that integers name";
  let description = [{
    `out[o, indices[o, i], r] += updates[o, i, r]`, for each element of `out` in the order of i:
    the same sum for every number of threads. Indices of rank 1 hold for every o; then updates and
    `out` may lack that dimension. Negative ones count from the end; rows at indices outside are
    dropped. `out` accumulates in float32 or float64, whatever the updates have. convert-linalg-to-mpcrt makes a kernel of it, which splits
    o and r.

    Example:
    ```mlir
    %t = mpcrt.scatter_add ins(%ids, %dy : tensor<?xi64>, tensor<?x64xbf16>)
        outs(%zeros : tensor<100x64xf32>) -> tensor<100x64xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[RankedTensorOf<[AnySignlessInteger]>, MemRefOf<[AnySignlessInteger]>]>:$indices,
                       Mpcrt_FloatShaped:$updates, Mpcrt_FloatShaped:$out);
  let results = (outs Variadic<RankedTensorOf<[Mpc_Float]>>:$results);
  let assemblyFormat = [{
    `ins` `(` $indices `,` $updates `:` type($indices) `,` type($updates) `)`
    `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); }
  }];
}

def Mpcrt_ConcatenateOp : Mpcrt_Op<"concatenate", [DestinationStyleOpInterface, Mpcrt_BufferizedCallInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "arrays one behind the other along an axis";
  let description = [{
    One op for all parts: a chain of tensor.insert_slice is what one-shot analysis is slowest on, each pair of them
    being a conflict to exclude. On buffers parts and `out` may be views with static strides;
    mpc-lower-concatenations lets parts be computed where they belong, and copies the others.

    Example:
    ```mlir
    %c = mpcrt.concatenate ins(%a, %b : tensor<?x2xf32>, tensor<?x3xf32>) outs(%empty : tensor<?x5xf32>)
        axis 1 -> tensor<?x5xf32>
    ```
  }];
  let arguments = (ins Variadic<Mpcrt_Shaped>:$parts, Mpcrt_Shaped:$out, I64Attr:$axis);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $parts `:` type($parts) `)` `outs` `(` $out `:` type($out) `)` `axis` $axis attr-dict
    (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); }
  }];
}

def Mpcrt_TraceOp : Mpcrt_Op<"trace", [Mpcrt_FallibleInterface, Mpcrt_HostCallInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "report a value's statistics to the runtime";
  let description = [{
    mpc.trace, of tensors or dense buffers (services->trace). With `change` the difference of the value and the one before it is
    reported, which have one type.

    Example: `mpcrt.trace forward 3 "cast" of "dense" (%y before %x) from [2] : memref<?x8xf16>, memref<?x8xf32>`
  }];
  let arguments = !con((ins Mpcrt_Traced:$value, Optional<Mpcrt_FloatShaped>:$before), Mpc_TraceProperties, (ins UnitAttr:$change));
  let assemblyFormat = [{
    $direction $slot $op `of` $layer `(` $value (`before` $before^)? `)` (`from` $sources^)? (`scaled` $scaled^)? (`float8` $format^)?
    (`change` $change^)? attr-dict `:` type($value) (`,` type($before)^)?
  }];
  let hasVerifier = 1;
}

def Mpcrt_LaunchOp : Mpcrt_Op<"launch", [Mpcrt_HostCallInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "parallel-for of an outlined kernel";
  let description = [{
    Runs `kernel(arguments..., begin, end)` on chunks that cover [0, count), each of at least
    `grain` iterations (services->parallel_for). The kernel is a function with the unit attribute
    `mpcrt.kernel`; iterations must be independent of each other. Arguments are memrefs, indices,
    integers and floats. A kernel reads and writes those buffers and no others, but for constants.

    Example: `mpcrt.launch @relu count(%n) grain(4096) args(%x, %y : memref<?x64xf32>, memref<?x64xf32>)`
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Index:$count, I64Attr:$grain,
                       Variadic<AnyTypeOf<[AnyMemRef, Index, AnySignlessInteger, AnyFloat]>>:$arguments);
  let assemblyFormat = [{
    $kernel `count` `(` $count `)` `grain` `(` $grain `)` (`args` `(` $arguments^ `:` type($arguments) `)`)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def Mpcrt_LaunchAllOp : Mpcrt_Op<"launch_all", [Mpcrt_HostCallInterface, RecursiveMemoryEffects, SingleBlock, NoTerminator]> {
  let summary = "launches that are independent of each other, shared by the threads at once";
  let description = [{
    The body holds two or more mpcrt.launch, none of which writes what another one reads or writes
    (services->parallel_for_all).

    Example:
    ```mlir
    mpcrt.launch_all {
      mpcrt.launch @update count(%n) grain(1365) args(%da, %a : memref<?xf32>, memref<?xf32>)
      mpcrt.launch @update count(%m) grain(1365) args(%db, %b : memref<?xf32>, memref<?xf32>)
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
}

def Mpcrt_InterleaveOp : Mpcrt_Op<"interleave", [Mpcrt_HostCallInterface, RecursiveMemoryEffects, SingleBlock, NoTerminator]> {
  let summary = "a product, and a launch on each part of its result as soon as it is there";
  let description = [{
    The body holds one library call on buffers, mpcrt.contract or mpcrt.convolve, and one mpcrt.launch, whose argument
    `result` is the call's `out` and whose count is the number of its elements. Iteration i of the kernel reads element i
    of the result alone, so it may run on parts of the result while these are in the cache and others are still computed.
    Neither writes what the other one reads but for the result. With `consumed` nothing else reads the result: what `out`
    holds afterwards is undefined. With `replaced` iteration i writes element i of the result, too, and `out` holds that.

    Example:
    ```mlir
    mpcrt.interleave result(0) consumed {
      mpcrt.contract ins(%x, %dy : memref<?x784xbf16>, memref<?x64xbf16>) outs(%dw : memref<784x64xbf16>) {transpose_lhs}
      mpcrt.launch @update count(%c50176) grain(1365) args(%dw_flat, %w_flat : memref<?xbf16>, memref<?xf32>)
    }
    ```
  }];
  let arguments = (ins I64Attr:$result, UnitAttr:$consumed, UnitAttr:$replaced);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`result` `(` $result `)` (`consumed` $consumed^)? (`replaced` $replaced^)? $body attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    LibraryCallOpInterface getProduct();
    LaunchOp getLaunch();
  }];
}

def Mpcrt_RowsOp : Mpcrt_Op<"rows", [RecursiveMemoryEffects, SingleBlock, NoTerminator]> {
  let summary = "structured ops that become one kernel: block of rows by block of rows";
  let description = [{
    The body holds linalg.generic ops on buffers whose first `loops` loops are parallel and have the
    same extents: together they count the rows. Whatever one op writes and another reads or writes is
    indexed with exactly these loops in its first dimensions, so a row depends on the same row only
    and the ops may run on any part of the rows, one after the other.

    A memref.alloca in the body is a temporary of one block of rows: its type says the whole, but
    memory is taken for a block only.

    Example:
    ```mlir
    mpcrt.rows loops(1) {
      %max = memref.alloca(%batch) : memref<?xf32>
      linalg.fill ins(%low : f32) outs(%max : memref<?xf32>)
      linalg.reduce {arith.maximumf} ins(%x : memref<?x10xf32>) outs(%max : memref<?xf32>) dimensions = [1]
    }
    ```
  }];
  let arguments = (ins I64Attr:$loops);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`loops` `(` $loops `)` $body attr-dict";
  let hasVerifier = 1;
}

def Mpcrt_ParallelRowsOp : Mpcrt_CallOfBody<"parallel_rows"> {
  let summary = "a loop over time that threads share by rows";
  let description = [{
    The body, a loop over the steps of a scan, may be run on any part of `count` rows, and on several
    parts at once: whatever it writes has the rows as its first dimension, and each op that touches
    it does so row by row (its first loop counts the rows; a contraction's rows are those of its left
    operand and its result). Right operands and biases of contractions are the same for all steps.
    So one fork is enough for all steps (services->parallel_rows), and a row's values stay in the caches of one core.

    Example:
    ```mlir
    mpcrt.parallel_rows count(%batch) {
      scf.for %step = %c0 to %c128 step %c1 {
        mpcrt.contract ins(%h, %w : memref<?x64xf32>, memref<64x64xf32>) outs(%z : memref<?x64xf32>)
        mpcrt.launch @cell count(%batch) grain(2) args(%z, %h, %batch : memref<?x64xf32>, memref<?x64xf32>, index)
      }
    }
    ```
  }];
  let arguments = (ins Index:$count);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`count` `(` $count `)` $body attr-dict";
  let hasVerifier = 1;
}

def Mpcrt_PrepareOp : Mpcrt_CallOfBody<"prepare"> {
  let summary = "what an entry computes of its weights alone";
  let description = [{
    The body writes views of `memory`, an argument of the entry with the attribute `mpcrt.prepared`, and reads those and
    variables that the entry does not write. It runs when these have changed since it last did (services->prepare), before
    the rest of the entry; `memory` keeps what it wrote. An entry has at most one.

    Example:
    ```mlir
    mpcrt.prepare %prepared bytes(2048) {
      mpcrt.launch @dequantize count(%c512) grain(512) args(%numbers, %k : memref<16x32xi8>, memref<16x32xf32>)
    } : memref<?xi8>
    ```
  }];
  let arguments = (ins MemRefRankOf<[I8], [1]>:$memory, I64Attr:$bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$memory `bytes` `(` $bytes `)` $body attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

def Mpcrt_ViewOp : Mpcrt_Op<"view", [Pure]> {
  let summary = "buffer in the arena of the call";
  let description = [{
    A memref at byte `fixed + batch * per_sample` of the arena, or of memory that stays between calls (mpcrt.prepare). The
    layout is dense; a dynamic leading dimension has `extent * batch` rows (1 when absent). With `unstored` it has no memory:
    the result of an mpcrt.interleave that its kernel consumes, for which the runtime has memory where it needs some.

    Example: `%0 = mpcrt.view %arena[%batch] fixed(128) per_sample(256) : memref<?xi8> -> memref<?x64xf32>`
  }];
  let arguments = (ins MemRefRankOf<[I8], [1]>:$arena, Index:$batch, I64Attr:$fixed,
                       I64Attr:$per_sample, DefaultValuedAttr<I64Attr, "1">:$extent,
                       UnitAttr:$unstored);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $arena `[` $batch `]` `fixed` `(` $fixed `)` `per_sample` `(` $per_sample `)` attr-dict
    `:` type($arena) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // MPCRT_OPS
