// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops over windows of spatial dimensions: convolution, pooling, resampling.

#ifndef MPC_WINDOW_OPS
#define MPC_WINDOW_OPS

include "dialects/mpc/IR/MpcTensorOps.td"

defvar Mpc_Epilogue = DeclareOpInterfaceMethods<Mpc_EpilogueOpInterface>;

// ---- Convolution ---------------------------------------------------------------------------------

class Mpc_ConvolutionLikeOp<string mnemonic, list<Trait> traits = []>
    : Mpc_Op<mnemonic, [Pure, Mpc_PreciseOverride, Mpc_Differentiable, Mpc_Referenced, Mpc_RuntimeCallOpInterface] # traits> {
  let results = (outs Mpc_FloatTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mpc::ConvolutionWindow getWindow() {
      return {getStrides(), getPaddingLow(), getPaddingHigh(), getDilations(),
              static_cast<int64_t>(getGroups())};
    }
    ::llvm::StringRef getRuntimeCall() { return "convolution"; }
  }];
}

def Mpc_ConvolutionOp : Mpc_ConvolutionLikeOp<"convolution", [Mpc_Epilogue]> {
  let summary = "cross-correlation of channels-last images with a filter";
  let description = [{
    `input` is [batch, spatial..., channels], `filter` [kernel..., channels / groups, filters] with 1
    to 3 spatial dimensions, the result [batch, spatial..., filters]. With zeros `padding_low` before
    and `padding_high` after each spatial dimension,
    `result[b, o, f] = sum_k,c input[b, o * stride - low + k * dilation, c] * filter[k, c, f]`, where
    filter f sees the channels of its group. Sums are in float32 (float64 for float64) and round once.
    mpc-fuse adds the epilogue: `bias` is added to the rounded sum and the result rounded again, then
    the activation, exactly as the separate ops would. Of i8 the result is i32 and exact (sums wrap
    around), in one group or with one filter for each channel, without epilogue or derivative; the padding
    has `border` instead of zeros.

    A kernel of one element that is moved by one element is a contraction, which canonicalization
    makes of it; zeros that an mpc.pad adds become padding, unless that has a border.

    Example:
    ```mlir
    %y = mpc.convolution %x, %w strides [2, 2] padding [0, 0] x [1, 1] dilations [1, 1]
        : (tensor<?x28x28x3xf32>, tensor<3x3x3x8xf32>) -> tensor<?x14x14x8xf32>
    ```
  }];
  let arguments = (ins Mpc_ConvolvedTensor:$input, Mpc_ConvolvedTensor:$filter, Optional<Mpc_FloatTensor>:$bias,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding_low,
                       DenseI64ArrayAttr:$padding_high, DenseI64ArrayAttr:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<Mpc_ActivationAttr, "::mpc::Activation::None">:$activation,
                       DefaultValuedAttr<I64Attr, "0">:$border);
  let results = (outs Mpc_SumTensor:$result);
  let assemblyFormat = [{
    $input `,` $filter (`bias` $bias^)? `strides` $strides `padding` $padding_low `x` $padding_high
    `dilations` $dilations (`groups` $groups^)? (`border` $border^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasCanonicalizer = 1;
  let builders = [
    // The result's shape follows from the operands and the window.
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$filter,
                   "const ::mpc::ConvolutionWindow &":$window, CArg<"int64_t", "0">:$border)>];
}

def Mpc_ConvolutionInputGradientOp : Mpc_ConvolutionLikeOp<"convolution_input_gradient", [Mpc_Epilogue]> {
  let summary = "adjoint of a convolution with respect to its input; transposed convolution";
  let description = [{
    For `y = mpc.convolution(x, filter)` with the same window, the linear map that takes the cotangent
    of y to that of x. The result has the shape of x. It is also the forward computation of Keras's
    transposed convolutions, which therefore have an epilogue too.

    Example:
    ```mlir
    %dx = mpc.convolution_input_gradient %dy, %w strides [2] padding [0] x [1] dilations [1]
        : (tensor<?x5x8xf32>, tensor<3x4x8xf32>) -> tensor<?x10x4xf32>
    ```
  }];
  let arguments = (ins Mpc_FloatTensor:$cotangent, Mpc_FloatTensor:$filter, Optional<Mpc_FloatTensor>:$bias,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding_low,
                       DenseI64ArrayAttr:$padding_high, DenseI64ArrayAttr:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<Mpc_ActivationAttr, "::mpc::Activation::None">:$activation);
  let assemblyFormat = [{
    $cotangent `,` $filter (`bias` $bias^)? `strides` $strides `padding` $padding_low `x` $padding_high
    `dilations` $dilations (`groups` $groups^)? attr-dict `:` functional-type(operands, results)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$cotangent, "::mlir::Value":$filter,
                   "const ::mpc::ConvolutionWindow &":$window)>];
}

def Mpc_ConvolutionFilterGradientOp : Mpc_ConvolutionLikeOp<"convolution_filter_gradient", [Mpc_SumsSamples]> {
  let summary = "adjoint of a convolution with respect to its filter";
  let description = [{
    For `y = mpc.convolution(input, filter)` with the same window, the linear map that takes the
    cotangent of y to that of the filter, summed over the batch. Of 16-bit operands the result may be
    float32: the sums as they are.

    Example:
    ```mlir
    %dw = mpc.convolution_filter_gradient %x, %dy strides [1] padding [1] x [1] dilations [1]
        : (tensor<?x10x4xf32>, tensor<?x10x8xf32>) -> tensor<3x4x8xf32>
    ```
  }];
  let arguments = (ins Mpc_FloatTensor:$input, Mpc_FloatTensor:$cotangent,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding_low,
                       DenseI64ArrayAttr:$padding_high, DenseI64ArrayAttr:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$groups);
  let assemblyFormat = [{
    $input `,` $cotangent `strides` $strides `padding` $padding_low `x` $padding_high
    `dilations` $dilations (`groups` $groups^)? attr-dict `:` functional-type(operands, results)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::mlir::Value":$cotangent,
                   "const ::mpc::ConvolutionWindow &":$window)>];
}

// ---- Pooling -------------------------------------------------------------------------------------

def Mpc_PoolOp : Mpc_Op<"pool", [Pure, Mpc_PreciseOverride, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "maximum or mean of each window of channels-last images";
  let description = [{
    `input` is [batch, spatial..., channels]. Along a spatial dimension the window of output o begins
    at `o * stride - low`; elements outside the input do not count, neither for the maximum nor for the
    number that the mean divides by. Without `window` the pool is adaptive: the window of output o of n
    covers `[floor(o * extent / n), ceil((o + 1) * extent / n))`. NaN propagates. The mean sums in
    float32 (float64 for float64) and rounds once.

    Examples:
    ```mlir
    %y = mpc.pool max %x window [3, 3] strides [2, 2] padding [0, 0] x [1, 1]
        : tensor<?x28x28x8xf32> -> tensor<?x14x14x8xf32>
    %z = mpc.pool mean %x : tensor<?x28x28x8xf32> -> tensor<?x5x5x8xf32>
    ```
  }];
  let arguments = (ins Mpc_ReduceKindAttr:$kind, Mpc_FloatTensor:$input,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$window,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$strides,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$padding_low,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$padding_high);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = [{
    $kind $input (`window` $window^ `strides` $strides `padding` $padding_low `x` $padding_high)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let builders = [
    // The result's shape follows from the window.
    OpBuilder<(ins "::mpc::ReduceKind":$kind, "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$window,
                   "::llvm::ArrayRef<int64_t>":$strides, "::llvm::ArrayRef<int64_t>":$paddingLow,
                   "::llvm::ArrayRef<int64_t>":$paddingHigh)>];
}

def Mpc_PoolGradientOp : Mpc_Op<"pool_gradient", [Pure, Mpc_PreciseOverride, Mpc_Referenced]> {
  let summary = "cotangent of a pool's input";
  let description = [{
    `max`: each element of the cotangent goes to the first largest element of its window in row-major
    order (NaN counts as largest), as TensorFlow's kernel does; `input` is the pool's input. `mean`:
    it is shared equally by the elements that count; there is no `input`. Sums are in float32 (float64
    for float64) and round once. Not differentiable.

    Example:
    ```mlir
    %dx = mpc.pool_gradient max %dy of %x window [2] strides [2] padding [0] x [0]
        : (tensor<?x4x8xf32>, tensor<?x8x8xf32>) -> tensor<?x8x8xf32>
    ```
  }];
  let arguments = (ins Mpc_ReduceKindAttr:$kind, Mpc_FloatTensor:$cotangent, Optional<Mpc_FloatTensor>:$input,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$window,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$strides,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$padding_low,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$padding_high);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = [{
    $kind $cotangent (`of` $input^)? (`window` $window^ `strides` $strides `padding` $padding_low `x` $padding_high)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

// ---- Resampling ----------------------------------------------------------------------------------

def Mpc_ResampleOp : Mpc_Op<"resample", [Pure, Mpc_PreciseOverride, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "weighted sums of elements at constant indices along axes (not the batch)";
  let description = [{
    Along `axes[i]`, element o of the result is the sum over t < `taps[i]` of the input's element at
    `indices[o * taps + t]` times the weight at the same index of the table; -1 stands for no element.
    The tables of the axes follow one another. Without `weights` each weight is 1; with one tap and no
    weights the op copies elements of any type. Sums are in float32 (float64 for float64) over all axes
    and round once. It repeats, resizes and crops.

    Example: each row twice.
    ```mlir
    %y = mpc.resample %x axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2x8xf32> -> tensor<?x4x8xf32>
    ```
  }];
  let arguments = (ins Mpc_Tensor:$input, DenseI64ArrayAttr:$axes, DenseI64ArrayAttr:$taps,
                       DenseI64ArrayAttr:$indices, OptionalAttr<F64ElementsAttr>:$weights);
  let results = (outs Mpc_Tensor:$result);
  let assemblyFormat = [{
    $input `axes` $axes `taps` $taps `indices` $indices (`weights` $weights^)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let builders = [
    // The tables give the result's extents.
    OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<::mpc::ResampleTable>":$tables)>];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mpc::ResampleTable> getTables();
    /// Whether every element of the result is one element of the input, or none, unweighted.
    bool isSelection();
  }];
}

#endif // MPC_WINDOW_OPS
