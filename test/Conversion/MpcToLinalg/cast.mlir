// RUN: mpc-opt %s --convert-mpc-to-linalg | FileCheck %s
// Each cast rounds once.

// CHECK-LABEL: func.func @floats
func.func @floats(%x: tensor<?xf32>, %d: tensor<?xf64>, %h: tensor<?xf16>) -> (tensor<?xbf16>, tensor<?xbf16>, tensor<?xbf16>) attributes {mpc.entry} {
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  %0 = mpc.cast %x : tensor<?xf32> to tensor<?xbf16>
  // Through float32 rounded to odd, so that two roundings equal one.
  // CHECK: arith.truncf %{{.*}} : f64 to f32
  // CHECK: arith.cmpf one
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  %1 = mpc.cast %d : tensor<?xf64> to tensor<?xbf16>
  // CHECK: %[[W:.*]] = arith.extf %{{.*}} : f16 to f32
  // CHECK: arith.truncf %[[W]] : f32 to bf16
  %2 = mpc.cast %h : tensor<?xf16> to tensor<?xbf16>
  return %0, %1, %2 : tensor<?xbf16>, tensor<?xbf16>, tensor<?xbf16>
}

// CHECK-LABEL: func.func @integers
func.func @integers(%u: tensor<?xui8>, %i: tensor<?xi32>, %x: tensor<?xbf16>) -> (tensor<?xf32>, tensor<?xbf16>, tensor<?xi64>, tensor<?xi32>, tensor<?xi1>) attributes {mpc.entry} {
  // CHECK: arith.uitofp %{{.*}} : i8 to f32
  %0 = mpc.cast %u : tensor<?xui8> to tensor<?xf32>
  // 32 bits do not fit float32: through float64, so that one rounding is left.
  // CHECK: %[[D:.*]] = arith.sitofp %{{.*}} : i32 to f64
  // CHECK: arith.truncf %[[D]] : f64 to f32
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  %1 = mpc.cast %i : tensor<?xi32> to tensor<?xbf16>
  // CHECK: arith.extui %{{.*}} : i8 to i64
  %2 = mpc.cast %u : tensor<?xui8> to tensor<?xi64>
  // CHECK: arith.fptosi %{{.*}} : f32 to i32
  %3 = mpc.cast %x : tensor<?xbf16> to tensor<?xi32>
  // CHECK: arith.cmpf une, %{{.*}}, %{{.*}} : bf16
  %4 = mpc.cast %x : tensor<?xbf16> to tensor<?xi1>
  return %0, %1, %2, %3, %4 : tensor<?xf32>, tensor<?xbf16>, tensor<?xi64>, tensor<?xi32>, tensor<?xi1>
}
