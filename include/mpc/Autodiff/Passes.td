// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes of the phases autodiff and scaling (docs/pipeline.md).

#ifndef MPC_AUTODIFF_PASSES
#define MPC_AUTODIFF_PASSES

include "mpc/Analysis/PhasePass.td"

def Differentiate : PhasePass<"mpc-differentiate", "Casts"> {
  let summary = "turn @forward and @loss into the entries predict, evaluate, gradients, train_step";
  let description = [{
    Precondition: phase casts; no mpc.layer is left. Postcondition: `@forward` and `@loss` are gone,
    instead there are functions with `mpc.entry`, each complete (dialects/mpc/README.md):

    - `@predict`: inference; ops that only training computes are dropped, no updates.
    - with `@loss`: `@evaluate`: inference, `loss`, updates of metric states;
      `@gradients`: training mode, outputs `loss`, `grad:<path>` (float32) of trainable variables,
      `gradx:<input>` of floating inputs, `out0`…, `after:<path>` of variables that the forward pass
      changes; no updates.
    - with `mpc.optimizer` too: `@train_step`: outputs `loss`, `learning_rate`; updates of all; and
      (with `custom-loop`) its ops again in three stages, for training loops of one's own: `@train_forward` (outputs
      `loss`, `out0`…; updates of what does not depend on gradients), `@train_backward` (outputs
      `loss_scale` and `grad:<path>`, float32 or float64) and `@train_apply` (takes unscaled
      gradients, updates the rest). Values that a stage reads of an earlier one are its outputs
      `kept:<n>`, and `part:<n>` for rows of gradients.

    A variable or input that the loss does not depend on has a gradient of zeros in `@gradients` and
    is not touched by `@train_step`, as in Keras. Optimizer variables are declared under Keras's names
    and in its order as `@"optimizer/<name>"`. Loss terms that `@loss` does not take are added to the
    loss. Random state advances once per training step. The adjoint of a cast is the reverse cast.

    Cheap values (casts, broadcasts) are recomputed in backward code where that keeps less; the
    remark `saved-for-backward` (mpc-autodiff) names each kept value. On a module without `@forward`
    that has entries, nothing happens.
  }];
  let options = [Option<"customLoop", "custom-loop", "bool", "true",
                        "build the three stages of @train_step, too">];
  let dependentDialects = ["::mpc::MpcDialect"];
}

def VerifyAutodiff : Pass<"mpc-verify-autodiff", "::mlir::ModuleOp"> {
  let summary = "check the exit contract of the phase autodiff";
  let description = [{
    @forward, @loss and layers are gone; there is an entry @predict; arguments of entries are first inputs,
    then targets, then variables, results first outputs, then updates, and none comes twice. Every tensor has
    elements.
  }];
}

def ScaleLoss : PhasePass<"mpc-scale-loss", "Autodiff"> {
  let summary = "put the loss scale of mpc.loss_scale into the training step";
  let description = [{
    Precondition: phase autodiff. Postcondition: no mpc.gradient_seed and no mpc.variable_gradient is
    left.

    Without `mpc.loss_scale`, and in `@gradients`, the seed becomes the constant 1 and each marked
    gradient is its operand. With a fixed scale N the seed is N and gradients are divided by N in
    float32. With a dynamic scale, as Keras's LossScaleOptimizer does:

    - its variables are declared before the optimizer's own: `iteration`, `learning_rate` (both unused),
      `step_counter`, `dynamic_scale`, under `@"optimizer/loss_scale_optimizer/…"`;
    - the seed is `dynamic_scale`; the finite test reads the still scaled gradients of all trainable
      variables; each is divided in float32 (`unscale` of an optimizer step that takes it directly);
    - every new value of a trainable or optimizer variable depends on the test, by a predicate of the
      step or a select; other updates (batch statistics, metrics, random state) always happen;
    - `@train_step` has one more output, `finite`; `@train_apply` takes it as an input. Unscaling lies
      between the stages, in the runtime.

    A second run changes nothing. Remark `loss-scaling` (mpc-scaling).
  }];
  let dependentDialects = ["::mpc::MpcDialect"];
}

def VerifyScaling : Pass<"mpc-verify-scaling", "::mlir::ModuleOp"> {
  let summary = "check the exit contract of the phase scaling";
  let description = [{
    No mpc.gradient_seed and no mpc.variable_gradient is left. With a dynamic loss scale @train_step and the
    last stage of a custom loop tell whether gradients were finite, and each of their updates of trainable
    and optimizer variables takes no effect where these were not: by a select whose condition is false
    then and whose other value no optimizer has a part in, by the predicate of the step, or by the
    update of the scale.
  }];
}

#endif // MPC_AUTODIFF_PASSES
