// RUN: mpc-opt %s --mpc-guard-outputs --mpc-verify-casts=guard=true --remark-format=emitRemark --remarks-filter=mpc-guard 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-guard-outputs -o %t.once
// RUN: mpc-opt %t.once --mpc-guard-outputs -o %t.twice
// RUN: diff %t.once %t.twice
// RUN: mpc-opt %s -o %t.before
// RUN: mpc-opt %s --mpc-guard-outputs=guard=false -o %t.off
// RUN: diff %t.before %t.off
// RUN: not mpc-opt %s --mpc-guard-outputs=guard=maybe 2>&1 | FileCheck %s --check-prefix=USAGE
// USAGE: 'maybe' is invalid value for boolean argument

// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<?x8xf32> {mpc.output = "out0"}, tensor<?x8xf32> {mpc.output = "out1"}, tensor<?x8xf64> {mpc.output = "out2"}, tensor<?xi32> {mpc.output = "out3"}, tensor<?x8xf32> {mpc.output = "out4"})
func.func @forward(%h: tensor<?x8xbf16> {mpc.input = "h"}, %d: tensor<?x8xf64> {mpc.input = "d"})
    -> (tensor<?x8xbf16> {mpc.output = "out0"}, tensor<?x8xbf16> {mpc.output = "out1"}, tensor<?x8xf64> {mpc.output = "out2"},
        tensor<?xi32> {mpc.output = "out3"}, tensor<?x8xbf16> {mpc.output = "out4"}) {
  // CHECK: %[[R:.*]] = mpc.relu %arg0 : tensor<?x8xbf16>
  %0 = mpc.relu %h : tensor<?x8xbf16>
  // The final softmax goes on in float32; its inputs keep their rounding.
  // CHECK-NOT: mpc.softmax {{.*}}bf16
  %1 = mpc.softmax %h {axis = 1 : i64} : tensor<?x8xbf16>
  %2 = mpc.argmax %h {axis = 1 : i64} : tensor<?x8xbf16> -> tensor<?xi32>
  // CHECK: %[[C:.*]] = mpc.cast %[[R]] : tensor<?x8xbf16> to tensor<?x8xf32>
  // CHECK: %[[L:.*]] = mpc.cast %arg0 : tensor<?x8xbf16> to tensor<?x8xf32>
  // CHECK: %[[S:.*]] = mpc.softmax %[[L]] {axis = 1 : i64} : tensor<?x8xf32>
  // CHECK: return %[[C]], %[[S]], %arg1, %{{.*}}, %[[C]]
  // REMARK: output "out0": bf16 becomes f32
  // REMARK: output "out1": bf16 becomes f32; its softmax computes in f32
  // REMARK: output "out2": f64 stays
  // REMARK: output "out3": i32 stays
  // REMARK: output "out4": bf16 becomes f32
  return %0, %1, %d, %2, %0 : tensor<?x8xbf16>, tensor<?x8xbf16>, tensor<?x8xf64>, tensor<?xi32>, tensor<?x8xbf16>
}

// What @loss cast on entry arrives as float32 now.
// CHECK-LABEL: func.func @loss
// CHECK-SAME: %arg0: tensor<?x8xf32> {mpc.input = "out0"}
// CHECK-NEXT: mpc.reduce mean %arg0
func.func @loss(%p: tensor<?x8xbf16> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %0 = mpc.cast %p : tensor<?x8xbf16> to tensor<?x8xf32>
  %1 = mpc.reduce mean %0 {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %1 : tensor<f32>
}
