// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scan in a layer computes in the layer's dtype: what it reads is cast once, in front of the loop,
// and what it carries keeps its type from step to step. Masks are no floats.
// RUN: mpc-opt %s --mpc-insert-casts | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK-DAG: %[[X:.*]] = mpc.cast %arg0 : tensor<?x4x8xf32> to tensor<?x4x8xbf16>
// CHECK-DAG: %[[W:.*]] = mpc.cast %arg2 : tensor<8x8xf32> to tensor<8x8xbf16>
// CHECK: mpc.scan inits(%{{.*}}) scanned(%[[X]], %arg1) captures(%[[W]]) {steps = 4 : i64}
// CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<?x8xbf16>, %{{.*}}: tensor<?x8xbf16>, %[[M:.*]]: tensor<?x1xi1>, %[[U:.*]]: tensor<8x8xbf16>):
// CHECK: mpc.contract %[[H]], %[[U]] {{.*}} -> tensor<?x8xbf16>
// CHECK-NOT: mpc.cast
// CHECK: mpc.yield
module {
  mpc.variable @"rnn/w" : tensor<8x8xf32> role trainable layer("rnn")
  func.func @forward(%x: tensor<?x4x8xf32> {mpc.input = "x"}, %m: tensor<?x4x1xi1> {mpc.input = "m"},
                     %w: tensor<8x8xf32> {mpc.variable = @"rnn/w"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
    %y = mpc.layer "rnn" kind "RNN" inputs(%x, %m) variables(%w)
        {precision = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "test">}
        : (tensor<?x4x8xf32>, tensor<?x4x1xi1>, tensor<8x8xf32>) -> tensor<?x8xf32> {
    ^bb0(%a: tensor<?x4x8xf32>, %b: tensor<?x4x1xi1>, %k: tensor<8x8xf32>):
      %first = mpc.slice %a {axis = 1 : i64, offset = 0 : i64, size = 1 : i64} : tensor<?x4x8xf32> -> tensor<?x1x8xf32>
      %like = mpc.reshape %first : tensor<?x1x8xf32> -> tensor<?x8xf32>
      %zero = mpc.constant dense<0.0> : tensor<f32>
      %start = mpc.broadcast_like %zero, %like : tensor<f32>, tensor<?x8xf32>
      %last = mpc.scan inits(%start) scanned(%a, %b) captures(%k) {steps = 4 : i64}
          : (tensor<?x8xf32>, tensor<?x4x8xf32>, tensor<?x4x1xi1>, tensor<8x8xf32>) -> tensor<?x8xf32> {
      ^bb0(%h: tensor<?x8xf32>, %s: tensor<?x8xf32>, %valid: tensor<?x1xi1>, %u: tensor<8x8xf32>):
        %z = mpc.contract %h, %u contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
        %n = mpc.add %z, %s : tensor<?x8xf32>, tensor<?x8xf32>
        %kept = mpc.select %valid, %n, %h : tensor<?x1xi1>, tensor<?x8xf32>, tensor<?x8xf32>
        mpc.yield %kept : tensor<?x8xf32>
      }
      mpc.yield %last : tensor<?x8xf32>
    }
    return %y : tensor<?x8xf32>
  }
}
