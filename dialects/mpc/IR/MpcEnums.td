// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Enumerations of the mpc dialect.

#ifndef MPC_ENUMS
#define MPC_ENUMS

include "mlir/IR/EnumAttr.td"
include "dialects/mpc/IR/MpcBase.td"

class Mpc_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mpc";
  let genSpecializedAttr = 0;
}

def Mpc_EntryRole : Mpc_Enum<"EntryRole", "what an entry of the compiled library is for; the entry has its name", [
  I32EnumAttrCase<"Predict", 0, "predict">, I32EnumAttrCase<"Evaluate", 1, "evaluate">,
  I32EnumAttrCase<"Gradients", 2, "gradients">, I32EnumAttrCase<"MetricResults", 3, "metric_results">,
  I32EnumAttrCase<"TrainStep", 4, "train_step">,
  // The training step in the stages of a caller's own loop.
  I32EnumAttrCase<"TrainForward", 5, "train_forward">, I32EnumAttrCase<"TrainBackward", 6, "train_backward">,
  I32EnumAttrCase<"TrainApply", 7, "train_apply">,
  // Inference and the training step with traces of their values, and both in float32 (mpc-trace-numerics).
  I32EnumAttrCase<"TracePredict", 8, "trace_predict">, I32EnumAttrCase<"TraceStep", 9, "trace_step">,
  I32EnumAttrCase<"TwinPredict", 10, "twin_predict">, I32EnumAttrCase<"TwinStep", 11, "twin_step">,
  // The training step's own kernels, with traces of what they leave in memory (mpc-watch-step).
  I32EnumAttrCase<"WatchedStep", 12, "watched_step">,
  // Entries with traces whose layers each compute from their float32 twins' values (mpc-trace-numerics).
  I32EnumAttrCase<"ApartPredict", 13, "apart_predict">, I32EnumAttrCase<"ApartStep", 14, "apart_step">]>;
def Mpc_EntryRoleAttr : EnumAttr<Mpc_Dialect, Mpc_EntryRole, "entry_role"> {
  let assemblyFormat = "`<` $value `>`";
}

def Mpc_ReduceKind : Mpc_Enum<"ReduceKind", "what a reduction computes", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">,
  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"All", 4, "all">, I32EnumAttrCase<"Any", 5, "any">]>;
def Mpc_ReduceKindAttr : EnumAttr<Mpc_Dialect, Mpc_ReduceKind, "reduce_kind">;

def Mpc_ComparePredicate : Mpc_Enum<"ComparePredicate", "comparison; NaN compares unequal to everything", [
  I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">, I32EnumAttrCase<"LT", 2, "lt">,
  I32EnumAttrCase<"LE", 3, "le">, I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]>;
def Mpc_ComparePredicateAttr : EnumAttr<Mpc_Dialect, Mpc_ComparePredicate, "compare_predicate">;

def Mpc_IntegerKind : Mpc_Enum<"IntegerKind", "what an op of two integers computes", [
  I32EnumAttrCase<"And", 0, "and">, I32EnumAttrCase<"Or", 1, "or">, I32EnumAttrCase<"Xor", 2, "xor">,
  I32EnumAttrCase<"ShiftLeft", 3, "shift_left">, I32EnumAttrCase<"ShiftRight", 4, "shift_right">,
  I32EnumAttrCase<"FloorDivide", 5, "floor_divide">, I32EnumAttrCase<"Modulo", 6, "modulo">]>;
def Mpc_IntegerKindAttr : EnumAttr<Mpc_Dialect, Mpc_IntegerKind, "integer_kind">;

def Mpc_Activation : Mpc_Enum<"Activation", "activation in a contraction's epilogue", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Relu", 1, "relu">]>;
def Mpc_ActivationAttr : EnumAttr<Mpc_Dialect, Mpc_Activation, "activation">;

def Mpc_ConvolutionDirection : Mpc_Enum<"ConvolutionDirection", "what a convolution computes (values of mpc_rt_convolution_direction_t)", [
  I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"InputGradient", 1, "input_gradient">,
  I32EnumAttrCase<"FilterGradient", 2, "filter_gradient">]>;
def Mpc_ConvolutionDirectionAttr : EnumAttr<Mpc_Dialect, Mpc_ConvolutionDirection, "convolution_direction">;

def Mpc_LogitsOf : Mpc_Enum<"LogitsOf", "what makes probabilities of logits", [
  I32EnumAttrCase<"Softmax", 0, "softmax">, I32EnumAttrCase<"Sigmoid", 1, "sigmoid">]>;
def Mpc_LogitsOfAttr : EnumAttr<Mpc_Dialect, Mpc_LogitsOf, "logits_of">;

def Mpc_VariableRole : Mpc_Enum<"VariableRole", "what a variable is for (values of mpc_rt_role_t)", [
  I32EnumAttrCase<"Trainable", 0, "trainable">, I32EnumAttrCase<"NonTrainable", 1, "non_trainable">,
  I32EnumAttrCase<"Optimizer", 2, "optimizer">, I32EnumAttrCase<"Metric", 3, "metric">,
  I32EnumAttrCase<"Random", 4, "random">, I32EnumAttrCase<"Shadow", 5, "shadow">]>;
def Mpc_VariableRoleAttr : EnumAttr<Mpc_Dialect, Mpc_VariableRole, "variable_role">;

def Mpc_RowGradients : Mpc_Enum<"RowGradients", "what an optimizer makes of a gradient that is rows of a table", [
  I32EnumAttrCase<"Each", 0, "each">,       // powers of each row are summed (Keras 3)
  I32EnumAttrCase<"Summed", 1, "summed">,   // rows of one index are summed first (Keras 2.11 to 2.16)
  I32EnumAttrCase<"Touched", 2, "touched">, // summed; the other rows are left alone where the rule says so (OptimizerV2)
  I32EnumAttrCase<"Dense", 3, "dense">]>;   // a tensor from the start (Keras before TensorFlow 2)
def Mpc_RowGradientsAttr : EnumAttr<Mpc_Dialect, Mpc_RowGradients, "row_gradients">;

def Mpc_InitializerKind : Mpc_Enum<"InitializerKind", "distribution (values of mpc_rt_initializer_kind_t)", [
  I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Ones", 1, "ones">,
  I32EnumAttrCase<"Constant", 2, "constant">, I32EnumAttrCase<"Uniform", 3, "uniform">,
  I32EnumAttrCase<"Normal", 4, "normal">, I32EnumAttrCase<"TruncatedNormal", 5, "truncated_normal">,
  I32EnumAttrCase<"Orthogonal", 6, "orthogonal">, I32EnumAttrCase<"Identity", 7, "identity">,
  I32EnumAttrCase<"UnitForget", 8, "unit_forget">, I32EnumAttrCase<"FourierCosine", 9, "fourier_cosine">,
  I32EnumAttrCase<"FourierSine", 10, "fourier_sine">]>;

def Mpc_ConstraintKind : Mpc_Enum<"ConstraintKind", "projection of a weight after an update", [
  I32EnumAttrCase<"MaxNorm", 0, "max_norm">, I32EnumAttrCase<"NonNegative", 1, "non_negative">,
  I32EnumAttrCase<"UnitNorm", 2, "unit_norm">, I32EnumAttrCase<"MinMaxNorm", 3, "min_max_norm">]>;

def Mpc_PrecisionClass : Mpc_Enum<"PrecisionClass", "how an op tolerates narrow element types", [
  I32EnumAttrCase<"Safe", 0, "safe">,       // gains from narrow operands (contractions)
  I32EnumAttrCase<"Follow", 1, "follow">,   // computes in whatever its operands have
  I32EnumAttrCase<"Keep32", 2, "keep32">]>; // float32 arithmetic inside, whatever its operands have

def Mpc_Phase : Mpc_Enum<"Phase", "how far the compiler is: stop points with contracts (docs/pipeline.md)", [
  I32EnumAttrCase<"Import", 0, "import">, I32EnumAttrCase<"Policy", 1, "policy">,
  I32EnumAttrCase<"Casts", 2, "casts">, I32EnumAttrCase<"Autodiff", 3, "autodiff">,
  I32EnumAttrCase<"Scaling", 4, "scaling">, I32EnumAttrCase<"Fusion", 5, "fusion">,
  I32EnumAttrCase<"Tensors", 6, "tensors">, I32EnumAttrCase<"Buffers", 7, "buffers">,
  I32EnumAttrCase<"Kernels", 8, "kernels">, I32EnumAttrCase<"Module", 9, "module">]>;

def Mpc_TraceDirection : Mpc_Enum<"TraceDirection", "the part of a step that a traced value belongs to (values of mpc_rt_trace_direction_t)", [
  I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"Backward", 1, "backward">,
  I32EnumAttrCase<"Optimizer", 2, "optimizer">]>;
def Mpc_TraceDirectionAttr : EnumAttr<Mpc_Dialect, Mpc_TraceDirection, "trace_direction">;

#endif // MPC_ENUMS
