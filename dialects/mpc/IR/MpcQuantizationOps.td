// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops that quantized layers need beside ordinary arithmetic: rounding to integers and to
// float8, packed int4, and derivatives that skip the rounding.

#ifndef MPC_QUANTIZATION_OPS
#define MPC_QUANTIZATION_OPS

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/mpc/IR/MpcElementwiseOps.td"
include "dialects/mpc/IR/MpcTensorOps.td"

def Mpc_RoundOp : Mpc_UnaryOp<"round", "nearest integer, ties to the even one; derivative 0">;

def Mpc_RoundFloat8Op : Mpc_ElementwiseOp<"round_float8"> {
  let summary = "nearest value of a float8 format, in the operand's own type; derivative 0";
  let description = [{
    What a cast to `format` (f8E4M3FN or f8E5M2) and back gives: rounding to nearest even, with the
    format's subnormals; what rounds beyond its largest number is NaN in f8E4M3FN, which has no
    infinity, and infinite in f8E5M2. NaN stays NaN. No tensor is stored in float8.

    Example: `%r = mpc.round_float8 %x {format = f8E4M3FN} : tensor<?x8xbf16>`
  }];
  let arguments = (ins Mpc_FloatTensor:$input, TypeAttr:$format);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Mpc_UnpackInt4Op : Mpc_Op<"unpack_int4", [Pure, Mpc_Inferred, Mpc_Referenced]> {
  let summary = "the 4-bit numbers that bytes hold, two each";
  let description = [{
    Along the last dimension: the low half of byte i is number 2i, the high half number 2i + 1: of i8 in two's
    complement, -8 to 7, of ui8 0 to 15 (gptq and awq). `extent` is how many numbers there are; with an odd one the last
    high half is not read (keras/src/quantizers/quantizers.py, unpack_int4).

    Example: `%w = mpc.unpack_int4 %packed {extent = 5 : i64} : tensor<8x3xi8> -> tensor<8x5xi8>`
  }];
  let arguments = (ins RankedTensorOf<[I8, UI8]>:$packed, I64Attr:$extent);
  let results = (outs RankedTensorOf<[I8, UI8]>:$result);
  let assemblyFormat = "$packed attr-dict `:` type($packed) `->` type($result)";
}

def Mpc_StraightThroughOp : Mpc_Op<"straight_through", [Pure, SameOperandsAndResultType, Mpc_Precise,
    DeclareOpInterfaceMethods<Mpc_TrainingOnlyOpInterface>, Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "one value, with the derivative of another";
  let description = [{
    The result is `value`; the cotangent goes to `surrogate`, of which nothing else is used. Quantized
    layers differentiate as if their kernel were the dequantized one and their input not rounded
    (Keras's custom gradients). When mpc-differentiate has made the backward pass, `value` stands
    there alone. With `finite`, what float16 cannot hold of the cotangent is 0: for surrogates without a derivative there.

    Example: `%y = mpc.straight_through %rounded, %exact : tensor<?x8xf32>`
  }];
  let arguments = (ins Mpc_FloatTensor:$value, Mpc_FloatTensor:$surrogate, UnitAttr:$finite);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$value `,` $surrogate attr-dict `:` type($result)";
}

class Mpc_Float8Op<string mnemonic, list<Trait> traits = []>
    : Mpc_Op<mnemonic, [Pure, AllTypesMatch<["input", "result"]>, Mpc_Precise, Mpc_Differentiable,
                        Mpc_Referenced] # traits> {
  let arguments = (ins Mpc_FloatTensor:$input, Mpc_F32Scalar:$scale,
                       1DTensorOf<[F32]>:$amax_history, TypeAttr:$format);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = [{
    $input `scale` $scale `history` $amax_history attr-dict `:` type($input) `,` type($amax_history)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool staysWide(unsigned operandIndex) { return operandIndex != 0; }
  }];
}

def Mpc_Float8QuantizeOp : Mpc_Float8Op<"float8_quantize"> {
  let summary = "quantize to float8 and back, with delayed scaling";
  let description = [{
    `round_float8(clip(input / scale)) * scale`, each step in the input's type, clipped to the largest
    number of `format`. The cotangent passes straight through to the input. The "cotangents" of the
    other two are, as in Keras, their next values, which the training step stores in their place:
    scale becomes max(amax_history) / the largest number (it stays where that is not positive or not
    finite), and the history rolls by one, with max |input| as its first element
    (keras/src/quantizers/quantizers.py, compute_float8_scale, compute_float8_amax_history).

    Example: `%q = mpc.float8_quantize %x scale %s history %h {format = f8E4M3FN} : tensor<?x8xf32>, tensor<1024xf32>`
  }];
}

def Mpc_Float8QuantizeGradientOp : Mpc_Float8Op<"float8_quantize_gradient",
    [DeclareOpInterfaceMethods<Mpc_TrainingOnlyOpInterface>]> {
  let summary = "the operand, whose cotangent is quantized to float8 and back, with delayed scaling";
  let description = [{
    As mpc.float8_quantize, of the cotangent instead of the input.

    Example: `%y = mpc.float8_quantize_gradient %x scale %s history %h {format = f8E5M2} : tensor<?x8xf32>, tensor<1024xf32>`
  }];
}

#endif // MPC_QUANTIZATION_OPS
