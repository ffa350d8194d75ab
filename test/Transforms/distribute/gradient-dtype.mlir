// RUN: mpc-opt %s --mpc-distribute=gradient-dtype=bfloat16 --remark-format=emitRemark --remarks-filter=mpc-distribute 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-distribute=gradient-dtype=bfloat16 -o %t.once
// RUN: mpc-opt %t.once --mpc-distribute=gradient-dtype=bfloat16 -o %t.twice
// RUN: diff %t.once %t.twice
// RUN: mpc-opt %s --mpc-distribute | FileCheck %s --check-prefix=FLOAT32
// Sums that gradients alone come of go between ranks in bfloat16; what else sums over the batch does not.

// REMARK: 2 gradients of 96 bytes go between ranks in bfloat16: half of the bytes, and an error of at most (log2(ranks) + 1) / 256 of
// FLOAT32-NOT: in_bfloat16

mpc.variable @w : tensor<4x3xf32> role trainable
mpc.variable @b : tensor<12xf32> role trainable
mpc.variable @"optimizer/sum" : tensor<4x3xf32> role optimizer

// CHECK-LABEL: func.func @train_step
func.func @train_step(%x: tensor<?x4xf32> {mpc.input = "x"}, %dy: tensor<?x3xf32>, %dz: tensor<?x4x3xf32>, %dd: tensor<?x3xf64>,
                      %l: tensor<?xf32>, %w: tensor<4x3xf32> {mpc.variable = @w}, %b: tensor<12xf32> {mpc.variable = @b},
                      %sum: tensor<4x3xf32> {mpc.variable = @"optimizer/sum"}, %rate: tensor<f32>)
    -> (tensor<4x3xf32> {mpc.updates = @w}, tensor<12xf32> {mpc.updates = @b}, tensor<4x3xf32> {mpc.updates = @"optimizer/sum"},
        tensor<3xf64> {mpc.output = "out0"}, tensor<?x3xf32> {mpc.output = "out1"}, tensor<f32> {mpc.output = "loss"})
    attributes {mpc.entry = #mpc.entry_role<train_step>} {
  // An accumulator takes it, too.
  // CHECK: mpc.all_reduce sum %{{.*}} {in_bfloat16} : tensor<4x3xf32>
  %0 = mpc.contract %x, %dy contracting [0] x [0] : (tensor<?x4xf32>, tensor<?x3xf32>) -> tensor<4x3xf32>
  %kept = mpc.add %sum, %0 : tensor<4x3xf32>, tensor<4x3xf32>
  %w1 = mpc.optimizer_step %w, %kept rate(%rate) iteration(%rate) rule(#mpc.sgd<momentum = 0.0, nesterov = false>)
      : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> tensor<4x3xf32>
  // One that is moved, and clipped by its norm.
  // CHECK: mpc.all_reduce sum %{{.*}} {in_bfloat16} : tensor<4x3xf32>
  %1 = mpc.reduce sum %dz {axes = array<i64: 0>} : tensor<?x4x3xf32> -> tensor<4x3xf32>
  %2 = mpc.reshape %1 : tensor<4x3xf32> -> tensor<12xf32>
  %3 = mpc.multiply %2, %2 : tensor<12xf32>, tensor<12xf32>
  // CHECK-NOT: mpc.all_reduce
  %norm = mpc.reduce sum %3 {axes = array<i64: 0>} : tensor<12xf32> -> tensor<f32>
  %4 = mpc.divide %2, %norm : tensor<12xf32>, tensor<f32>
  %b1 = mpc.optimizer_step %b, %4 rate(%rate) iteration(%rate) rule(#mpc.sgd<momentum = 0.0, nesterov = false>)
      : (tensor<12xf32>, tensor<12xf32>, tensor<f32>, tensor<f32>) -> tensor<12xf32>
  // float64 stays.
  // CHECK: mpc.all_reduce sum %{{[^ ]*}} : tensor<3xf64>
  %d = mpc.reduce sum %dd {axes = array<i64: 0>} : tensor<?x3xf64> -> tensor<3xf64>
  // Samples get it back, as those of BatchNormalization do; and the loss.
  // CHECK: mpc.all_reduce sum %{{[^ ]*}} : tensor<3xf32>
  %5 = mpc.reduce sum %dy {axes = array<i64: 0>} : tensor<?x3xf32> -> tensor<3xf32>
  %dx = mpc.subtract %dy, %5 : tensor<?x3xf32>, tensor<3xf32>
  // CHECK: mpc.all_reduce sum %{{[^ ]*}} : tensor<f32>
  %loss = mpc.reduce sum %l {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  return %w1, %b1, %kept, %d, %dx, %loss : tensor<4x3xf32>, tensor<12xf32>, tensor<4x3xf32>, tensor<3xf64>, tensor<?x3xf32>, tensor<f32>
}

// The stages have gradients as results.
// CHECK-LABEL: func.func @train_backward
// CHECK: mpc.all_reduce sum %{{.*}} {by_elements, in_bfloat16} : tensor<4x6xf32>
// CHECK: mpc.all_reduce sum %{{[^ ]*}} {by_elements} : tensor<4x6xf32>
func.func @train_backward(%dy: tensor<?x4x6xf32> {mpc.input = "kept:0"}, %dz: tensor<?x4x6xf32> {mpc.input = "kept:1"})
    -> (tensor<4x6xf32> {mpc.output = "grad:b"}, tensor<4x6xf32> {mpc.output = "kept:2"}) attributes {mpc.entry = #mpc.entry_role<train_backward>} {
  %0 = mpc.reduce sum %dy {axes = array<i64: 0>} : tensor<?x4x6xf32> -> tensor<4x6xf32>
  %1 = mpc.reduce sum %dz {axes = array<i64: 0>} : tensor<?x4x6xf32> -> tensor<4x6xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
}
