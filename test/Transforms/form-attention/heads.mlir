// RUN: mpc-opt %s --mpc-form-attention=target=cuda --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-form-attention=target=cuda --mpc-form-attention=target=cuda | FileCheck %s
// MultiHeadAttention as Keras computes it, and what keeps it from being one op.

// CHECK-LABEL: func.func @heads
// CHECK-SAME: (%[[Q:.*]]: tensor<?x3x2x8xf16>, %[[K:.*]]: tensor<?x4x2x8xf16>, %[[V:.*]]: tensor<?x4x2x16xf16>)
// CHECK-NOT: mpc.contract
// CHECK-NOT: mpc.softmax
// CHECK: %[[Y:.*]], %{{.*}} = mpc.attention %[[Q]], %[[K]], %[[V]] {scale = 5.000000e-01 : f64}
// CHECK-NEXT: return %[[Y]]
// REMARK: [Passed] attention{{.*}}attention is one call
func.func @heads(%q: tensor<?x3x2x8xf16>, %k: tensor<?x4x2x8xf16>, %v: tensor<?x4x2x16xf16>) -> tensor<?x3x2x16xf16> attributes {mpc.entry} {
  %c = mpc.constant dense<0.5> : tensor<f32>
  %0 = mpc.contract %q, %k batch [0, 2] x [0, 2] contracting [3] x [3] : (tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>) -> tensor<?x2x3x4xf16>
  %1 = mpc.cast %0 : tensor<?x2x3x4xf16> to tensor<?x2x3x4xf32>
  %2 = mpc.multiply %1, %c : tensor<?x2x3x4xf32>, tensor<f32>
  %3 = mpc.softmax %2 {axis = 3 : i64} : tensor<?x2x3x4xf32>
  %4 = mpc.cast %3 : tensor<?x2x3x4xf32> to tensor<?x2x3x4xf16>
  %5 = mpc.contract %4, %v batch [0, 1] x [0, 2] contracting [3] x [1] : (tensor<?x2x3x4xf16>, tensor<?x4x2x16xf16>) -> tensor<?x2x3x16xf16>
  %6 = mpc.transpose %5 {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x2x3x16xf16> -> tensor<?x3x2x16xf16>
  return %6 : tensor<?x3x2x16xf16>
}

// CHECK-LABEL: func.func @causal
// CHECK: mpc.attention %{{.*}} {causal, scale = 2.500000e-01 : f64}
// REMARK: [Passed] attention{{.*}}attention is one call
func.func @causal(%q: tensor<?x3x2x8xbf16>) -> tensor<?x3x2x8xbf16> attributes {mpc.entry} {
  %c = mpc.constant dense<0.25> : tensor<f32>
  %m = mpc.constant dense<[[[true, false, false], [true, true, false], [true, true, true]]]> : tensor<1x3x3xi1>
  %n = mpc.constant dense<-2.3e38> : tensor<f32>
  %0 = mpc.contract %q, %q batch [0, 2] x [0, 2] contracting [3] x [3] : (tensor<?x3x2x8xbf16>, tensor<?x3x2x8xbf16>) -> tensor<?x2x3x3xbf16>
  %1 = mpc.cast %0 : tensor<?x2x3x3xbf16> to tensor<?x2x3x3xf32>
  %2 = mpc.multiply %1, %c : tensor<?x2x3x3xf32>, tensor<f32>
  %3 = mpc.select %m, %2, %n : tensor<1x3x3xi1>, tensor<?x2x3x3xf32>, tensor<f32>
  %4 = mpc.softmax %3 {axis = 3 : i64} : tensor<?x2x3x3xf32>
  %5 = mpc.cast %4 : tensor<?x2x3x3xf32> to tensor<?x2x3x3xbf16>
  %6 = mpc.contract %5, %q batch [0, 1] x [0, 2] contracting [3] x [1] : (tensor<?x2x3x3xbf16>, tensor<?x3x2x8xbf16>) -> tensor<?x2x3x8xbf16>
  %7 = mpc.transpose %6 {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x2x3x8xbf16> -> tensor<?x3x2x8xbf16>
  return %7 : tensor<?x3x2x8xbf16>
}

// The layer Attention: one head, nothing scaled.
// CHECK-LABEL: func.func @one_head
// CHECK: mpc.attention %{{.*}} {scale = 1.000000e+00 : f64} : tensor<?x3x1x8xf16>, tensor<?x4x1x8xf16>, tensor<?x4x1x8xf16>
// CHECK: mpc.reshape %{{.*}} : tensor<?x3x1x8xf16> -> tensor<?x3x8xf16>
// REMARK: [Passed] attention{{.*}}attention is one call
func.func @one_head(%q: tensor<?x3x8xf16>, %k: tensor<?x4x8xf16>) -> tensor<?x3x8xf16> attributes {mpc.entry} {
  %0 = mpc.contract %q, %k batch [0] x [0] contracting [2] x [2] : (tensor<?x3x8xf16>, tensor<?x4x8xf16>) -> tensor<?x3x4xf16>
  %1 = mpc.softmax %0 {axis = 2 : i64} : tensor<?x3x4xf16>
  %2 = mpc.contract %1, %k batch [0] x [0] contracting [2] x [1] : (tensor<?x3x4xf16>, tensor<?x4x8xf16>) -> tensor<?x3x8xf16>
  return %2 : tensor<?x3x8xf16>
}

// A mask that the call gives, of padding: rows may have no source at all.
// CHECK-LABEL: func.func @padding
// CHECK: mpc.softmax
// REMARK: [Missed] attention{{.*}}it has a mask that is not causal alone
func.func @padding(%q: tensor<?x3x8xbf16>, %m: tensor<?x1x3xi1>) -> tensor<?x3x8xbf16> attributes {mpc.entry} {
  %n = mpc.constant dense<-2.3e38> : tensor<bf16>
  %0 = mpc.contract %q, %q batch [0] x [0] contracting [2] x [2] : (tensor<?x3x8xbf16>, tensor<?x3x8xbf16>) -> tensor<?x3x3xbf16>
  %1 = mpc.select %m, %0, %n : tensor<?x1x3xi1>, tensor<?x3x3xbf16>, tensor<bf16>
  %2 = mpc.softmax %1 {axis = 2 : i64} : tensor<?x3x3xbf16>
  %3 = mpc.contract %2, %q batch [0] x [0] contracting [2] x [1] : (tensor<?x3x3xbf16>, tensor<?x3x8xbf16>) -> tensor<?x3x8xbf16>
  return %3 : tensor<?x3x8xbf16>
}

// The other way round: targets behind the source.
// CHECK-LABEL: func.func @anticausal
// CHECK: mpc.softmax
// REMARK: [Missed] attention{{.*}}it has a mask that is not causal alone
func.func @anticausal(%q: tensor<?x2x8xbf16>) -> tensor<?x2x8xbf16> attributes {mpc.entry} {
  %m = mpc.constant dense<[[[true, true], [false, true]]]> : tensor<1x2x2xi1>
  %n = mpc.constant dense<-2.3e38> : tensor<bf16>
  %0 = mpc.contract %q, %q batch [0] x [0] contracting [2] x [2] : (tensor<?x2x8xbf16>, tensor<?x2x8xbf16>) -> tensor<?x2x2xbf16>
  %1 = mpc.select %m, %0, %n : tensor<1x2x2xi1>, tensor<?x2x2xbf16>, tensor<bf16>
  %2 = mpc.softmax %1 {axis = 2 : i64} : tensor<?x2x2xbf16>
  %3 = mpc.contract %2, %q batch [0] x [0] contracting [2] x [1] : (tensor<?x2x2xbf16>, tensor<?x2x8xbf16>) -> tensor<?x2x8xbf16>
  return %3 : tensor<?x2x8xbf16>
}

// CHECK-LABEL: func.func @scores_returned
// CHECK: mpc.softmax
// REMARK: [Missed] attention{{.*}}its probabilities have other uses than a product with values
func.func @scores_returned(%q: tensor<?x3x8xf16>) -> (tensor<?x3x8xf16>, tensor<?x3x3xf16>) attributes {mpc.entry} {
  %0 = mpc.contract %q, %q batch [0] x [0] contracting [2] x [2] : (tensor<?x3x8xf16>, tensor<?x3x8xf16>) -> tensor<?x3x3xf16>
  %1 = mpc.softmax %0 {axis = 2 : i64} : tensor<?x3x3xf16>
  %2 = mpc.contract %1, %q batch [0] x [0] contracting [2] x [1] : (tensor<?x3x3xf16>, tensor<?x3x8xf16>) -> tensor<?x3x8xf16>
  return %2, %1 : tensor<?x3x8xf16>, tensor<?x3x3xf16>
}

// CHECK-LABEL: func.func @logits_returned
// CHECK: mpc.softmax
// REMARK: [Missed] attention{{.*}}its scores have other uses
func.func @logits_returned(%q: tensor<?x3x8xf16>) -> (tensor<?x3x8xf16>, tensor<?x3x3xf16>) attributes {mpc.entry} {
  %0 = mpc.contract %q, %q batch [0] x [0] contracting [2] x [2] : (tensor<?x3x8xf16>, tensor<?x3x8xf16>) -> tensor<?x3x3xf16>
  %1 = mpc.softmax %0 {axis = 2 : i64} : tensor<?x3x3xf16>
  %2 = mpc.contract %1, %q batch [0] x [0] contracting [2] x [1] : (tensor<?x3x3xf16>, tensor<?x3x8xf16>) -> tensor<?x3x8xf16>
  return %2, %0 : tensor<?x3x8xf16>, tensor<?x3x3xf16>
}

// CHECK-LABEL: func.func @dropped
// CHECK: mpc.softmax
// REMARK: [Missed] attention{{.*}}training drops some of its probabilities
func.func @dropped(%q: tensor<?x3x8xf16>, %s: tensor<2xi64>) -> tensor<?x3x8xf16> attributes {mpc.entry} {
  %0 = mpc.contract %q, %q batch [0] x [0] contracting [2] x [2] : (tensor<?x3x8xf16>, tensor<?x3x8xf16>) -> tensor<?x3x3xf16>
  %1 = mpc.softmax %0 {axis = 2 : i64} : tensor<?x3x3xf16>
  %2 = mpc.dropout %1, %s {rate = 0.5 : f64, stream = 0 : i64} : tensor<?x3x3xf16>, tensor<2xi64>
  %3 = mpc.contract %2, %q batch [0] x [0] contracting [2] x [1] : (tensor<?x3x3xf16>, tensor<?x3x8xf16>) -> tensor<?x3x8xf16>
  return %3 : tensor<?x3x8xf16>
}

// cuDNN knows no score of what is hidden.
// CHECK-LABEL: func.func @softmax_layer
// CHECK: mpc.softmax
// REMARK: [Missed] attention{{.*}}what its mask hides keeps a score
func.func @softmax_layer(%q: tensor<?x3x8xf16>) -> tensor<?x3x8xf16> attributes {mpc.entry} {
  %m = mpc.constant dense<[[[true, false, false], [true, true, false], [true, true, true]]]> : tensor<1x3x3xi1>
  %n = mpc.constant dense<-3.0e4> : tensor<f16>
  %z = mpc.constant dense<0.0> : tensor<f16>
  %0 = mpc.contract %q, %q batch [0] x [0] contracting [2] x [2] : (tensor<?x3x8xf16>, tensor<?x3x8xf16>) -> tensor<?x3x3xf16>
  %1 = mpc.select %m, %0, %n : tensor<1x3x3xi1>, tensor<?x3x3xf16>, tensor<f16>
  %2 = mpc.softmax %1 {axis = 2 : i64} : tensor<?x3x3xf16>
  %3 = mpc.select %m, %2, %z : tensor<1x3x3xi1>, tensor<?x3x3xf16>, tensor<f16>
  %4 = mpc.contract %3, %q batch [0] x [0] contracting [2] x [1] : (tensor<?x3x3xf16>, tensor<?x3x8xf16>) -> tensor<?x3x8xf16>
  return %4 : tensor<?x3x8xf16>
}

// CHECK-LABEL: func.func @float32
// CHECK: mpc.softmax
// REMARK: [Missed] attention{{.*}}it is not in 16 bits
func.func @float32(%q: tensor<?x3x8xf32>) -> tensor<?x3x8xf32> attributes {mpc.entry} {
  %0 = mpc.contract %q, %q batch [0] x [0] contracting [2] x [2] : (tensor<?x3x8xf32>, tensor<?x3x8xf32>) -> tensor<?x3x3xf32>
  %1 = mpc.softmax %0 {axis = 2 : i64} : tensor<?x3x3xf32>
  %2 = mpc.contract %1, %q batch [0] x [0] contracting [2] x [1] : (tensor<?x3x3xf32>, tensor<?x3x8xf32>) -> tensor<?x3x8xf32>
  return %2 : tensor<?x3x8xf32>
}

// CHECK-LABEL: func.func @odd_width
// CHECK: mpc.softmax
// REMARK: [Missed] attention{{.*}}the width of its heads is no multiple of 8 up to 256
func.func @odd_width(%q: tensor<?x3x8xf16>, %v: tensor<?x3x12xf16>) -> tensor<?x3x12xf16> attributes {mpc.entry} {
  %0 = mpc.contract %q, %q batch [0] x [0] contracting [2] x [2] : (tensor<?x3x8xf16>, tensor<?x3x8xf16>) -> tensor<?x3x3xf16>
  %1 = mpc.softmax %0 {axis = 2 : i64} : tensor<?x3x3xf16>
  %2 = mpc.contract %1, %v batch [0] x [0] contracting [2] x [1] : (tensor<?x3x3xf16>, tensor<?x3x12xf16>) -> tensor<?x3x12xf16>
  return %2 : tensor<?x3x12xf16>
}

// A softmax of other products is no attention, and nothing is said.
// CHECK-LABEL: func.func @dense
// CHECK: mpc.softmax
// REMARK-NOT: attention
func.func @dense(%x: tensor<?x8xf16>, %w: tensor<8x16xf16>) -> tensor<?x16xf16> attributes {mpc.entry} {
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x16xf16>) -> tensor<?x16xf16>
  %1 = mpc.softmax %0 {axis = 1 : i64} : tensor<?x16xf16>
  return %1 : tensor<?x16xf16>
}
