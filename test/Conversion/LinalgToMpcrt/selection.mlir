// RUN: mpc-opt %s --convert-linalg-to-mpcrt --mpc-verify-kernels --split-input-file | FileCheck %s
// Kernels of mpcrt.compact and mpcrt.select_boxes: the loops carry how many there are so far.

// CHECK-LABEL: func.func private @kernel_compact_compact
// CHECK: scf.for
// CHECK: %[[FOUND:.*]] = scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[N:.*]] = %{{.*}}) -> (index)
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[N]]] : memref<8xi64>
// CHECK: memref.load %{{.*}}[%[[I]]] : memref<8xi1>
// CHECK: scf.for %[[J:.*]] = %[[FOUND]] to
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[J]]] : memref<8xi64>
// CHECK: memref.store %{{.*}}, %{{.*}}[] : memref<i64>
// CHECK-LABEL: func.func @compact
// CHECK: mpcrt.launch @kernel_compact_compact count(%c1) grain(1)
func.func @compact(%m: memref<8xi1> {mpc.input = "m"}, %p: memref<8xi64> {mpcrt.output = "out0"}, %c: memref<i64> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.compact ins(%m : memref<8xi1>) outs(%p, %c : memref<8xi64>, memref<i64>)
  return
}

// -----

// One iteration for each class of each sample: candidates, a heap of them, and those that are taken out of it, each
// beside the chosen ones.
// CHECK-LABEL: func.func private @kernel_boxes_select_boxes
// CHECK: arith.divui
// CHECK: arith.remui
// CHECK: %[[CANDIDATES:.*]] = scf.for
// CHECK: arith.cmpf ogt
// CHECK: %[[HALF:.*]] = arith.divui %[[CANDIDATES]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[HALF]] step
// CHECK: %[[CHOSEN:.*]] = scf.for %{{.*}} = %{{.*}} to %[[CANDIDATES]] step %{{.*}} iter_args(%[[NUMBER:.*]] = %{{.*}}) -> (index)
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[NUMBER]] step %{{.*}} iter_args(%{{.*}} = %false
// CHECK: scf.for %{{.*}} = %[[CHOSEN]] to
// CHECK: memref.store %c-1_i32
// CHECK-LABEL: func.func @boxes
// CHECK: %[[COUNT:.*]] = arith.muli
// CHECK: mpcrt.launch @kernel_boxes_select_boxes count(%[[COUNT]]) grain(1)
func.func @boxes(%b: memref<?x9x4xf32> {mpc.input = "b"}, %s: memref<?x3x9xf32> {mpc.input = "s"}, %o: memref<f32> {mpc.input = "o"}, %i: memref<?x3x5xi32> {mpcrt.output = "out0"}, %l: memref<?x3x9xi32> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.select_boxes ins(%b, %s, %o : memref<?x9x4xf32>, memref<?x3x9xf32>, memref<f32>) least(%o : memref<f32>) outs(%i, %l : memref<?x3x5xi32>, memref<?x3x9xi32>)
  return
}
