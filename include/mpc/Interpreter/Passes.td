// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes that compute reference values.

#ifndef MPC_INTERPRETER_PASSES
#define MPC_INTERPRETER_PASSES

include "mlir/Pass/PassBase.td"

def Evaluate : Pass<"mpc-evaluate", "::mlir::ModuleOp"> {
  let summary = "replace the body of functions without arguments by their reference values";
  let description = [{
    For tests: each function without arguments then returns constants. Functions with arguments stay
    as they are.

    Before: `%0 = mpc.exp %zero : tensor<f32>` `return %0`; after: `%0 = mpc.constant dense<1.0> : tensor<f32>` `return %0`.
  }];
  let dependentDialects = ["::mpc::MpcDialect"];
}

#endif // MPC_INTERPRETER_PASSES
