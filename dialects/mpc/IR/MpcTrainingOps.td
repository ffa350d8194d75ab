// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops of a training step: gradient seed, finite test, optimizer step, loss-scale update.

#ifndef MPC_TRAINING_OPS
#define MPC_TRAINING_OPS

include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/mpc/IR/MpcAttributes.td"

defvar Mpc_TrainingReferenced = DeclareOpInterfaceMethods<Mpc_ReferenceOpInterface>;

def Mpc_GradientSeedOp : Mpc_Op<"gradient_seed", [Pure, Mpc_TrainingReferenced]> {
  let summary = "cotangent of the loss: 1, until mpc-scale-loss puts the loss scale there";
  let description = "Example: `%one = mpc.gradient_seed : tensor<f32>`";
  let results = (outs Mpc_FloatScalar:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Mpc_VariableGradientOp : Mpc_Op<"variable_gradient", [Pure, SameOperandsAndResultType, Mpc_TrainingReferenced]> {
  let summary = "marks the gradient that reaches the optimizer for one variable; its value is the operand";
  let description = [{
    Where mpc-scale-loss finds the still scaled gradients: it tests the operands and puts the unscaled
    values in place of the results, so that clipping and all else sees those. A gradient that is a sum
    of parts has more of them, one for each part. No such op is left after that pass.

    Example: `%g1 = mpc.variable_gradient %g of @"dense/kernel" : tensor<8x4xf32>`
  }];
  let arguments = (ins Mpc_FloatTensor:$gradient, FlatSymbolRefAttr:$variable);
  let results = (outs Mpc_FloatTensor:$result);
  let assemblyFormat = "$gradient `of` $variable attr-dict `:` type($gradient)";
}

def Mpc_LogitsOp : Mpc_Op<"logits", [Pure, AllTypesMatch<["probabilities", "logits"]>, Mpc_TrainingReferenced]> {
  let summary = "the logits of which these are the probabilities, if they are known";
  let description = [{
    How a loss states its logit form, in @loss: it computes both forms and selects by `known`.
    mpc-differentiate, where @loss meets @forward, resolves the op before it differentiates: when
    `probabilities` is the very result of mpc.softmax along `axis` (of mpc.sigmoid), `logits` is its
    operand and `known` is true, and the other form is dead. That is what compiled Keras does on
    TensorFlow (keras/src/backend/tensorflow/nn.py, _get_logits); a cast in between prevents it there
    too. Otherwise, and as a value on its own, `logits` is `probabilities` and `known` is false.

    Example: `%z, %known = mpc.logits softmax %p {axis = 1 : i64} : tensor<?x10xf32>`
  }];
  let arguments = (ins Mpc_LogitsOfAttr:$of, Mpc_FloatTensor:$probabilities, OptionalAttr<I64Attr>:$axis);
  let results = (outs Mpc_FloatTensor:$logits, Mpc_BoolScalar:$known);
  let assemblyFormat = "$of $probabilities attr-dict `:` type($probabilities)";
  let hasVerifier = 1;
}

def Mpc_AllFiniteOp : Mpc_Op<"all_finite", [Pure, Mpc_TrainingReferenced]> {
  let summary = "true iff no element of any operand is infinite or NaN";
  let description = [{
    Over the still scaled gradients, as Keras tests them. A widening cast changes no answer and is
    canonicalized away, so that the gradient is tested where and as it is produced.

    Example: `%f = mpc.all_finite %g0, %g1 : tensor<8x4xf32>, tensor<4xf32>`
  }];
  let arguments = (ins Variadic<Mpc_FloatTensor>:$inputs);
  let results = (outs Mpc_BoolScalar:$result);
  let assemblyFormat = "($inputs^ `:` type($inputs))? attr-dict";
  let hasCanonicalizeMethod = 1;
}

def Mpc_AllReduceOp : Mpc_Op<"all_reduce", [Pure, SameOperandsAndResultType, Mpc_TrainingReferenced]> {
  let summary = "sum, maximum or minimum of what each rank of a job has";
  let description = [{
    Every rank gets the same bytes. The sum is a fixed tree over the ranks in order, in the element type: float32 at least.
    On one rank the value is the operand. With `before` it is the sum of what the ranks before this one have: 0 on the first
    one. mpc-distribute makes these ops.

    `by_elements`: what comes of the sum, updates of variables or results of @train_backward, goes element by element, but for
    tests whether numbers are finite, so that a rank that updates a part of a variable needs that part of the sum alone.
    `always`: a rank that has no samples takes part like the others.
    `in_bfloat16`: the sum of a gradient, whose operands and sums are rounded to bfloat16 at every node of the tree.

    Example: `%g = mpc.all_reduce sum %part : tensor<784x64xf32>`
  }];
  let arguments = (ins Mpc_ReduceKindAttr:$kind, RankedTensorOf<[F32, F64, I32, I64]>:$input, UnitAttr:$before,
                       UnitAttr:$by_elements, UnitAttr:$always, UnitAttr:$in_bfloat16);
  let results = (outs RankedTensorOf<[F32, F64, I32, I64]>:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Mpc_OptimizerStepOp : Mpc_Op<"optimizer_step", [Pure, AttrSizedOperandSegments, Mpc_TrainingReferenced]> {
  let summary = "new value of one variable and of its slots";
  let description = [{
    Applies `rule` in float32 (float64 for float64 variables): every operand is widened, every result
    rounded once. With `predicate` false everything keeps its value. `iteration` is 1 in the first step. `start`, of rules
    with slots that start as the variable, is true as long as these have no value: they then are the
    variable, before its decay and whatever `predicate` is. `unscale` divides the gradient first, in float32. `weight_decay` d takes
    `variable * d * rate` off the variable before the rule sees it. `shared` are the rule's shared
    scalars, already new. `powers`, of the variable's shape, is there where the gradient is a sum of
    parts that Keras's optimizers see apart (the rows that a batch takes from an embedding, each
    once for every time it is taken): the sum of the parts' magnitudes to the rule's
    `getPowerOfParts()`, which the rule uses in place of the gradient's own. `unscale` leaves it
    alone. The lowering makes one pass over memory of it, which also writes the
    low-precision copies (`shadows` in the result order variable, slots, shadow types); reductions and
    contractions of a rule come before that pass.

    Example:
    ```mlir
    %w1, %m1 = mpc.optimizer_step %w, %g slots(%m) rate(%lr) iteration(%t) rule(#mpc.sgd<momentum = 0.9, nesterov = false>)
        : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    ```
  }];
  let arguments = (ins Mpc_FloatTensor:$variable, Mpc_FloatTensor:$gradient,
                       Optional<Mpc_FloatTensor>:$powers, Variadic<Mpc_FloatTensor>:$slots, Variadic<Mpc_FloatScalar>:$shared,
                       Mpc_FloatScalar:$learning_rate, Mpc_FloatScalar:$iteration, Optional<Mpc_FloatScalar>:$unscale,
                       Optional<Mpc_BoolScalar>:$predicate, Optional<Mpc_BoolScalar>:$start,
                       Mpc_OptimizerRuleAttrInterface:$rule,
                       OptionalAttr<F64Attr>:$weight_decay);
  let results = (outs Variadic<Mpc_FloatTensor>:$results);
  let assemblyFormat = [{
    $variable `,` $gradient (`powers` `(` $powers^ `)`)? (`slots` `(` $slots^ `)`)? (`shared` `(` $shared^ `)`)? `rate` `(` $learning_rate `)` `iteration` `(` $iteration `)`
    (`unscale` `(` $unscale^ `)`)? (`if` `(` $predicate^ `)`)? (`start` `(` $start^ `)`)? `rule` `(` $rule `)` attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Mpc_LossScaleUpdateOp : Mpc_Op<"loss_scale_update", [Pure, Mpc_TrainingReferenced]> {
  let summary = "next loss scale and step counter (Keras LossScaleOptimizer)";
  let description = [{
    finite: counter == growth_steps - 1 ? (2 * scale, 0) : (scale, counter + 1); else (scale / 2, 0).
    Bounds hold where they are given, when the scale changes; there is no test for overflow: a trace
    equals Keras's. The rule stands in runtime/rules/loss_scale.h.

    Example: `%s1, %c1 = mpc.loss_scale_update %s, %c if %f {growth_steps = 2000 : i64}`
  }];
  let arguments = (ins Mpc_F32Scalar:$scale, Mpc_CounterScalar:$counter, Mpc_BoolScalar:$finite,
                       I64Attr:$growth_steps, OptionalAttr<F64Attr>:$minimum, OptionalAttr<F64Attr>:$maximum);
  let results = (outs Mpc_F32Scalar:$new_scale, Mpc_CounterScalar:$new_counter);
  let assemblyFormat = "$scale `,` $counter `if` $finite attr-dict";
  let extraClassDeclaration = [{ rules::LossScaleRule getRule(); }];
}

#endif // MPC_TRAINING_OPS
