// RUN: mpc-opt %s --mpc-to-tensors | FileCheck %s
// RUN: mpc-opt %s --mpc-to-module -o /dev/null
// A producer that asks for its place is merged into consumers that read it elsewhere: the place is
// arithmetic there, which later phases know.

// CHECK-LABEL: func.func @predict
// CHECK: linalg.generic
// CHECK: linalg.index 1
// CHECK-NOT: affine.apply
// CHECK: arith.subi
// CHECK-NOT: affine.apply
// CHECK: return
func.func @forward(%x: tensor<?xi32> {mpc.input = "x"}) -> (tensor<?x5xf32> {mpc.output = "out0"}) {
  %0 = mpc.one_hot %x : tensor<?xi32> -> tensor<?x5xf32>
  %1 = mpc.reverse %0 {axis = 1 : i64} : tensor<?x5xf32>
  return %1 : tensor<?x5xf32>
}
