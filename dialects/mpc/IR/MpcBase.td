// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mpc dialect, its element types and the op base class.

#ifndef MPC_BASE
#define MPC_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Mpc_Dialect : Dialect {
  let name = "mpc";
  let cppNamespace = "::mpc";
  let summary = "Graphs of trainable models whose ops carry dtype policies";
  let description = [{
    Value semantics on ranked tensors. No op promotes implicitly: element types differ only where an
    op says so (cast, select's condition, one_hot, a contraction's wider result). The only dynamic
    extent is the batch, written `?` and always the first dimension. See dialects/mpc/README.md for
    the reasons.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Argument: name of the model input ("x").
    static constexpr ::llvm::StringLiteral kInputAttr = "mpc.input";
    /// Argument: name of the target ("y0") or of sample weights ("sample_weight"; of several
    /// compared outputs "sample_weight0", …).
    static constexpr ::llvm::StringLiteral kTargetAttr = "mpc.target";
    /// Argument: the whole part of every value must lie in [0, limit) (i64); checked before a call.
    static constexpr ::llvm::StringLiteral kIndexLimitAttr = "mpc.index_limit";
    /// Argument: symbol of the mpc.variable whose value this is.
    static constexpr ::llvm::StringLiteral kVariableAttr = "mpc.variable";
    /// Argument or result, from phase tensors on: the declared element type where lowering made it
    /// signless (ui8 became i8).
    static constexpr ::llvm::StringLiteral kElementTypeAttr = "mpc.element_type";
    /// Result: name under which the caller sees the value ("out0", "loss").
    static constexpr ::llvm::StringLiteral kOutputAttr = "mpc.output";
    /// Argument or result: what its type does not say (array of #mpc.bounded and #mpc.text, at most
    /// one of each).
    static constexpr ::llvm::StringLiteral kFormAttr = "mpc.form";
    /// Result: symbol of the mpc.variable that takes this value when the function returns.
    static constexpr ::llvm::StringLiteral kUpdatesAttr = "mpc.updates";
    /// Result that updates a variable: in inference, too (states of recurrent layers).
    static constexpr ::llvm::StringLiteral kStatefulAttr = "mpc.stateful";
    /// Result: a float32 scalar that training adds to the loss (activity regularisers).
    static constexpr ::llvm::StringLiteral kLossTermAttr = "mpc.loss_term";
    /// Result: float32 values whose mean training and evaluation report under this name
    /// (model.add_metric of Keras 2). No output of the library.
    static constexpr ::llvm::StringLiteral kAddedMetricAttr = "mpc.added_metric";
    /// Result: the mask (i1) of output i, named "mask<i>": losses and metrics leave out where it is
    /// false. No output of the library.
    static constexpr ::llvm::StringLiteral kMaskAttr = "mpc.mask";
    /// Functions that become entries of the compiled library: the role that their name says
    /// (#mpc.entry_role), else a unit.
    static constexpr ::llvm::StringLiteral kEntryAttr = "mpc.entry";
    /// Module: Keras's names of the outputs (array of strings), by which losses and metrics are
    /// given; a unit where the model returns a dictionary of them; where containers lie inside each
    /// other, that structure as JSON.
    static constexpr ::llvm::StringLiteral kOutputNamesAttr = "mpc.output_names";
    static constexpr ::llvm::StringLiteral kOutputDictionaryAttr = "mpc.output_dictionary";
    static constexpr ::llvm::StringLiteral kOutputStructureAttr = "mpc.output_structure";
    /// Module: what the manifest says of each layer (array of dictionaries).
    static constexpr ::llvm::StringLiteral kLayersAttr = "mpc.layers";
    /// Module: the seed of initial values (i64), and the hash of the model's file (string).
    static constexpr ::llvm::StringLiteral kSeedAttr = "mpc.seed";
    static constexpr ::llvm::StringLiteral kSourceHashAttr = "mpc.source_hash";
    /// A selection of scalars, the last op of a rounding: its result is a number of this type of
    /// float8 (type), rounded from its second operand.
    static constexpr ::llvm::StringLiteral kRoundsToAttr = "mpc.rounds_to";
    /// Module: the phase that the IR has reached (string, see docs/pipeline.md).
    static constexpr ::llvm::StringLiteral kPhaseAttr = "mpc.phase";
  }];
}

def Mpc_Float : AnyTypeOf<[F16, BF16, F32, F64]>;
def Mpc_Integer : AnyTypeOf<[I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def Mpc_Element : AnyTypeOf<[Mpc_Float, Mpc_Integer]>;

/// Tensor Cores multiply this as it is: only casts make it, only contractions read it, and no
/// variable, input or output has it.
def Mpc_Float8 : AnyTypeOf<[F8E4M3FN, F8E5M2]>;

def Mpc_FloatTensor : RankedTensorOf<[Mpc_Float]>;
/// Factors of a sum of products, and the sum.
def Mpc_FactorTensor : RankedTensorOf<[Mpc_Float, Mpc_Float8, I8]>;
def Mpc_SumTensor : RankedTensorOf<[Mpc_Float, I32]>;
/// Images and filters.
def Mpc_ConvolvedTensor : RankedTensorOf<[Mpc_Float, I8]>;
def Mpc_IntegerTensor : RankedTensorOf<[Mpc_Integer]>;
def Mpc_BoolTensor : RankedTensorOf<[I1]>;
def Mpc_Tensor : RankedTensorOf<[Mpc_Element]>;
/// The result of a cast.
def Mpc_CastTensor : RankedTensorOf<[Mpc_Element, Mpc_Float8]>;

def Mpc_F32Scalar : 0DTensorOf<[F32]>,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getF32Type())">;
def Mpc_FloatScalar : 0DTensorOf<[Mpc_Float]>;
def Mpc_BoolScalar : 0DTensorOf<[I1]>,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI1Type())">;
def Mpc_CounterScalar : 0DTensorOf<[I64]>,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI64Type())">;
def Mpc_RandomState : AllOfType<[1DTensorOf<[I64]>],
    "Philox state: tensor<2xi64> of seed and counter, or tensor<3xi64> with the number of the first sample, too">;

/// No operand and no result has more bytes than addresses reach. First, so that what the op itself
/// verifies and infers may multiply extents.
def Mpc_Addressable : NativeOpTrait<"Addressable"> {
  let cppNamespace = "::mpc";
}

/// The inferred types are checked before the op's own verifier, which then may use axes,
/// permutations and index lists: InferTypeOpInterface would check them behind it.
def Mpc_InferenceFirst : NativeOpTrait<"InferenceFirst"> {
  let cppNamespace = "::mpc";
}

/// Ops that only move elements, or narrow them: a wide cotangent goes on to the operand unrounded.
def Mpc_PassesWideCotangent : NativeOpTrait<"PassesWideCotangent"> {
  let cppNamespace = "::mpc";
}

/// Ops that move elements or compute each with an instruction or two: backward bodies of loops compute
/// them again, which costs no more than reading what the forward loop would have stacked.
def Mpc_CheaperThanStack : NativeOpTrait<"CheaperThanStack"> {
  let cppNamespace = "::mpc";
}

/// Ops whose reference value is, bit by bit, what compiled code computes: they move or choose elements,
/// or round each once. Of constants they are constants.
def Mpc_ExactOfConstants : NativeOpTrait<"ExactOfConstants"> {
  let cppNamespace = "::mpc";
}

/// Ops whose results have elements of their operands, and zeros: no arithmetic, nothing that could
/// overflow.
def Mpc_MovesElements : NativeOpTrait<"MovesElements"> {
  let cppNamespace = "::mpc";
}

class Mpc_Op<string mnemonic, list<Trait> traits = []> : Op<Mpc_Dialect, mnemonic, [Mpc_Addressable] # traits>;

#endif // MPC_BASE
