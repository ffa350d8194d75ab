// RUN: mpc-opt %s --mpc-plan-memory | FileCheck %s
// Lives that do not meet share memory; per-sample and fixed buffers have a region each.

// CHECK-LABEL: func.func @regions
// CHECK-SAME: mpcrt.arena_fixed = 64 : i64, mpcrt.arena_per_sample = 512 : i64
// CHECK-DAG: fixed(0) per_sample(0) : memref<?xi8> -> memref<4xf32>
// CHECK-DAG: fixed(64) per_sample(0) : memref<?xi8> -> memref<?x64xf32>
// CHECK-DAG: fixed(64) per_sample(256) : memref<?xi8> -> memref<?x64xf32>
// CHECK-NOT: memref.alloc
func.func @regions(%out: memref<?x64xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc(%n) : memref<?x64xf32>
  %b = memref.alloc(%n) : memref<?x64xf32>
  %c = memref.alloc(%n) : memref<?x64xf32>
  %d = memref.alloc() : memref<4xf32>
  %f = arith.constant 0.0 : f32
  linalg.fill ins(%f : f32) outs(%d : memref<4xf32>)
  linalg.fill ins(%f : f32) outs(%a : memref<?x64xf32>)
  memref.copy %a, %b : memref<?x64xf32> to memref<?x64xf32>
  memref.copy %b, %c : memref<?x64xf32> to memref<?x64xf32>
  memref.copy %c, %out : memref<?x64xf32> to memref<?x64xf32>
  return
}

// CHECK-LABEL: func.func @elementwise_in_place
// CHECK-SAME: mpcrt.arena_per_sample = 256 : i64
func.func @elementwise_in_place(%out: memref<?x64xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc(%n) : memref<?x64xf32>
  %b = memref.alloc(%n) : memref<?x64xf32>
  memref.copy %out, %a : memref<?x64xf32> to memref<?x64xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<?x64xf32>) outs(%b : memref<?x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.negf %i : f32
    linalg.yield %1 : f32
  }
  memref.copy %b, %out : memref<?x64xf32> to memref<?x64xf32>
  return
}

// In another shape, too, which is all of the buffer.
// CHECK-LABEL: func.func @reshaped_in_place
// CHECK-SAME: mpcrt.arena_per_sample = 256 : i64
func.func @reshaped_in_place(%out: memref<?x64xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc(%n) : memref<?x64xf32>
  %b = memref.alloc(%n) : memref<?x8x8xf32>
  memref.copy %out, %a : memref<?x64xf32> to memref<?x64xf32>
  %image = memref.expand_shape %a [[0], [1, 2]] output_shape [%n, 8, 8] : memref<?x64xf32> into memref<?x8x8xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%image : memref<?x8x8xf32>) outs(%b : memref<?x8x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.negf %i : f32
    linalg.yield %1 : f32
  }
  %flat = memref.collapse_shape %b [[0], [1, 2]] : memref<?x8x8xf32> into memref<?x64xf32>
  memref.copy %flat, %out : memref<?x64xf32> to memref<?x64xf32>
  return
}

// Not where the same op reads the buffer in a second shape, other elements of it.
// CHECK-LABEL: func.func @two_shapes
// CHECK-SAME: mpcrt.arena_fixed = 512 : i64
func.func @two_shapes(%out: memref<8x8xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc() : memref<8x8xf32>
  %b = memref.alloc() : memref<8x8xf32>
  memref.copy %out, %a : memref<8x8xf32> to memref<8x8xf32>
  %flat = memref.collapse_shape %a [[0, 1]] : memref<8x8xf32> into memref<64xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %flat : memref<8x8xf32>, memref<64xf32>) outs(%b : memref<8x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %1 = arith.addf %i, %j : f32
    linalg.yield %1 : f32
  }
  memref.copy %b, %out : memref<8x8xf32> to memref<8x8xf32>
  return
}

// Nor a part of it.
// CHECK-LABEL: func.func @part_is_not_in_place
// CHECK-SAME: mpcrt.arena_fixed = 768 : i64
func.func @part_is_not_in_place(%out: memref<16x8xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc() : memref<16x8xf32>
  %b = memref.alloc() : memref<8x8xf32>
  memref.copy %out, %a : memref<16x8xf32> to memref<16x8xf32>
  %part = memref.subview %a[0, 0] [8, 8] [1, 1] : memref<16x8xf32> to memref<8x8xf32, strided<[8, 1]>>
  %dense = memref.cast %part : memref<8x8xf32, strided<[8, 1]>> to memref<8x8xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%dense : memref<8x8xf32>) outs(%b : memref<8x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.negf %i : f32
    linalg.yield %1 : f32
  }
  %result = memref.subview %out[0, 0] [8, 8] [1, 1] : memref<16x8xf32> to memref<8x8xf32, strided<[8, 1]>>
  memref.copy %b, %result : memref<8x8xf32> to memref<8x8xf32, strided<[8, 1]>>
  return
}

// A transposition reads elsewhere than it writes.
// CHECK-LABEL: func.func @transposition_is_not_in_place
// CHECK-SAME: mpcrt.arena_fixed = 2048 : i64
func.func @transposition_is_not_in_place(%out: memref<16x16xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc() : memref<16x16xf32>
  %b = memref.alloc() : memref<16x16xf32>
  memref.copy %out, %a : memref<16x16xf32> to memref<16x16xf32>
  linalg.transpose ins(%a : memref<16x16xf32>) outs(%b : memref<16x16xf32>) permutation = [1, 0]
  memref.copy %b, %out : memref<16x16xf32> to memref<16x16xf32>
  return
}

// A few bytes per sample are not padded to a cache line.
// CHECK-LABEL: func.func @small
// CHECK-SAME: mpcrt.arena_per_sample = 8 : i64
func.func @small(%out: memref<?xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc(%n) : memref<?xf32>
  memref.copy %out, %a : memref<?xf32> to memref<?xf32>
  memref.copy %a, %out : memref<?xf32> to memref<?xf32>
  return
}

// The buffer written in place comes first in the list: its place still lives from the first write of
// the buffer that it shares with to its own last read, so %c, alive in between, needs another.
// CHECK-LABEL: func.func @chain_listed_backwards
// CHECK-SAME: mpcrt.arena_per_sample = 512 : i64
func.func @chain_listed_backwards(%out: memref<?x64xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %b = memref.alloc(%n) : memref<?x64xf32>
  %c = memref.alloc(%n) : memref<?x64xf32>
  %a = memref.alloc(%n) : memref<?x64xf32>
  memref.copy %out, %a : memref<?x64xf32> to memref<?x64xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<?x64xf32>) outs(%b : memref<?x64xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.negf %i : f32
    linalg.yield %1 : f32
  }
  memref.copy %out, %c : memref<?x64xf32> to memref<?x64xf32>
  memref.copy %b, %out : memref<?x64xf32> to memref<?x64xf32>
  memref.copy %c, %out : memref<?x64xf32> to memref<?x64xf32>
  return
}
