// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-trace-numerics | FileCheck %s
// The twin takes variables and inputs as they are stored, and gives outputs as they are; between them
// everything is float32.

mpc.variable @"d/kernel" : tensor<8x4xf16> role trainable layer("d")
// CHECK-LABEL: func.func @twin_predict
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf16> {mpc.input = "x"}, %[[W:.*]]: tensor<8x4xf16> {mpc.variable = @"d/kernel"}) -> (tensor<?x4xf16> {mpc.output = "out0"})
// CHECK-DAG: %[[X32:.*]] = mpc.cast %[[X]] : tensor<?x8xf16> to tensor<?x8xf32>
// CHECK-DAG: %[[W32:.*]] = mpc.cast %[[W]] : tensor<8x4xf16> to tensor<8x4xf32>
// CHECK: mpc.trace forward 0 "input" of "x"(%[[X32]]) : tensor<?x8xf32>
// CHECK: mpc.constant dense<2.500000e-01> : tensor<f32>
// CHECK: mpc.contract %[[X32]], %[[W32]]
// CHECK: %[[Y:.*]] = mpc.cast %{{.*}} : tensor<?x4xf32> to tensor<?x4xf16>
// CHECK: return %[[Y]] : tensor<?x4xf16>
func.func @predict(%x: tensor<?x8xf16> {mpc.input = "x"}, %w: tensor<8x4xf16> {mpc.variable = @"d/kernel"})
    -> (tensor<?x4xf16> {mpc.output = "out0"}) attributes {mpc.entry = #mpc.entry_role<predict>} {
  %e = mpc.constant dense<0.25> : tensor<f16>
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x4xf16>) -> tensor<?x4xf16>
  %1 = mpc.add %0, %e : tensor<?x4xf16>, tensor<f16>
  return %1 : tensor<?x4xf16>
}
