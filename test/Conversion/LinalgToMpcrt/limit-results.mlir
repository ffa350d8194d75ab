// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-shard-updates | FileCheck %s
// RUN: mpc-opt %s --mpc-shard-updates --mpc-shard-updates | FileCheck %s
// Launches that make nothing but results of sums over ranks ask how many of them are wanted.

func.func private @round(%g: memref<?xf32>, %out: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %g[%i] : memref<?xf32>
    %h = arith.truncf %v : f32 to bf16
    %r = arith.extf %h : bf16 to f32
    memref.store %r, %out[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}

// CHECK-LABEL: func.func @train_backward
func.func @train_backward(%g0: memref<2560xf32> {mpc.input = "kept:0"}, %grad: memref<2560xf32> {mpcrt.output = "grad:w"},
                          %kept: memref<2560xf32> {mpcrt.output = "kept:1"}, %batch: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_backward>, mpcrt.arena_fixed = 30720 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %n = arith.constant 2560 : index
  %sum = mpcrt.view %arena[%batch] fixed(0) per_sample(0) : memref<?xi8> -> memref<2560xf32>
  %other = mpcrt.view %arena[%batch] fixed(10240) per_sample(0) : memref<?xi8> -> memref<2560xf32>
  %third = mpcrt.view %arena[%batch] fixed(20480) per_sample(0) : memref<?xi8> -> memref<2560xf32>
  memref.copy %g0, %sum : memref<2560xf32> to memref<2560xf32>
  memref.copy %g0, %other : memref<2560xf32> to memref<2560xf32>
  mpcrt.all_reduce sum outs(%sum : memref<2560xf32>) {by_elements, ends_bucket}
  mpcrt.wait_for_ranks outs(%sum : memref<2560xf32>) {bucket = 0 : i64}
  %s = memref.cast %sum : memref<2560xf32> to memref<?xf32>
  %o = memref.cast %other : memref<2560xf32> to memref<?xf32>
  %t = memref.cast %third : memref<2560xf32> to memref<?xf32>
  %r = memref.cast %grad : memref<2560xf32> to memref<?xf32>
  %k = memref.cast %kept : memref<2560xf32> to memref<?xf32>
  // CHECK: %{{.*}}, %[[COUNT:.*]] = mpcrt.own_part of 2560
  // CHECK: mpcrt.launch @round count(%[[COUNT]])
  mpcrt.launch @round count(%n) grain(64) args(%s, %r : memref<?xf32>, memref<?xf32>)
  // All make results of something else, and values that are no results.
  // CHECK-NOT: mpcrt.own_part
  mpcrt.launch @round count(%n) grain(64) args(%o, %k : memref<?xf32>, memref<?xf32>)
  mpcrt.launch @round count(%n) grain(64) args(%s, %t : memref<?xf32>, memref<?xf32>)
  return
}
