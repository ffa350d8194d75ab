// RUN: mpc-opt %s --convert-mpc-to-linalg | FileCheck %s
// 16-bit operands are computed in float32 and rounded once per op; constants move into the body.

// CHECK-DAG: #[[ONE:.*]] = affine_map<(d0, d1) -> (d0, 0)>

// CHECK-LABEL: func.func @half
func.func @half(%x: tensor<?x4xbf16>, %b: tensor<4xbf16>) -> tensor<?x4xbf16> attributes {mpc.entry} {
  // CHECK: %[[DIM:.*]] = tensor.dim %{{.*}}, %{{.*}} : tensor<?x4xbf16>
  // CHECK: tensor.empty(%[[DIM]]) : tensor<?x4xbf16>
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%{{.*}}, %{{.*}} : tensor<?x4xbf16>, tensor<4xbf16>)
  // CHECK-NEXT: ^bb0(%[[X:.*]]: bf16, %[[B:.*]]: bf16, %{{.*}}: bf16):
  // CHECK-NEXT: %[[XW:.*]] = arith.extf %[[X]] : bf16 to f32
  // CHECK-NEXT: %[[BW:.*]] = arith.extf %[[B]] : bf16 to f32
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[XW]], %[[BW]] : f32
  // CHECK-NEXT: %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f32 to bf16
  // CHECK-NEXT: linalg.yield %[[ROUNDED]] : bf16
  %0 = mpc.add %x, %b : tensor<?x4xbf16>, tensor<4xbf16>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x4xbf16>)
  // CHECK: arith.constant 3.000000e+00 : bf16
  %c = mpc.constant dense<3.0> : tensor<bf16>
  %1 = mpc.multiply %0, %c : tensor<?x4xbf16>, tensor<bf16>
  return %1 : tensor<?x4xbf16>
}

// A selection needs no arithmetic, so nothing is rounded.
// CHECK-LABEL: func.func @select
func.func @select(%m: tensor<?x4xi1>, %x: tensor<?x4xbf16>) -> tensor<?x4xbf16> attributes {mpc.entry} {
  %zero = mpc.constant dense<0.0> : tensor<bf16>
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : bf16
  // CHECK-NOT: arith.truncf
  %0 = mpc.select %m, %x, %zero : tensor<?x4xi1>, tensor<?x4xbf16>, tensor<bf16>
  return %0 : tensor<?x4xbf16>
}

// CHECK-LABEL: func.func @double
func.func @double(%x: tensor<f64>) -> tensor<f64> attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}} iterator_types = []} ins(%{{.*}} : tensor<f64>)
  // CHECK: math.sqrt %{{.*}} : f64
  %0 = mpc.sqrt %x : tensor<f64>
  return %0 : tensor<f64>
}

// An extent of 1 repeats.
// CHECK-LABEL: func.func @repeat
func.func @repeat(%x: tensor<?x4xf32>, %y: tensor<?x1xf32>) -> tensor<?x4xf32> attributes {mpc.entry} {
  // CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[ONE]], #{{.*}}]
  %0 = mpc.subtract %x, %y : tensor<?x4xf32>, tensor<?x1xf32>
  return %0 : tensor<?x4xf32>
}

// Unsigned inputs are signless inside and keep their declared type as an attribute.
// CHECK-LABEL: func.func @unsigned
// CHECK-SAME: %{{.*}}: tensor<?xi8> {mpc.element_type = ui8}
// CHECK-SAME: -> (tensor<?xi8> {mpc.element_type = ui8}, tensor<?xi1>)
func.func @unsigned(%x: tensor<?xui8>) -> (tensor<?xui8>, tensor<?xi1>) attributes {mpc.entry} {
  %c = mpc.constant dense<200> : tensor<ui8>
  // CHECK: %[[C:.*]] = arith.constant -56 : i8
  // CHECK: arith.cmpi ugt, %{{.*}}, %[[C]] : i8
  %0 = mpc.compare gt %x, %c : tensor<?xui8>, tensor<ui8>
  return %x, %0 : tensor<?xui8>, tensor<?xi1>
}

// Functions that are no entries are left alone.
// CHECK-LABEL: func.func @other
func.func @other(%x: tensor<f32>) -> tensor<f32> {
  // CHECK: mpc.sqrt
  %0 = mpc.sqrt %x : tensor<f32>
  return %0 : tensor<f32>
}
