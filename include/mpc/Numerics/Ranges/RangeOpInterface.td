// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interface by which ops say what the ranges of their results are.

#ifndef MPC_RANGE_OP_INTERFACE
#define MPC_RANGE_OP_INTERFACE

include "mlir/IR/OpBase.td"

def MpcRangeOpInterface : OpInterface<"RangeOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{
    The transfer function of an op: bounds of its results from those of its operands, for every kernel
    that may compute it. An op without this interface has results of which nothing is known. The models
    are attached by registerRangeModels; mpc-check-certificate derives the same on its own.
  }];
  let methods = [
    InterfaceMethod<"set the bound of each result", "void", "deriveRanges",
      (ins "::mpc::RangeArguments &":$arguments)>,
    InterfaceMethod<"how forms of the operands make one of the result", "::mpc::FormKind", "getFormKind">
  ];
}

#endif // MPC_RANGE_OP_INTERFACE
