// RUN: mpc-opt %s --mpc-insert-casts --remark-format=emitRemark --remarks-filter=mpc-casts 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-insert-casts --mpc-verify-casts -o %t.once
// RUN: mpc-opt %t.once --mpc-insert-casts -o %t.twice
// RUN: diff %t.once %t.twice
// RUN: mpc-opt %s --mpc-insert-casts --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC
// The chain of two mixed layers: inputs and variables are cast once each, and what flows between
// them is not cast at all.

#mixed = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "file">
// CHECK: mpc.variable @"d1/kernel" : tensor<8x4xf32>
mpc.variable @"d1/kernel" : tensor<8x4xf32> role trainable layer("d1")
mpc.variable @"d1/bias" : tensor<4xf32> role trainable layer("d1")

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32> {mpc.input = "x"}, %[[W:.*]]: tensor<8x4xf32> {mpc.variable = @"d1/kernel"}, %[[B:.*]]: tensor<4xf32> {mpc.variable = @"d1/bias"}) -> (tensor<?x4xbf16> {mpc.output = "out0"})
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x4xf32> {mpc.variable = @"d1/kernel"},
                   %b: tensor<4xf32> {mpc.variable = @"d1/bias"}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
  // CHECK-DAG: %[[XC:.*]] = mpc.cast %[[X]] : tensor<?x8xf32> to tensor<?x8xbf16>
  // CHECK-DAG: %[[WC:.*]] = mpc.cast %[[W]] : tensor<8x4xf32> to tensor<8x4xbf16>
  // CHECK-DAG: %[[BC:.*]] = mpc.cast %[[B]] : tensor<4xf32> to tensor<4xbf16>
  // CHECK: %[[Y:.*]] = mpc.contract %[[XC]], %[[WC]] contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x4xbf16>) -> tensor<?x4xbf16>
  // LOC: mpc.contract {{.*}} loc(#[[DENSE:.*]])
  // CHECK: %[[Z:.*]] = mpc.add %[[Y]], %[[BC]] : tensor<?x4xbf16>, tensor<4xbf16>
  // REMARK: layer "d1": 1 of 1 inputs and 2 of 2 variables cast to bf16
  %y = mpc.layer "d1" kind "Dense" inputs(%x) variables(%w, %b) {precision = #mixed} : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x8xf32>, %k: tensor<8x4xf32>, %c: tensor<4xf32>):
    %0 = mpc.contract %a, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
    %1 = mpc.add %0, %c : tensor<?x4xf32>, tensor<4xf32>
    mpc.yield %1 : tensor<?x4xf32>
  }
  // A constant is weak: it takes the compute dtype, rounded once.
  // CHECK: %[[C:.*]] = mpc.constant dense<1.000980e-01> : tensor<bf16>
  // CHECK: %[[S:.*]] = mpc.multiply %[[Z]], %[[C]] : tensor<?x4xbf16>, tensor<bf16>
  // CHECK-NOT: mpc.cast
  // REMARK: layer "scale": 0 of 1 inputs and 0 of 0 variables cast to bf16
  %s = mpc.layer "scale" kind "Scale" inputs(%y) {precision = #mixed} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x4xf32>):
    %c = mpc.constant dense<0.1> : tensor<f32>
    %0 = mpc.multiply %a, %c : tensor<?x4xf32>, tensor<f32>
    mpc.yield %0 : tensor<?x4xf32>
  }
  // CHECK: return %[[S]] : tensor<?x4xbf16>
  return %s : tensor<?x4xf32>
}
// LOC: #[[DENSE]] = loc("d1"
