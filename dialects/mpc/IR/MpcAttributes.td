// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attributes of the mpc dialect.

#ifndef MPC_ATTRIBUTES
#define MPC_ATTRIBUTES

include "dialects/mpc/IR/MpcEnums.td"
include "dialects/mpc/IR/MpcInterfaces.td"

class Mpc_Attr<string name, string mnemonicName, list<Trait> traits = []>
    : AttrDef<Mpc_Dialect, name, traits> {
  let mnemonic = mnemonicName;
}

def Mpc_PrecisionAttr : Mpc_Attr<"Precision", "precision"> {
  let summary = "dtypes that a policy gives to a layer";
  let description = [{
    `compute` is the dtype of floating inputs and of variables at use, `variable` that of stored
    variables, `accumulate` that of sums inside contractions. `rule` says what decided: `file`,
    `option`, or a DTypePolicyMap key.

    Example: `#mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "option">`
  }];
  let parameters = (ins "::mlir::Type":$compute, "::mlir::Type":$variable,
                        "::mlir::Type":$accumulate, "::mlir::StringAttr":$rule);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Mpc_BoundedAttr : Mpc_Attr<"Bounded", "bounded"> {
  let summary = "an output whose extent depends on the values of a call";
  let description = [{
    In `mpc.form` of a result. The type's extent of dimension `axis` is the largest; the extent of a call is
    in the result whose `mpc.output` is `extent`, an i64 scalar. Behind it are zeros.

    Example: `#mpc.bounded<axis = 0, extent = "out1">`
  }];
  let parameters = (ins "int64_t":$axis, "::mlir::StringAttr":$extent);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Mpc_TextAttr : Mpc_Attr<"Text", "text"> {
  let summary = "a tensor of texts";
  let description = [{
    In `mpc.form` of an argument or result of i32. The last dimension has the code points of a text, which ends
    in front of the first 0 or with the dimension.

    Example: `#mpc.text`
  }];
}

def Mpc_InitializerAttr : Mpc_Attr<"Initializer", "initializer"> {
  let summary = "resolved initializer of a variable";
  let description = [{
    Limits are resolved from the shape (Glorot, He, Lecun become uniform or truncated_normal with
    numbers). `a`, `b`: value; low, high; mean, standard deviation; gain. `unit_forget` is the bias of
    an LSTM: 1 in the second quarter (where `b` is not 0, of the second half: two biases one behind
    the other), the value `a` elsewhere. `fourier_cosine` and `fourier_sine` are
    the kernels of an STFTSpectrogram: `a` is an mpc_rt_window_t, `b` its options.

    Example: `#mpc.initializer<uniform, a = -5.0e-02, b = 5.0e-02>`
  }];
  let parameters = (ins EnumParameter<Mpc_InitializerKind>:$kind,
                        DefaultValuedParameter<"::mlir::FloatAttr", "::mlir::FloatAttr::get(::mlir::Float64Type::get($_ctxt), 0.0)">:$a,
                        DefaultValuedParameter<"::mlir::FloatAttr", "::mlir::FloatAttr::get(::mlir::Float64Type::get($_ctxt), 0.0)">:$b);
  let assemblyFormat = "`<` $kind (`,` struct($a, $b)^)? `>`";
}

def Mpc_RegularizerAttr : Mpc_Attr<"Regularizer", "regularizer"> {
  let summary = "what a variable adds to the training loss, in float32";
  let description = [{
    l1 * sum|w| + l2 * sum w^2 and, of a matrix, `orthogonal_rows` (`orthogonal_columns`) times the mean
    of |r_i . r_j| over the pairs of rows (columns), where r_i is row i (column i) divided by its norm
    (keras/src/regularizers/regularizers.py, OrthogonalRegularizer).

    Example: `#mpc.regularizer<l1 = 0.0, l2 = 0.0, orthogonal_rows = 1.0e-02>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$l1, "::mlir::FloatAttr":$l2,
                        OptionalParameter<"::mlir::FloatAttr">:$orthogonal_rows,
                        OptionalParameter<"::mlir::FloatAttr">:$orthogonal_columns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Mpc_ConstraintAttr : Mpc_Attr<"Constraint", "constraint"> {
  let summary = "projection of a trainable variable, applied at the end of an optimizer's step";
  let description = [{
    keras/src/constraints/constraints.py, in float32 (float64 for float64 variables). With n the
    norm over `axes` (kept as dimensions of 1) and e = 1e-7:
    `max_norm` w * clip(n, 0, max) / (e + n); `non_negative` max(w, 0); `unit_norm` w / (e + n);
    `min_max_norm` w * (rate * clip(n, min, max) + (1 - rate) * n) / (e + n).
    Numbers that a kind does not use are left out, `axes` of `non_negative` too.

    Example: `#mpc.constraint<max_norm axes = [0] max = 2.0>`
  }];
  let parameters = (ins EnumParameter<Mpc_ConstraintKind>:$kind,
                        OptionalArrayRefParameter<"int64_t">:$axes,
                        OptionalParameter<"::mlir::FloatAttr">:$min,
                        OptionalParameter<"::mlir::FloatAttr">:$max,
                        OptionalParameter<"::mlir::FloatAttr">:$rate);
  let assemblyFormat = [{
    `<` $kind (`axes` `=` `[` $axes^ `]`)? (`min` `=` $min^)? (`max` `=` $max^)?
    (`rate` `=` $rate^)? `>`
  }];
  let genVerifyDecl = 1;
}

// ---- Optimizer rules: one attribute per Keras optimizer, semantics in OptimizerRuleAttrInterface ----
//
// In the formulas w is the variable, g its gradient after clipping, t the number of the step from 1 on;
// all other letters are slots. What stands further down takes the new values of what stands above.

class Mpc_RuleAttr<string name, string mnemonicName, list<string> overrides = []>
    : Mpc_Attr<name, mnemonicName, [DeclareAttrInterfaceMethods<Mpc_OptimizerRuleAttrInterface, overrides>]> {
  let assemblyFormat = "`<` struct(params) `>`";
}

def Mpc_SGDAttr : Mpc_RuleAttr<"SGD", "sgd", ["getPowerOfParts", "getKeptRows"]> {
  let summary = "stochastic gradient descent (keras/src/optimizers/sgd.py)";
  let description = [{
    With momentum m = momentum m - rate g, and w += m, or with `nesterov` w += momentum m - rate g. Without
    (`momentum` is 0) there is no slot, and w -= rate g.

    Example: `#mpc.sgd<momentum = 0.9, nesterov = false>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$momentum, "bool":$nesterov);
}

def Mpc_RMSpropAttr : Mpc_RuleAttr<"RMSprop", "rmsprop", ["getInterleavedSlotCount", "getKeptRows"]> {
  let summary = "RMSprop (keras/src/optimizers/rmsprop.py)";
  let description = [{
    v = rho v + (1 - rho) g^2, and the step s = rate g / sqrt(v + epsilon). With `centered` a slot of mean gradients
    a = rho a + (1 - rho) g, whose square is taken off v. Where `momentum` is not 0, m = momentum m + s and
    w -= m, else w -= s. With `epsilon_beside_root` the step is rate g / (sqrt(v) + epsilon), as Keras had it before 2.11.

    Example: `#mpc.rmsprop<rho = 0.9, momentum = 0.0, epsilon = 1.0e-07, centered = false>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$rho, "::mlir::FloatAttr":$momentum,
                        "::mlir::FloatAttr":$epsilon, "bool":$centered,
                        DefaultValuedParameter<"bool", "false">:$epsilon_beside_root);
}

def Mpc_AdamAttr : Mpc_RuleAttr<"Adam", "adam", ["getInterleavedSlotCount"]> {
  let summary = "Adam (keras/src/optimizers/adam.py)";
  let description = [{
    m += (1 - beta_1) (g - m); v += (1 - beta_2) (g^2 - v); w -= rate sqrt(1 - beta_2^t) / (1 - beta_1^t) m /
    (sqrt(v) + epsilon). With `amsgrad` a third slot, the largest v so far, stands for v in the last one. `rate_scale` multiplies the rate (Muon's
    adam_lr_ratio); absent is 1. AdamW is this rule and the optimizer's weight decay.

    Example: `#mpc.adam<beta_1 = 0.9, beta_2 = 0.999, epsilon = 1.0e-07, amsgrad = false>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$beta_1, "::mlir::FloatAttr":$beta_2,
                        "::mlir::FloatAttr":$epsilon, "bool":$amsgrad,
                        OptionalParameter<"::mlir::FloatAttr">:$rate_scale);
}

def Mpc_AdagradAttr : Mpc_RuleAttr<"Adagrad", "adagrad"> {
  let summary = "Adagrad (keras/src/optimizers/adagrad.py)";
  let description = [{
    a += g^2, from `initial_accumulator_value` on; w -= rate g / sqrt(a + epsilon), or with `epsilon_beside_root`, as
    Keras had it before 2.11, w -= rate g / (sqrt(a) + epsilon).

    Example: `#mpc.adagrad<initial_accumulator_value = 0.1, epsilon = 1.0e-07>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$initial_accumulator_value, "::mlir::FloatAttr":$epsilon,
                        DefaultValuedParameter<"bool", "false">:$epsilon_beside_root);
}

def Mpc_AdadeltaAttr : Mpc_RuleAttr<"Adadelta", "adadelta", ["getKeptRows"]> {
  let summary = "Adadelta (keras/src/optimizers/adadelta.py)";
  let description = [{
    a = rho a + (1 - rho) g^2; s = -g sqrt(d + epsilon) / sqrt(a + epsilon); d = rho d + (1 - rho) s^2;
    w += rate s.

    Example: `#mpc.adadelta<rho = 0.95, epsilon = 1.0e-07>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$rho, "::mlir::FloatAttr":$epsilon);
}

def Mpc_AdamaxAttr : Mpc_RuleAttr<"Adamax", "adamax", ["getPowerOfParts", "getKeptRows"]> {
  let summary = "Adamax (keras/src/optimizers/adamax.py)";
  let description = [{
    m += (1 - beta_1) (g - m); u = max(beta_2 u, |g|); w -= rate m / ((1 - beta_1^t) (u + epsilon)).

    Example: `#mpc.adamax<beta_1 = 0.9, beta_2 = 0.999, epsilon = 1.0e-07>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$beta_1, "::mlir::FloatAttr":$beta_2,
                        "::mlir::FloatAttr":$epsilon);
}

def Mpc_NadamAttr : Mpc_RuleAttr<"Nadam", "nadam", ["getSharedScalars", "buildSharedUpdate", "renewsSharedPerVariable",
                                               "getSharedAfter", "getKeptRows"]> {
  let summary = "Nadam (keras/src/optimizers/nadam.py)";
  let description = [{
    m and v as in Adam. With u(t) = beta_1 (1 - 0.96^t / 2), and the product p of u(1) to u(t), a scalar that variables share:
    w -= rate (u(t + 1) m / (1 - p u(t + 1)) + (1 - u(t)) g / (1 - p)) / (sqrt(v / (1 - beta_2^t)) + epsilon).
    With `schedule_decay` (Keras before 2.11) u(t) = beta_1 (1 - 0.96^(schedule_decay t) / 2).

    `product_per_variable` is what Keras 2.11 to 2.16 train by: the update of each variable multiplies p by u(t) once more, so that of n variables
    the one at index k, from 0, takes p u(t)^(k + 1). It remembers whether a step has done so in a number of Python, which TensorFlow traces: only
    the variable at index t - n takes p as it stands.

    Example: `#mpc.nadam<beta_1 = 0.9, beta_2 = 0.999, epsilon = 1.0e-07>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$beta_1, "::mlir::FloatAttr":$beta_2,
                        "::mlir::FloatAttr":$epsilon,
                        OptionalParameter<"::mlir::FloatAttr">:$schedule_decay,
                        DefaultValuedParameter<"bool", "false">:$product_per_variable);
}

def Mpc_FtrlAttr : Mpc_RuleAttr<"Ftrl", "ftrl", ["getKeptRows"]> {
  let summary = "FTRL-Proximal (keras/src/optimizers/ftrl.py)";
  let description = [{
    With p = -learning_rate_power, L2 = l2 + beta / (2 rate) and b = a + g^2 (a from `initial_accumulator_value` on):
    z += g + 2 l2_shrinkage w - (b^p - a^p) / rate w; w = (clip(z, -l1, l1) - z) / (b^p / rate + 2 L2); a = b.

    Example: `#mpc.ftrl<learning_rate_power = -0.5, initial_accumulator_value = 0.1, l1 = 0.0, l2 = 0.0, l2_shrinkage = 0.0, beta = 0.0>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$learning_rate_power,
                        "::mlir::FloatAttr":$initial_accumulator_value, "::mlir::FloatAttr":$l1,
                        "::mlir::FloatAttr":$l2, "::mlir::FloatAttr":$l2_shrinkage,
                        "::mlir::FloatAttr":$beta);
}

def Mpc_LionAttr : Mpc_RuleAttr<"Lion", "lion", ["getPowerOfParts"]> {
  let summary = "Lion (keras/src/optimizers/lion.py)";
  let description = [{
    w -= rate sign(beta_1 m + (1 - beta_1) g); then m = beta_2 m + (1 - beta_2) g.

    Example: `#mpc.lion<beta_1 = 0.9, beta_2 = 0.99>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$beta_1, "::mlir::FloatAttr":$beta_2);
}

def Mpc_LambAttr : Mpc_RuleAttr<"Lamb", "lamb"> {
  let summary = "LAMB: Adam's direction, its length in proportion to the variable's (keras/src/optimizers/lamb.py)";
  let description = [{
    m += (1 - beta_1) (g - m); v += (1 - beta_2) (g^2 - v); s = m / (1 - beta_1^t) / (sqrt(v / (1 - beta_2^t)) +
    epsilon); w -= |w| / |s| rate s, with 1 for the ratio of the two norms where one of them is 0.

    Example: `#mpc.lamb<beta_1 = 0.9, beta_2 = 0.999, epsilon = 1.0e-07>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$beta_1, "::mlir::FloatAttr":$beta_2,
                        "::mlir::FloatAttr":$epsilon);
}

def Mpc_AdafactorAttr : Mpc_RuleAttr<"Adafactor", "adafactor"> {
  let summary = "Adafactor (keras/src/optimizers/adafactor.py)";
  let description = [{
    With b = 1 - t^beta_2_decay and s = g^2 + epsilon_1: v = b v + (1 - b) s; variables of rank 2 and more have such means r and c of s over the last dimension and
    the one before it instead, and v = r c / mean(r). Then u = g / sqrt(v), and w -= min(rate, 1 / sqrt(t)) max(epsilon_2, rms(w)) u /
    max(1, rms(u) / clip_threshold). Keras's relative_step changes nothing: the rate is bounded by 1 / sqrt(t) with and without it.

    Example: `#mpc.adafactor<beta_2_decay = -0.8, epsilon_1 = 1.0e-30, epsilon_2 = 1.0e-03, clip_threshold = 1.0>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$beta_2_decay, "::mlir::FloatAttr":$epsilon_1,
                        "::mlir::FloatAttr":$epsilon_2, "::mlir::FloatAttr":$clip_threshold);
}

def Mpc_ScheduleFreeAdamWAttr : Mpc_RuleAttr<"ScheduleFreeAdamW", "schedule_free_adamw"> {
  let summary = "AdamW between a sequence of steps and its average (keras/src/optimizers/schedule_free_adamw.py)";
  let description = [{
    `momentum` is the sequence that steps are made of, in Defazio et al. 2024 (arXiv:2405.15682) z; the
    variable is y, between it and its average x. The rate rises in the first `warmup_steps`.

    Example: `#mpc.schedule_free_adamw<beta_1 = 0.9, beta_2 = 0.999, epsilon = 1.0e-08, warmup_steps = 0.0>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$beta_1, "::mlir::FloatAttr":$beta_2,
                        "::mlir::FloatAttr":$epsilon, "::mlir::FloatAttr":$warmup_steps);
}

def Mpc_MuonAttr : Mpc_RuleAttr<"Muon", "muon", ["getRuleFor", "getWeightDecayFor", "getPowerOfParts"]> {
  let summary = "Muon on matrices, Adam on everything else (keras/src/optimizers/muon.py)";
  let description = [{
    m = momentum m + g; x is m, or with `nesterov` g + momentum m, over its norm, transposed where it has more rows than columns. `ns_steps` times with y = x x^T:
    x = a x + (b y + c y y) x (Newton and Schulz's iteration). Then w -= rate x, times rms_rate sqrt(max(rows, columns)) where `rms_rate` is given.
    `adam` is the rule of vectors, and of the matrices whose paths are in `excluded` (embeddings, as a rule).

    Example: `#mpc.muon<momentum = 0.95, nesterov = true, ns_steps = 5, a = 3.4445, b = -4.775, c = 2.0315, adam = #mpc.adam<beta_1 = 0.9, beta_2 = 0.999, epsilon = 1.0e-07, amsgrad = false>>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$momentum, "bool":$nesterov, "int64_t":$ns_steps,
                        "::mlir::FloatAttr":$a, "::mlir::FloatAttr":$b, "::mlir::FloatAttr":$c,
                        OptionalParameter<"::mlir::FloatAttr">:$rms_rate,
                        "::mpc::AdamAttr":$adam,
                        OptionalParameter<"::mlir::FloatAttr">:$adam_weight_decay,
                        OptionalParameter<"::mlir::ArrayAttr">:$excluded);
}

#endif // MPC_ATTRIBUTES
