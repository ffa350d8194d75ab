// RUN: not mpc-opt %s -split-input-file --mpc-analyze-ranges 2>&1 | FileCheck %s
// RUN: not mpc-opt %S/Inputs/small.mlir --mpc-analyze-ranges=inputs=z:0:1 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mpc-opt %S/Inputs/small.mlir --mpc-analyze-ranges=inputs=x:2:1 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not mpc-opt %S/Inputs/small.mlir --mpc-analyze-ranges=inputs=x 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not mpc-opt %S/Inputs/small.mlir --mpc-analyze-ranges=weights=%t.none 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// UNKNOWN: error: inputs=z:0:1: @forward has no input, target or sample weights of this name
// EMPTY: error: inputs=x{{.*}}: expected NAME:LOW:HIGH with finite LOW <= HIGH
// WEIGHTS: error: {{.*}}wrong-phase.mlir.tmp.none

// CHECK: error: still has layers, so that its types are not those that it computes in; expected IR of the phase casts or later
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}) -> tensor<?x4xf32> {
  %a = mpc.layer "a" kind "Activation" inputs(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%v: tensor<?x4xf32>):
    %0 = mpc.relu %v : tensor<?x4xf32>
    mpc.yield %0 : tensor<?x4xf32>
  }
  return %a : tensor<?x4xf32>
}

// -----

// CHECK: error: has no function to bound; expected @forward or @predict
func.func @other(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}

// -----

// CHECK: error: op 'arith.addf' does not belong to phase fusion
func.func @forward(%a: f32) -> f32 attributes {mpc.entry} {
  %0 = arith.addf %a, %a : f32
  return %0 : f32
}
