// RUN: mpc-opt %s --canonicalize '--convert-mpc-to-linalg=input-casts' --canonicalize --cse --mpc-verify-tensors --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Forward and for the gradient of the weights.
// CHECK-LABEL: func.func @dense
// REMARK: input-cast{{.*}}input rounded by the contractions that multiply it
func.func @dense(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x64xbf16>, %dy: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<8x64xbf16>) attributes {mpc.entry} {
  // CHECK-NOT: linalg.generic
  // CHECK: mpcrt.contract ins(%arg0, %arg1 : tensor<?x8xf32>, tensor<8x64xbf16>)
  // CHECK: mpcrt.contract ins(%arg0, %arg2 : tensor<?x8xf32>, tensor<?x64xbf16>) {{.*}}transpose_lhs
  %c = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xbf16>
  %y = mpc.contract %c, %w contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x64xbf16>) -> tensor<?x64xbf16>
  %g = mpc.contract %c, %dy contracting [0] x [0] : (tensor<?x8xbf16>, tensor<?x64xbf16>) -> tensor<8x64xbf16>
  return %y, %g : tensor<?x64xbf16>, tensor<8x64xbf16>
}

// In another shape.
// CHECK-LABEL: func.func @sequences
// REMARK: input-cast{{.*}}input rounded by the contractions that multiply it
func.func @sequences(%x: tensor<?x5x8xf32> {mpc.input = "x"}, %w: tensor<8x64xf16>) -> tensor<?x5x64xf16> attributes {mpc.entry} {
  // CHECK: %[[ROWS:.*]] = tensor.collapse_shape %arg0 {{.*}} : tensor<?x5x8xf32> into tensor<?x8xf32>
  // CHECK: mpcrt.contract ins(%[[ROWS]], %arg1 : tensor<?x8xf32>, tensor<8x64xf16>)
  %c = mpc.cast %x : tensor<?x5x8xf32> to tensor<?x5x8xf16>
  %y = mpc.contract %c, %w contracting [2] x [0] : (tensor<?x5x8xf16>, tensor<8x64xf16>) -> tensor<?x5x64xf16>
  return %y : tensor<?x5x64xf16>
}

// A right operand, another op, what is no input of the model.
// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<?x8xf32> {mpc.input = "x"}, %z: tensor<?x8xf32> {mpc.input = "z"}, %v: tensor<?x8xf32>, %w: tensor<8x64xbf16>, %d: tensor<?x4xbf16>)
    -> (tensor<4x8xbf16>, tensor<?x64xbf16>, tensor<?x8xbf16>, tensor<?x64xbf16>) attributes {mpc.entry} {
  // CHECK-NOT: mpcrt.contract ins({{.*}}xf32>
  // REMARK: input-cast{{.*}}it is not only multiplied from the left
  %c = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xbf16>
  %g = mpc.contract %d, %c contracting [0] x [0] : (tensor<?x4xbf16>, tensor<?x8xbf16>) -> tensor<4x8xbf16>
  // REMARK: input-cast{{.*}}it is not only multiplied from the left
  %e = mpc.cast %z : tensor<?x8xf32> to tensor<?x8xbf16>
  %y = mpc.contract %e, %w contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x64xbf16>) -> tensor<?x64xbf16>
  %f = mpc.exp %e : tensor<?x8xbf16>
  %h = mpc.cast %v : tensor<?x8xf32> to tensor<?x8xbf16>
  %u = mpc.contract %h, %w contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x64xbf16>) -> tensor<?x64xbf16>
  return %g, %y, %f, %u : tensor<4x8xbf16>, tensor<?x64xbf16>, tensor<?x8xbf16>, tensor<?x64xbf16>
}
