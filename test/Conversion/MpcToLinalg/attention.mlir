// RUN: mpc-opt %s --convert-mpc-to-linalg | FileCheck %s
// Library calls, with the batch of the query.

// CHECK-LABEL: func.func @attention
// CHECK-SAME: (%[[Q:.*]]: tensor<?x3x2x8xf16>, %[[K:.*]]: tensor<?x4x2x8xf16>, %[[V:.*]]: tensor<?x4x2x5xf16>, %[[DY:.*]]: tensor<?x3x2x5xf16>)
// CHECK: %[[B:.*]] = tensor.dim %[[Q]]
// CHECK: %[[O:.*]] = tensor.empty(%[[B]]) : tensor<?x3x2x5xf16>
// CHECK: %[[L:.*]] = tensor.empty(%[[B]]) : tensor<?x2x3xf32>
// CHECK: %[[Y:.*]]:2 = mpcrt.attend ins(%[[Q]], %[[K]], %[[V]] : {{.*}}) outs(%[[O]], %[[L]] : {{.*}}) scale 5.000000e-01 {causal}
// CHECK: mpcrt.attend_gradient ins(%[[DY]] of %[[Y]]#0, %[[Y]]#1, %[[Q]], %[[K]], %[[V]] : {{.*}}) outs({{.*}}) scale 5.000000e-01 {causal} -> tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x5xf16>
func.func @attention(%q: tensor<?x3x2x8xf16>, %k: tensor<?x4x2x8xf16>, %v: tensor<?x4x2x5xf16>, %dy: tensor<?x3x2x5xf16>) -> tensor<?x4x2x5xf16> attributes {mpc.entry} {
  %y, %l = mpc.attention %q, %k, %v {causal, scale = 0.5 : f64} : tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x5xf16>
  %dq, %dk, %dv = mpc.attention_gradient %dy of %y, %l, %q, %k, %v {causal, scale = 0.5 : f64} : tensor<?x3x2x5xf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x5xf16>
  return %dv : tensor<?x4x2x5xf16>
}

// The mask is the last operand there.
// CHECK-LABEL: func.func @masked
// CHECK-SAME: %[[Q:.*]]: tensor<?x3x2x8xf16>, %[[M:.*]]: tensor<?x1x1x3xi1>, %[[DY:.*]]: tensor<?x3x2x8xf16>)
// CHECK: %[[Y:.*]]:2 = mpcrt.attend ins(%[[Q]], %[[Q]], %[[Q]] : {{.*}}) mask(%[[M]] : tensor<?x1x1x3xi1>) outs({{.*}}) scale 5.000000e-01
// CHECK: mpcrt.attend_gradient ins(%[[DY]] of %[[Y]]#0, %[[Y]]#1, %[[Q]], %[[Q]], %[[Q]] : {{.*}}) mask(%[[M]] : tensor<?x1x1x3xi1>) outs({{.*}}) scale 5.000000e-01
func.func @masked(%q: tensor<?x3x2x8xf16>, %m: tensor<?x1x1x3xi1>, %dy: tensor<?x3x2x8xf16>) -> tensor<?x3x2x8xf16> attributes {mpc.entry} {
  %y, %l = mpc.attention %q, %q, %q mask(%m : tensor<?x1x1x3xi1>) {scale = 0.5 : f64} : tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  %dq, %dk, %dv = mpc.attention_gradient %dy of %y, %l, %q, %q, %q mask(%m : tensor<?x1x1x3xi1>) {scale = 0.5 : f64} : tensor<?x3x2x8xf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return %dv : tensor<?x3x2x8xf16>
}
