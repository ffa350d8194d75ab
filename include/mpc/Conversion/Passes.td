// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between dialects, in the order of the pipeline (docs/pipeline.md).

#ifndef MPC_CONVERSION_PASSES
#define MPC_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertMpcToLinalg : Pass<"convert-mpc-to-linalg", "::mlir::ModuleOp"> {
  let summary = "lower the bodies of entries to linalg, tensor, arith, math and mpcrt.contract";
  let description = [{
    Precondition: functions with `mpc.entry` contain ops of the mpc dialect whose types are final.
    Postcondition: no mpc op is left in them; declarations (mpc.variable, mpc.optimizer, mpc.metric,
    mpc.loss_scale) and the attributes of arguments and results stay.

    Each mpc op rounds its result once: 16-bit operands are extended to float32, the arithmetic is
    float32 (float64 for float64) and one truncation follows. Unsigned integers become signless;
    an argument or result whose element type changed so keeps it in `mpc.element_type`.
    Contractions become `mpcrt.contract`, scans `scf.for`; optimizer steps one multi-result linalg.generic whose
    destinations are the variable and its slots.

    ```mlir
    %y = mpc.relu %x : tensor<?x8xbf16>
    ```
    becomes
    ```mlir
    %y = linalg.generic ... ins(%x : tensor<?x8xbf16>) outs(%e : tensor<?x8xbf16>) {
    ^bb0(%a: bf16, %o: bf16):
      %w = arith.extf %a : bf16 to f32
      %m = arith.maximumf %w, %zero : f32
      %r = arith.truncf %m : f32 to bf16
      linalg.yield %r : bf16
    } -> tensor<?x8xbf16>
    ```
  }];
  let options = [Option<"narrowWeights", "narrow-weights", "bool", "false",
                        "let products read integer weights as they are stored">,
                 Option<"shortProducts", "short-products", "bool", "false",
                        "products of few terms as elementwise ops instead of library calls">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mpc::mpcrt::MpcrtDialect"];
}

#endif // MPC_CONVERSION_PASSES
