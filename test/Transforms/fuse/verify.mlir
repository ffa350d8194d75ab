// RUN: not mpc-opt %s --mpc-verify-fusion 2>&1 | FileCheck %s
// All errors of the phase are reported together.

// CHECK-DAG: error: function @helper is no entry; expected only functions with mpc.entry
func.func @helper(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// A model may pad with what it likes; mpc-pad-dims pads with zeros.
// CHECK-NOT: error: {{.*}}pad
func.func @padded(%x: tensor<?x6xbf16>, %w: tensor<8x4xbf16>) -> tensor<?x4xbf16> attributes {mpc.entry} {
  %p = mpc.pad %x {axis = 1 : i64, low = 0 : i64, high = 2 : i64, value = 1.0 : f64} : tensor<?x6xbf16> -> tensor<?x8xbf16>
  %0 = mpc.contract %p, %w contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x4xbf16>) -> tensor<?x4xbf16>
  return %0 : tensor<?x4xbf16>
}
