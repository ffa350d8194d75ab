// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-shard-updates | FileCheck %s
// RUN: mpc-opt %s --mpc-shard-updates --mpc-shard-updates | FileCheck %s
// Products of which nothing but a sum for results is read are those that parts of a batch may sum.

func.func private @round(%g: memref<?xf32>, %out: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %g[%i] : memref<?xf32>
    memref.store %v, %out[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}

// CHECK-LABEL: func.func @train_backward
func.func @train_backward(%x: memref<?x40xbf16> {mpc.input = "kept:0"}, %dy: memref<?x64xbf16> {mpc.input = "kept:1"},
                          %grad: memref<40x64xf32> {mpcrt.output = "grad:w"}, %own: memref<40x64xf32> {mpcrt.output = "grad:v"},
                          %batch: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_backward>, mpcrt.arena_fixed = 102400 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %n = arith.constant 2560 : index
  %c0 = arith.constant 0 : index
  %a = mpcrt.view %arena[%batch] fixed(0) per_sample(0) : memref<?xi8> -> memref<40x64xf32>
  %b = mpcrt.view %arena[%batch] fixed(10240) per_sample(0) : memref<?xi8> -> memref<40x64xf32>
  %c = mpcrt.view %arena[%batch] fixed(20480) per_sample(0) : memref<?xi8> -> memref<40x64xf32>
  %d = mpcrt.view %arena[%batch] fixed(30720) per_sample(0) : memref<?xi8> -> memref<40x64xf32>
  %e = mpcrt.view %arena[%batch] fixed(40960) per_sample(0) : memref<?xi8> -> memref<40x64xf32>
  %f = mpcrt.view %arena[%batch] fixed(51200) per_sample(0) : memref<?xi8> -> memref<40x64xf32>
  %g = mpcrt.view %arena[%batch] fixed(61440) per_sample(0) : memref<?xi8> -> memref<40x64xf32>
  %h = mpcrt.view %arena[%batch] fixed(71680) per_sample(0) : memref<?xi8> -> memref<40x64xf32>
  %sums = mpcrt.view %arena[%batch] fixed(81920) per_sample(0) : memref<?xi8> -> memref<64xf32>
  %bits = mpcrt.view %arena[%batch] fixed(82176) per_sample(0) : memref<?xi8> -> memref<i32>

  // Read by a launch that parts without results do not run, and not at all.
  // CHECK: mpcrt.contract {{.*}} {layer = "a", summed_by_parts, transpose_lhs}
  // CHECK: mpcrt.contract {{.*}} {layer = "own", summed_by_parts, transpose_lhs}
  mpcrt.contract ins(%x, %dy : memref<?x40xbf16>, memref<?x64xbf16>) outs(%a : memref<40x64xf32>) sums(%sums : memref<64xf32>) {layer = "a", transpose_lhs}
  mpcrt.contract ins(%x, %dy : memref<?x40xbf16>, memref<?x64xbf16>) outs(%own : memref<40x64xf32>) {layer = "own", transpose_lhs}
  mpcrt.all_reduce sum outs(%a : memref<40x64xf32>) {by_elements}
  mpcrt.all_reduce sum outs(%own : memref<40x64xf32>) {by_elements}

  // A number of the part itself is read, before and behind the sum.
  // CHECK-NOT: summed_by_parts
  mpcrt.contract ins(%x, %dy : memref<?x40xbf16>, memref<?x64xbf16>) outs(%b : memref<40x64xf32>) {layer = "b", transpose_lhs}
  %v = memref.load %b[%c0, %c0] : memref<40x64xf32>
  mpcrt.all_reduce sum outs(%b : memref<40x64xf32>) {by_elements}
  mpcrt.contract ins(%x, %dy : memref<?x40xbf16>, memref<?x64xbf16>) outs(%c : memref<40x64xf32>) {layer = "c", transpose_lhs}
  mpcrt.all_reduce sum outs(%c : memref<40x64xf32>) {by_elements}
  // Every part needs the sum; messages are rounded.
  mpcrt.contract ins(%x, %dy : memref<?x40xbf16>, memref<?x64xbf16>) outs(%d : memref<40x64xf32>) {layer = "d", transpose_lhs}
  mpcrt.all_reduce sum outs(%d : memref<40x64xf32>) {}
  mpcrt.contract ins(%x, %dy : memref<?x40xbf16>, memref<?x64xbf16>) outs(%e : memref<40x64xf32>) {layer = "e", transpose_lhs}
  mpcrt.all_reduce sum outs(%e : memref<40x64xf32>) {by_elements, ends_bucket, in_bfloat16}
  // The product is added to something, or tells of its largest element.
  mpcrt.contract ins(%x, %dy : memref<?x40xbf16>, memref<?x64xbf16>) outs(%f : memref<40x64xf32>) {accumulate, layer = "f", transpose_lhs}
  mpcrt.all_reduce sum outs(%f : memref<40x64xf32>) {by_elements}
  mpcrt.contract ins(%x, %dy : memref<?x40xbf16>, memref<?x64xbf16>) outs(%g : memref<40x64xf32>) largest(%bits : memref<i32>) {layer = "g", transpose_lhs}
  mpcrt.all_reduce sum outs(%g : memref<40x64xf32>) {by_elements, ends_bucket}
  // It is a maximum.
  mpcrt.contract ins(%x, %dy : memref<?x40xbf16>, memref<?x64xbf16>) outs(%h : memref<40x64xf32>) {layer = "h", transpose_lhs}
  mpcrt.all_reduce max outs(%h : memref<40x64xf32>) {by_elements, bucket = 1 : i64, ends_bucket}
  mpcrt.wait_for_ranks outs(%a : memref<40x64xf32>) {bucket = 0 : i64}
  mpcrt.wait_for_ranks outs(%own : memref<40x64xf32>) {bucket = 0 : i64}
  %s = memref.collapse_shape %a [[0, 1]] : memref<40x64xf32> into memref<2560xf32>
  %t = memref.cast %s : memref<2560xf32> to memref<?xf32>
  %u = memref.collapse_shape %grad [[0, 1]] : memref<40x64xf32> into memref<2560xf32>
  %r = memref.cast %u : memref<2560xf32> to memref<?xf32>
  mpcrt.launch @round count(%n) grain(64) args(%t, %r : memref<?xf32>, memref<?xf32>)
  memref.store %v, %c[%c0, %c0] : memref<40x64xf32>
  return
}

// No parts compute that.
// CHECK-LABEL: func.func @train_step
// CHECK-NOT: summed_by_parts
func.func @train_step(%x: memref<?x40xbf16> {mpc.input = "x"}, %dy: memref<?x64xbf16> {mpc.input = "y"},
                      %own: memref<40x64xf32> {mpcrt.output = "w"}, %batch: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.contract ins(%x, %dy : memref<?x40xbf16>, memref<?x64xbf16>) outs(%own : memref<40x64xf32>) {transpose_lhs}
  mpcrt.all_reduce sum outs(%own : memref<40x64xf32>) {by_elements, ends_bucket}
  return
}
