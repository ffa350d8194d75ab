// RUN: mpc-opt %s --mpc-mark-phase=phase=casts | FileCheck %s
// RUN: mpc-opt %s --mpc-mark-phase=phase=policy --mpc-mark-phase=phase=casts | FileCheck %s
// RUN: mpc-opt %s --mpc-apply-policy --mpc-insert-casts --mpc-guard-outputs | FileCheck %s --check-prefix=PASSES
// RUN: mpc-opt %s --mpc-to-casts | FileCheck %s
// RUN: mpc-opt %s --mpc-to-fusion | FileCheck %s --check-prefix=FUSION
// Whole phases say what they reached, passes by themselves do not.

// CHECK: module attributes {mpc.phase = "casts"} {
// FUSION: module attributes {mpc.phase = "fusion"} {
// PASSES: module {
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %0 = mpc.layer "hidden" kind "ReLU" inputs(%x) {policy = "mixed_bfloat16"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %1 = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %1 : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}
