// RUN: mpc-opt %s --convert-linalg-to-mpcrt --mpc-verify-kernels | FileCheck %s
// RUN: mpc-opt %s --convert-linalg-to-mpcrt=target=cuda --mpc-verify-kernels | FileCheck %s --check-prefix=CUDA
// Loops that a launch counts are one where their elements follow each other in all that the op touches:
// no index is a quotient, and images of two sizes have one kernel.

#whole = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (d3)>
#image = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
#flipped = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>

// CHECK-LABEL: func.func private @kernel_scale(
// CHECK-SAME: %[[X:.*]]: memref<?x80xf32>, %[[S:.*]]: memref<80xf32>, %[[OUT:.*]]: memref<?x80xf32>,
// CHECK-NOT: arith.divui
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: scf.for %[[C:.*]] =
// CHECK: memref.load %[[X]][%[[ROW]], %[[C]]]
// CHECK: memref.load %[[S]][%[[C]]]
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[ROW]], %[[C]]]
// CHECK-LABEL: func.func @scale
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %arg0 {{\[\[}}0, 1, 2], [3]] : memref<?x14x14x80xf32> into memref<?x80xf32>
// CHECK: mpcrt.launch @kernel_scale count(%{{.*}}) grain({{[0-9]+}}) args(%[[FLAT]], %arg1,
// A GPU's threads are elements.
// CUDA: func.func private @kernel_scale(%{{.*}}: memref<?x14x14x80xf32>
func.func @scale(%x: memref<?x14x14x80xf32> {mpc.input = "x"}, %s: memref<80xf32> {mpc.input = "s"}, %out: memref<?x14x14x80xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [#whole, #channel, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %s : memref<?x14x14x80xf32>, memref<80xf32>) outs(%out : memref<?x14x14x80xf32>) {
  ^bb0(%i: f32, %f: f32, %o: f32):
    %0 = arith.mulf %i, %f : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK-NOT: @kernel_small
// CHECK: mpcrt.launch @kernel_scale
func.func @small(%x: memref<?x7x7x80xf32> {mpc.input = "x"}, %s: memref<80xf32> {mpc.input = "s"}, %out: memref<?x7x7x80xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [#whole, #channel, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %s : memref<?x7x7x80xf32>, memref<80xf32>) outs(%out : memref<?x7x7x80xf32>) {
  ^bb0(%i: f32, %f: f32, %o: f32):
    %0 = arith.mulf %i, %f : f32
    linalg.yield %0 : f32
  }
  return
}

// One operand has no rows and columns: only these are one loop.
// CHECK-LABEL: func.func private @kernel_excite(
// CHECK-SAME: %{{.*}}: memref<?x196x80xf32>, %{{.*}}: memref<?x80xf32>, %{{.*}}: memref<?x196x80xf32>,
// CHECK-COUNT-1: arith.divui
func.func @excite(%x: memref<?x14x14x80xf32> {mpc.input = "x"}, %s: memref<?x80xf32> {mpc.input = "s"}, %out: memref<?x14x14x80xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [#whole, #image, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %s : memref<?x14x14x80xf32>, memref<?x80xf32>) outs(%out : memref<?x14x14x80xf32>) {
  ^bb0(%i: f32, %f: f32, %o: f32):
    %0 = arith.mulf %i, %f : f32
    linalg.yield %0 : f32
  }
  return
}

// Rows and columns change places: nothing follows each other in both.
// CHECK-LABEL: func.func private @kernel_flip(
// CHECK-SAME: %{{.*}}: memref<?x14x14x80xf32>, %{{.*}}: memref<?x14x14x80xf32>,
// CHECK-COUNT-2: arith.divui
func.func @flip(%x: memref<?x14x14x80xf32> {mpc.input = "x"}, %out: memref<?x14x14x80xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [#flipped, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : memref<?x14x14x80xf32>) outs(%out : memref<?x14x14x80xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  return
}
