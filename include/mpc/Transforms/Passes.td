// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes over the mpc dialect, in the order of the pipeline (docs/pipeline.md).

#ifndef MPC_TRANSFORMS_PASSES
#define MPC_TRANSFORMS_PASSES

include "mpc/Analysis/PhasePass.td"

// ---- all phases ----

def MarkPhase : Pass<"mpc-mark-phase", "::mlir::ModuleOp"> {
  let summary = "say in the IR which phase it has reached";
  let description = [{
    Sets `mpc.phase`. The last pass of each phase, behind its verifier: a pass by itself promises less
    than the phase that it is part of.
  }];
  let options = [Option<"phase", "phase", "std::string", "\"\"", "the name of the phase">];
  let dependentDialects = ["::mpc::MpcDialect"];
}

// ---- import ----

def SpecializeBatch : PhasePass<"mpc-specialize-batch", "Import"> {
  let summary = "the batch as a number";
  let description = [{
    Replaces the open extent of every tensor, which is the batch, by `batch`: entries take this many
    samples and no others, loops and buffers have constant sizes, and what compares all samples of a
    batch with each other (the Circle loss) can be written down. Runs on the graph, before the loss is
    built. An input that has another batch already, because some layer keeps states, is an error.
  }];
  let options = [Option<"batch", "batch", "int64_t", "0", "number of samples of every call">];
  let dependentDialects = ["::mpc::MpcDialect"];
}

def VerifyImport : Pass<"mpc-verify-import", "::mlir::ModuleOp"> {
  let summary = "check what the phase `import` promises";
  let description = [{
    Ops of the mpc dialect in functions, and nothing else: variables are arguments, not globals. Each
    `mpc.layer` has its path and no precision yet. Every tensor is ranked and has elements, and only
    its first dimension, the batch, may be dynamic. `@forward`, `@loss` and `@metric_results` have a
    body of one block; inputs, targets and outputs of a function have different names. At most one
    `mpc.optimizer` and one `mpc.loss_scale`.
  }];
}

// ---- policy ----

def ApplyPolicy : PhasePass<"mpc-apply-policy", "Import"> {
  let summary = "decide the precision of each layer";
  let description = [{
    Before: each `mpc.layer` may carry `policy`, what the file says: a Keras policy name, or Keras's
    JSON of a policy or a map; absent means float32. After: each carries `precision` instead.

    A layer that has `precision` and no `policy` keeps it: the importer decides the dtype of an Input
    and of loss terms.

    With `policy` or `policy-file` that policy, or the entry of that map for the layer's path,
    replaces the file's for every layer. Types stay as they are: mpc-insert-casts makes them the
    truth. All unknown names, ambiguous map keys and policies that mpc cannot compile are reported
    together, each with its layer path.

    ```mlir
    %y = mpc.layer "dense" kind "Dense" inputs(%x) variables(%w) {policy = "mixed_bfloat16"} : …
    // becomes
    %y = mpc.layer "dense" kind "Dense" inputs(%x) variables(%w)
        {precision = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "file">} : …
    ```

    Remarks: `mpc-policy` / `layer-policy`, one per layer.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "",
           "policy name, or JSON file with a policy or a policy map, for every layer">,
    Option<"policyFile", "policy-file", "std::string", "", "the same, always a file">
  ];
  let dependentDialects = ["::mpc::MpcDialect"];
}

def VerifyPolicy : Pass<"mpc-verify-policy", "::mlir::ModuleOp"> {
  let summary = "check what the phase `policy` promises";
  let description = [{
    Each `mpc.layer` has a precision that mpc can compile, the same for all calls of one path, whose
    accumulator is at least as wide as float32 and as the compute dtype.
  }];
}

// ---- casts ----

def InsertCasts : PhasePass<"mpc-insert-casts", "Policy"> {
  let summary = "Keras's autocast as mpc.cast; layers are inlined";
  let description = [{
    Before: layers with a precision, everything in them float32. After: no layers; element types are
    the truth, and each op carries its layer's path as name location.

    - A layer's floating inputs are cast to its compute dtype, unless `autocast = false`; integer
      inputs only with `casts_integers` (keras/src/layers/layer.py, __call__).
    - Variables are stored in the variable dtype and cast to the compute dtype at use, unless the
      layer or the variable has `autocast = false` (keras/src/backend/common/variables.py).
    - Ops compute in the type of their operands; where these differ they are promoted as in
      keras/src/backend/common/dtypes.py (bf16 with f16 gives f32). Floating constants are weak.
    - A layer returns what it computed; one that opts out of autocast, for itself or for a variable,
      returns its compute dtype. Updates of variables have the variable's type, loss terms are
      float32.
    - Ops outside layers promote only. `@loss` stays float32: what it reads is cast on entry.

    Warns where a constant that is finite and not 0 becomes infinite or 0 in the layer's compute dtype.

    Remarks: `mpc-casts` / `layer-casts`, one per call of a layer; `rounded-input`, where a layer computes
    in float32 or wider on what the layer before it has in 16 bits.
  }];
  let dependentDialects = ["::mpc::MpcDialect"];
}

def GuardOutputs : PhasePass<"mpc-guard-outputs", "Casts"> {
  let summary = "float32 model outputs, final softmax and loss";
  let description = [{
    Outputs of `@forward` that are narrower than float32 become float32; a final softmax then runs
    on its inputs cast to float32, so that probabilities are not rounded. float64 and integers stay.
    `guard=false` changes nothing: exactly what the layers' policies say, as Keras does.

    Remarks: `mpc-guard` / `output-guarded`, `output-kept`.
  }];
  let options = [Option<"guard", "guard", "bool", "true", "whether narrow outputs become float32">];
  let dependentDialects = ["::mpc::MpcDialect"];
}

def SimplifyCasts : PhasePass<"mpc-simplify-casts", "Casts"> {
  let summary = "remove casts that change no value";
  let description = [{
    Widening and narrowing back is the value itself; a cast after an exact cast starts at the first
    value. Narrowing and widening again stays: it rounds as Keras does. Equal casts of one value
    stay apart until there is a derivative: each layer narrows its input by itself, and the
    cotangents of the casts are summed in the type that they narrow from. Dead casts go. Runs to a
    fixed point.

    Remarks: `mpc-casts` / `kept-narrowing`, one per pair that rounds.
  }];
  let dependentDialects = ["::mpc::MpcDialect"];
}

def VerifyCasts : Pass<"mpc-verify-casts", "::mlir::ModuleOp"> {
  let summary = "check what the phase `casts` promises";
  let description = [{
    No layers; floating operands of an op agree but for those that the op declares wide; no op but
    mpc.cast gives a floating result of another element type (a contraction may give its
    accumulator's); `@loss` reads what `@forward` returns, and its loss is float32. With `guard=true`
    no output is narrower than float32.
  }];
  let options = [Option<"guard", "guard", "bool", "false", "whether outputs must be float32 at least">];
}

// ---- autodiff ----

def SinkTransposes : PhasePass<"mpc-sink-transposes", "Casts"> {
  let summary = "transpositions behind what computes each element for itself";
  let description = [{
    Images of files that have channels first are transposed around each convolution. A transposition of all large operands
    of an elementwise op, cast or concatenation comes behind it, where it meets the one back, and the op meets the product
    whose epilogue it may become. Vectors that broadcast are reshaped. An op with another operand of that size stays, and so
    does one whose vectors would change the order of their elements.

    ```mlir
    %0 = mpc.transpose %y {permutation = array<i64: 0, 3, 1, 2>} : tensor<?x4x4x8xf32> -> tensor<?x8x4x4xf32>
    %1 = mpc.relu %0 : tensor<?x8x4x4xf32>
    %2 = mpc.transpose %1 {permutation = array<i64: 0, 2, 3, 1>} : tensor<?x8x4x4xf32> -> tensor<?x4x4x8xf32>
    // becomes
    %2 = mpc.relu %y : tensor<?x4x4x8xf32>
    ```

    What nobody reads any more stays for the clean-up. A second run changes nothing.
  }];
}

def FormAttention : PhasePass<"mpc-form-attention", "Casts"> {
  let summary = "attention as one op";
  let description = [{
    For targets that compute attention without the matrix of scores in memory, before
    mpc-differentiate. The softmax of products of queries and keys, multiplied with values, becomes
    mpc.attention, whose derivative is an op of its own: where nothing else reads scores or
    probabilities; for CUDA in 16 bits, with no mask or a causal one and heads whose widths are multiples of 8 up to 256, on a CPU in
    up to 32 bits, with any mask and with dropout of probabilities, where a head has many scores: few ones stay in its caches anyway. Scores are no longer rounded to 16 bits one by one (docs/numerics.md).

    ```mlir
    %s = mpc.contract %q, %k batch [0, 2] x [0, 2] contracting [3] x [3] : (tensor<?x10x8x64xf16>, …) -> tensor<?x8x10x10xf16>
    %w = mpc.cast %s : tensor<?x8x10x10xf16> to tensor<?x8x10x10xf32>
    %z = mpc.multiply %w, %scale : tensor<?x8x10x10xf32>, tensor<f32>
    %p = mpc.softmax %z {axis = 3 : i64} : tensor<?x8x10x10xf32>
    %n = mpc.cast %p : tensor<?x8x10x10xf32> to tensor<?x8x10x10xf16>
    %o = mpc.contract %n, %v batch [0, 1] x [0, 2] contracting [3] x [1] : …
    %y = mpc.transpose %o {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x8x10x64xf16> -> tensor<?x10x8x64xf16>
    // becomes
    %y, %l = mpc.attention %q, %k, %v {scale = 0.125 : f64} : tensor<?x10x8x64xf16>, …
    ```

    It may stand behind mpc-differentiate once more (`late`), for inference that has lost the dropout of probabilities, and where
    attention in float32 is one call on a CPU with fewer scores, too: nothing is rounded differently there.

    Remarks: `mpc-fusion` / `attention`, for each softmax of products of queries and keys.
  }];
  let options = [
    Option<"device", "target", "::mpc::Device", "::mpc::Device::cpu", "cpu, cuda or cuda:sm_N,…">,
    Option<"fewestScores", "fewest-scores", "int64_t", "8192", "CPU: leave heads with fewer as they are">,
    Option<"fewestWideScores", "fewest-wide-scores", "int64_t", "256", "CPU, late: leave heads of float32 with fewer as they are">,
    Option<"late", "late", "bool", "false", "after mpc-differentiate: say nothing of what was left as it is before">,
  ];
}

def FormGelu : PhasePass<"mpc-form-gelu", "Casts"> {
  let summary = "gelu of a product as one op";
  let description = [{
    For targets whose products apply gelu, before mpc-differentiate. 0.5 x (1 + tanh(...)) of what a contraction gives, with
    or without a vector that is added, becomes mpc.gelu, whose derivative is an op of its own: in 16 bits, outside of loops. Its steps are
    no longer rounded to 16 bits one by one, nor are its constants (docs/numerics.md), and nothing of them is kept for the backward pass.

    ```mlir
    %c = mpc.multiply %x, %x : tensor<?x64xbf16>, tensor<?x64xbf16>
    …
    %t = mpc.tanh %s : tensor<?x64xbf16>
    …
    %y = mpc.multiply %h, %o : tensor<?x64xbf16>, tensor<?x64xbf16>
    // becomes
    %y = mpc.gelu %x : tensor<?x64xbf16>
    ```

    Remarks: `mpc-fusion` / `gelu`, for each gelu of a product, also of the exact form, which stays as it is.
  }];
}

// ---- scaling ----

def Distribute : PhasePass<"mpc-distribute", "Scaling"> {
  let summary = "reduce over the ranks of a job what one value of all samples is";
  let description = [{
    For `mpcc --distributed`: the batch of a call is the samples of one rank. Ops of entries that take the batch and give
    a result without it (losses, counts, gradients of weights, statistics) get an `mpc.all_reduce` behind what they
    compute of the rank's samples, in float32 or wider; means divide by the number of all samples. A rounding to 16 bits
    comes after that. What is computed for each sample stays as it is.

    An op that lets samples meet in another way is an error that names its layer. A second run changes nothing.

    With `gradient-dtype=bfloat16` sums of float32 that end in gradients of variables alone get `in_bfloat16`. Where there is
    none, that is an error.

    Remarks: `mpc-distribute` / `distributed`, `gradient-dtype`.
  }];
  let options = [Option<"gradientDtype", "gradient-dtype", "std::string", "\"float32\"",
                        "what sums of gradients go between ranks in: float32 or bfloat16">];
  let dependentDialects = ["::mpc::MpcDialect"];
}

def SendEarly : EntryPass<"mpc-send-early", "Scaling"> {
  let summary = "compute early what ranks reduce, and wait for it late";
  let description = [{
    What an `mpc.all_reduce` needs comes directly behind the last value that it is made of: the gradient of a weight before
    the backward pass goes on to the layer before. What needs a reduction, and no reduction needs, comes behind the last one, in
    the order of the reductions: updates of the first gradients go while the last ones are under way. No value changes.

    Entries without reductions stay as they are. A second run changes nothing.
  }];
}

// ---- fusion ----

def ShadowWeights : PhasePass<"mpc-shadow-weights", "Scaling"> {
  let summary = "keep 16-bit copies of float32 weights, written by the optimizer";
  let description = [{
    In entries, replaces the casts of a float32 weight to f16 or bf16 by a variable of role `shadow`
    with the same values. Whoever updates the weight updates the shadow: mpc.optimizer_step as one
    more result of the same pass over memory, anything else by a cast. The runtime derives shadows
    again when weights are loaded or set, and saves them nowhere.

    ```mlir
    %w16 = mpc.cast %w : tensor<784x64xf32> to tensor<784x64xbf16>
    // becomes an argument
    %w16: tensor<784x64xbf16> {mpc.variable = @"dense/kernel/shadow_bf16"}
    ```

    Remarks: `mpc-fusion` / `shadow`, one per copy.
  }];
}

def SinkResamples : EntryPass<"mpc-sink-resamples", "Scaling"> {
  let summary = "repeated elements behind what computes each of them for itself";
  let description = [{
    An mpc.resample that repeats elements (nearest upsampling) comes behind an elementwise op, a cast, and a contraction
    whose rows it repeats, so that each is computed once. The other operands of an elementwise op must be repeated alike, or be
    the same along the repeated axes. Two selections in a row become one. After differentiation, because gradients are summed
    where the framework sums them; before mpc-fuse, for which the op is a neighbour of what comes before.

    ```mlir
    %0 = mpc.resample %x axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2x8xf32> -> tensor<?x4x8xf32>
    %1 = mpc.contract %0, %w contracting [2] x [0] : (tensor<?x4x8xf32>, tensor<8x3xf32>) -> tensor<?x4x3xf32>
    // becomes
    %0 = mpc.contract %x, %w contracting [2] x [0] : (tensor<?x2x8xf32>, tensor<8x3xf32>) -> tensor<?x2x3xf32>
    %1 = mpc.resample %0 axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2x3xf32> -> tensor<?x4x3xf32>
    ```

    A second run changes nothing.
  }];
}

def RaiseSlices : EntryPass<"mpc-raise-slices", "Scaling"> {
  let summary = "slices in front of what computes each element for itself";
  let description = [{
    Where slices along one axis that have no element in common are all that reads an elementwise op or a cast, and elementwise
    ops all that reads these, the op is computed of slices of its operands: it joins the kernels behind it, and its result has
    no memory. Behind mpc-fuse, which finds a bias next to its contraction.

    ```mlir
    %0 = mpc.add %x, %y : tensor<?x8xf32>, tensor<?x8xf32>
    %1 = mpc.slice %0 {axis = 1 : i64, offset = 0 : i64, size = 4 : i64} : tensor<?x8xf32> -> tensor<?x4xf32>
    %2 = mpc.sigmoid %1 : tensor<?x4xf32>
    // becomes
    %0 = mpc.slice %x {axis = 1 : i64, offset = 0 : i64, size = 4 : i64} : tensor<?x8xf32> -> tensor<?x4xf32>
    %1 = mpc.slice %y {axis = 1 : i64, offset = 0 : i64, size = 4 : i64} : tensor<?x8xf32> -> tensor<?x4xf32>
    %2 = mpc.add %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
    %3 = mpc.sigmoid %2 : tensor<?x4xf32>
    ```

    A second run changes nothing.
  }];
}

def FormFloat8 : PhasePass<"mpc-form-float8", "Scaling"> {
  let summary = "contractions of quantized tensors in float8";
  let description = [{
    For targets that multiply float8, after mpc-differentiate and before mpc-fuse. Where both operands of a contraction
    are what mpc.float8_quantize gives (or its elementary ops, as the derivative of mpc.float8_quantize_gradient
    has them), the numbers are stored in float8, and the sums, in float32, are multiplied with both scales.
    The rounding of each number times its scale to the type that computes is left out (docs/numerics.md).

    ```mlir
    %q = mpc.float8_quantize %x scale %s history %h {format = f8E4M3FN} : tensor<?x64xbf16>, …
    %p = mpc.float8_quantize %w scale %t history %i {format = f8E4M3FN} : tensor<64x32xbf16>, …
    %y = mpc.contract %q, %p contracting [1] x [0] : … -> tensor<?x32xbf16>
    // becomes
    %q = mpc.cast %c : tensor<?x64xbf16> to tensor<?x64xf8E4M3FN>  // %c: x / s, clipped
    %p = mpc.cast %d : tensor<64x32xbf16> to tensor<64x32xf8E4M3FN>
    %m = mpc.contract %q, %p contracting [1] x [0] : … -> tensor<?x32xf32>
    %y = … %m * s * t, cast to bf16
    ```

    The largest magnitude of a tensor, which its history gets, is computed behind the cast: both read the same numbers.

    Remarks: `mpc-fusion` / `float8`, for each contraction that reads such a tensor.
  }];
}

def SinkUpdates : EntryPass<"mpc-sink-updates", "Scaling"> {
  let summary = "for GPUs: small work that only the end of a step needs is done there";
  let description = [{
    An op on small tensors, up to two numbers a sample, whose results only the function's end or other such ops read,
    moves in front of the end: scales and histories of float8, metrics, updates of biases. Their kernels then follow each
    other, and mpc-order-launches runs those of all layers at once.

    ```mlir
    %m = mpc.reduce max %a {axes = array<i64: 0, 1>} : tensor<64x32xf32> -> tensor<f32>
    %s = mpc.divide %c, %m : tensor<f32>, …        // moves behind the contraction
    %y = mpc.contract %x, %w contracting [1] x [0] : …
    return %y, %s : …
    ```

    A second run changes nothing.
  }];
}

def Fuse : PhasePass<"mpc-fuse", "Scaling"> {
  let summary = "epilogues of contractions, softmax with cross-entropy";
  let description = [{
    In entries. Moves the addition of a vector and a relu into the contraction that feeds only them:
    mpc.contract's epilogue rounds exactly as the separate ops do. Turns log(softmax) into log_softmax
    and a cross-entropy of clipped probabilities into one of logits; other uses of the
    probabilities stay (docs/numerics.md; `logits=false` keeps Keras's clip).

    ```mlir
    %0 = mpc.contract %x, %w contracting [1] x [0] : …
    %1 = mpc.add %0, %b : tensor<?x64xbf16>, tensor<64xbf16>
    %2 = mpc.relu %1 : tensor<?x64xbf16>
    // becomes
    %2 = mpc.contract %x, %w bias %b contracting [1] x [0] {activation = #mpc<activation relu>} : …
    ```

    Remarks: `mpc-fusion` / `bias-epilogue`, `relu-epilogue`, `log-softmax`, `logit-cross-entropy`.
  }];
  let options = [Option<"logits", "logits", "bool", "true", "whether the cross-entropy of a softmax reads its logits">];
}

def PadDims : PhasePass<"mpc-pad-dims", "Scaling"> {
  let summary = "pad the dimensions of contractions to what the target's matrix units want";
  let description = [{
    Pads contracted and free dimensions of mpc.contract on 16-bit and 8-bit operands with zeros, to a
    multiple (CUDA: 8 and 16), and slices the result, so that no padded lane reaches another op. What is
    padded anyway goes on to whole lines of 128 bytes (64 elements of 16 bits) where that adds little: a
    vocabulary of 50257 becomes 50304. The batch stays as it is. On CUDA the right operand of integers is transposed to [free, contracted].
    A CPU gains nothing and is left alone unless `multiple` asks for it.

    ```mlir
    %y = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x16xbf16>, tensor<16x10xbf16>) -> tensor<?x10xbf16>
    // with multiple=8 becomes
    %p = mpc.pad %w {axis = 1 : i64, low = 0 : i64, high = 6 : i64, value = 0.0 : f64} : tensor<16x10xbf16> -> tensor<16x16xbf16>
    %q = mpc.contract %x, %p contracting [1] x [0] : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xbf16>
    %y = mpc.slice %q {axis = 1 : i64, offset = 0 : i64, size = 10 : i64} : tensor<?x16xbf16> -> tensor<?x10xbf16>
    ```

    On CUDA convolutions of i8 become contractions of what their windows read.

    Remarks: `mpc-fusion` / `padded`, `not-padded`, one per dimension, with what it is called in the
    layer (units, width, vocabulary, channels, filters) and the advice of Keras's mixed precision guide
    to make it a multiple. On CUDA also for what is not padded: convolutions, rows of tables.
  }];
  let options = [
    Option<"device", "target", "::mpc::Device", "::mpc::Device::cpu", "cpu, cuda or cuda:sm_N,…">,
    Option<"multiple", "multiple", "int64_t", "0", "pad to this multiple whatever the target; 0: what the target wants">,
    Option<"widenShare", "widen-share", "int64_t", "16",
           "CUDA: pad on to whole lines where that adds at most one part in so many; 0: never">
  ];
}

def VerifyFusion : Pass<"mpc-verify-fusion", "::mlir::ModuleOp"> {
  let summary = "check what the phase `fusion` promises";
  let description = [{
    Functions are entries without layers. Whoever updates a weight updates its 16-bit copies with the same
    value. With a dynamic loss scale, what mpc-verify-scaling proves of updates still holds.
  }];
}

// ---- tensors ----

def FuseLinalg : EntryPass<"mpc-fuse-linalg", "Tensors"> {
  let summary = "merge chains of elementwise linalg.generic ops into one kernel each";
  let description = [{
    In entries, after convert-mpc-to-linalg. A producer without reductions moves into its consumer when
    no work is repeated: it is the only consumer, or all others come later and read the value from the
    merged op. Cheap producers (casts, comparisons, selections) are repeated in each consumer where
    that saves memory traffic, and so are a few sums and products that then need no memory at all; exp,
    tanh or a random generator never are. Nothing crosses
    mpcrt.contract. Roundings stay where they are.
    On CUDA a number that is computed of scalars alone, such as one over the batch, becomes an argument of the kernels that
    read it.

    Remarks: `mpc-fusion` / `elementwise`, for each merge and each that was refused.
  }];
  let options = [Option<"device", "target", "::mpc::Device", "::mpc::Device::cpu", "cpu, cuda or cuda:sm_N,…">];
  let dependentDialects = ["::mlir::affine::AffineDialect"];
}

def Rematerialize : EntryPass<"mpc-rematerialize", "Tensors"> {
  let summary = "compute again in a later kernel what an earlier one would store for it alone";
  let description = [{
    In entries, after mpc-fuse-linalg, whose kernels are whole. Of gelu(x) or x * sigmoid(x) the forward pass stores what the
    derivative reads: several arrays of x's size, where x is one. A kernel that reads results of an earlier one over the same elements, and
    is alone in that, computes them from what the earlier one read, where so fewer bytes per element are kept and the
    work stays small beside them: where arithmetic is scarce beside memory (a CPU), exp for a few bytes, and not erf. As the minimum cut of PyTorch's AOTAutograd does, but between two kernels, once both are fused. Values and
    roundings are the same. Random numbers are read, not made again.

    Remarks: `mpc-fusion` / `rematerialize`, for each result that is computed again.

    Example: in

    ```mlir
    %y, %half, %gate = linalg.generic ... ins(%x) ...
    ...
    %dx = linalg.generic ... ins(%dy, %half, %gate) ...
    ```

    `%half` and `%gate` are computed from `%x` in both, and nothing but `%y` is stored.
  }];
  let options = [Option<"workPerByte", "work-per-byte", "int64_t", "8",
                        "ops of arithmetic that keeping a byte less is worth; a function counts as 16, erf as 32">];
  let dependentDialects = ["::mlir::affine::AffineDialect"];
}

def VerifyTensors : Pass<"mpc-verify-tensors", "::mlir::ModuleOp"> {
  let summary = "check what the phase `tensors` promises";
  let description = [{
    Entries contain ops of linalg, tensor, arith, math, func and mpcrt only, on tensors and scalars
    with signless integers; the ops of mpcrt are those in destination
    style: contract, convolve, attend, attend_gradient and scatter_add.
  }];
}

#endif // MPC_TRANSFORMS_PASSES
