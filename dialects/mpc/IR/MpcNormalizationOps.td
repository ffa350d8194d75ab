// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statistics of normalising layers, and noise.

#ifndef MPC_NORMALIZATION_OPS
#define MPC_NORMALIZATION_OPS

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/mpc/IR/MpcTensorOps.td"

def Mpc_MomentsOp : Mpc_Op<"moments", [Pure, Mpc_SumsSamples, Mpc_Inferred, Mpc_PreciseOverride, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "mean and (biased) variance over axes, in float32 or wider inside";
  let description = [{
    `variance = mean((x - mean)^2)`. The derivative does not go through the mean in the variance:
    that term is zero, and TensorFlow's moments stop it too. Axes keep an extent of 1 with
    `keep_dims`.

    Example: `%m, %v = mpc.moments %x {axes = array<i64: 0, 1>} : tensor<?x6x4xf32> -> tensor<4xf32>, tensor<4xf32>`
  }];
  let arguments = (ins Mpc_FloatTensor:$input, DenseI64ArrayAttr:$axes, UnitAttr:$keep_dims);
  let results = (outs Mpc_FloatTensor:$mean, Mpc_FloatTensor:$variance);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type(results)";
  let hasVerifier = 1;
}

def Mpc_NormalNoiseOp : Mpc_Op<"normal_noise", [Pure, Mpc_RandomOfSamples, AllTypesMatch<["like", "result"]>, Mpc_Precise, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "normally distributed numbers in the shape of a tensor";
  let description = [{
    mean + stddev * z with z = sqrt(-2 ln u) cos(2 pi v), u = (w0 >> 8 + 0.5) 2^-24 and
    v = (w1 >> 8) 2^-24 of the first two words of the Philox generator that mpc.dropout describes,
    `element` being the row-major index: in float32, rounded once. Of `like` the shape and the
    element type matter.

    Example: `%n = mpc.normal_noise like %x, %state {mean = 0.0 : f64, stddev = 0.1 : f64, stream = 3 : i64} : tensor<?x8xf32>, tensor<2xi64>`
  }];
  let arguments = (ins Mpc_FloatTensor:$like, Mpc_RandomState:$state, F64Attr:$mean, F64Attr:$stddev,
                       I64Attr:$stream);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "`like` $like `,` $state attr-dict `:` type($like) `,` type($state)";
}

def Mpc_UniformNoiseOp : Mpc_Op<"uniform_noise", [Pure, Mpc_RandomOfSamples, AllTypesMatch<["like", "result"]>, Mpc_Precise, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "uniformly distributed numbers in the shape of a tensor";
  let description = [{
    low + (high - low) u with u = (w0 >> 8) 2^-24 in [0, 1), of the first word of the Philox generator
    that mpc.dropout describes, `element` being the row-major index: in float32, rounded once. Where
    `low` equals `high`, every number is that one. Of `like` the shape and the element type matter.

    Example: `%n = mpc.uniform_noise like %x, %state {low = -0.1 : f64, high = 0.1 : f64, stream = 3 : i64} : tensor<?x8xf32>, tensor<2xi64>`
  }];
  let arguments = (ins Mpc_FloatTensor:$like, Mpc_RandomState:$state, F64Attr:$low, F64Attr:$high,
                       I64Attr:$stream);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "`like` $like `,` $state attr-dict `:` type($like) `,` type($state)";
  let hasVerifier = 1;
}

#endif // MPC_NORMALIZATION_OPS
