// RUN: mpc-opt %s --mpc-interleave-launches | FileCheck %s
// RUN: mpc-opt %s --mpc-interleave-launches --mpc-interleave-launches | FileCheck %s
// RUN: mpc-opt %s --mpc-interleave-launches --remarks-filter=mpc-kernels 2>&1 | FileCheck %s --check-prefix=REMARK

mpc.variable @w : tensor<8x4xf32> role trainable
mpc.variable @rate : tensor<f32> role optimizer

// Iteration i reads element i of the first argument.
func.func private @update(%dw: memref<32xf32>, %rate: memref<f32>, %w: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %r = memref.load %rate[] : memref<f32>
  scf.for %i = %begin to %end step %c1 {
    %d = memref.load %dw[%i] : memref<32xf32>
    %v = memref.load %w[%i] : memref<32xf32>
    %s = arith.mulf %d, %r : f32
    %u = arith.subf %v, %s : f32
    memref.store %u, %w[%i] : memref<32xf32>
  } {mpcrt.independent}
  return
}

// Iteration i reads more than element i.
func.func private @neighbours(%dw: memref<32xf32>, %rate: memref<f32>, %w: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : index
  scf.for %i = %begin to %end step %c1 {
    %j = arith.subi %c31, %i : index
    %d = memref.load %dw[%j] : memref<32xf32>
    memref.store %d, %w[%i] : memref<32xf32>
  } {mpcrt.independent}
  return
}

// It reads all sums of the columns, too.
func.func private @centre(%dw: memref<32xf32>, %db: memref<4xf32>, %w: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %b = memref.load %db[%c3] : memref<4xf32>
  scf.for %i = %begin to %end step %c1 {
    %d = memref.load %dw[%i] : memref<32xf32>
    %u = arith.subf %d, %b : f32
    memref.store %u, %w[%i] : memref<32xf32>
  } {mpcrt.independent}
  return
}

// It writes the result, too.
func.func private @in_place(%dw: memref<32xf32>, %rate: memref<f32>, %w: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %d = memref.load %w[%i] : memref<32xf32>
    memref.store %d, %dw[%i] : memref<32xf32>
  } {mpcrt.independent}
  return
}

// The update runs on each part of the gradient, which nobody else reads. What is computed in between stays.
// CHECK-LABEL: func.func @update_weights
// REMARK: remark: [Passed] interleave | Category:mpc-kernels | Remark="update runs on each part of the product of dense, which is not stored"
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.launch @update count(%{{.*}}) grain(1000)
// CHECK-NEXT: }
// CHECK: memref.store
func.func @update_weights(%x: memref<?x8xf32> {mpc.input = "x"}, %dy: memref<?x4xf32> {mpc.input = "dy"}, %w: memref<8x4xf32> {mpc.variable = @w}, %r: memref<f32> {mpc.variable = @rate},
                 %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %c32 = arith.constant 32 : index
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %weights = memref.collapse_shape %w [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense", transpose_lhs}
  %c64 = arith.constant 64.0 : f32
  %other = mpcrt.view %arena[%n] fixed(256) per_sample(0) : memref<?xi8> -> memref<f32>
  memref.store %c64, %other[] : memref<f32>
  mpcrt.launch @update count(%c32) grain(1000) args(%flat, %r, %weights : memref<32xf32>, memref<f32>, memref<32xf32>)
  return
}

// What the update reads is written between the two: the contraction waits for it.
// CHECK-LABEL: func.func @rate_is_written
// CHECK: memref.store
// CHECK-NEXT: mpcrt.interleave result(0) consumed {
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.launch @update
func.func @rate_is_written(%x: memref<?x8xf32> {mpc.input = "x"}, %dy: memref<?x4xf32> {mpc.input = "dy"}, %w: memref<8x4xf32> {mpc.variable = @w}, %r: memref<f32> {mpc.variable = @rate},
                 %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %c32 = arith.constant 32 : index
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %weights = memref.collapse_shape %w [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense", transpose_lhs}
  %c64 = arith.constant 64.0 : f32
  memref.store %c64, %r[] : memref<f32>
  mpcrt.launch @update count(%c32) grain(1000) args(%flat, %r, %weights : memref<32xf32>, memref<f32>, memref<32xf32>)
  return
}

// So is what the contraction reads, which cannot wait.
// CHECK-LABEL: func.func @rate_and_operand_are_written
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @rate_and_operand_are_written(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.variable = @w}, %r: memref<f32> {mpc.variable = @rate},
                 %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %dy = mpcrt.view %arena[%n] fixed(512) per_sample(0) : memref<?xi8> -> memref<?x4xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %weights = memref.collapse_shape %w [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense", transpose_lhs}
  %c64 = arith.constant 64.0 : f32
  memref.store %c64, %r[] : memref<f32>
  memref.store %c64, %dy[%c0, %c0] : memref<?x4xf32>
  mpcrt.launch @update count(%c32) grain(1000) args(%flat, %r, %weights : memref<32xf32>, memref<f32>, memref<32xf32>)
  return
}

// Somebody else reads the gradient, too: it is stored.
// CHECK-LABEL: func.func @read_again
// CHECK: mpcrt.interleave result(0) {
// CHECK: memref.load
func.func @read_again(%x: memref<?x8xf32> {mpc.input = "x"}, %dy: memref<?x4xf32> {mpc.input = "dy"}, %w: memref<8x4xf32> {mpc.variable = @w}, %r: memref<f32> {mpc.variable = @rate},
                 %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %c32 = arith.constant 32 : index
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %weights = memref.collapse_shape %w [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense", transpose_lhs}
  mpcrt.launch @update count(%c32) grain(1000) args(%flat, %r, %weights : memref<32xf32>, memref<f32>, memref<32xf32>)
  %c0 = arith.constant 0 : index
  %first = memref.load %flat[%c0] : memref<32xf32>
  memref.store %first, %r[] : memref<f32>
  return
}

// Somebody else reads the gradient first, and all of it.
// CHECK-LABEL: func.func @read_before
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @read_before(%x: memref<?x8xf32> {mpc.input = "x"}, %dy: memref<?x4xf32> {mpc.input = "dy"}, %w: memref<8x4xf32> {mpc.variable = @w}, %r: memref<f32> {mpc.variable = @rate},
                 %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %c32 = arith.constant 32 : index
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %weights = memref.collapse_shape %w [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense", transpose_lhs}
  mpcrt.launch @neighbours count(%c32) grain(1000) args(%flat, %r, %weights : memref<32xf32>, memref<f32>, memref<32xf32>)
  mpcrt.launch @update count(%c32) grain(1000) args(%flat, %r, %weights : memref<32xf32>, memref<f32>, memref<32xf32>)
  return
}

// The kernel writes the result.
// CHECK-LABEL: func.func @written_in_place
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @written_in_place(%x: memref<?x8xf32> {mpc.input = "x"}, %dy: memref<?x4xf32> {mpc.input = "dy"}, %w: memref<8x4xf32> {mpc.variable = @w}, %r: memref<f32> {mpc.variable = @rate},
                 %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %c32 = arith.constant 32 : index
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %weights = memref.collapse_shape %w [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense", transpose_lhs}
  mpcrt.launch @in_place count(%c32) grain(1000) args(%flat, %r, %weights : memref<32xf32>, memref<f32>, memref<32xf32>)
  return
}

// The launch goes through half of the elements.
// CHECK-LABEL: func.func @part_of_it
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @part_of_it(%x: memref<?x8xf32> {mpc.input = "x"}, %dy: memref<?x4xf32> {mpc.input = "dy"}, %w: memref<8x4xf32> {mpc.variable = @w}, %r: memref<f32> {mpc.variable = @rate},
                 %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %c32 = arith.constant 32 : index
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %weights = memref.collapse_shape %w [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense", transpose_lhs}
  %c16 = arith.constant 16 : index
  mpcrt.launch @update count(%c16) grain(1000) args(%flat, %r, %weights : memref<32xf32>, memref<f32>, memref<32xf32>)
  return
}

// The kernel writes what the contraction reads: rows of the product that come later would see it.
// CHECK-LABEL: func.func @operand_is_written
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @operand_is_written(%x: memref<?x8xf32> {mpc.input = "x"}, %dy: memref<?x4xf32> {mpc.input = "dy"}, %w: memref<8x4xf32> {mpc.variable = @w}, %r: memref<f32> {mpc.variable = @rate},
                 %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %c32 = arith.constant 32 : index
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %weights = memref.collapse_shape %w [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %k = mpcrt.view %arena[%n] fixed(256) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  mpcrt.contract ins(%w, %k : memref<8x4xf32>, memref<4x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "square"}
  mpcrt.launch @update count(%c32) grain(1000) args(%flat, %r, %weights : memref<32xf32>, memref<f32>, memref<32xf32>)
  return
}

// Sums are complete behind the contraction only.
// CHECK-LABEL: func.func @sums_are_read
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @sums_are_read(%x: memref<?x8xf32> {mpc.input = "x"}, %dy: memref<?x4xf32> {mpc.input = "dy"}, %w: memref<8x4xf32> {mpc.variable = @w}, %r: memref<f32> {mpc.variable = @rate},
    %arena: memref<?xi8> {mpcrt.arena}, %n: index {mpcrt.batch}) attributes {mpc.entry, mpcrt.arena_fixed = 192 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c32 = arith.constant 32 : index
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %db = mpcrt.view %arena[%n] fixed(128) per_sample(0) : memref<?xi8> -> memref<4xf32>
  mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) sums(%db : memref<4xf32>) {transpose_lhs}
  %dw_flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %w_flat = memref.collapse_shape %w [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  mpcrt.launch @centre count(%c32) grain(8) args(%dw_flat, %db, %w_flat : memref<32xf32>, memref<4xf32>, memref<32xf32>)
  return
}
