// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Structure of a model: variables, layers, the optimizer and the metrics.

#ifndef MPC_STRUCTURE_OPS
#define MPC_STRUCTURE_OPS

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/mpc/IR/MpcAttributes.td"

/// For each result of a layer the variable whose new value it is, or a unit.
def Mpc_UpdatesAttr : TypedArrayAttrBase<AnyAttrOf<[FlatSymbolRefAttr, UnitAttr]>, "array of symbols and units">;
/// Element types, each with what to say to a policy that asks for it: {bf16 = "which …"}.
def Mpc_RefusesAttr : ConfinedAttr<DictionaryAttr, [AttrConstraint<
    CPred<"::llvm::all_of(::llvm::cast<::mlir::DictionaryAttr>($_self), [](::mlir::NamedAttribute entry) {"
          " return ::llvm::isa<::mlir::StringAttr>(entry.getValue()); })">, "of strings">]>;

def Mpc_VariableOp : Mpc_Op<"variable", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "declares a variable of the model's state";
  let description = [{
    The symbol is Keras's variable path. Functions receive the value as an argument that names the
    symbol (`mpc.variable`) and return its new value as a result that names it (`mpc.updates`); the
    runtime aliases both in place. `autocast = false` variables are not cast at use. `trainable`
    says what optimizers may update: role trainable. `constraint` projects what they wrote. `layer` is the path that a policy map is asked
    with. `shadow_of` is set on low-precision copies. `sharded`: on several ranks each updates a part of it. `in_parts`: entries
    touch the part of it alone that a rank owns (mpc-shard-updates).

    `own_type` is the element type that a layer stores it in by its own choice, whatever the policy.
    `overwrite_with_gradient` (as in Keras): what arrives as its gradient is its new value, which the
    training step stores. `unlisted_when_scaled`, of optimizer variables: Keras lists it where the
    optimizer stands alone; inside of a LossScaleOptimizer neither its files nor its lists have it.

    Example:
    ```mlir
    mpc.variable @"dense/kernel" : tensor<784x64xf32> role trainable layer("dense")
        {initializer = #mpc.initializer<uniform, a = -0.08, b = 0.08>}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Mpc_Tensor>:$type, Mpc_VariableRoleAttr:$role,
                       OptionalAttr<StrAttr>:$layer, OptionalAttr<Mpc_InitializerAttr>:$initializer,
                       OptionalAttr<Mpc_RegularizerAttr>:$regularizer,
                       OptionalAttr<Mpc_ConstraintAttr>:$constraint,
                       DefaultValuedAttr<BoolAttr, "true">:$autocast,
                       OptionalAttr<FlatSymbolRefAttr>:$shadow_of,
                       OptionalAttr<TypeAttrOf<Mpc_Float>>:$own_type, UnitAttr:$overwrite_with_gradient,
                       UnitAttr:$unlisted_when_scaled, UnitAttr:$sharded, UnitAttr:$in_parts);
  let builders = [
    // Autocasts, has neither regulariser nor constraint and, without an initializer, starts as zeros.
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::RankedTensorType":$type, "::mpc::VariableRole":$role,
                   CArg<"::mpc::InitializerAttr", "{}">:$initializer)>];
  let assemblyFormat = "$sym_name `:` $type `role` $role (`layer` `(` $layer^ `)`)? attr-dict";
  let hasVerifier = 1;
}

def Mpc_LayerOp : Mpc_Op<"layer", [IsolatedFromAbove, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"::mpc::YieldOp">, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands", "getRegionInvocationBounds"]>]> {
  let summary = "one call of a layer: the unit that a dtype policy speaks about";
  let description = [{
    Exists from import to casts. The body computes on block arguments: first the inputs, then the
    variables, among them random state and masks of the inputs. On import every floating tensor in it is float32 and `policy` is what the file says
    (a Keras policy name, or Keras's JSON of a policy or map; absent: the default). mpc-apply-policy
    resolves it into `precision`. mpc-insert-casts applies Keras's autocast rules at the border,
    retypes the body and inlines it; from then on the layer's path lives on as the name location of
    its ops.

    `autocast = false`: floating inputs are not cast (`Layer.autocast`). `casts_integers`: integer
    inputs too become the compute dtype (TFDataLayer, Rescaling). A shared layer gives several
    mpc.layer ops of one path. `updates` names the variable whose new value a result is.

    The importer says what a policy may ask for: `refuses` has the element types that the layer does
    not compute in, `quantized_forms` the modes that Keras could quantize it in without data,
    `quantization` the mode that its body was imported with ("int8"; "none" where it could have been).
    mpc-apply-policy keeps of them the `quantized_policy` of the body ("int8_from_…").

    Example:
    ```mlir
    %y = mpc.layer "dense" kind "Dense" inputs(%x) variables(%w) {policy = "mixed_bfloat16"}
        : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32> {
    ^bb0(%a: tensor<?x8xf32>, %k: tensor<8x4xf32>):
      %0 = mpc.contract %a, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
      mpc.yield %0 : tensor<?x4xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$path, StrAttr:$kind, Variadic<Mpc_Tensor>:$inputs,
                       Variadic<Mpc_Tensor>:$variables, OptionalAttr<StrAttr>:$policy,
                       OptionalAttr<Mpc_PrecisionAttr>:$precision,
                       DefaultValuedAttr<BoolAttr, "true">:$autocast, UnitAttr:$casts_integers,
                       OptionalAttr<Mpc_UpdatesAttr>:$updates, OptionalAttr<Mpc_RefusesAttr>:$refuses,
                       OptionalAttr<StrArrayAttr>:$quantized_forms, OptionalAttr<StrAttr>:$quantization, OptionalAttr<StrAttr>:$quantized_policy);
  let results = (outs Variadic<Mpc_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let builders = [
    // Importers and passes set the rest once they know it.
    OpBuilder<(ins "::mlir::TypeRange":$results, "::llvm::StringRef":$path, "::llvm::StringRef":$kind,
                   "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$variables, "::mlir::StringAttr":$policy,
                   "::mpc::PrecisionAttr":$precision, "bool":$autocast, "bool":$casts_integers), [{
      build($_builder, $_state, results, path, kind, inputs, variables, policy, precision, autocast,
            casts_integers, /*updates=*/nullptr, /*refuses=*/nullptr, /*quantized_forms=*/nullptr,
            /*quantization=*/nullptr, /*quantized_policy=*/nullptr);
    }]>];
  let assemblyFormat = [{
    $path `kind` $kind `inputs` `(` $inputs `)` (`variables` `(` $variables^ `)`)? attr-dict
    `:` functional-type(operands, results) $body
  }];
  let hasVerifier = 1;
}

def Mpc_YieldOp : Mpc_Op<"yield", [Pure, Terminator,
    DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>, ParentOneOf<["LayerOp", "ScanOp"]>]> {
  let summary = "results of a layer's body, or of a step of a scan";
  let description = [{
    What the op around it returns: of a layer its outputs, masks and new values of variables, of a scan
    the values that go to the next step, then those that are stacked.

    Example: `mpc.yield %y : tensor<?x8xf32>`
  }];
  let arguments = (ins Variadic<Mpc_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ (void)$_builder; }]>];
}

def Mpc_OptimizerOp : Mpc_Op<"optimizer", [HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "how training updates the trainable variables";
  let description = [{
    At most one per module. mpc-differentiate turns it into optimizer steps. `learning_rate` is a
    number, or `schedule` is a dictionary: Keras's serialised schedule config plus `class_name`.
    Clipping, decay, averaging and accumulation as in Keras's BaseOptimizer; absent means off.
    Weight decay leaves the variables in `undecayed` alone. Of several limits, values are clipped before the
    norms of variables, and these before the norm of all.

    Optimizers of Keras 2 differ: `decay` divides the rate by 1 + decay t, t being the updates so far; `rows` says
    what becomes of a gradient that is rows of a table; averages (`ema_momentum`) start from the variables
    (`average_from_variable`), where Keras 3's start with the first update.

    Example:
    ```mlir
    mpc.optimizer "rmsprop" rule(#mpc.rmsprop<rho = 0.9, momentum = 0.0, epsilon = 1.0e-07, centered = false>)
        {learning_rate = 1.0e-03 : f64}
    ```
  }];
  let arguments = (ins StrAttr:$name, Mpc_OptimizerRuleAttrInterface:$rule,
                       F64Attr:$learning_rate, OptionalAttr<DictionaryAttr>:$schedule,
                       OptionalAttr<F64Attr>:$clipnorm, OptionalAttr<F64Attr>:$global_clipnorm,
                       OptionalAttr<F64Attr>:$clipvalue, OptionalAttr<F64Attr>:$weight_decay,
                       OptionalAttr<FlatSymbolRefArrayAttr>:$undecayed,
                       OptionalAttr<F64Attr>:$ema_momentum, OptionalAttr<I64Attr>:$ema_overwrite_frequency,
                       OptionalAttr<I64Attr>:$accumulation_steps, OptionalAttr<F64Attr>:$static_scale,
                       OptionalAttr<F64Attr>:$decay, OptionalAttr<Mpc_RowGradientsAttr>:$rows,
                       UnitAttr:$average_from_variable);
  let hasVerifier = 1;
  let assemblyFormat = "$name `rule` `(` $rule `)` attr-dict";
}

def Mpc_LossScaleOp : Mpc_Op<"loss_scale", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "declares loss scaling";
  let description = [{
    At most one per module. Dynamic (keras/src/optimizers/loss_scale_optimizer.py) when
    `growth_steps` is present, else fixed. `minimum`, `maximum` bound the dynamic scale (Keras: none).
    All are finite in float32, and the initial scale is positive: gradients are divided by it.

    Example: `mpc.loss_scale initial(3.276800e+04) {growth_steps = 2000 : i64}`
  }];
  let arguments = (ins F64Attr:$initial, OptionalAttr<I64Attr>:$growth_steps,
                       OptionalAttr<F64Attr>:$minimum, OptionalAttr<F64Attr>:$maximum);
  let hasVerifier = 1;
  let assemblyFormat = "`initial` `(` $initial `)` attr-dict";
  let extraClassDeclaration = [{ rules::LossScaleRule getRule(); }];
}

def Mpc_MetricOp : Mpc_Op<"metric", [HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "declares a metric over state variables";
  let description = [{
    The function @loss returns the new states, which start as zeros. The result of two states is
    total / count, 0 where count is 0, or its square root (`root`). Any other result is `computed`: the
    function @metric_results, which reads states alone, returns it as the output of the metric's name,
    a float32 scalar or vector. The first metric is the loss.

    Example:
    ```mlir
    mpc.metric "accuracy" states([@"metric/accuracy/total", @"metric/accuracy/count"])
    mpc.metric "f1" states([@"metric/f1/true_positives", @"metric/f1/false_positives"]) {computed}
    ```
  }];
  let arguments = (ins StrAttr:$name, ArrayAttr:$states, UnitAttr:$root, UnitAttr:$computed);
  let hasVerifier = 1;
  let assemblyFormat = "$name `states` `(` $states `)` attr-dict";
}

#endif // MPC_STRUCTURE_OPS
