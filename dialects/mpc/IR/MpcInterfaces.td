// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The questions that passes ask of an op or attribute instead of knowing its class: to add an op is
// to answer these once.

#ifndef MPC_INTERFACES
#define MPC_INTERFACES

include "mlir/IR/OpBase.td"

def Mpc_PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{How an op tolerates narrow element types. Asked by mpc-insert-casts (which operands stay), mpc-verify-casts and --explain.}];
  let methods = [
    InterfaceMethod<"safe, follow or keep32", "::mpc::PrecisionClass", "getPrecisionClass", (ins), "",
      [{ return ::mpc::PrecisionClass::Follow; }]>,
    InterfaceMethod<"whether this operand keeps its own element type when the others are cast "
      "(conditions, indices, random state)", "bool", "staysWide", (ins "unsigned":$operandIndex), "",
      [{ return false; }]>,
    InterfaceMethod<"element type of the sums inside, for operands of this element type",
      "::mlir::Type", "getDefaultAccumulator", (ins "::mlir::Type":$elementType), "",
      [{ return ::mpc::widerOf32(elementType); }]>
  ];
}

def Mpc_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{
    Vector-Jacobian product. `cotangents[i]` belongs to result i and is null when nothing flows into
    it; the op fills `operandCotangents[j]` (same type as operand j, or a wider one for a sum over the
    steps of a loop, which rounds only where no cast widens it) and leaves null what has no
    derivative. Only operands with `wanted[j]` need one. The code may use operands and results of the
    op: what it uses is saved for the backward pass, so prefer what is cheap to keep.
  }];
  let methods = [
    InterfaceMethod<"build the vector-Jacobian product", "::llvm::LogicalResult", "buildVjp",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$cotangents,
           "::llvm::ArrayRef<bool>":$wanted,
           "::llvm::MutableArrayRef<::mlir::Value>":$operandCotangents)>,
    InterfaceMethod<"whether computing the result again costs about as little as reading it, so that "
      "backward code should recompute it from its operands where that saves memory", "bool",
      "isCheapToRecompute", (ins), "", [{ return false; }]>,
    InterfaceMethod<"for ops with a body: an op at the builder's insertion point whose first results are this "
      "op's and whose others keep values of the body that buildVjp may read; null when the op needs no "
      "such form. Training entries hold these forms instead of the op.", "::mlir::Operation *",
      "buildWithSavedValues", (ins "::mlir::OpBuilder &":$builder), "", [{ return nullptr; }]>
  ];
}

def Mpc_EpilogueOpInterface : OpInterface<"EpilogueOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{
    Ops with one result that may add a bias along its last dimensions and apply an activation, each
    rounded as the separate op would round. Asked by mpc-fuse.
  }];
  let methods = [
    InterfaceMethod<"the bias that is added, or null", "::mlir::Value", "getEpilogueBias", (ins), "",
      [{ return $_op.getBias(); }]>,
    InterfaceMethod<"the activation", "::mpc::Activation", "getEpilogueActivation", (ins), "",
      [{ return $_op.getActivation(); }]>,
    InterfaceMethod<"why a bias of the shape of the last `rank` dimensions cannot be added; empty when it can",
      "::llvm::StringRef", "findBiasObstacle", (ins "int64_t":$rank)>,
    InterfaceMethod<"create the same op with this epilogue", "::mlir::Operation *",
      "createWithEpilogue", (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$bias,
                                 "::mpc::Activation":$activation)>
  ];
}

def Mpc_EveryStepOpInterface : OpInterface<"EveryStepOpInterface"> {
  let description = [{
    Ops that may stand for an op in each step of a loop (`every_step`). What the steps share then has
    a cotangent that is not rounded to 16 bits, which their vector-Jacobian products see to.
  }];
  let cppNamespace = "::mpc";
  let methods = [
    InterfaceMethod<"Whether it stands for an op in each step.", "bool", "getEveryStep">,
    InterfaceMethod<"Says whether it does.", "void", "setEveryStep", (ins "bool":$value)>];
}

def Mpc_RuntimeCallOpInterface : OpInterface<"RuntimeCallOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{Ops that a call of libmpcrt computes, not generated code. Asked by --explain.}];
  let methods = [
    InterfaceMethod<"what the call computes, as --explain names it", "::llvm::StringRef", "getRuntimeCall">
  ];
}

def Mpc_TrainingOnlyOpInterface : OpInterface<"TrainingOnlyOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{Ops with one result that only training computes (dropout, noise).}];
  let methods = [
    InterfaceMethod<"the value that replaces the result in inference", "::mlir::Value",
      "getInferenceValue">,
    InterfaceMethod<"the value that replaces the result in training; null: the op stays",
      "::mlir::Value", "getTrainingValue", (ins), "", [{ return {}; }]>
  ];
}

def Mpc_TrainingPartOpInterface : OpInterface<"TrainingPartOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{Ops that compute more in training (attention with dropout).}];
  let methods = [
    InterfaceMethod<"make this op what inference computes", "void", "dropTrainingPart">
  ];
}

def Mpc_BatchOpInterface : OpInterface<"BatchOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{
    Ops in which samples of a batch may meet. Asked by mpc-distribute, where ranks have samples of
    their own: an op without the interface that has the batch in an operand has it in all results.
  }];
  let methods = [
    InterfaceMethod<"whether a sample of a result depends on other samples", "bool", "mixesSamples",
      (ins), "", [{ return false; }]>,
    InterfaceMethod<"the operand that is the state of random numbers, one for each element of the batch; "
      "null without", "::mlir::OpOperand *", "getStateOfSamples", (ins), "", [{ return nullptr; }]>,
    InterfaceMethod<"for an op whose operands have the batch and whose results have not: build the values "
      "that the results have for the samples of all ranks, in float32 or wider until they are rounded",
      "::llvm::LogicalResult", "buildOverRanks",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::SmallVectorImpl<::mlir::Value> &":$results), "",
      [{ return ::mlir::failure(); }]>
  ];
}

def Mpc_ReferenceOpInterface : OpInterface<"ReferenceOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{
    The value that the op is defined to have, computed in double and rounded once to the result's
    element type. It is the oracle of numerics tests, of constant folding and of the interpreter.
  }];
  let methods = [
    InterfaceMethod<"compute results from operands", "::llvm::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<::mpc::ReferenceTensor>":$operands,
           "::llvm::MutableArrayRef<::mpc::ReferenceTensor>":$results)>
  ];
}

def Mpc_ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{
    Ops that compute each element of the result from the elements of the (broadcast) operands at the
    same index. One scalar definition serves the lowering and the reference value.
  }];
  let methods = [
    InterfaceMethod<"emit the scalar computation with arith and math ops; floating scalars arrive "
      "in float32 or float64, the result is rounded by the caller",
      "::mlir::Value", "buildScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$scalars)>,
    InterfaceMethod<"the same in double", "double", "evaluateScalar",
      (ins "::llvm::ArrayRef<double>":$scalars)>
  ];
}

def Mpc_IntegerElementwiseOpInterface : OpInterface<"IntegerElementwiseOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{
    Elementwise ops that take integers, too. Their reference value is exact: a double holds no more
    than 53 bits.
  }];
  let methods = [
    InterfaceMethod<"what evaluateScalar says of floating scalars; integers wrap at their width",
      "::llvm::APSInt", "evaluateIntegers", (ins "::llvm::ArrayRef<::llvm::APSInt>":$scalars)>
  ];
}

def Mpc_OptimizerRuleAttrInterface : AttrInterface<"OptimizerRuleAttrInterface"> {
  let cppNamespace = "::mpc";
  let description = [{An optimizer's update rule, the one place that knows it.}];
  let methods = [
    InterfaceMethod<"what the optimizer keeps of a variable of this type, in the order of the step's "
      "slot operands", "::llvm::SmallVector<::mpc::OptimizerSlot>", "getSlots",
      (ins "::mlir::RankedTensorType":$variable)>,
    InterfaceMethod<"how many of the first slots Keras lists variable by variable (m0 v0 m1 v1); it "
      "lists the others slot by slot after these", "unsigned", "getInterleavedSlotCount", (ins), "",
      [{ return ~0u; }]>,
    InterfaceMethod<"the rule that one variable follows, asked with its path (Muon sends all but "
      "matrices to Adam)", "::mpc::OptimizerRuleAttrInterface", "getRuleFor",
      (ins "::llvm::StringRef":$path, "::mlir::RankedTensorType":$variable), "",
      [{ return $_attr; }]>,
    InterfaceMethod<"the weight decay of that variable when the optimizer's is `decay` (null: none)",
      "::mlir::FloatAttr", "getWeightDecayFor",
      (ins "::llvm::StringRef":$path, "::mlir::RankedTensorType":$variable,
           "::mlir::FloatAttr":$decay), "", [{ return decay; }]>,
    InterfaceMethod<"scalars that all variables share, which Keras lists after the slots",
      "::llvm::SmallVector<::mpc::OptimizerScalar>", "getSharedScalars", (ins), "", [{ return {}; }]>,
    InterfaceMethod<"whether each variable's update renews them, in the order of the variables, "
      "instead of one renewal per step", "bool", "renewsSharedPerVariable", (ins), "",
      [{ return false; }]>,
    InterfaceMethod<"emit their new values, in the scalars' own type, for the update of variable "
      "`index` of `count` (0 of 1 where a step renews them once)",
      "::llvm::SmallVector<::mlir::Value>", "buildSharedUpdate",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$shared,
           "::mlir::Value":$iteration, "int64_t":$index, "int64_t":$count), "",
      [{ return {}; }]>,
    InterfaceMethod<"what they hold after so many updates of `count` variables, for files that leave "
      "them out", "::llvm::SmallVector<double>", "getSharedAfter",
      (ins "int64_t":$updates, "int64_t":$count), "", [{ return {}; }]>,
    InterfaceMethod<"emit mpc ops for one update in float32 (float64 for float64 variables). Values "
      "have the types of the variable and its slots; `shared` (new values of the shared scalars), "
      "`learningRate` and `iteration` (1 in the first step) are scalars. Returns the new variable, "
      "then the new slots. What is elementwise becomes one pass over memory; reductions and "
      "contractions come before it. `powers` stands for |gradient|^getPowerOfParts(); null: it is "
      "computed from the gradient.",
      "::llvm::SmallVector<::mlir::Value>", "buildUpdate",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$variable,
           "::mlir::Value":$gradient, "::mlir::Value":$powers, "::mlir::ValueRange":$slots,
           "::mlir::ValueRange":$shared, "::mlir::Value":$learningRate, "::mlir::Value":$iteration)>,
    InterfaceMethod<"the power of the gradient's magnitude that the rule accumulates (2: squares), or 0 "
      "when it is linear in the gradient. Where the gradient is a sum of parts, Keras sums the powers "
      "of the parts instead", "unsigned", "getPowerOfParts", (ins), "", [{ return 2; }]>,
    InterfaceMethod<"what an update leaves alone in rows that no part of the gradient is of, where the "
      "optimizer's `rows` are `touched`", "::mpc::KeptRows", "getKeptRows", (ins), "",
      [{ return ::mpc::KeptRows::None; }]>
  ];
}

#endif // MPC_INTERFACES
