// RUN: mpc-opt %s --convert-linalg-to-mpcrt --mpc-verify-kernels | FileCheck %s
// How the iterations of each kind of op are divided.

// CHECK-LABEL: func.func private @kernel_sum_columns
// CHECK: scf.for {{.*}} {
// CHECK: scf.for %[[C:.*]] = %{{.*}} to %{{.*}} step
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[C]]] : memref<512xf32>
// CHECK: } {mpcrt.independent}
// CHECK-LABEL: func.func @sum_columns
// CHECK: mpcrt.launch @kernel_sum_columns count(%{{.*}}) grain(85)
func.func @sum_columns(%x: memref<?x512xf32> {mpc.input = "x"}, %out: memref<512xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x512xf32>) outs(%out : memref<512xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o fastmath<reassoc> : f32
    %1 = arith.addf %0, %0 : f32
    linalg.yield %0 : f32
  }
  return
}

// Of two parallel loops the launch counts the outer one; neighbours in memory stay innermost.
// CHECK-LABEL: func.func private @kernel_sum_heads
// CHECK-SAME: %[[BEGIN:[^ ]*]]: index, %[[END:[^ ]*]]: index)
// CHECK: scf.for %[[H:.*]] = %[[BEGIN]] to %[[END]] step
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for %[[C:.*]] = %{{.*}} to %{{.*}} step
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[H]], %[[C]]] : memref<8x32xf32>
// CHECK: } {mpcrt.independent}
func.func @sum_heads(%x: memref<?x8x128x32xf32> {mpc.input = "x"}, %out: memref<8x32xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d0, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x : memref<?x8x128x32xf32>) outs(%out : memref<8x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// 64 partial sums, whatever the number of threads, then one loop in order.
// CHECK-LABEL: func.func private @kernel_sum
// CHECK: arith.ceildivui
// CHECK-LABEL: func.func @sum(
// CHECK: %[[PARTIAL:.*]] = memref.alloca() : memref<64xf32>
// CHECK: mpcrt.launch @kernel_sum count(%{{.*}}) grain(8)
// CHECK: scf.for
// CHECK: memref.load %[[PARTIAL]]
func.func @sum(%x: memref<?x512xf32> {mpc.input = "x"}, %out: memref<f32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : memref<?x512xf32>) outs(%out : memref<f32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// Scalars stay in the host function.
// CHECK-LABEL: func.func @scalar
// CHECK-NOT: mpcrt.launch
// CHECK: arith.addi
func.func @scalar(%out: memref<i64> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%out : memref<i64>) {
  ^bb0(%o: i64):
    %0 = arith.addi %o, %o : i64
    linalg.yield %0 : i64
  }
  return
}

// Long sums of few columns: 64 partial results of all columns, added up in order.
// CHECK-LABEL: func.func private @kernel_few_columns
// CHECK: arith.ceildivui
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[P:.*]][%{{.*}}, %{{.*}}] : memref<64x32xf32>
// CHECK: %[[ROW:.*]] = memref.subview %[[P]][%{{.*}}, 0] [1, 32] [1, 1]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[ROW]]
// CHECK: } {mpcrt.independent}
// CHECK-LABEL: func.func @few_columns
// CHECK: %[[PARTIAL:.*]] = memref.alloca() : memref<64x32xf32>
// CHECK: mpcrt.launch @kernel_few_columns count(%{{.*}}) grain(8)
// CHECK: mpcrt.launch @kernel_few_columns_1
func.func @few_columns(%x: memref<?x1024x32xf32> {mpc.input = "x"}, %out: memref<32xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : memref<?x1024x32xf32>) outs(%out : memref<32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}
