// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What passes may ask of an op or attribute instead of knowing its class: to add an op is to answer
// these once.

#ifndef MPC_INTERFACES
#define MPC_INTERFACES

include "mlir/IR/OpBase.td"

def Mpc_PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{How an op tolerates narrow element types. Asked by mpc-insert-casts and by lowerings.}];
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
    it; the op fills `operandCotangents[j]` (same type as operand j) and leaves null what has no
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
    InterfaceMethod<"for ops with a body: an op at the builder's place whose first results are this "
      "op's and whose others keep values of the body that buildVjp may read; null when the op needs no "
      "such form. Training entries hold these forms instead of the op.", "::mlir::Operation *",
      "buildWithSavedValues", (ins "::mlir::OpBuilder &":$builder), "", [{ return nullptr; }]>
  ];
}

def Mpc_TrainingOnlyOpInterface : OpInterface<"TrainingOnlyOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{Ops with one result that only training computes (dropout, noise).}];
  let methods = [
    InterfaceMethod<"the value that replaces the result in inference", "::mlir::Value",
      "getInferenceValue">
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
    same place. One scalar definition serves the lowering and the reference value.
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

def Mpc_OptimizerRuleAttrInterface : AttrInterface<"OptimizerRuleAttrInterface"> {
  let cppNamespace = "::mpc";
  let description = [{An optimizer's update rule, the one place that knows it.}];
  let methods = [
    InterfaceMethod<"Keras's slot name suffixes in the order of the step's slot operands, e.g. momentum",
      "::llvm::SmallVector<::llvm::StringRef>", "getSlotNames">,
    InterfaceMethod<"initial value of a slot", "double", "getInitialSlotValue", (ins "unsigned":$slot), "",
      [{ return 0.0; }]>,
    InterfaceMethod<"how many of the first slots Keras lists variable by variable (m0 v0 m1 v1); it "
      "lists the others slot by slot after these", "unsigned", "getInterleavedSlotCount", (ins), "",
      [{ return $_attr.getSlotNames().size(); }]>,
    InterfaceMethod<"emit mpc ops for one update in float32 (float64 for float64 variables). All "
      "values have the type of the variable but `learningRate` (scalar) and `iteration` (scalar, "
      "float, 1 in the first step). Returns the new variable, then the new slots.",
      "::llvm::SmallVector<::mlir::Value>", "buildUpdate",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$variable,
           "::mlir::Value":$gradient, "::mlir::ValueRange":$slots,
           "::mlir::Value":$learningRate, "::mlir::Value":$iteration)>
  ];
}

#endif // MPC_INTERFACES
