// RUN: mpc-opt %s --mpc-form-attention --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-form-attention --mpc-form-attention | FileCheck %s
// RUN: mpc-opt %s --mpc-form-attention=fewest-scores=6 | FileCheck %s --check-prefix=FEW
// On a CPU: any width, float32, too; not heads whose scores stay in its caches anyway.

// CHECK-LABEL: func.func @odd_width
// CHECK: mpc.attention %{{.*}} {scale = 1.000000e+00 : f64} : tensor<?x96x1x7xf32>, tensor<?x100x1x7xf32>, tensor<?x100x1x300xf32>
// REMARK: [Passed] attention{{.*}}attention is one call: no scores in memory"{{$}}
func.func @odd_width(%q: tensor<?x96x7xf32>, %k: tensor<?x100x7xf32>, %v: tensor<?x100x300xf32>) -> tensor<?x96x300xf32> attributes {mpc.entry} {
  %0 = mpc.contract %q, %k batch [0] x [0] contracting [2] x [2] : (tensor<?x96x7xf32>, tensor<?x100x7xf32>) -> tensor<?x96x100xf32>
  %1 = mpc.softmax %0 {axis = 2 : i64} : tensor<?x96x100xf32>
  %2 = mpc.contract %1, %v batch [0] x [0] contracting [2] x [1] : (tensor<?x96x100xf32>, tensor<?x100x300xf32>) -> tensor<?x96x300xf32>
  return %2 : tensor<?x96x300xf32>
}

// CHECK-LABEL: func.func @few_scores
// CHECK: mpc.softmax
// REMARK: [Missed] attention{{.*}}attention is products and a softmax: {{.*}}its heads have few scores
// FEW-LABEL: func.func @few_scores
// FEW: mpc.attention
func.func @few_scores(%q: tensor<?x3x8xbf16>, %k: tensor<?x2x8xbf16>) -> tensor<?x3x8xbf16> attributes {mpc.entry} {
  %0 = mpc.contract %q, %k batch [0] x [0] contracting [2] x [2] : (tensor<?x3x8xbf16>, tensor<?x2x8xbf16>) -> tensor<?x3x2xbf16>
  %1 = mpc.softmax %0 {axis = 2 : i64} : tensor<?x3x2xbf16>
  %2 = mpc.contract %1, %k batch [0] x [0] contracting [2] x [1] : (tensor<?x3x2xbf16>, tensor<?x2x8xbf16>) -> tensor<?x3x8xbf16>
  return %2 : tensor<?x3x8xbf16>
}

// CHECK-LABEL: func.func @float64
// CHECK: mpc.softmax
// REMARK: [Missed] attention{{.*}}attention is products and a softmax: {{.*}}it is in more than 32 bits
// FEW-LABEL: func.func @float64
// FEW: mpc.softmax
func.func @float64(%q: tensor<?x96x8xf64>) -> tensor<?x96x8xf64> attributes {mpc.entry} {
  %0 = mpc.contract %q, %q batch [0] x [0] contracting [2] x [2] {accumulate = f64} : (tensor<?x96x8xf64>, tensor<?x96x8xf64>) -> tensor<?x96x96xf64>
  %1 = mpc.softmax %0 {axis = 2 : i64} : tensor<?x96x96xf64>
  %2 = mpc.contract %1, %q batch [0] x [0] contracting [2] x [1] {accumulate = f64} : (tensor<?x96x96xf64>, tensor<?x96x8xf64>) -> tensor<?x96x8xf64>
  return %2 : tensor<?x96x8xf64>
}
