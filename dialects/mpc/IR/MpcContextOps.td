// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops whose value depends on where they stand: on the policy, on training or inference, on
// differentiation.

#ifndef MPC_CONTEXT_OPS
#define MPC_CONTEXT_OPS

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/mpc/IR/MpcTensorOps.td"

def Mpc_CastLikeOp : Mpc_Op<"cast_like", [Pure, Mpc_Referenced]> {
  let summary = "cast to the type that Keras's promotion gives to other tensors, or to a named one";
  let description = [{
    Exists from import to casts, where it becomes an mpc.cast (or nothing): policies decide types,
    and until then every floating tensor is float32. The element type will be what Keras promotes
    those of `like` to; with `wide` at least float32, what Keras's normalisations compute in. `to`
    names it instead: casts that a user wrote into a graph, and constants of a dtype of their own,
    which are not weak.

    Example: `%w = mpc.cast_like %x like(%x) {wide} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>`
  }];
  let arguments = (ins Mpc_Tensor:$input, Variadic<Mpc_FloatTensor>:$like, UnitAttr:$wide,
                       OptionalAttr<TypeAttr>:$to);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = [{
    $input (`like` `(` $like^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Mpc_InTrainingOp : Mpc_Op<"in_training", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<Mpc_TrainingOnlyOpInterface, ["getTrainingValue"]>, Mpc_Precise,
    Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "one value in training, another in inference";
  let description = [{
    mpc-differentiate, which makes the training and the inference functions, puts the value of the
    mode in its place; what only the other mode needs is dead there. As itself it has the training
    value.

    Example: `%mean = mpc.in_training %batch_mean else %moving_mean : tensor<4xf32>`
  }];
  let arguments = (ins Mpc_FloatTensor:$training, Mpc_FloatTensor:$inference);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$training `else` $inference attr-dict `:` type($result)";
}

def Mpc_StopGradientOp : Mpc_Op<"stop_gradient", [Pure, SameOperandsAndResultType, Mpc_Precise,
    Mpc_Differentiable, Mpc_Referenced]> {
  let summary = "the operand, through which no derivative flows";
  let description = "Example: `%c = mpc.stop_gradient %x : tensor<?x8xf32>`";
  let arguments = (ins Mpc_FloatTensor:$input);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

#endif // MPC_CONTEXT_OPS
