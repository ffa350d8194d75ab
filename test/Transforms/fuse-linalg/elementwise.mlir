// RUN: mpc-opt %s --convert-mpc-to-linalg --mpc-fuse-linalg --mpc-verify-tensors --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --convert-mpc-to-linalg --mpc-fuse-linalg | mpc-opt --mpc-fuse-linalg | FileCheck %s

// A chain is one kernel; its roundings stay.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<?x8xbf16>, %b: tensor<8xf32>) -> tensor<?x8xf32> attributes {mpc.entry} {
  // CHECK-COUNT-1: linalg.generic
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  // CHECK: arith.addf
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  // CHECK: math.tanh
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  // CHECK: linalg.yield %{{.*}} : f32
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %c = mpc.cast %b : tensor<8xf32> to tensor<8xbf16>
  %0 = mpc.add %x, %c : tensor<?x8xbf16>, tensor<8xbf16>
  %1 = mpc.tanh %0 : tensor<?x8xbf16>
  %2 = mpc.cast %1 : tensor<?x8xbf16> to tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// An expensive value with two users is computed once, by a kernel with two results.
// CHECK-LABEL: func.func @share
func.func @share(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) attributes {mpc.entry} {
  // CHECK: %[[R:.*]]:2 = linalg.generic
  // CHECK: math.exp
  // CHECK-NOT: math.exp
  // CHECK: return %[[R]]#{{[01]}}, %[[R]]#{{[01]}}
  // REMARK: elementwise{{.*}}producer merged; others read the merged op's result
  %e = mpc.exp %x : tensor<?x8xf32>
  %0 = mpc.multiply %e, %y : tensor<?x8xf32>, tensor<?x8xf32>
  return %0, %e : tensor<?x8xf32>, tensor<?x8xf32>
}

// A value that is read twice by one op and once by another.
// CHECK-LABEL: func.func @twice
func.func @twice(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) attributes {mpc.entry} {
  // CHECK: %{{.*}}:2 = linalg.generic {{.*}} ins(%arg0 : tensor<?x8xf32>)
  // CHECK-COUNT-1: math.exp
  // CHECK-NOT: math.exp
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %e = mpc.exp %x : tensor<?x8xf32>
  %0 = mpc.multiply %e, %e : tensor<?x8xf32>, tensor<?x8xf32>
  return %0, %e : tensor<?x8xf32>, tensor<?x8xf32>
}

// Reductions take their only producer, and a copy of a cheap one.
// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<?x8xf32>) -> (tensor<?xf32>, tensor<8xf32>, tensor<?xf32>) attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
  // CHECK: math.exp
  // CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc>
  %e = mpc.exp %x : tensor<?x8xf32>
  %0 = mpc.reduce sum %e {axes = array<i64: 1>} : tensor<?x8xf32> -> tensor<?xf32>
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%arg0 : tensor<?x8xf32>)
  // CHECK: arith.select
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<?x8xf32>)
  // CHECK: arith.select
  %zero = mpc.constant dense<0.0> : tensor<f32>
  %m = mpc.compare gt %x, %zero : tensor<?x8xf32>, tensor<f32>
  %s = mpc.select %m, %x, %zero : tensor<?x8xi1>, tensor<?x8xf32>, tensor<f32>
  %1 = mpc.reduce sum %s {axes = array<i64: 0>} : tensor<?x8xf32> -> tensor<8xf32>
  %2 = mpc.reduce max %s {axes = array<i64: 1>} : tensor<?x8xf32> -> tensor<?xf32>
  return %0, %1, %2 : tensor<?xf32>, tensor<8xf32>, tensor<?xf32>
}

// What is broadcast is not computed once per repetition.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<?x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]}
  // CHECK: math.exp
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]}
  // CHECK-NOT: math.exp
  // CHECK: return
  // REMARK: elementwise{{.*}}producer not merged: {{.*}}its value is broadcast
  %e = mpc.exp %b : tensor<8xf32>
  %0 = mpc.multiply %x, %e : tensor<?x8xf32>, tensor<8xf32>
  return %0 : tensor<?x8xf32>
}

// A product is read from memory: nothing crosses the library call.
// CHECK-LABEL: func.func @contraction
func.func @contraction(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> attributes {mpc.entry} {
  // CHECK: linalg.generic
  // CHECK: mpcrt.contract
  // CHECK: linalg.generic
  %0 = mpc.tanh %x : tensor<?x8xf32>
  %1 = mpc.contract %0, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %2 = mpc.tanh %1 : tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// Dropout keeps its place in the merged loops and is never repeated.
// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<?x8xf32>, %s: tensor<2xi64>) -> tensor<?x8xf32> attributes {mpc.entry} {
  // CHECK-COUNT-1: linalg.generic
  // CHECK-DAG: linalg.index 0
  // CHECK-DAG: linalg.index 1
  // CHECK-NOT: affine.apply
  // CHECK: math.tanh
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %0 = mpc.dropout %x, %s {rate = 0.5 : f64, stream = 1 : i64} : tensor<?x8xf32>, tensor<2xi64>
  %1 = mpc.tanh %0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// What is one number per step is computed once for all variables.
// CHECK-LABEL: func.func @steps
func.func @steps(%w: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %w2: tensor<4xf32>, %g2: tensor<4xf32>, %m2: tensor<4xf32>, %v2: tensor<4xf32>,
                 %lr: tensor<f32>, %it: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}}iterator_types = []}
  // CHECK-COUNT-2: math.powf
  // CHECK: math.sqrt
  // CHECK-NOT: math.powf
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]} {{.*}} outs(%arg0, %arg2, %arg3
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]} {{.*}} outs(%arg4, %arg6, %arg7
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %0:3 = mpc.optimizer_step %w, %g slots(%m, %v) rate(%lr) iteration(%it) rule(#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = false>)
    : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %1:3 = mpc.optimizer_step %w2, %g2 slots(%m2, %v2) rate(%lr) iteration(%it) rule(#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = false>)
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2, %1#0, %1#1, %1#2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A difference that all its users can compute from what is in memory anyway needs no memory: the centered
// values of a normalisation.
// CHECK-LABEL: func.func @centered
func.func @centered(%x: tensor<?x8xf32>, %m: tensor<8xf32>) -> (tensor<8xf32>, tensor<?x8xf32>) attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<?x8xf32>, tensor<8xf32>) outs(%{{.*}} : tensor<8xf32>)
  // CHECK: arith.subf
  // CHECK: arith.mulf
  // CHECK: arith.addf
  // CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<?x8xf32>, tensor<8xf32>) outs(%{{.*}} : tensor<?x8xf32>)
  // CHECK: arith.subf
  // CHECK: math.tanh
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %c = mpc.subtract %x, %m : tensor<?x8xf32>, tensor<8xf32>
  %s = mpc.multiply %c, %c : tensor<?x8xf32>, tensor<?x8xf32>
  %v = mpc.reduce sum %s {axes = array<i64: 0>} : tensor<?x8xf32> -> tensor<8xf32>
  %t = mpc.tanh %c : tensor<?x8xf32>
  return %v, %t : tensor<8xf32>, tensor<?x8xf32>
}

// One that an output needs is stored; others read it.
// CHECK-LABEL: func.func @stored
func.func @stored(%x: tensor<?x8xf32>, %m: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) attributes {mpc.entry} {
  // CHECK: linalg.generic
  // CHECK: arith.subf
  // CHECK-NOT: arith.subf
  // CHECK: return
  %c = mpc.subtract %x, %m : tensor<?x8xf32>, tensor<8xf32>
  %t = mpc.tanh %c : tensor<?x8xf32>
  return %c, %t : tensor<?x8xf32>, tensor<?x8xf32>
}

// Squares of squares: repeated as often as they are read, they would be read 2^12 times.
// CHECK-LABEL: func.func @squares
// CHECK: return
func.func @squares(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) attributes {mpc.entry} {
  %0 = mpc.multiply %x, %x : tensor<?x8xf32>, tensor<?x8xf32>
  %1 = mpc.multiply %0, %0 : tensor<?x8xf32>, tensor<?x8xf32>
  %2 = mpc.multiply %1, %1 : tensor<?x8xf32>, tensor<?x8xf32>
  %3 = mpc.multiply %2, %2 : tensor<?x8xf32>, tensor<?x8xf32>
  %4 = mpc.multiply %3, %3 : tensor<?x8xf32>, tensor<?x8xf32>
  %5 = mpc.multiply %4, %4 : tensor<?x8xf32>, tensor<?x8xf32>
  %6 = mpc.multiply %5, %5 : tensor<?x8xf32>, tensor<?x8xf32>
  %7 = mpc.multiply %6, %6 : tensor<?x8xf32>, tensor<?x8xf32>
  %8 = mpc.multiply %7, %7 : tensor<?x8xf32>, tensor<?x8xf32>
  %9 = mpc.multiply %8, %8 : tensor<?x8xf32>, tensor<?x8xf32>
  %10 = mpc.multiply %9, %9 : tensor<?x8xf32>, tensor<?x8xf32>
  %11 = mpc.multiply %10, %10 : tensor<?x8xf32>, tensor<?x8xf32>
  %12 = mpc.tanh %11 : tensor<?x8xf32>
  %13 = mpc.exp %11 : tensor<?x8xf32>
  return %12, %13 : tensor<?x8xf32>, tensor<?x8xf32>
}
