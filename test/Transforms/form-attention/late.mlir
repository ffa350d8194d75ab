// RUN: mpc-opt %s --mpc-form-attention=target=cuda --mpc-differentiate "--mpc-form-attention=target=cuda late" --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-form-attention=target=cuda --mpc-differentiate "--mpc-form-attention=target=cuda late" "--mpc-form-attention=target=cuda late" | FileCheck %s
// Inference has no dropout: behind mpc-differentiate its attention is one op, if nothing else is in the way. Of what
// is, nothing is said twice.

// REMARK-COUNT-1: [Missed] attention{{.*}}attention is products and a softmax: {{.*}}training drops some of its probabilities
// REMARK-COUNT-1: [Missed] attention{{.*}}attention is products and a softmax: {{.*}}it is not in 16 bits
// REMARK-NOT: [Missed]
// REMARK-COUNT-2: [Passed] attention{{.*}}attention is one call where nothing trains: no scores in memory where cuDNN has an engine for it
// REMARK-NOT: attention

// CHECK-LABEL: func.func @predict
// CHECK-NOT: mpc.softmax
// CHECK: mpc.attention %{{.*}} {scale = 1.000000e+00 : f64} : tensor<?x3x1x8xf16>
// CHECK: mpc.softmax {{.*}}f32
// CHECK-LABEL: func.func @evaluate
// CHECK: mpc.attention
// CHECK-LABEL: func.func @gradients
// CHECK-NOT: mpc.attention
// CHECK: mpc.dropout
// CHECK-NOT: mpc.attention
mpc.variable @w : tensor<8xf32> role trainable
mpc.variable @state : tensor<2xi64> role random
func.func @forward(%q: tensor<?x3x8xf16> {mpc.input = "q"}, %f: tensor<?x3x8xf32> {mpc.input = "f"}, %w: tensor<8xf32> {mpc.variable = @w},
    %s: tensor<2xi64> {mpc.variable = @state}) -> (tensor<?x3x8xf32> {mpc.output = "out0"}, tensor<2xi64> {mpc.updates = @state}) {
  %c = mpc.cast %w : tensor<8xf32> to tensor<8xf16>
  %k = mpc.multiply %q, %c : tensor<?x3x8xf16>, tensor<8xf16>
  %0 = mpc.contract %q, %k batch [0] x [0] contracting [2] x [2] : (tensor<?x3x8xf16>, tensor<?x3x8xf16>) -> tensor<?x3x3xf16>
  %1 = mpc.softmax %0 {axis = 2 : i64} : tensor<?x3x3xf16>
  %2 = mpc.dropout %1, %s {rate = 0.5 : f64, stream = 0 : i64} : tensor<?x3x3xf16>, tensor<2xi64>
  %3 = mpc.contract %2, %k batch [0] x [0] contracting [2] x [1] : (tensor<?x3x3xf16>, tensor<?x3x8xf16>) -> tensor<?x3x8xf16>
  %4 = mpc.cast %3 : tensor<?x3x8xf16> to tensor<?x3x8xf32>
  %5 = mpc.contract %f, %f batch [0] x [0] contracting [2] x [2] : (tensor<?x3x8xf32>, tensor<?x3x8xf32>) -> tensor<?x3x3xf32>
  %6 = mpc.softmax %5 {axis = 2 : i64} : tensor<?x3x3xf32>
  %7 = mpc.contract %6, %4 batch [0] x [0] contracting [2] x [1] : (tensor<?x3x3xf32>, tensor<?x3x8xf32>) -> tensor<?x3x8xf32>
  %n = mpc.random_advance %s : tensor<2xi64>
  return %7, %n : tensor<?x3x8xf32>, tensor<2xi64>
}
func.func @loss(%y: tensor<?x3x8xf32> {mpc.input = "out0"}) -> tensor<f32> {
  %m = mpc.reduce mean %y {axes = array<i64: 0, 1, 2>} : tensor<?x3x8xf32> -> tensor<f32>
  return %m : tensor<f32>
}
