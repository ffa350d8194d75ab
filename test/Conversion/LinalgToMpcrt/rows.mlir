// RUN: mpc-opt %s --convert-linalg-to-mpcrt --mpc-verify-kernels | FileCheck %s
// A group of ops is one kernel: for each block of rows, one op after the other.

#whole = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func private @kernel_center(
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %[[OUT:.*]]: memref<?x64xf32>, %[[N:.*]]: index, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK-DAG: %[[LOCAL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xf32>
// CHECK-DAG: %[[BLOCK:.*]] = arith.constant 64 : index
// CHECK: scf.for %[[FIRST:.*]] = %[[BEGIN]] to %[[END]] step %[[BLOCK]] {
// CHECK: %[[LAST:.*]] = arith.minui
// CHECK: scf.for %[[R:.*]] = %[[FIRST]] to %[[LAST]]
// CHECK: %[[PLACE:.*]] = arith.subi %[[R]], %[[FIRST]]
// CHECK: memref.store %{{.*}}, %[[LOCAL]][%[[PLACE]]]
// CHECK: scf.for %[[R2:.*]] = %[[FIRST]] to %[[LAST]]
// CHECK: memref.load %[[LOCAL]]
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[R2]],
// CHECK-LABEL: func.func @center
// CHECK: mpcrt.launch @kernel_center count(%{{.*}}) grain({{[0-9]+}}) args(%arg0, %arg1, %arg2
func.func @center(%x: memref<?x64xf32> {mpc.input = "x"}, %out: memref<?x64xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %zero = arith.constant 0.0 : f32
  mpcrt.rows loops(1) {
    %sum = memref.alloca(%n) : memref<?xf32>
    linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum : memref<?xf32>) {
    ^bb0(%i: f32, %o: f32):
      linalg.yield %i : f32
    }
    linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x64xf32>) outs(%sum : memref<?xf32>) {
    ^bb0(%i: f32, %o: f32):
      %0 = arith.addf %i, %o fastmath<reassoc> : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : memref<?x64xf32>, memref<?xf32>) outs(%out : memref<?x64xf32>) {
    ^bb0(%i: f32, %s: f32, %o: f32):
      %0 = arith.subf %i, %s : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// Two loops count the rows: what both are the first dimensions of has one in their place.
// CHECK-LABEL: func.func private @kernel_heads(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x4x8xf32>, %[[OUT:[^:]*]]: memref<?x4xf32>,
// CHECK-DAG: %[[ROWS:.*]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1], [2]] : memref<?x4x8xf32> into memref<?x8xf32>
// CHECK-DAG: %[[FLAT:.*]] = memref.collapse_shape %[[OUT]] {{\[\[}}0, 1]] : memref<?x4xf32> into memref<?xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<512xf32>
// CHECK: scf.for
// CHECK: scf.for %[[R:[^ ]*]] =
// CHECK: memref.load %[[ROWS]][%[[R]], %{{.*}}]
// CHECK: scf.for %[[R2:[^ ]*]] =
// CHECK: memref.store %{{.*}}, %[[FLAT]][%[[R2]]]
func.func @heads(%x: memref<?x4x8xf32> {mpc.input = "x"}, %out: memref<?x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.rows loops(2) {
    %sum = memref.alloca(%n) : memref<?x4xf32>
    linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : memref<?x4x8xf32>) outs(%sum : memref<?x4xf32>) {
    ^bb0(%i: f32, %o: f32):
      %0 = arith.addf %i, %o fastmath<reassoc> : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]} ins(%sum : memref<?x4xf32>) outs(%out : memref<?x4xf32>) {
    ^bb0(%i: f32, %o: f32):
      linalg.yield %i : f32
    }
  }
  return
}
