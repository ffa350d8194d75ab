// RUN: mpc-opt %s --mpc-distribute --remark-format=emitRemark --remarks-filter=mpc-distribute 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-distribute -o %t.once
// RUN: mpc-opt %t.once --mpc-distribute -o %t.twice
// RUN: diff %t.once %t.twice

// REMARK: 9 values of all samples are reduced over ranks

// CHECK-LABEL: func.func @train_step
func.func @train_step(%x: tensor<?x4xbf16> {mpc.input = "x"}, %w: tensor<4x3xbf16>, %dy: tensor<?x3xbf16>, %l: tensor<?xf32>,
                      %t: tensor<?xi32>, %image: tensor<?x8x2xbf16>, %dimage: tensor<?x8x5xbf16>, %ok: tensor<?xi1>)
    -> (tensor<?x3xbf16>, tensor<4x3xbf16>, tensor<3xbf16>, tensor<f32>, tensor<f32>, tensor<4xbf16>, tensor<4xbf16>, tensor<i32>,
        tensor<3x2x5xbf16>, tensor<7x3xbf16>, tensor<i1>, tensor<?xf32>) attributes {mpc.entry = #mpc.entry_role<train_step>} {
  // Sample by sample: as it was.
  // CHECK: mpc.contract %arg0, %arg1 contracting [1] x [0] : (tensor<?x4xbf16>, tensor<4x3xbf16>) -> tensor<?x3xbf16>
  %y = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x4xbf16>, tensor<4x3xbf16>) -> tensor<?x3xbf16>
  // The rounding comes after the sum over ranks.
  // CHECK: %[[P:.*]] = mpc.contract %arg0, %arg2 contracting [0] x [0] : (tensor<?x4xbf16>, tensor<?x3xbf16>) -> tensor<4x3xf32>
  // CHECK: %[[G:.*]] = mpc.all_reduce sum %[[P]] : tensor<4x3xf32>
  // CHECK: mpc.cast %[[G]] : tensor<4x3xf32> to tensor<4x3xbf16>
  %g = mpc.contract %x, %dy contracting [0] x [0] : (tensor<?x4xbf16>, tensor<?x3xbf16>) -> tensor<4x3xbf16>
  // CHECK: %[[W:.*]] = mpc.cast %arg2 : tensor<?x3xbf16> to tensor<?x3xf32>
  // CHECK: %[[P:.*]] = mpc.reduce sum %[[W]] {axes = array<i64: 0>} : tensor<?x3xf32> -> tensor<3xf32>
  // CHECK: %[[B:.*]] = mpc.all_reduce sum %[[P]]
  // CHECK: mpc.cast %[[B]] : tensor<3xf32> to tensor<3xbf16>
  %b = mpc.reduce sum %dy {axes = array<i64: 0>} : tensor<?x3xbf16> -> tensor<3xbf16>
  // A mean divides by the samples of all ranks.
  // CHECK: %[[ONES:.*]] = mpc.broadcast_like %{{.*}}, %arg3
  // CHECK: %[[OWN:.*]] = mpc.reduce sum %[[ONES]]
  // CHECK: %[[MANY:.*]] = mpc.multiply %[[OWN]]
  // CHECK: %[[COUNT:.*]] = mpc.all_reduce sum %[[MANY]]
  // CHECK: %[[P:.*]] = mpc.reduce sum %arg3
  // CHECK: %[[S:.*]] = mpc.all_reduce sum %[[P]]
  // CHECK: mpc.divide %[[S]], %[[COUNT]]
  %m = mpc.reduce mean %l {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  // CHECK: %[[P:.*]] = mpc.reduce max %arg3
  // CHECK: mpc.all_reduce max %[[P]] : tensor<f32>
  %most = mpc.reduce max %l {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  // The variance is about the mean of all samples.
  // CHECK: mpc.all_reduce sum %{{.*}} : tensor<1x4xf32>
  // CHECK: %[[MEAN:.*]] = mpc.divide {{.*}} : tensor<1x4xf32>, tensor<f32>
  // CHECK: %[[D:.*]] = mpc.subtract %{{.*}}, %[[MEAN]] : tensor<?x4xf32>, tensor<1x4xf32>
  // CHECK: mpc.multiply %[[D]], %[[D]]
  // CHECK: mpc.all_reduce sum %{{.*}} : tensor<4xf32>
  %mean, %variance = mpc.moments %x {axes = array<i64: 0>} : tensor<?x4xbf16> -> tensor<4xbf16>, tensor<4xbf16>
  // CHECK: %[[P:.*]] = mpc.reduce sum %arg4
  // CHECK: mpc.all_reduce sum %[[P]] : tensor<i32>
  %n = mpc.reduce sum %t {axes = array<i64: 0>} : tensor<?xi32> -> tensor<i32>
  // CHECK: %[[P:.*]] = mpc.convolution_filter_gradient {{.*}} -> tensor<3x2x5xf32>
  // CHECK: mpc.all_reduce sum %[[P]]
  %f = mpc.convolution_filter_gradient %image, %dimage strides [1] padding [1] x [1] dilations [1]
      : (tensor<?x8x2xbf16>, tensor<?x8x5xbf16>) -> tensor<3x2x5xbf16>
  // CHECK: %[[P:.*]] = mpc.scatter_add {{.*}} : tensor<?xi32>, tensor<?x3xf32>, tensor<7x3xf32>
  // CHECK: mpc.all_reduce sum %[[P]]
  %table = mpc.constant dense<0.0> : tensor<7x3xbf16>
  %e = mpc.scatter_add %t, %dy like %table {axis = 0 : i64} : tensor<?xi32>, tensor<?x3xbf16>, tensor<7x3xbf16>
  // CHECK: %[[P:.*]] = mpc.reduce all %arg7
  // CHECK: %[[NUMBER:.*]] = mpc.cast %[[P]] : tensor<i1> to tensor<f32>
  // CHECK: %[[ALL:.*]] = mpc.all_reduce min %[[NUMBER]]
  // CHECK: mpc.compare ne %[[ALL]]
  %all = mpc.reduce all %ok {axes = array<i64: 0>} : tensor<?xi1> -> tensor<i1>
  // Not over the batch.
  // CHECK: mpc.reduce sum %{{.*}} {axes = array<i64: 1>} : tensor<?x3xf32> -> tensor<?xf32>
  // CHECK-NOT: mpc.all_reduce
  %wide = mpc.cast %y : tensor<?x3xbf16> to tensor<?x3xf32>
  %rows = mpc.reduce sum %wide {axes = array<i64: 1>} : tensor<?x3xf32> -> tensor<?xf32>
  return %y, %g, %b, %m, %most, %mean, %variance, %n, %f, %e, %all, %rows : tensor<?x3xbf16>, tensor<4x3xbf16>, tensor<3xbf16>, tensor<f32>,
      tensor<f32>, tensor<4xbf16>, tensor<4xbf16>, tensor<i32>, tensor<3x2x5xbf16>, tensor<7x3xbf16>, tensor<i1>, tensor<?xf32>
}

// Rows of an embedding's gradient are finite where those of all ranks are.
// CHECK-LABEL: func.func @train_apply
// CHECK: %[[P:.*]] = mpc.all_finite %arg0 : tensor<?x4xf32>
// CHECK: %[[NUMBER:.*]] = mpc.cast %[[P]] : tensor<i1> to tensor<f32>
// CHECK: %[[ALL:.*]] = mpc.all_reduce min %[[NUMBER]]
// CHECK: %[[INFINITE:.*]] = mpc.divide %{{.*}}, %[[ALL]]
// CHECK: %[[F:.*]] = mpc.all_finite %arg1, %[[INFINITE]]
// CHECK: return %[[F]]
func.func @train_apply(%rows: tensor<?x4xf32> {mpc.input = "part:0"}, %g: tensor<3xf32>) -> tensor<i1>
    attributes {mpc.entry = #mpc.entry_role<train_apply>} {
  %0 = mpc.all_finite %rows, %g : tensor<?x4xf32>, tensor<3xf32>
  return %0 : tensor<i1>
}

// A sample has its random numbers in each step of a scan, too: the body gets its number as a capture, once.
// CHECK-LABEL: func.func @predict
// CHECK: %[[FIRST:.*]] = mpc.reshape
// CHECK: mpc.scan inits(%arg0) captures(%arg1, %[[FIRST]])
// CHECK: ^bb0(%[[X:.*]]: tensor<?x4xf32>, %[[STATE:.*]]: tensor<2xi64>, %[[NUMBER:.*]]: tensor<1xi64>):
// CHECK: %[[NUMBERED:.*]] = mpc.concatenate %[[STATE]], %[[NUMBER]]
// CHECK: mpc.dropout %[[X]], %[[NUMBERED]] {{.*}} : tensor<?x4xf32>, tensor<3xi64>
// CHECK: mpc.dropout %{{.*}}, %[[NUMBERED]]
func.func @predict(%x: tensor<?x4xf32> {mpc.input = "x"}, %state: tensor<2xi64>) -> tensor<?x4xf32>
    attributes {mpc.entry = #mpc.entry_role<predict>} {
  %y = mpc.scan inits(%x) captures(%state) {steps = 3 : i64} : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32> {
  ^bb0(%carried: tensor<?x4xf32>, %s: tensor<2xi64>):
    %0 = mpc.dropout %carried, %s {rate = 0.5 : f64, stream = 1 : i64} : tensor<?x4xf32>, tensor<2xi64>
    %1 = mpc.dropout %0, %s {rate = 0.5 : f64, stream = 2 : i64} : tensor<?x4xf32>, tensor<2xi64>
    mpc.yield %1 : tensor<?x4xf32>
  }
  return %y : tensor<?x4xf32>
}

// No entry: as it was.
// CHECK-LABEL: func.func @helper
// CHECK-NOT: mpc.all_reduce
func.func @helper(%l: tensor<?xf32>) -> tensor<f32> {
  %m = mpc.reduce mean %l {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  return %m : tensor<f32>
}
