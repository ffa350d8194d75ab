// RUN: mpc-opt %s --convert-linalg-to-mpcrt --mpc-verify-kernels | FileCheck %s
// RUN: mpc-opt %s --convert-linalg-to-mpcrt=target=cuda --mpc-verify-kernels | FileCheck %s --check-prefix=CUDA
// Loops of one iteration and dimensions of extent 1 are none: weights of a convolution of one pixel have the
// kernel of all other weights, and what is one image for a whole batch keeps no loops apart.

#whole = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#pixel = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (0, 0, 0, d3)>
#sums = affine_map<(d0, d1, d2, d3) -> (d3)>

// CHECK-LABEL: func.func private @kernel_update(
// CHECK-SAME: %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: index, %{{.*}}: index)
// CHECK-NOT: arith.divui
// CHECK-LABEL: func.func @update(
// CHECK: memref.collapse_shape %arg0 {{\[\[}}0, 1, 2], [3]] : memref<1x1x32x80xf32> into memref<32x80xf32>
// A GPU's threads are elements.
// CUDA: func.func private @kernel_update(%{{.*}}: memref<1x1x32x80xf32>
func.func @update(%g: memref<1x1x32x80xf32> {mpc.input = "g"}, %w: memref<1x1x32x80xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [#pixel, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%g : memref<1x1x32x80xf32>) outs(%w : memref<1x1x32x80xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.subf %o, %i : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK-NOT: @kernel_matrix
// CHECK: mpcrt.launch @kernel_update
func.func @matrix(%g: memref<64x64xf32> {mpc.input = "g"}, %w: memref<64x64xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%g : memref<64x64xf32>) outs(%w : memref<64x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.subf %o, %i : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK-LABEL: func.func private @kernel_scale(
// CHECK-SAME: %{{.*}}: memref<?x80xf32>, %{{.*}}: memref<80xf32>, %{{.*}}: memref<?x80xf32>,
// CHECK-NOT: arith.divui
// CHECK-LABEL: func.func @scale(
func.func @scale(%x: memref<?x14x14x80xf32> {mpc.input = "x"}, %s: memref<1x1x1x80xf32> {mpc.input = "s"}, %out: memref<?x14x14x80xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [#whole, #channel, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %s : memref<?x14x14x80xf32>, memref<1x1x1x80xf32>) outs(%out : memref<?x14x14x80xf32>) {
  ^bb0(%i: f32, %f: f32, %o: f32):
    %0 = arith.mulf %i, %f : f32
    linalg.yield %0 : f32
  }
  return
}

// Beside a view of a larger buffer all keep them: its other dimensions do not follow each other.
// CHECK-LABEL: func.func private @kernel_view(
// CHECK-SAME: memref<?x1x80xf32, strided<[160, 80, 1]>>, %{{.*}}: memref<?x1x80xf32>,
// CHECK: memref.load %{{.*}}[%[[ROW:.*]], %[[UNIT:.*]], %[[C:arg[0-9]+]]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[ROW]], %[[UNIT]], %[[C]]]
func.func @view(%x: memref<?x2x80xf32> {mpc.input = "x"}, %out: memref<?x1x80xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %part = memref.subview %x[0, 0, 0] [%n, 1, 80] [1, 1, 1] : memref<?x2x80xf32> to memref<?x1x80xf32, strided<[160, 80, 1]>>
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%part : memref<?x1x80xf32, strided<[160, 80, 1]>>) outs(%out : memref<?x1x80xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.negf %i : f32
    linalg.yield %0 : f32
  }
  return
}

// Loops over which columns are summed are one, in the same order.
// CHECK-LABEL: func.func private @kernel_columns(
// CHECK-SAME: %{{.*}}: memref<?x512xf32>, %[[OUT:[^:]*]]: memref<512xf32>,
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
// CHECK: memref.store %{{.*}}, %[[OUT]][%{{.*}}] : memref<512xf32>
// CHECK-LABEL: func.func @columns(
func.func @columns(%x: memref<?x7x7x512xf32> {mpc.input = "x"}, %out: memref<512xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [#whole, #sums], iterator_types = ["reduction", "reduction", "reduction", "parallel"]} ins(%x : memref<?x7x7x512xf32>) outs(%out : memref<512xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// The loops of a sum stay: they say in what order it is added up.
// CHECK-LABEL: func.func private @kernel_rows(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x1x512xf32>, %{{.*}}: memref<?xf32>,
// CHECK-COUNT-3: scf.for
// CHECK: memref.load %[[X]][%{{.*}}, %{{.*}}, %{{.*}}]
func.func @rows(%x: memref<?x2x1x512xf32> {mpc.input = "x"}, %out: memref<?x2xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [#whole, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x : memref<?x2x1x512xf32>) outs(%out : memref<?x2xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// A scalar has no loop that could be dropped.
// CHECK-LABEL: func.func @scalar(
// CHECK: memref.store
func.func @scalar(%x: memref<f32> {mpc.input = "x"}, %out: memref<f32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%x : memref<f32>) outs(%out : memref<f32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %i : f32
    linalg.yield %0 : f32
  }
  return
}
