// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise ops. Binary ones broadcast as NumPy does: shapes align at the last dimension, and an
// extent of 1 or a missing leading dimension repeats.

#ifndef MPC_ELEMENTWISE_OPS
#define MPC_ELEMENTWISE_OPS

include "mlir/Interfaces/CastInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/mpc/IR/MpcEnums.td"
include "dialects/mpc/IR/MpcInterfaces.td"

class Mpc_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Mpc_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface, ["inferReturnTypes"]>,
        DeclareOpInterfaceMethods<Mpc_PrecisionOpInterface>,
        DeclareOpInterfaceMethods<Mpc_DifferentiableOpInterface>,
        DeclareOpInterfaceMethods<Mpc_ElementwiseOpInterface>,
        DeclareOpInterfaceMethods<Mpc_ReferenceOpInterface>] # traits> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *,
        std::optional<::mlir::Location> location, ::mlir::ValueRange operands, ::mlir::DictionaryAttr,
        ::mlir::OpaqueProperties, ::mlir::RegionRange, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mpc::inferElementwise(getOperationName(), location, operands, types);
    }
    ::llvm::LogicalResult $cppClass::evaluate(::llvm::ArrayRef<::mpc::ReferenceTensor> operands,
        ::llvm::MutableArrayRef<::mpc::ReferenceTensor> results) {
      return ::mpc::evaluateElementwise(*this, operands, results);
    }
  }];
}

class Mpc_UnaryOp<string mnemonic, string what, list<Trait> traits = []> : Mpc_ElementwiseOp<mnemonic, traits> {
  let summary = what;
  let description = "Example: `%r = mpc." # mnemonic # " %x : tensor<?x8xf32>`";
  let arguments = (ins Mpc_FloatTensor:$input);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Mpc_NegateOp : Mpc_UnaryOp<"negate", "-x", [Mpc_CheaperThanStack]>;
def Mpc_AbsOp : Mpc_UnaryOp<"abs", "|x|; the derivative at 0 is 0", [Mpc_CheaperThanStack]>;
def Mpc_SignOp : Mpc_UnaryOp<"sign", "-1, 0 or 1; NaN stays NaN", [Mpc_CheaperThanStack]>;
def Mpc_FloorOp : Mpc_UnaryOp<"floor", "largest integer not above x; derivative 0">;
def Mpc_ExpOp : Mpc_UnaryOp<"exp", "e^x">;
def Mpc_Expm1Op : Mpc_UnaryOp<"expm1", "e^x - 1">;
def Mpc_LogOp : Mpc_UnaryOp<"log", "natural logarithm">;
def Mpc_Log1pOp : Mpc_UnaryOp<"log1p", "log(1 + x)">;
def Mpc_SqrtOp : Mpc_UnaryOp<"sqrt", "square root">;
def Mpc_RsqrtOp : Mpc_UnaryOp<"rsqrt", "1 / sqrt(x)">;
def Mpc_CosOp : Mpc_UnaryOp<"cos", "cosine">;
def Mpc_SinOp : Mpc_UnaryOp<"sin", "sine">;
def Mpc_TanhOp : Mpc_UnaryOp<"tanh", "hyperbolic tangent">;
def Mpc_SigmoidOp : Mpc_UnaryOp<"sigmoid", "1 / (1 + e^-x)">;
def Mpc_SoftplusOp : Mpc_UnaryOp<"softplus", "log(1 + e^x), stable">;
def Mpc_ErfOp : Mpc_UnaryOp<"erf", "error function">;
def Mpc_ErfcOp : Mpc_UnaryOp<"erfc", "1 - erf(x), without cancellation">;
def Mpc_ReluOp : Mpc_UnaryOp<"relu", "max(x, 0); NaN stays NaN; the derivative at 0 is 0", [Mpc_CheaperThanStack]>;

def Mpc_GeluOp : Mpc_ElementwiseOp<"gelu"> {
  let summary = "Gaussian error linear unit, the form with tanh";
  let description = [{
    `0.5 x (1 + tanh(u))` with `u = sqrt(2 / pi) (x + 0.044715 x^3)`, rounded once; computed as `x / (1 + e^-2u)`, where nothing
    cancels. mpc-form-gelu makes it of these
    elementary ops, where a product may apply it; the exact form, with erf, stays elementary. As there, -inf gives NaN.

    Example: `%r = mpc.gelu %x : tensor<?x8xbf16>`
  }];
  let arguments = (ins Mpc_FloatTensor:$input);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Mpc_GeluGradientOp : Mpc_ElementwiseOp<"gelu_gradient", [AllTypesMatch<["cotangent", "input"]>]> {
  let summary = "derivative of mpc.gelu";
  let description = [{
    The cotangent of mpc.gelu's result times its derivative at `input`, rounded once.

    Example: `%dx = mpc.gelu_gradient %dy, %x : tensor<?x8xbf16>`
  }];
  let arguments = (ins Mpc_FloatTensor:$cotangent, Mpc_FloatTensor:$input);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$cotangent `,` $input attr-dict `:` type($input)";
}

class Mpc_BinaryOp<string mnemonic, string what, list<Trait> traits = []>
    : Mpc_ElementwiseOp<mnemonic, traits> {
  let summary = what;
  let description = "Example: `%r = mpc." # mnemonic # " %a, %b : tensor<?x8xf32>, tensor<8xf32>`";
  let arguments = (ins Mpc_FloatTensor:$lhs, Mpc_FloatTensor:$rhs);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}

/// Integers wrap around in their width, as in Keras.
class Mpc_ArithmeticOp<string mnemonic, string what, list<Trait> traits = []>
    : Mpc_BinaryOp<mnemonic, what, [Mpc_CheaperThanStack, DeclareOpInterfaceMethods<Mpc_IntegerElementwiseOpInterface>] # traits> {
  let arguments = (ins Mpc_Tensor:$lhs, Mpc_Tensor:$rhs);
  let results = (outs Mpc_Tensor:$result);
}

/// Sums and products may stand for one in each step of a loop.
class Mpc_EveryStepArithmeticOp<string mnemonic, string what>
    : Mpc_ArithmeticOp<mnemonic, what, [Commutative, Mpc_EveryStepOpInterface]> {
  let arguments = (ins Mpc_Tensor:$lhs, Mpc_Tensor:$rhs, UnitAttr:$every_step);
}

def Mpc_AddOp : Mpc_EveryStepArithmeticOp<"add", "a + b">;
def Mpc_SubtractOp : Mpc_ArithmeticOp<"subtract", "a - b">;
def Mpc_MultiplyOp : Mpc_EveryStepArithmeticOp<"multiply", "a * b">;
def Mpc_DivideOp : Mpc_BinaryOp<"divide", "a / b">;
def Mpc_DivideNoNanOp : Mpc_BinaryOp<"divide_no_nan", "a / b, and 0 where b is 0">;
def Mpc_MaximumOp : Mpc_ArithmeticOp<"maximum", "larger of both; NaN if either is; ties split the cotangent to lhs">;
def Mpc_MinimumOp : Mpc_ArithmeticOp<"minimum", "smaller of both; NaN if either is; ties split the cotangent to lhs">;
def Mpc_PowerOp : Mpc_BinaryOp<"power", "a^b">;
def Mpc_RemainderOp : Mpc_BinaryOp<"remainder", "remainder of a / b, exact, with the sign of a (fmod of C)">;
def Mpc_Arctan2Op : Mpc_BinaryOp<"arctan2", "angle of the point (b, a), in [-pi, pi]">;

def Mpc_IntegerOp : Mpc_ElementwiseOp<"integer", [DeclareOpInterfaceMethods<Mpc_IntegerElementwiseOpInterface>]> {
  let summary = "bits and quotients of integers";
  let description = [{
    As TensorFlow computes them: quotients round towards negative infinity, remainders have the sign
    of the divisor, shifts count from 0 to the width less 1 (numbers outside are those), to the right
    with the sign of a signed type. Where TensorFlow ends with an error, at a divisor of 0, quotient
    and remainder are 0. Not differentiable.

    Example: `%r = mpc.integer modulo %a, %b : tensor<?x8xi32>, tensor<i32>`
  }];
  let arguments = (ins Mpc_IntegerKindAttr:$kind, Mpc_IntegerTensor:$lhs, Mpc_IntegerTensor:$rhs);
  let results = (outs Mpc_IntegerTensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}

def Mpc_CompareOp : Mpc_ElementwiseOp<"compare", [Mpc_CheaperThanStack, DeclareOpInterfaceMethods<Mpc_IntegerElementwiseOpInterface>]> {
  let summary = "elementwise comparison";
  let description = [{
    Operands may be floating or integers (of one type); the result is i1. Not differentiable.

    Example: `%m = mpc.compare gt %a, %b : tensor<?x8xf32>, tensor<f32>`
  }];
  let arguments = (ins Mpc_ComparePredicateAttr:$predicate, Mpc_Tensor:$lhs, Mpc_Tensor:$rhs);
  let results = (outs Mpc_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}

def Mpc_LogicalAndOp : Mpc_ElementwiseOp<"logical_and", [Mpc_CheaperThanStack, Commutative, DeclareOpInterfaceMethods<Mpc_IntegerElementwiseOpInterface>]> {
  let summary = "both are true";
  let description = [{
    Operands broadcast.

    Example: `%r = mpc.logical_and %a, %b : tensor<?x8xi1>, tensor<8xi1>`
  }];
  let arguments = (ins Mpc_BoolTensor:$lhs, Mpc_BoolTensor:$rhs);
  let results = (outs Mpc_BoolTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}

def Mpc_IsFiniteOp : Mpc_ElementwiseOp<"is_finite"> {
  let summary = "neither infinite nor NaN";
  let description = [{
    Element by element; a dynamic loss scale asks it of gradients.

    Example: `%r = mpc.is_finite %x : tensor<?x8xf16>`
  }];
  let arguments = (ins Mpc_FloatTensor:$input);
  let results = (outs Mpc_BoolTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Mpc_SelectOp : Mpc_ElementwiseOp<"select", [Mpc_CheaperThanStack, Mpc_ExactOfConstants, DeclareOpInterfaceMethods<Mpc_IntegerElementwiseOpInterface>]> {
  let summary = "a where the condition holds, else b";
  let description = [{
    All three broadcast. Both values have one element type.

    Example: `%r = mpc.select %m, %a, %b : tensor<?x8xi1>, tensor<?x8xf32>, tensor<f32>`
  }];
  let arguments = (ins Mpc_BoolTensor:$condition, Mpc_Tensor:$on_true, Mpc_Tensor:$on_false);
  let results = (outs Mpc_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($on_true) `,` type($on_false)";
  let hasFolder = 1;
}

def Mpc_CastOp : Mpc_Op<"cast", [Pure, Mpc_ExactOfConstants, Mpc_PassesWideCotangent, DeclareOpInterfaceMethods<CastOpInterface>,
    SameOperandsAndResultShape, DeclareOpInterfaceMethods<Mpc_DifferentiableOpInterface, ["isCheapToRecompute"]>,
    DeclareOpInterfaceMethods<Mpc_ReferenceOpInterface>]> {
  let summary = "the only op that changes a floating element type";
  let description = [{
    Floating to floating rounds to nearest even (overflow gives infinity); floating to integer
    truncates toward zero; integer to floating rounds once; to i1 tests against zero. The derivative
    of a cast between floating types is the reverse cast. f8E4M3FN has no infinity: NaN instead; nothing casts from float8.

    Example: `%h = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xbf16>`
  }];
  let arguments = (ins Mpc_Tensor:$input);
  let results = (outs Mpc_CastTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
}

#endif // MPC_ELEMENTWISE_OPS
