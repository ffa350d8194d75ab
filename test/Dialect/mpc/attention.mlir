// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// RUN: mpc-opt %s --mlir-print-op-generic | mpc-opt | FileCheck %s

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<?x3x2x8xf16>, %k: tensor<?x4x2x8xf16>, %v: tensor<?x4x2x5xf16>, %dy: tensor<?x3x2x5xf16>) -> tensor<?x4x2x5xf16> {
  // CHECK: %[[Y:.*]], %[[L:.*]] = mpc.attention %{{.*}}, %{{.*}}, %{{.*}} {causal, scale = 5.000000e-01 : f64} : tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x5xf16>
  %y, %l = mpc.attention %q, %k, %v {causal, scale = 0.5 : f64} : tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x5xf16>
  // CHECK: mpc.attention_gradient %{{.*}} of %[[Y]], %[[L]], %{{.*}}, %{{.*}}, %{{.*}} {causal, scale = 5.000000e-01 : f64} : tensor<?x3x2x5xf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x5xf16>
  %dq, %dk, %dv = mpc.attention_gradient %dy of %y, %l, %q, %k, %v {causal, scale = 0.5 : f64} : tensor<?x3x2x5xf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x5xf16>
  return %dv : tensor<?x4x2x5xf16>
}

// The logarithms of sums are in float64 only of float64.
// CHECK-LABEL: func.func @float64
func.func @float64(%q: tensor<2x3x1x8xf64>) -> tensor<2x1x3xf64> {
  %y, %l = mpc.attention %q, %q, %q {scale = 1.0 : f64} : tensor<2x3x1x8xf64>, tensor<2x3x1x8xf64>, tensor<2x3x1x8xf64>
  return %l : tensor<2x1x3xf64>
}

// Masks of every sample, of every target, of sources alone.
// CHECK-LABEL: func.func @masks
func.func @masks(%q: tensor<?x3x2x8xf16>, %k: tensor<?x4x2x8xf16>, %a: tensor<?x2x3x4xi1>, %b: tensor<1x1x3x4xi1>, %c: tensor<1x1x1x4xi1>) -> tensor<?x3x2x8xf16> {
  // CHECK: %[[Y:.*]], %[[L:.*]] = mpc.attention %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}} : tensor<?x2x3x4xi1>) {scale = 5.000000e-01 : f64} : tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>
  %y, %l = mpc.attention %q, %k, %k mask(%a : tensor<?x2x3x4xi1>) {scale = 0.5 : f64} : tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>
  // CHECK: mask(%{{.*}} : tensor<1x1x3x4xi1>)
  %z, %m = mpc.attention %y, %k, %k mask(%b : tensor<1x1x3x4xi1>) {scale = 0.5 : f64} : tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>
  // CHECK: mpc.attention_gradient %{{.*}} of %[[Y]], %[[L]], %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}} : tensor<1x1x1x4xi1>) {scale = 5.000000e-01 : f64} : tensor<?x3x2x8xf16>, tensor<?x2x3xf32>
  %dq, %dk, %dv = mpc.attention_gradient %z of %y, %l, %q, %k, %k mask(%c : tensor<1x1x1x4xi1>) {scale = 0.5 : f64} : tensor<?x3x2x8xf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xf16>, tensor<?x4x2x8xf16>, tensor<?x4x2x8xf16>
  return %dq : tensor<?x3x2x8xf16>
}

// Dropout of probabilities, alone and with a mask.
// CHECK-LABEL: func.func @dropout
func.func @dropout(%q: tensor<?x3x2x8xf16>, %s: tensor<2xi64>, %m: tensor<1x1x1x3xi1>) -> tensor<?x3x2x8xf16> {
  // CHECK: %[[Y:.*]], %[[L:.*]] = mpc.attention %{{.*}}, %{{.*}}, %{{.*}} dropout(%{{.*}} : tensor<2xi64>) {causal, rate = 2.500000e-01 : f64, scale = 5.000000e-01 : f64, stream = 3 : i64}
  %y, %l = mpc.attention %q, %q, %q dropout(%s : tensor<2xi64>) {causal, rate = 0.25 : f64, scale = 0.5 : f64, stream = 3 : i64} : tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  // CHECK: mpc.attention_gradient %{{.*}} of %[[Y]], %[[L]], %{{.*}} mask(%{{.*}} : tensor<1x1x1x3xi1>) dropout(%{{.*}} : tensor<2xi64>) {rate = 2.500000e-01 : f64
  %dq, %dk, %dv = mpc.attention_gradient %q of %y, %l, %q, %q, %q mask(%m : tensor<1x1x1x3xi1>) dropout(%s : tensor<2xi64>) {rate = 0.25 : f64, scale = 0.5 : f64, stream = 3 : i64} : tensor<?x3x2x8xf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return %dq : tensor<?x3x2x8xf16>
}

// A score of the sources that do not count.
// CHECK-LABEL: func.func @hidden_score
func.func @hidden_score(%q: tensor<?x3x2x8xf16>, %m: tensor<1x1x1x3xi1>) -> tensor<?x3x2x8xf16> {
  // CHECK: %[[Y:.*]], %[[L:.*]] = mpc.attention %{{.*}}, %{{.*}}, %{{.*}} {causal, hidden_score = -3.000000e+04 : f64, scale = 5.000000e-01 : f64}
  %y, %l = mpc.attention %q, %q, %q {causal, hidden_score = -3.0e4 : f64, scale = 0.5 : f64} : tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  // CHECK: mpc.attention_gradient %{{.*}} of %[[Y]], %[[L]], %{{.*}} mask(%{{.*}} : tensor<1x1x1x3xi1>) {hidden_score = -3.000000e+04 : f64, scale = 5.000000e-01 : f64}
  %dq, %dk, %dv = mpc.attention_gradient %q of %y, %l, %q, %q, %q mask(%m : tensor<1x1x1x3xi1>) {hidden_score = -3.0e4 : f64, scale = 0.5 : f64} : tensor<?x3x2x8xf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return %dq : tensor<?x3x2x8xf16>
}
