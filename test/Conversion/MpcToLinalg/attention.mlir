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

// What dropout keeps is computed for each call, the same way; its scale is a number of the operands' type.
// CHECK-LABEL: func.func @dropped
// CHECK-SAME: %[[Q:.*]]: tensor<?x3x2x8xbf16>, %[[S:.*]]: tensor<2xi64>
// CHECK: %[[E:.*]] = tensor.empty(%{{.*}}) : tensor<?x2x3x3xi1>
// CHECK: %[[K:.*]] = linalg.generic {{.*}} ins(%[[S]], %[[S]] : {{.*}}) outs(%[[E]] : tensor<?x2x3x3xi1>)
// CHECK: arith.cmpi uge
// CHECK: mpcrt.attend ins(%[[Q]], %[[Q]], %[[Q]] : {{.*}}) kept(%[[K]] : tensor<?x2x3x3xi1>) outs({{.*}}) scale 5.000000e-01 {keep_scale = 1.109375 : f64}
// CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%[[S]], %[[S]] : {{.*}})
// CHECK: mpcrt.attend_gradient ins({{.*}}) kept(%[[G]] : tensor<?x2x3x3xi1>) outs({{.*}}) scale 5.000000e-01 {keep_scale = 1.109375 : f64}
func.func @dropped(%q: tensor<?x3x2x8xbf16>, %s: tensor<2xi64>, %dy: tensor<?x3x2x8xbf16>) -> tensor<?x3x2x8xbf16> attributes {mpc.entry} {
  %y, %l = mpc.attention %q, %q, %q dropout(%s : tensor<2xi64>) {rate = 0.1 : f64, scale = 0.5 : f64, stream = 3 : i64} : tensor<?x3x2x8xbf16>, tensor<?x3x2x8xbf16>, tensor<?x3x2x8xbf16>
  %dq, %dk, %dv = mpc.attention_gradient %dy of %y, %l, %q, %q, %q dropout(%s : tensor<2xi64>) {rate = 0.1 : f64, scale = 0.5 : f64, stream = 3 : i64} : tensor<?x3x2x8xbf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xbf16>, tensor<?x3x2x8xbf16>, tensor<?x3x2x8xbf16>
  return %dv : tensor<?x3x2x8xbf16>
}

// CHECK-LABEL: func.func @hidden_score
// CHECK: mpcrt.attend ins({{.*}}) outs({{.*}}) scale 5.000000e-01 {causal, hidden_score = -1.000000e+09 : f64}
// CHECK: mpcrt.attend_gradient ins({{.*}}) outs({{.*}}) scale 5.000000e-01 {causal, hidden_score = -1.000000e+09 : f64}
func.func @hidden_score(%q: tensor<?x3x2x8xf16>, %dy: tensor<?x3x2x8xf16>) -> tensor<?x3x2x8xf16> attributes {mpc.entry} {
  %y, %l = mpc.attention %q, %q, %q {causal, hidden_score = -1.0e9 : f64, scale = 0.5 : f64} : tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  %dq, %dk, %dv = mpc.attention_gradient %dy of %y, %l, %q, %q, %q {causal, hidden_score = -1.0e9 : f64, scale = 0.5 : f64} : tensor<?x3x2x8xf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return %dv : tensor<?x3x2x8xf16>
}
