// RUN: mpc-opt %s --mpc-fuse --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-fuse=logits=false | FileCheck %s --check-prefix=OFF
// RUN: not mpc-opt %s --mpc-fuse=logits=maybe 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: 'maybe' is invalid value for boolean argument

// CHECK-LABEL: func.func @sparse
// OFF-LABEL: func.func @sparse
func.func @sparse(%z: tensor<?x10xf32>, %y: tensor<?xi32>) -> tensor<?xf32> attributes {mpc.entry} {
  %lo = mpc.constant dense<1.0e-7> : tensor<f32>
  %hi = mpc.constant dense<0.9999999> : tensor<f32>
  // CHECK-NOT: mpc.softmax %
  // CHECK-NOT: mpc.log
  // CHECK: mpc.softmax_cross_entropy %arg0, %{{.*}}
  // OFF: mpc.softmax %
  // OFF: mpc.log
  // OFF: mpc.softmax_cross_entropy
  // REMARK: logit-cross-entropy{{.*}}cross-entropy of logits
  %p = mpc.softmax %z {axis = 1 : i64} : tensor<?x10xf32>
  %c = mpc.maximum %p, %lo : tensor<?x10xf32>, tensor<f32>
  %d = mpc.minimum %c, %hi : tensor<?x10xf32>, tensor<f32>
  %l = mpc.log %d : tensor<?x10xf32>
  %t = mpc.one_hot %y : tensor<?xi32> -> tensor<?x10xf32>
  %e = mpc.softmax_cross_entropy %l, %t : tensor<?x10xf32>, tensor<?x10xf32> -> tensor<?xf32>
  return %e : tensor<?xf32>
}

// CHECK-LABEL: func.func @probabilities_are_read
func.func @probabilities_are_read(%z: tensor<?x10xf32>, %t: tensor<?x10xf32>) -> (tensor<?xf32>, tensor<?x10xf32>) attributes {mpc.entry} {
  // CHECK: mpc.softmax %
  // CHECK-NOT: mpc.log
  // CHECK: mpc.softmax_cross_entropy %arg0, %arg1
  // REMARK: logit-cross-entropy{{.*}}cross-entropy of logits
  %p = mpc.softmax %z {axis = 1 : i64} : tensor<?x10xf32>
  %l = mpc.log %p : tensor<?x10xf32>
  %e = mpc.softmax_cross_entropy %l, %t : tensor<?x10xf32>, tensor<?x10xf32> -> tensor<?xf32>
  return %e, %p : tensor<?xf32>, tensor<?x10xf32>
}

// A clip of the model's own is no rounding guard.
// CHECK-LABEL: func.func @clip
func.func @clip(%z: tensor<?x10xf32>, %t: tensor<?x10xf32>) -> tensor<?xf32> attributes {mpc.entry} {
  // CHECK: mpc.log
  %lo = mpc.constant dense<0.1> : tensor<f32>
  %p = mpc.softmax %z {axis = 1 : i64} : tensor<?x10xf32>
  %c = mpc.maximum %p, %lo : tensor<?x10xf32>, tensor<f32>
  %l = mpc.log %c : tensor<?x10xf32>
  %e = mpc.softmax_cross_entropy %l, %t : tensor<?x10xf32>, tensor<?x10xf32> -> tensor<?xf32>
  return %e : tensor<?xf32>
}

// CHECK-LABEL: func.func @log_softmax
func.func @log_softmax(%z: tensor<?x10xf32>) -> tensor<?x10xf32> attributes {mpc.entry} {
  // CHECK-NEXT: mpc.log_softmax %{{.*}} {axis = 1 : i64}
  // CHECK-NEXT: return
  %p = mpc.softmax %z {axis = 1 : i64} : tensor<?x10xf32>
  %l = mpc.log %p : tensor<?x10xf32>
  return %l : tensor<?x10xf32>
}

// Nor is one that only looks like Keras's: its limits are on the other side, so that every probability is clipped.
// CHECK-LABEL: func.func @clipped_away
// CHECK: mpc.log
// CHECK: mpc.log
func.func @clipped_away(%z: tensor<?x10xf32>, %t: tensor<?x10xf32>) -> (tensor<?xf32>, tensor<?xf32>) attributes {mpc.entry} {
  %zero = mpc.constant dense<0.0> : tensor<f32>
  %two = mpc.constant dense<2.0> : tensor<f32>
  %p = mpc.softmax %z {axis = 1 : i64} : tensor<?x10xf32>
  %c = mpc.minimum %p, %zero : tensor<?x10xf32>, tensor<f32>
  %l = mpc.log %c : tensor<?x10xf32>
  %d = mpc.softmax_cross_entropy %l, %t : tensor<?x10xf32>, tensor<?x10xf32> -> tensor<?xf32>
  %q = mpc.softmax %z {axis = 1 : i64} : tensor<?x10xf32>
  %m = mpc.maximum %q, %two : tensor<?x10xf32>, tensor<f32>
  %n = mpc.log %m : tensor<?x10xf32>
  %e = mpc.softmax_cross_entropy %n, %t : tensor<?x10xf32>, tensor<?x10xf32> -> tensor<?xf32>
  return %d, %e : tensor<?xf32>, tensor<?xf32>
}

// A limit of more samples than there are widens the probabilities.
// CHECK-LABEL: func.func @clip_widens
// CHECK: mpc.log
func.func @clip_widens(%z: tensor<1x3xf32>, %t: tensor<4x3xf32>) -> tensor<4xf32> attributes {mpc.entry} {
  %lo = mpc.constant dense<1.0e-7> : tensor<4x3xf32>
  %p = mpc.softmax %z {axis = 1 : i64} : tensor<1x3xf32>
  %c = mpc.maximum %p, %lo : tensor<1x3xf32>, tensor<4x3xf32>
  %l = mpc.log %c : tensor<4x3xf32>
  %e = mpc.softmax_cross_entropy %l, %t : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4xf32>
  return %e : tensor<4xf32>
}
