// RUN: mpc-opt %s --mpc-differentiate --remarks-filter-analyse=mpc-autodiff --remark-format=emitRemark 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// The float32 copy of a float16 value is recomputed where backward code needs it; only the float16 one is kept. Of
// equal values one is kept.

// REMARK-COUNT-1: saved-for-backward{{.*}}op=mpc.tanh layer=act type=tensor<?x8xf16> bytes-per-sample=16
// REMARK-NOT: op=mpc.cast layer=widen
// REMARK-NOT: op=mpc.tanh layer=again
mpc.variable @w : tensor<8xf32> role trainable

// CHECK-LABEL: func.func @gradients
// CHECK: %[[T:.*]] = mpc.tanh
// CHECK: mpc.cast %[[T]] : tensor<?x8xf16> to tensor<?x8xf32>
// CHECK: mpc.gradient_seed
// CHECK: mpc.cast %[[T]] : tensor<?x8xf16> to tensor<?x8xf32>
func.func @forward(%x: tensor<?x8xf16> {mpc.input = "x"}, %w: tensor<8xf32> {mpc.variable = @w})
    -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %t = mpc.tanh %x : tensor<?x8xf16> loc("act")
  %f = mpc.cast %t : tensor<?x8xf16> to tensor<?x8xf32> loc("widen")
  %y = mpc.multiply %f, %w : tensor<?x8xf32>, tensor<8xf32> loc("scale")
  %again = mpc.tanh %x : tensor<?x8xf16> loc("again")
  %wide = mpc.cast %again : tensor<?x8xf16> to tensor<?x8xf32> loc("widen")
  %z = mpc.multiply %wide, %w : tensor<?x8xf32>, tensor<8xf32> loc("scale")
  %s = mpc.add %y, %z : tensor<?x8xf32>, tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %r = mpc.reduce sum %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %r : tensor<f32>
}
