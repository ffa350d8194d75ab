// RUN: mpc-opt %s --mpc-buffers | FileCheck %s
// Variables are updated in place, unless their old value is still wanted.

mpc.variable @a : tensor<64xf32> role trainable
mpc.variable @b : tensor<64xf32> role trainable

// CHECK-LABEL: func.func @in_place(%arg0: memref<64xf32> {mpc.variable = @a}, %arg1: index {mpcrt.batch}, %arg2: memref<?xi8> {mpcrt.arena})
// CHECK-SAME: mpcrt.arena_fixed = 0
// CHECK: linalg.generic {{.*}} outs(%arg0 : memref<64xf32>)
// CHECK-NOT: memref.copy
func.func @in_place(%a: tensor<64xf32> {mpc.variable = @a}) -> (tensor<64xf32> {mpc.updates = @a}) attributes {mpc.entry} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%a : tensor<64xf32>) {
  ^bb0(%o: f32):
    %1 = arith.addf %o, %o : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// The second op reads what the first one replaces: one of them goes through the arena.
// CHECK-LABEL: func.func @old_value_read
// CHECK-SAME: mpcrt.arena_fixed = 256
// CHECK: %[[VIEW:.*]] = mpcrt.view
// CHECK: linalg.generic {{.*}} outs(%[[VIEW]] : memref<64xf32>)
// CHECK: linalg.generic {{.*}} ins(%arg0 : memref<64xf32>) outs(%arg1 : memref<64xf32>)
// CHECK: memref.copy %[[VIEW]], %arg0
func.func @old_value_read(%a: tensor<64xf32> {mpc.variable = @a}, %b: tensor<64xf32> {mpc.variable = @b})
    -> (tensor<64xf32> {mpc.updates = @a}, tensor<64xf32> {mpc.updates = @b}) attributes {mpc.entry} {
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.addf %i, %i : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : tensor<64xf32>) outs(%b : tensor<64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.mulf %i, %o : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0, %2 : tensor<64xf32>, tensor<64xf32>
}

// Both old values leave before either new one arrives.
// CHECK-LABEL: func.func @exchange
// CHECK: linalg.copy ins(%arg1 : memref<64xf32>) outs(%[[X:.*]] : memref<64xf32>)
// CHECK: linalg.copy ins(%arg0 : memref<64xf32>) outs(%[[Y:.*]] : memref<64xf32>)
// CHECK: memref.copy %[[X]], %arg0
// CHECK: memref.copy %[[Y]], %arg1
func.func @exchange(%a: tensor<64xf32> {mpc.variable = @a}, %b: tensor<64xf32> {mpc.variable = @b})
    -> (tensor<64xf32> {mpc.updates = @a}, tensor<64xf32> {mpc.updates = @b}) attributes {mpc.entry} {
  return %b, %a : tensor<64xf32>, tensor<64xf32>
}

// A variable that no result renews keeps its value, whatever is computed in its place.
// CHECK-LABEL: func.func @kept
// CHECK-SAME: mpcrt.arena_fixed = 256
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : memref<64xf32>)
// CHECK-NOT: outs(%arg0
// CHECK: mpcrt.trace optimizer 0
// CHECK: return
func.func @kept(%a: tensor<64xf32> {mpc.variable = @a}) attributes {mpc.entry} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%a : tensor<64xf32>) {
  ^bb0(%o: f32):
    %1 = arith.addf %o, %o : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  mpcrt.trace optimizer 0 "updated:kernel" of "a" (%0) : tensor<64xf32>
  return
}
