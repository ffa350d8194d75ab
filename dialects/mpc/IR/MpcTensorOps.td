// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contraction, reduction, softmax, data movement, constants and random numbers.

#ifndef MPC_TENSOR_OPS
#define MPC_TENSOR_OPS

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/mpc/IR/MpcEnums.td"
include "dialects/mpc/IR/MpcInterfaces.td"

defvar Mpc_Inferred = TraitList<[DeclareOpInterfaceMethods<InferTypeOpInterface, ["inferReturnTypes"]>,
                                 Mpc_InferenceFirst]>;
defvar Mpc_Precise = DeclareOpInterfaceMethods<Mpc_PrecisionOpInterface>;
defvar Mpc_Differentiable = DeclareOpInterfaceMethods<Mpc_DifferentiableOpInterface>;
defvar Mpc_CheapDifferentiable = DeclareOpInterfaceMethods<Mpc_DifferentiableOpInterface, ["isCheapToRecompute"]>;
defvar Mpc_PreciseOverride = DeclareOpInterfaceMethods<Mpc_PrecisionOpInterface, ["getPrecisionClass"]>;
defvar Mpc_Referenced = DeclareOpInterfaceMethods<Mpc_ReferenceOpInterface>;
defvar Mpc_SumsSamples = DeclareOpInterfaceMethods<Mpc_BatchOpInterface, ["buildOverRanks"]>;
defvar Mpc_RandomOfSamples = DeclareOpInterfaceMethods<Mpc_BatchOpInterface, ["getStateOfSamples"]>;
defvar Mpc_MayMixSamples = DeclareOpInterfaceMethods<Mpc_BatchOpInterface, ["mixesSamples"]>;

def Mpc_ConstantOp : Mpc_Op<"constant", [Pure, ConstantLike, InferTypeOpAdaptor, Mpc_Referenced]> {
  let summary = "a constant tensor";
  let description = [{
    Inside a layer a floating constant is weak, as a Python number in Keras: mpc-insert-casts gives
    it the layer's compute dtype, rounding the value once. `exact` is what every element was before
    it was rounded to float32, where that changed it; the rounding starts from there. In a `finite`
    one the last number of the type, as exporters' masks have it, becomes the last one of the compute
    dtype, where rounding would make an infinity: 0 times that is NaN.

    Examples:
    ```mlir
    %c = mpc.constant dense<1.000000e+00> : tensor<f32>
    %d = mpc.constant {exact = 3.000000e-01 : f64} dense<3.000000e-01> : tensor<f32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value, OptionalAttr<F64Attr>:$exact, UnitAttr:$finite);
  let results = (outs Mpc_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
  let builders = [
    OpBuilder<(ins "::mlir::RankedTensorType":$type, "double":$splat)>,
    OpBuilder<(ins "::mlir::ElementsAttr":$value),
              [{ build($_builder, $_state, value, /*exact=*/::mlir::FloatAttr()); }]>,
    OpBuilder<(ins "::mlir::ElementsAttr":$value, "::mlir::FloatAttr":$exact),
              [{ build($_builder, $_state, value, exact, /*finite=*/false); }]>
  ];
}

def Mpc_ContractOp : Mpc_Op<"contract", [Pure, Mpc_EveryStepOpInterface, Mpc_SumsSamples, DeclareOpInterfaceMethods<Mpc_EpilogueOpInterface>, Mpc_RuntimeCallOpInterface, Mpc_PreciseOverride, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "sum of products over contracted dimensions (generalised matrix multiplication)";
  let description = [{
    Result dimensions are, in this order, the batch dimensions, the free dimensions of lhs, the free
    dimensions of rhs. Sums are in `accumulate` (float32, or float64 for float64 operands) and round
    once to the result's element type. Of i8 the result is i32 and exact (sums wrap around), without
    epilogue or derivative. Of float8 (f8E4M3FN, one operand may be f8E5M2) it is f32, without epilogue. mpc-fuse adds the epilogue: `bias` of the shape of the last
    result dimension (of all free ones of rhs, as heads and their width) is added to the rounded sum and the result rounded again, then the activation,
    exactly as the separate ops would.

    Example:
    ```mlir
    %y = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x784xbf16>, tensor<784x64xbf16>) -> tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins Mpc_FactorTensor:$lhs, Mpc_FactorTensor:$rhs, Optional<Mpc_FloatTensor>:$bias,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$lhs_batch,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contracting, DenseI64ArrayAttr:$rhs_contracting,
                       OptionalAttr<TypeAttr>:$accumulate,
                       DefaultValuedAttr<Mpc_ActivationAttr, "::mpc::Activation::None">:$activation,
                       UnitAttr:$every_step);
  let results = (outs Mpc_SumTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` $bias^)? (`batch` $lhs_batch^ `x` $rhs_batch)?
    `contracting` $lhs_contracting `x` $rhs_contracting attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let builders = [
    // Contracts without batch dimensions; the result has the operands' element type, of i8 i32.
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::ArrayRef<int64_t>":$lhsContracting,
                   "::llvm::ArrayRef<int64_t>":$rhsContracting)>,
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::ArrayRef<int64_t>":$lhsBatch,
                   "::llvm::ArrayRef<int64_t>":$rhsBatch, "::llvm::ArrayRef<int64_t>":$lhsContracting,
                   "::llvm::ArrayRef<int64_t>":$rhsContracting)>];
  let extraClassDeclaration = [{
    ::llvm::StringRef getRuntimeCall() { return "matmul"; }
    /// Dimensions of lhs (rhs) that are neither batch nor contracted, in order.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
  }];
}

def Mpc_ReduceOp : Mpc_Op<"reduce", [Pure, Mpc_SumsSamples, Mpc_Inferred, Mpc_PreciseOverride, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "reduction over axes, in float32 or wider inside, rounded once";
  let description = [{
    `sum mean max min` of floating tensors, `sum max min` of integers, `all any` of i1. `mean` divides in the accumulator, before
    it rounds. NaN propagates. The cotangent of max and min is shared equally among ties.

    Example: `%s = mpc.reduce sum %x {axes = array<i64: 1>} : tensor<?x8xf32> -> tensor<?xf32>`
  }];
  let arguments = (ins Mpc_ReduceKindAttr:$kind, Mpc_Tensor:$input, DenseI64ArrayAttr:$axes,
                       UnitAttr:$keep_dims);
  let results = (outs Mpc_Tensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Mpc_ArgMaxOp : Mpc_Op<"argmax", [Pure, Mpc_Inferred, Mpc_Referenced]> {
  let summary = "index of the first largest element along an axis";
  let description = "Example: `%i = mpc.argmax %x {axis = 1 : i64} : tensor<?x10xf32> -> tensor<?xi32>`";
  let arguments = (ins Mpc_FloatTensor:$input, I64Attr:$axis);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

class Mpc_SoftmaxLikeOp<string mnemonic, string what>
    : Mpc_Op<mnemonic, [Pure, SameOperandsAndResultType, Mpc_MayMixSamples, Mpc_PreciseOverride, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = what;
  let description = "float32 inside, rounded once, as TensorFlow's kernel does.\n\n"
    # "Example: `%p = mpc." # mnemonic # " %x {axis = 1 : i64} : tensor<?x10xf32>`";
  let arguments = (ins Mpc_FloatTensor:$input, I64Attr:$axis);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Mpc_SoftmaxOp : Mpc_SoftmaxLikeOp<"softmax", "e^(x - max) / sum">;
def Mpc_LogSoftmaxOp : Mpc_SoftmaxLikeOp<"log_softmax", "x - max - log(sum e^(x - max))">;

def Mpc_SoftmaxCrossEntropyOp : Mpc_Op<"softmax_cross_entropy", [Pure, Mpc_Inferred, Mpc_PreciseOverride, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "-sum(target * log_softmax(logits)) along the last axis";
  let description = [{
    The derivative with respect to the logits is `softmax(logits) - target`, as TensorFlow's fused
    kernel has it (targets are taken to sum to 1); targets get none.

    Example: `%l = mpc.softmax_cross_entropy %z, %t : tensor<?x10xf32>, tensor<?x10xf32> -> tensor<?xf32>`
  }];
  let arguments = (ins Mpc_FloatTensor:$logits, Mpc_FloatTensor:$target);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $target attr-dict `:` type($logits) `,` type($target) `->` type($result)";
  let hasVerifier = 1;
}

def Mpc_OneHotOp : Mpc_Op<"one_hot", [Pure, Mpc_Referenced]> {
  let summary = "1 at the index along a new last dimension, else 0";
  let description = [{
    An index outside [0, depth) gives a row of zeros. Indices stay integers all the way.

    Example: `%t = mpc.one_hot %y : tensor<?xi32> -> tensor<?x10xf32>`
  }];
  let arguments = (ins Mpc_IntegerTensor:$indices);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$indices attr-dict `:` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

class Mpc_MovementOp<string mnemonic, list<Trait> traits = [], Trait differentiable = Mpc_Differentiable>
    : Mpc_Op<mnemonic, [Pure, Mpc_MovesElements, Mpc_Precise, differentiable, Mpc_Referenced, Mpc_ExactOfConstants] # traits>;

def Mpc_BroadcastLikeOp : Mpc_MovementOp<"broadcast_like", [Mpc_Inferred], Mpc_CheapDifferentiable> {
  let summary = "repeat to the shape of another tensor";
  let description = [{
    `input` broadcasts as in elementwise ops; of `like` only the shape matters (it carries the batch).

    Example: `%b = mpc.broadcast_like %s, %x : tensor<f32>, tensor<?x8xf32>`
  }];
  let arguments = (ins Mpc_Tensor:$input, Mpc_Tensor:$like);
  let results = (outs Mpc_Tensor:$result);
  let assemblyFormat = "$input `,` $like attr-dict `:` type($input) `,` type($like)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    bool staysWide(unsigned operandIndex) { return operandIndex == 1; }
  }];
}

def Mpc_ReshapeOp : Mpc_MovementOp<"reshape", [Mpc_PassesWideCotangent], Mpc_CheapDifferentiable> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    The batch stays the first dimension: dynamic in, dynamic out.

    Example: `%r = mpc.reshape %x : tensor<?x28x28xf32> -> tensor<?x784xf32>`
  }];
  let arguments = (ins Mpc_Tensor:$input);
  let results = (outs Mpc_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Mpc_TransposeOp : Mpc_MovementOp<"transpose", [Mpc_CheaperThanStack, Mpc_Inferred, Mpc_PassesWideCotangent]> {
  let summary = "result dimension i is input dimension permutation[i]";
  let description = "Example: `%t = mpc.transpose %x {permutation = array<i64: 0, 2, 1>} : tensor<?x2x3xf32> -> tensor<?x3x2xf32>`";
  let arguments = (ins Mpc_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Mpc_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Mpc_ConcatenateOp : Mpc_MovementOp<"concatenate", [Mpc_CheaperThanStack, Mpc_Inferred]> {
  let summary = "join along an axis (not the batch)";
  let description = "Example: `%c = mpc.concatenate %a, %b {axis = 1 : i64} : (tensor<?x2xf32>, tensor<?x3xf32>) -> tensor<?x5xf32>`";
  let arguments = (ins Variadic<Mpc_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Mpc_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Mpc_SliceOp : Mpc_MovementOp<"slice", [Mpc_CheaperThanStack, Mpc_Inferred, Mpc_PassesWideCotangent]> {
  let summary = "elements offset .. offset + size along one axis (not the batch)";
  let description = "Example: `%s = mpc.slice %x {axis = 1 : i64, offset = 2 : i64, size = 3 : i64} : tensor<?x8xf32> -> tensor<?x3xf32>`";
  let arguments = (ins Mpc_Tensor:$input, I64Attr:$axis, I64Attr:$offset, I64Attr:$size);
  let results = (outs Mpc_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Mpc_PadOp : Mpc_MovementOp<"pad", [Mpc_CheaperThanStack, Mpc_Inferred]> {
  let summary = "constant elements before and after along one axis (not the batch)";
  let description = [{
    Example: `%p = mpc.pad %x {axis = 1 : i64, low = 0 : i64, high = 6 : i64, value = 0.0 : f64} : tensor<?x10xf32> -> tensor<?x16xf32>`
  }];
  let arguments = (ins Mpc_FactorTensor:$input, I64Attr:$axis, I64Attr:$low, I64Attr:$high, F64Attr:$value);
  let results = (outs Mpc_FactorTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Mpc_DropoutOp : Mpc_Op<"dropout", [Pure, Mpc_RandomOfSamples, AllTypesMatch<["input", "result"]>, Mpc_Precise,
    DeclareOpInterfaceMethods<Mpc_TrainingOnlyOpInterface>, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "keep each element with probability 1 - rate and scale by 1 / (1 - rate)";
  let description = [{
    Philox4x32-10 with key = (seed low, seed high) and counter = (element low, element high, stream,
    call), all 32-bit words; seed and call are the two elements of `state`, `element` is the row-major
    index in the noise tensor (the input's shape, or `noise_shape`: extents 1 broadcast, -1 is the
    batch, as in Keras). An element is kept iff `(word >> 8) * 2^-24 >= rate`, `word` being the first
    of the four output words; equivalently `word >> 8 >= ceil(rate * 2^24)`. Kept elements are
    multiplied by `1 / (1 - rate)` rounded to the element type, others become 0 whatever they were.
    The mask depends on nothing else, so forward and backward recompute the same one. A third element of `state` is the
    number of the first sample: ranks that have parts of a batch count its elements as one process would.
    mpc-differentiate drops the op from inference functions.

    Example: `%y = mpc.dropout %x, %state {rate = 0.5 : f64, stream = 3 : i64} : tensor<?x8xf32>, tensor<2xi64>`
  }];
  let arguments = (ins Mpc_FloatTensor:$input, Mpc_RandomState:$state, F64Attr:$rate, I64Attr:$stream,
                       OptionalAttr<DenseI64ArrayAttr>:$noise_shape);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$input `,` $state attr-dict `:` type($input) `,` type($state)";
  let hasVerifier = 1;
}

def Mpc_RandomAdvanceOp : Mpc_Op<"random_advance", [Pure, SameOperandsAndResultType, Mpc_Referenced]> {
  let summary = "the state of the next call: the counter grows by one";
  let description = "Example: `%s1 = mpc.random_advance %s : tensor<2xi64>`";
  let arguments = (ins Mpc_RandomState:$state);
  let results = (outs Mpc_RandomState:$result);
  let assemblyFormat = "$state attr-dict `:` type($state)";
}

def Mpc_RandomStepOp : Mpc_Op<"random_step", [Pure, SameOperandsAndResultType, Mpc_Referenced]> {
  let summary = "the state of the next step of a loop inside one call: another key";
  let description = [{
    Carried by an mpc.scan whose random ops take other numbers in every step. The seed grows by the
    odd number 0x9E3779B97F4A7C15 (2^64 divided by the golden ratio), the counter, which is the
    call's, stays; so no step of this call shares numbers with a step of the next one.

    Example: `%s1 = mpc.random_step %s : tensor<2xi64>`
  }];
  let arguments = (ins Mpc_RandomState:$state);
  let results = (outs Mpc_RandomState:$result);
  let assemblyFormat = "$state attr-dict `:` type($state)";
}

#endif // MPC_TENSOR_OPS
