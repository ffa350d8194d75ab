// RUN: mpc-opt %s --mpc-compact-arena | FileCheck %s
// RUN: mpc-opt %s --mpc-compact-arena --mpc-compact-arena | FileCheck %s
// RUN: mpc-opt %s --mpc-compact-arena --remarks-filter=mpc-memory 2>&1 | FileCheck %s --check-prefix=REMARK

func.func private @update(%dw: memref<32xf32>, %w: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func private @use(%x: memref<16xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}

// What is consumed has no memory. What lies behind it moves up by multiples of 64 bytes; buffers
// that share a place still do, in the fixed part as in the one per sample.
// CHECK-LABEL: func.func @moves
// CHECK-SAME: mpcrt.arena_fixed = 192 : i64, mpcrt.arena_per_sample = 64 : i64
// REMARK: remark: [Passed] arena {{.*}} Category:mpc-memory {{.*}}Remark=moves, {{.*}}fixed=192, per_sample=64
func.func @moves(%x: memref<?x8xf32>, %dy: memref<?x4xf32>, %w: memref<32xf32>, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry, mpcrt.arena_fixed = 320 : i64, mpcrt.arena_per_sample = 96 : i64} {
  // CHECK: mpcrt.view %{{.*}} fixed(0) per_sample(0) : memref<?xi8> -> memref<16xf32>
  // CHECK-NEXT: mpcrt.view %{{.*}} fixed(0) per_sample(0) {unstored} : memref<?xi8> -> memref<8x4xf32>
  // CHECK-NEXT: mpcrt.view %{{.*}} fixed(64) per_sample(0) : memref<?xi8> -> memref<16xf32>
  // CHECK-NEXT: mpcrt.view %{{.*}} fixed(64) per_sample(0) : memref<?xi8> -> memref<16xf32>
  // CHECK-NEXT: mpcrt.view %{{.*}} fixed(128) per_sample(0) : memref<?xi8> -> memref<16xf32>
  // CHECK-NEXT: mpcrt.view %{{.*}} fixed(192) per_sample(32) : memref<?xi8> -> memref<?x8xf32>
  %before = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<16xf32>
  %dw = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %one = mpcrt.view %arena[%n] fixed(192) per_sample(0) : memref<?xi8> -> memref<16xf32>
  %same = mpcrt.view %arena[%n] fixed(192) per_sample(0) : memref<?xi8> -> memref<16xf32>
  %next = mpcrt.view %arena[%n] fixed(256) per_sample(0) : memref<?xi8> -> memref<16xf32>
  %rows = mpcrt.view %arena[%n] fixed(320) per_sample(32) : memref<?xi8> -> memref<?x8xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  mpcrt.interleave result(0) consumed {
    mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense", transpose_lhs}
    mpcrt.launch @update count(%c32) grain(1000) args(%flat, %w : memref<32xf32>, memref<32xf32>)
  }
  mpcrt.launch @use count(%c16) grain(16) args(%before : memref<16xf32>)
  mpcrt.launch @use count(%c16) grain(16) args(%one : memref<16xf32>)
  mpcrt.launch @use count(%c16) grain(16) args(%same : memref<16xf32>)
  mpcrt.launch @use count(%c16) grain(16) args(%next : memref<16xf32>)
  memref.copy %x, %rows : memref<?x8xf32> to memref<?x8xf32>
  return
}

// A buffer that shares a part of the place moves up, too.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: mpcrt.arena_fixed = 64 : i64, mpcrt.arena_per_sample = 0 : i64
func.func @shared(%x: memref<?x8xf32>, %dy: memref<?x4xf32>, %w: memref<32xf32>, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry, mpcrt.arena_fixed = 128 : i64, mpcrt.arena_per_sample = 0 : i64} {
  // CHECK: fixed(0) per_sample(0) {unstored} : memref<?xi8> -> memref<8x4xf32>
  // CHECK: fixed(0) per_sample(0) : memref<?xi8> -> memref<16xf32>
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %other = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<16xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  mpcrt.interleave result(0) consumed {
    mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense", transpose_lhs}
    mpcrt.launch @update count(%c32) grain(1000) args(%flat, %w : memref<32xf32>, memref<32xf32>)
  }
  mpcrt.launch @use count(%c16) grain(16) args(%other : memref<16xf32>)
  return
}

// What is stored stays where it is: nothing changes.
// CHECK-LABEL: func.func @stored
// CHECK-SAME: mpcrt.arena_fixed = 128 : i64
func.func @stored(%x: memref<?x8xf32>, %dy: memref<?x4xf32>, %w: memref<32xf32>, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry, mpcrt.arena_fixed = 128 : i64, mpcrt.arena_per_sample = 0 : i64} {
  // CHECK: fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %c32 = arith.constant 32 : index
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense", transpose_lhs}
    mpcrt.launch @update count(%c32) grain(1000) args(%flat, %w : memref<32xf32>, memref<32xf32>)
  }
  return
}

func.func private @activate(%x: memref<32xf32>, %y: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}

// What one interleave's launch writes and the next one's contraction reads is stored, though both consume their results.
// CHECK-LABEL: func.func @chained
// CHECK-SAME: mpcrt.arena_fixed = 128 : i64
func.func @chained(%x: memref<4x8xf32>, %w: memref<8x8xf32>, %y: memref<32xf32>, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry, mpcrt.arena_fixed = 384 : i64, mpcrt.arena_per_sample = 0 : i64} {
  // CHECK: mpcrt.view %{{.*}} fixed(0) per_sample(0) {unstored} : memref<?xi8> -> memref<4x8xf32>
  // CHECK-NEXT: mpcrt.view %{{.*}} fixed(0) per_sample(0) : memref<?xi8> -> memref<4x8xf32>
  // CHECK-NEXT: mpcrt.view %{{.*}} fixed(0) per_sample(0) {unstored} : memref<?xi8> -> memref<4x8xf32>
  %first = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<4x8xf32>
  %between = mpcrt.view %arena[%n] fixed(128) per_sample(0) : memref<?xi8> -> memref<4x8xf32>
  %second = mpcrt.view %arena[%n] fixed(256) per_sample(0) : memref<?xi8> -> memref<4x8xf32>
  %a = memref.collapse_shape %first [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  %b = memref.collapse_shape %between [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  %c = memref.collapse_shape %second [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  %c32 = arith.constant 32 : index
  mpcrt.interleave result(0) consumed {
    mpcrt.contract ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%first : memref<4x8xf32>) {layer = "d1"}
    mpcrt.launch @activate count(%c32) grain(1000) args(%a, %b : memref<32xf32>, memref<32xf32>)
  }
  mpcrt.interleave result(0) consumed {
    mpcrt.contract ins(%between, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%second : memref<4x8xf32>) {layer = "d2"}
    mpcrt.launch @activate count(%c32) grain(1000) args(%c, %y : memref<32xf32>, memref<32xf32>)
  }
  return
}
