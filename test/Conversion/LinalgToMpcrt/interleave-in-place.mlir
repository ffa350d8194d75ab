// RUN: mpc-opt %s --mpc-interleave-launches | FileCheck %s
// RUN: mpc-opt %s --mpc-interleave-launches --mpc-interleave-launches | FileCheck %s
// RUN: mpc-opt %s --mpc-interleave-launches --mpc-compact-arena | FileCheck %s --check-prefix=ARENA
// RUN: mpc-opt %s --mpc-interleave-launches --remarks-filter=mpc-kernels 2>&1 | FileCheck %s --check-prefix=REMARK

// Launches that replace a contraction's result, as an activation does.

// The place has another reader below: it stays in the arena.
// ARENA-LABEL: func.func @activation
// ARENA-SAME: mpcrt.arena_per_sample = 16
// ARENA-NOT: unstored

// One argument is read and one written, element by element: a copy of the kernel has one for both. The kernel stays for
// the launch that has two buffers.
// CHECK: func.func private @activate(%[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>, %{{.*}}: index, %{{.*}}: index)
// CHECK: func.func private @activate_in_place(%[[X:.*]]: memref<?xf32>, %{{.*}}: index, %{{.*}}: index) attributes {mpcrt.kernel}
// CHECK: memref.load %[[X]]
// CHECK: memref.store %{{.*}}, %[[X]]
func.func private @activate(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %r = math.tanh %v : f32
    memref.store %r, %y[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}

// Only in place: no other one stays. The argument that is written comes first.
// CHECK-NOT: func.func private @scale(
// CHECK: func.func private @scale_in_place(%[[BY:.*]]: memref<f32>, %[[SCALED:.*]]: memref<?xf32>, %{{.*}}: index, %{{.*}}: index)
// CHECK: memref.store %{{.*}}, %[[SCALED]]
func.func private @scale(%y: memref<?xf32>, %by: memref<f32>, %x: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %factor = memref.load %by[] : memref<f32>
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %r = arith.mulf %v, %factor : f32
    memref.store %r, %y[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}

// It reads as much again from elsewhere.
func.func private @derive(%dx: memref<?xf32>, %kept: memref<?xf32>, %dy: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %d = memref.load %dy[%i] : memref<?xf32>
    %v = memref.load %kept[%i] : memref<?xf32>
    %r = arith.mulf %d, %v : f32
    memref.store %r, %dx[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}

// One argument for both already.
// CHECK: func.func private @same
func.func private @same(%x: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %r = math.tanh %v : f32
    memref.store %r, %x[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}

// Iteration i writes another element.
func.func private @shift(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %j = arith.xori %i, %c1 : index
    memref.store %v, %y[%j] : memref<?xf32>
  } {mpcrt.independent}
  return
}

// Not every iteration writes.
func.func private @sometimes(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %negative = arith.cmpf olt, %v, %zero : f32
    scf.if %negative {
      memref.store %zero, %y[%i] : memref<?xf32>
    }
  } {mpcrt.independent}
  return
}

// Iterations are rows: each adds a vector. A copy has an iteration for each element, and a loop for rows that are cut.
// CHECK: func.func private @rows(
// CHECK: func.func private @rows_by_elements_in_place(%[[ROWS:.*]]: memref<?x4xf32>, %{{.*}}: memref<4xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK-DAG: %[[WIDTH:.*]] = arith.constant 4 : index
// CHECK: %[[FIRST:.*]] = arith.divui %[[BEGIN]], %[[WIDTH]]
// CHECK: %[[LAST:.*]] = arith.divui %{{.*}}, %[[WIDTH]]
// CHECK: scf.if
// CHECK-NEXT: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %c4
// CHECK: else
// CHECK-NEXT: scf.for %[[ROW:.*]] = %[[FIRST]] to %[[LAST]]
// CHECK-NEXT: %[[START:.*]] = arith.muli %[[ROW]], %[[WIDTH]]
// CHECK-NEXT: %[[FROM:.*]] = arith.subi %[[BEGIN]], %[[START]]
// CHECK-NEXT: %[[TO:.*]] = arith.subi %[[END]], %[[START]]
// CHECK-NEXT: %[[LOWER:.*]] = arith.maxsi %[[FROM]]
// CHECK-NEXT: %[[UPPER:.*]] = arith.minsi %[[TO]], %[[WIDTH]]
// CHECK-NEXT: scf.for %{{.*}} = %[[LOWER]] to %[[UPPER]]
func.func private @rows(%x: memref<?x4xf32>, %b: memref<4xf32>, %y: memref<?x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xf32>
      %u = memref.load %b[%j] : memref<4xf32>
      %r = arith.addf %v, %u : f32
      memref.store %r, %y[%i, %j] : memref<?x4xf32>
    } {mpcrt.independent}
  }
  return
}

// Images: a row is a place, whose number is taken apart.
func.func private @places(%x: memref<?x2x3x4xf32>, %b: memref<4xf32>, %y: memref<?x2x3x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %begin to %end step %c1 {
    %column = arith.remui %i, %c3 : index
    %line = arith.divui %i, %c3 : index
    %row = arith.remui %line, %c2 : index
    %sample = arith.divui %line, %c2 : index
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%sample, %row, %column, %j] : memref<?x2x3x4xf32>
      %u = memref.load %b[%j] : memref<4xf32>
      %r = arith.addf %v, %u : f32
      memref.store %r, %y[%sample, %row, %column, %j] : memref<?x2x3x4xf32>
    } {mpcrt.independent}
  }
  return
}

// The places of an image in another order.
func.func private @mirrored(%x: memref<?x2x3x4xf32>, %y: memref<?x2x3x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %begin to %end step %c1 {
    %column = arith.remui %i, %c3 : index
    %line = arith.divui %i, %c3 : index
    %row = arith.remui %line, %c2 : index
    %sample = arith.divui %line, %c2 : index
    %other = arith.subi %c2, %column : index
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%sample, %row, %other, %j] : memref<?x2x3x4xf32>
      memref.store %v, %y[%sample, %row, %column, %j] : memref<?x2x3x4xf32>
    } {mpcrt.independent}
  }
  return
}

// REMARK: remark: [Passed] interleave | Category:mpc-kernels | Remark="activate_in_place runs on each part of the product of dense, in its place"
// CHECK-LABEL: func.func @activation
// CHECK: mpcrt.interleave result(0) replaced {
// CHECK-NEXT: mpcrt.contract ins(%{{.*}}, %{{.*}}) bias(%{{.*}}) outs(%{{.*}})
// CHECK-NEXT: mpcrt.launch @activate_in_place count(%{{.*}}) grain(1000) args(%{{[a-z0-9_]*}} : memref<?xf32>)
// CHECK-NEXT: }
// CHECK: mpcrt.interleave result(0) {
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.launch @activate count
func.func @activation(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %b: memref<4xf32> {mpc.input = "b"}, %v: memref<4x4xf32> {mpc.input = "v"}, %y: memref<?x4xf32> {mpcrt.output = "out0"}, %z: memref<?x4xf32> {mpcrt.output = "out1"},
                      %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xf32>
  %flat = memref.collapse_shape %h [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %flat_y = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %flat_z = memref.collapse_shape %z [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) bias(%b : memref<4xf32>) outs(%h : memref<?x4xf32>) {layer = "dense"}
  mpcrt.launch @activate count(%count) grain(1000) args(%flat, %flat : memref<?xf32>, memref<?xf32>)
  mpcrt.contract ins(%h, %v : memref<?x4xf32>, memref<4x4xf32>) outs(%y : memref<?x4xf32>) {layer = "last"}
  mpcrt.launch @activate count(%count) grain(1000) args(%flat_y, %flat_z : memref<?xf32>, memref<?xf32>)
  return
}

// Below a product that reads neither.
// CHECK-LABEL: func.func @scaled
// CHECK: mpcrt.interleave result(1) replaced {
// CHECK-NEXT: mpcrt.contract {{.*}}layer = "dense/gradient"
// CHECK-NEXT: mpcrt.launch @scale_in_place count(%{{.*}}) grain(1000) args(%{{[a-z0-9_]*}}, %{{[a-z0-9_]*}} : memref<f32>, memref<?xf32>)
// CHECK-NEXT: }
// CHECK: mpcrt.contract {{.*}}layer = "other"
func.func @scaled(%dy: memref<?x8xf32> {mpc.input = "dy"}, %w: memref<4x8xf32> {mpc.input = "w"}, %kept: memref<?x4xf32> {mpc.input = "kept"}, %by: memref<f32> {mpc.input = "by"}, %y: memref<?x4xf32> {mpcrt.output = "out0"}, %z: memref<4x4xf32> {mpcrt.output = "out1"},
                  %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %flat = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  mpcrt.contract ins(%dy, %w : memref<?x8xf32>, memref<4x8xf32>) outs(%y : memref<?x4xf32>) {layer = "dense/gradient", transpose_rhs}
  mpcrt.contract ins(%kept, %kept : memref<?x4xf32>, memref<?x4xf32>) outs(%z : memref<4x4xf32>) {layer = "other", transpose_lhs}
  mpcrt.launch @scale count(%count) grain(1000) args(%flat, %by, %flat : memref<?xf32>, memref<f32>, memref<?xf32>)
  return
}

// A derivative from what was kept: a pass of its own over both reads it faster.
// CHECK-LABEL: func.func @derivative
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @derivative(%dy: memref<?x8xf32> {mpc.input = "dy"}, %w: memref<4x8xf32> {mpc.input = "w"}, %kept: memref<?x4xf32> {mpc.input = "kept"}, %y: memref<?x4xf32> {mpcrt.output = "out0"}, %z: memref<4x4xf32> {mpcrt.output = "out1"},
                      %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %flat = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %flat_kept = memref.collapse_shape %kept [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  mpcrt.contract ins(%dy, %w : memref<?x8xf32>, memref<4x8xf32>) outs(%y : memref<?x4xf32>) {layer = "dense/gradient", transpose_rhs}
  mpcrt.contract ins(%kept, %kept : memref<?x4xf32>, memref<?x4xf32>) outs(%z : memref<4x4xf32>) {layer = "other", transpose_lhs}
  mpcrt.launch @derive count(%count) grain(1000) args(%flat, %flat_kept, %flat : memref<?xf32>, memref<?xf32>, memref<?xf32>)
  return
}

// CHECK-LABEL: func.func @one_argument
// CHECK: mpcrt.interleave result(0) replaced {
// CHECK: mpcrt.launch @same count
func.func @one_argument(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %y: memref<?x4xf32> {mpcrt.output = "out0"},
                        %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %flat = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%y : memref<?x4xf32>) {layer = "dense"}
  mpcrt.launch @same count(%count) grain(1000) args(%flat : memref<?xf32>)
  return
}

// A product between the two reads what the first one gave.
// CHECK-LABEL: func.func @read_between
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @read_between(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %v: memref<4x4xf32> {mpc.input = "v"}, %y: memref<?x4xf32> {mpcrt.output = "out0"}, %z: memref<?x4xf32> {mpcrt.output = "out1"},
                        %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %flat = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%y : memref<?x4xf32>) {layer = "dense"}
  mpcrt.contract ins(%y, %v : memref<?x4xf32>, memref<4x4xf32>) outs(%z : memref<?x4xf32>) {layer = "reader"}
  mpcrt.launch @activate count(%count) grain(1000) args(%flat, %flat : memref<?xf32>, memref<?xf32>)
  return
}

// CHECK-LABEL: func.func @writes_elsewhere
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @writes_elsewhere(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %y: memref<?x4xf32> {mpcrt.output = "out0"},
                            %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %flat = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%y : memref<?x4xf32>) {layer = "dense"}
  mpcrt.launch @shift count(%count) grain(1000) args(%flat, %flat : memref<?xf32>, memref<?xf32>)
  return
}

// CHECK-LABEL: func.func @writes_sometimes
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @writes_sometimes(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %y: memref<?x4xf32> {mpcrt.output = "out0"},
                            %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %flat = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%y : memref<?x4xf32>) {layer = "dense"}
  mpcrt.launch @sometimes count(%count) grain(1000) args(%flat, %flat : memref<?xf32>, memref<?xf32>)
  return
}

// CHECK-LABEL: func.func @rows_of_it
// CHECK: %[[ELEMENTS:.*]] = arith.muli
// CHECK-NEXT: mpcrt.interleave result(0) replaced {
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.launch @rows_by_elements_in_place count(%[[ELEMENTS]]) grain(4000)
func.func @rows_of_it(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %b: memref<4xf32> {mpc.input = "b"}, %y: memref<?x4xf32> {mpcrt.output = "out0"},
                      %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%y : memref<?x4xf32>) {layer = "dense"}
  mpcrt.launch @rows count(%n) grain(1000) args(%y, %b, %y : memref<?x4xf32>, memref<4xf32>, memref<?x4xf32>)
  return
}

// They go elsewhere.
// CHECK-LABEL: func.func @rows_elsewhere
// CHECK-NOT: mpcrt.interleave
// CHECK: mpcrt.launch @rows count
func.func @rows_elsewhere(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %b: memref<4xf32> {mpc.input = "b"}, %y: memref<?x4xf32> {mpcrt.output = "out0"},
                      %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%h : memref<?x4xf32>) {layer = "dense"}
  mpcrt.launch @rows count(%n) grain(1000) args(%h, %b, %y : memref<?x4xf32>, memref<4xf32>, memref<?x4xf32>)
  return
}

// A pointwise convolution's result in two shapes, each a view of its own. What makes the vector stands between.
// CHECK-LABEL: func.func @places_of_it
// CHECK: memref.store
// CHECK: mpcrt.interleave result(0) replaced {
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.launch @places_by_elements_in_place count(%{{.*}}) grain(400) args(%expand_shape, %{{.*}} : memref<?x2x3x4xf32>, memref<4xf32>)
func.func @places_of_it(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %out: memref<?x2x3x4xf32> {mpcrt.output = "out0"},
                        %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 64 : i64, mpcrt.arena_per_sample = 96 : i64} {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %one = arith.constant 1.0 : f32
  %places = arith.muli %n, %c6 : index
  %b = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<4xf32>
  %h = mpcrt.view %arena[%n] fixed(64) per_sample(0) {extent = 6 : i64} : memref<?xi8> -> memref<?x4xf32>
  %y = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<?x2x3x4xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%h : memref<?x4xf32>) {layer = "dense"}
  %image = memref.expand_shape %h [[0, 1, 2], [3]] output_shape [%n, 2, 3, 4] : memref<?x4xf32> into memref<?x2x3x4xf32>
  memref.store %one, %b[%c0] : memref<4xf32>
  mpcrt.launch @places count(%places) grain(100) args(%image, %b, %y : memref<?x2x3x4xf32>, memref<4xf32>, memref<?x2x3x4xf32>)
  memref.copy %y, %out : memref<?x2x3x4xf32> to memref<?x2x3x4xf32>
  return
}

// CHECK-LABEL: func.func @mirrored_places
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @mirrored_places(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %out: memref<?x2x3x4xf32> {mpcrt.output = "out0"},
                           %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 96 : i64} {
  %c6 = arith.constant 6 : index
  %places = arith.muli %n, %c6 : index
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(0) {extent = 6 : i64} : memref<?xi8> -> memref<?x4xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%h : memref<?x4xf32>) {layer = "dense"}
  %image = memref.expand_shape %h [[0, 1, 2], [3]] output_shape [%n, 2, 3, 4] : memref<?x4xf32> into memref<?x2x3x4xf32>
  mpcrt.launch @mirrored count(%places) grain(100) args(%image, %image : memref<?x2x3x4xf32>, memref<?x2x3x4xf32>)
  memref.copy %image, %out : memref<?x2x3x4xf32> to memref<?x2x3x4xf32>
  return
}

// What is written lies over another part of the result: the first half of the rows of what is twice as long.
// CHECK-LABEL: func.func @other_part
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @other_part(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"},
                      %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 32 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xf32>
  %over = mpcrt.view %arena[%n] fixed(0) per_sample(8) : memref<?xi8> -> memref<?x4xf32>
  %flat = memref.collapse_shape %h [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %flat_over = memref.collapse_shape %over [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%h : memref<?x4xf32>) {layer = "dense"}
  mpcrt.launch @activate count(%count) grain(1000) args(%flat, %flat_over : memref<?xf32>, memref<?xf32>)
  return
}
