// RUN: mpc-opt %s --mpc-interleave-launches | FileCheck %s
// RUN: mpc-opt %s --mpc-interleave-launches --mpc-interleave-launches | FileCheck %s
// RUN: mpc-opt %s --mpc-interleave-launches --mpc-compact-arena | FileCheck %s --check-prefix=ARENA
// RUN: mpc-opt %s --mpc-interleave-launches --remarks-filter=mpc-kernels 2>&1 | FileCheck %s --check-prefix=REMARK

// Launches that go through the result of a convolution. Its parts are whole rows, so that other arrays may be read beside.

func.func private @clip(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %most = arith.constant 6.0 : f32
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %r = arith.minimumf %v, %most : f32
    memref.store %r, %y[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}

func.func private @add(%x: memref<?xf32>, %before: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %u = memref.load %before[%i] : memref<?xf32>
    %r = arith.addf %v, %u : f32
    memref.store %r, %y[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}

// Sums of int8 become int8 again, by a number for each column.
func.func private @requantize(%x: memref<?x6x4xi32>, %scales: memref<4xf32>, %y: memref<?x6x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  scf.for %i = %begin to %end step %c1 {
    %place = arith.remui %i, %c6 : index
    %sample = arith.divui %i, %c6 : index
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%sample, %place, %j] : memref<?x6x4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %f = arith.sitofp %v : i32 to f32
      %m = arith.mulf %f, %s : f32
      %r = arith.fptosi %m : f32 to i8
      memref.store %r, %y[%sample, %place, %j] : memref<?x6x4xi8>
    } {mpcrt.independent}
  }
  return
}

func.func private @requantize_rows(%x: memref<?x4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %f = arith.sitofp %v : i32 to f32
      %m = arith.mulf %f, %s : f32
      %r = arith.fptosi %m : f32 to i8
      memref.store %r, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// REMARK: remark: [Passed] interleave | Category:mpc-kernels | Remark="clip_in_place runs on each part of the product of depthwise, in its place"
// CHECK-LABEL: func.func @clipped
// CHECK: mpcrt.interleave result(0) replaced {
// CHECK-NEXT: mpcrt.convolve forward
// CHECK-NEXT: mpcrt.launch @clip_in_place count(%{{.*}}) grain(1000) args(%{{[a-z0-9_]*}} : memref<?xf32>)
// CHECK-NEXT: }
func.func @clipped(%x: memref<?x8x4xf32> {mpc.input = "x"}, %w: memref<3x1x4xf32> {mpc.input = "w"}, %b: memref<4xf32> {mpc.input = "b"}, %y: memref<?x6x4xf32> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c24 = arith.constant 24 : index
  %count = arith.muli %n, %c24 : index
  %flat = memref.collapse_shape %y [[0, 1, 2]] : memref<?x6x4xf32> into memref<?xf32>
  mpcrt.convolve forward ins(%x, %w : memref<?x8x4xf32>, memref<3x1x4xf32>) bias(%b : memref<4xf32>) outs(%y : memref<?x6x4xf32>) strides [1] padding [0] x [0] dilations [1] groups 4 {layer = "depthwise"}
  mpcrt.launch @clip count(%count) grain(1000) args(%flat, %flat : memref<?xf32>, memref<?xf32>)
  return
}

// A residual is read beside the result, of which nothing else is read: it has no memory.
// ARENA-LABEL: func.func @residual
// ARENA-SAME: mpcrt.arena_per_sample = 0
// ARENA: unstored
// CHECK-LABEL: func.func @residual
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK-NEXT: mpcrt.convolve forward
// CHECK-NEXT: mpcrt.launch @add
// And in its place.
// CHECK: mpcrt.interleave result(0) replaced {
// CHECK-NEXT: mpcrt.convolve input_gradient
// CHECK-NEXT: mpcrt.launch @add_in_place
func.func @residual(%x: memref<?x8x2xf32> {mpc.input = "x"}, %w: memref<3x2x4xf32> {mpc.input = "w"}, %before: memref<?x6x4xf32> {mpc.input = "before"}, %kept: memref<?x8x2xf32> {mpc.input = "kept"}, %y: memref<?x6x4xf32> {mpcrt.output = "out0"}, %dx: memref<?x8x2xf32> {mpcrt.output = "out1"},
                    %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 128 : i64} {
  %c24 = arith.constant 24 : index
  %c16 = arith.constant 16 : index
  %count = arith.muli %n, %c24 : index
  %images = arith.muli %n, %c16 : index
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x6x4xf32>
  %flat_h = memref.collapse_shape %h [[0, 1, 2]] : memref<?x6x4xf32> into memref<?xf32>
  %flat_before = memref.collapse_shape %before [[0, 1, 2]] : memref<?x6x4xf32> into memref<?xf32>
  %flat_y = memref.collapse_shape %y [[0, 1, 2]] : memref<?x6x4xf32> into memref<?xf32>
  %flat_kept = memref.collapse_shape %kept [[0, 1, 2]] : memref<?x8x2xf32> into memref<?xf32>
  %flat_dx = memref.collapse_shape %dx [[0, 1, 2]] : memref<?x8x2xf32> into memref<?xf32>
  mpcrt.convolve forward ins(%x, %w : memref<?x8x2xf32>, memref<3x2x4xf32>) outs(%h : memref<?x6x4xf32>) strides [1] padding [0] x [0] dilations [1] groups 1 {layer = "last"}
  mpcrt.launch @add count(%count) grain(1000) args(%flat_h, %flat_before, %flat_y : memref<?xf32>, memref<?xf32>, memref<?xf32>)
  mpcrt.convolve input_gradient ins(%before, %w : memref<?x6x4xf32>, memref<3x2x4xf32>) outs(%dx : memref<?x8x2xf32>) strides [1] padding [0] x [0] dilations [1] groups 1 {layer = "last/gradient"}
  mpcrt.launch @add count(%images) grain(1000) args(%flat_dx, %flat_kept, %flat_dx : memref<?xf32>, memref<?xf32>, memref<?xf32>)
  return
}

// Rows may go elsewhere.
// CHECK-LABEL: func.func @integers
// CHECK: %[[PLACES:.*]] = arith.muli
// CHECK: %[[ELEMENTS:.*]] = arith.muli %[[PLACES]]
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK-NEXT: mpcrt.convolve forward
// CHECK-NEXT: mpcrt.launch @requantize_by_elements count(%[[ELEMENTS]]) grain(4000)
func.func @integers(%x: memref<?x8x4xi8> {mpc.input = "x"}, %w: memref<3x4x4xi8> {mpc.input = "w"}, %scales: memref<4xf32> {mpc.input = "scales"}, %y: memref<?x6x4xi8> {mpcrt.output = "out0"},
                    %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 128 : i64} {
  %c6 = arith.constant 6 : index
  %places = arith.muli %n, %c6 : index
  %sums = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x6x4xi32>
  mpcrt.convolve forward ins(%x, %w : memref<?x8x4xi8>, memref<3x4x4xi8>) outs(%sums : memref<?x6x4xi32>) strides [1] padding [0] x [0] dilations [1] groups 1 border -3 {layer = "conv"}
  mpcrt.launch @requantize count(%places) grain(1000) args(%sums, %scales, %y : memref<?x6x4xi32>, memref<4xf32>, memref<?x6x4xi8>)
  return
}

// Products of integers hand over blocks of rows where their weights are few. Constants have memory of their own.
// CHECK-LABEL: func.func @products
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK-NEXT: mpcrt.contract {{.*}}layer = "few"
// CHECK-NEXT: mpcrt.launch @requantize_rows_by_elements
// CHECK: mpcrt.contract {{.*}}layer = "many"
// CHECK-NEXT: mpcrt.launch @requantize_rows count
memref.global "private" constant @weights : memref<8x4xi8> = dense<1>
func.func @products(%x: memref<?x8xi8> {mpc.input = "x"}, %v: memref<40000x4xi8> {mpc.input = "v"}, %z: memref<?x40000xi8> {mpc.input = "z"}, %scales: memref<4xf32> {mpc.input = "scales"}, %y: memref<?x4xi8> {mpcrt.output = "out0"}, %u: memref<?x4xi8> {mpcrt.output = "out1"},
                    %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 128 : i64} {
  %w = memref.get_global @weights : memref<8x4xi8>
  %sums = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  %others = mpcrt.view %arena[%n] fixed(0) per_sample(64) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%sums : memref<?x4xi32>) {layer = "few"}
  mpcrt.launch @requantize_rows count(%n) grain(1000) args(%sums, %scales, %y : memref<?x4xi32>, memref<4xf32>, memref<?x4xi8>)
  mpcrt.contract ins(%z, %v : memref<?x40000xi8>, memref<40000x4xi8>) outs(%others : memref<?x4xi32>) {layer = "many"}
  mpcrt.launch @requantize_rows count(%n) grain(1000) args(%others, %scales, %u : memref<?x4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

// Not over what the convolution still reads.
// CHECK-LABEL: func.func @over_images
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @over_images(%x: memref<?x6x4xf32> {mpc.input = "x"}, %w: memref<3x4x4xf32> {mpc.input = "w"},
                       %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 192 : i64} {
  %c24 = arith.constant 24 : index
  %count = arith.muli %n, %c24 : index
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x6x4xf32>
  %images = mpcrt.view %arena[%n] fixed(0) per_sample(96) : memref<?xi8> -> memref<?x6x4xf32>
  %flat_h = memref.collapse_shape %h [[0, 1, 2]] : memref<?x6x4xf32> into memref<?xf32>
  %flat_images = memref.collapse_shape %images [[0, 1, 2]] : memref<?x6x4xf32> into memref<?xf32>
  mpcrt.convolve forward ins(%images, %w : memref<?x6x4xf32>, memref<3x4x4xf32>) outs(%h : memref<?x6x4xf32>) strides [1] padding [1] x [1] dilations [1] groups 1 {layer = "conv"}
  mpcrt.launch @clip count(%count) grain(1000) args(%flat_h, %flat_images : memref<?xf32>, memref<?xf32>)
  return
}

// A filter's sums are complete at the end only.
// CHECK-LABEL: func.func @filter
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @filter(%x: memref<?x8x2xf32> {mpc.input = "x"}, %dy: memref<?x6x4xf32> {mpc.input = "dy"}, %dw: memref<3x2x4xf32> {mpcrt.output = "out0"},
                  %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c24 = arith.constant 24 : index
  %fixed = memref.collapse_shape %dw [[0, 1, 2]] : memref<3x2x4xf32> into memref<24xf32>
  %flat = memref.cast %fixed : memref<24xf32> to memref<?xf32>
  mpcrt.convolve filter_gradient ins(%x, %dy : memref<?x8x2xf32>, memref<?x6x4xf32>) outs(%dw : memref<3x2x4xf32>) strides [1] padding [0] x [0] dilations [1] groups 1 {layer = "conv"}
  mpcrt.launch @clip count(%c24) grain(1000) args(%flat, %flat : memref<?xf32>, memref<?xf32>)
  return
}
