// RUN: mpc-opt %s --mpc-shadow-weights --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-shadow-weights | mpc-opt --mpc-shadow-weights | FileCheck %s

// REMARK: shadow{{.*}}keeps a copy in bf16

// CHECK: mpc.variable @"dense/kernel" : tensor<8x4xf32> role trainable layer("dense")
mpc.variable @"dense/kernel" : tensor<8x4xf32> role trainable layer("dense")
mpc.variable @"bn/mean" : tensor<4xf32> role non_trainable layer("bn")
// Neither a metric nor a double has a shadow.
// CHECK-NOT: @"metric/total/shadow
// CHECK-NOT: @"wide/shadow
mpc.variable @"metric/total" : tensor<f32> role metric
mpc.variable @"wide" : tensor<4xf64> role trainable
// CHECK: mpc.variable @wide
// CHECK-NEXT: mpc.variable @"dense/kernel/shadow_bf16" : tensor<8x4xbf16> role shadow layer("dense") {autocast = false, shadow_of = @"dense/kernel"}
// CHECK-NEXT: mpc.variable @"dense/kernel/shadow_f16" : tensor<8x4xf16> role shadow layer("dense") {autocast = false, shadow_of = @"dense/kernel"}

// CHECK-LABEL: func.func @predict
// CHECK-SAME: %[[X:.*]]: tensor<?x8xbf16> {mpc.input = "x"}
// CHECK-SAME: %{{.*}}: tensor<8x4xf32> {mpc.variable = @"dense/kernel"}
// CHECK-SAME: %[[W:.*]]: tensor<8x4xbf16> {mpc.variable = @"dense/kernel/shadow_bf16"}
func.func @predict(%x: tensor<?x8xbf16> {mpc.input = "x"}, %w: tensor<8x4xf32> {mpc.variable = @"dense/kernel"})
    -> (tensor<?x4xbf16> {mpc.output = "out0"}) attributes {mpc.entry = #mpc.entry_role<predict>} {
  // CHECK-NOT: mpc.cast
  // CHECK: mpc.contract %[[X]], %[[W]]
  %0 = mpc.cast %w : tensor<8x4xf32> to tensor<8x4xbf16>
  %1 = mpc.contract %x, %0 contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x4xbf16>) -> tensor<?x4xbf16>
  return %1 : tensor<?x4xbf16>
}

// Two uses in one dtype share a shadow, another dtype has its own; the optimizer writes both.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: -> (tensor<8x4xf32> {mpc.updates = @"dense/kernel"}, tensor<8x4xbf16> {mpc.updates = @"dense/kernel/shadow_bf16"}, tensor<8x4xf16> {mpc.updates = @"dense/kernel/shadow_f16"})
func.func @train_step(%w: tensor<8x4xf32> {mpc.variable = @"dense/kernel"}, %g: tensor<8x4xf32> {mpc.input = "g"},
                      %rate: tensor<f32> {mpc.input = "rate"})
    -> (tensor<8x4xf32> {mpc.updates = @"dense/kernel"}) attributes {mpc.entry = #mpc.entry_role<train_step>} {
  // CHECK-NOT: mpc.cast{{.*}} tensor<8x4xf32> to
  // CHECK: %[[STEP:.*]]:3 = mpc.optimizer_step {{.*}} -> (tensor<8x4xf32>, tensor<8x4xbf16>, tensor<8x4xf16>)
  // CHECK: return %[[STEP]]#0, %[[STEP]]#1, %[[STEP]]#2
  %0 = mpc.cast %w : tensor<8x4xf32> to tensor<8x4xbf16>
  %1 = mpc.cast %w : tensor<8x4xf32> to tensor<8x4xbf16>
  %2 = mpc.cast %w : tensor<8x4xf32> to tensor<8x4xf16>
  %3 = mpc.cast %0 : tensor<8x4xbf16> to tensor<8x4xf32>
  %4 = mpc.cast %1 : tensor<8x4xbf16> to tensor<8x4xf32>
  %5 = mpc.cast %2 : tensor<8x4xf16> to tensor<8x4xf32>
  %6 = mpc.add %3, %4 : tensor<8x4xf32>, tensor<8x4xf32>
  %7 = mpc.add %6, %5 : tensor<8x4xf32>, tensor<8x4xf32>
  %8 = mpc.add %7, %g : tensor<8x4xf32>, tensor<8x4xf32>
  %w1 = mpc.optimizer_step %w, %8 rate(%rate) iteration(%rate) rule(#mpc.sgd<momentum = 0.0, nesterov = false>)
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> tensor<8x4xf32>
  return %w1 : tensor<8x4xf32>
}

// What no optimizer step computes is cast; a function that only writes the weight writes its shadow, too.
// CHECK-LABEL: func.func @assign
func.func @assign(%g: tensor<8x4xf32> {mpc.input = "g"}) -> (tensor<8x4xf32> {mpc.updates = @"dense/kernel"}) attributes {mpc.entry} {
  // CHECK: %[[V:.*]] = mpc.add
  // CHECK-DAG: mpc.cast %[[V]] : tensor<8x4xf32> to tensor<8x4xbf16>
  // CHECK-DAG: mpc.cast %[[V]] : tensor<8x4xf32> to tensor<8x4xf16>
  %0 = mpc.add %g, %g : tensor<8x4xf32>, tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @kept
func.func @kept(%m: tensor<f32> {mpc.variable = @"metric/total"}, %d: tensor<4xf64> {mpc.variable = @"wide"})
    -> (tensor<bf16> {mpc.output = "a"}, tensor<4xbf16> {mpc.output = "b"}) attributes {mpc.entry} {
  // CHECK-COUNT-2: mpc.cast
  %0 = mpc.cast %m : tensor<f32> to tensor<bf16>
  %1 = mpc.cast %d : tensor<4xf64> to tensor<4xbf16>
  return %0, %1 : tensor<bf16>, tensor<4xbf16>
}
