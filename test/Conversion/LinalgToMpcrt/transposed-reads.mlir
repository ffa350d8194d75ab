// RUN: mpc-opt %s --convert-linalg-to-mpcrt --mpc-verify-kernels | FileCheck %s

// Images of a few channels are put into another order. The launch counts places, which lie together in what is read: a loop goes
// through those of one sample, so that no index is a remainder; the channels stand in it one after the other.

// CHECK-LABEL: func.func private @kernel_order
// CHECK-SAME: %[[X:.*]]: memref<?x3x64xf32>, %[[Y:.*]]: memref<?x64x3xf32>, %{{.*}}: index, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK: %[[FIRST:.*]] = arith.divui %[[BEGIN]], %[[C64:.*]] : index
// CHECK: %[[LAST:.*]] = arith.ceildivui %[[END]], %[[C64]] : index
// CHECK: scf.for %[[SAMPLE:.*]] = %[[FIRST]] to %[[LAST]]
// CHECK-NEXT: %[[START:.*]] = arith.muli %[[SAMPLE]], %[[C64]]
// CHECK-NEXT: %[[BEFORE:.*]] = arith.subi %[[BEGIN]], %[[START]]
// CHECK-NEXT: %[[LOWER:.*]] = arith.maxsi %[[BEFORE]]
// CHECK-NEXT: %[[LEFT:.*]] = arith.subi %[[END]], %[[START]]
// CHECK-NEXT: %[[UPPER:.*]] = arith.minsi %[[LEFT]], %[[C64]]
// CHECK-NEXT: scf.for %[[PLACE:.*]] = %[[LOWER]] to %[[UPPER]]
// CHECK-NEXT: memref.load %[[X]][%[[SAMPLE]], %c0{{.*}}, %[[PLACE]]]
// CHECK-NEXT: memref.store %{{.*}}, %[[Y]][%[[SAMPLE]], %[[PLACE]], %c0{{.*}}]
// CHECK-NEXT: memref.load %[[X]][%[[SAMPLE]], %c1{{.*}}, %[[PLACE]]]
// CHECK-NEXT: memref.store %{{.*}}, %[[Y]][%[[SAMPLE]], %[[PLACE]], %c1{{.*}}]
// CHECK-NEXT: memref.load %[[X]][%[[SAMPLE]], %c2{{.*}}, %[[PLACE]]]
// CHECK-NEXT: memref.store %{{.*}}, %[[Y]][%[[SAMPLE]], %[[PLACE]], %c2{{.*}}]
// CHECK-NEXT: } {mpcrt.independent}
// CHECK-LABEL: func.func @order
// CHECK: mpcrt.launch @kernel_order count
func.func @order(%x: memref<?x3x64xf32> {mpc.input = "x"}, %y: memref<?x64x3xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<?x3x64xf32>) outs(%y : memref<?x64x3xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  return
}

// Of many channels rows are long enough for vectors.
// CHECK-LABEL: func.func private @kernel_many
// CHECK: arith.remui
func.func @many(%x: memref<?x48x64xf32> {mpc.input = "x"}, %y: memref<?x64x48xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<?x48x64xf32>) outs(%y : memref<?x64x48xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  return
}
