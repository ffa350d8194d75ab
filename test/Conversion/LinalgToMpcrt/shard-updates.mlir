// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-shard-updates=bucket-bytes=5120 --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-shard-updates=bucket-bytes=5120 --mpc-shard-updates=bucket-bytes=5120 --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-shard-updates=bucket-bytes=5120 --split-input-file --remarks-filter=mpc-distribute 2>&1 | FileCheck %s --check-prefix=REMARK

// The update reads the gradient, a weight in float32 with a copy in 16 bits, and a slot.
// REMARK: shards{{.*}}2 variables are in parts, 1 are gathered after each update
// CHECK: mpc.variable @w {{.*}}in_parts
mpc.variable @"w" : tensor<64x40xf32> role trainable layer("d") {sharded}
// CHECK: mpc.variable @"optimizer/m" {{.*}}in_parts
mpc.variable @"optimizer/m" : tensor<64x40xf32> role optimizer
// CHECK: mpc.variable @"w/shadow_f16"
// CHECK-NOT: in_parts
// CHECK: func.func private @update
mpc.variable @"w/shadow_f16" : tensor<64x40xf16> role shadow {autocast = false, shadow_of = @"w"}

func.func private @update(%g: memref<?xf32>, %w: memref<?xf32>, %m: memref<?xf32>, %s: memref<?xf16>, %begin: index, %end: index)
    attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %dg = memref.load %g[%i] : memref<?xf32>
    %old = memref.load %w[%i] : memref<?xf32>
    %momentum = memref.load %m[%i] : memref<?xf32>
    %sum = arith.addf %momentum, %dg : f32
    %new = arith.subf %old, %sum : f32
    %half = arith.truncf %new : f32 to f16
    memref.store %new, %w[%i] : memref<?xf32>
    memref.store %sum, %m[%i] : memref<?xf32>
    memref.store %half, %s[%i] : memref<?xf16>
  } {mpcrt.independent}
  return
}
func.func private @test(%g: memref<?xf32>, %out: memref<i32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %v = memref.load %g[%c0] : memref<?xf32>
  %bits = arith.bitcast %v : f32 to i32
  memref.store %bits, %out[] : memref<i32>
  return
}

// CHECK-LABEL: func.func @train_step
func.func @train_step(%g0: memref<64x40xf32> {mpc.input = "g"}, %w: memref<64x40xf32> {mpc.variable = @"w"},
                      %m: memref<64x40xf32> {mpc.variable = @"optimizer/m"}, %s: memref<64x40xf16> {mpc.variable = @"w/shadow_f16"},
                      %out: memref<i32> {mpcrt.output = "finite"}, %batch: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 10240 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c1 = arith.constant 1 : index
  %n = arith.constant 2560 : index
  %g = mpcrt.view %arena[%batch] fixed(0) per_sample(0) : memref<?xi8> -> memref<64x40xf32>
  memref.copy %g0, %g : memref<64x40xf32> to memref<64x40xf32>
  // A test reads the gradient, too; the reduction says that it is one.
  // CHECK: mpcrt.reduce_scatter sum outs(%{{.*}} : memref<64x40xf32>) {ends_bucket}
  mpcrt.all_reduce sum outs(%g : memref<64x40xf32>) {by_elements, ends_bucket}
  mpcrt.wait_for_ranks outs(%g : memref<64x40xf32>) {bucket = 0 : i64}
  %gc = memref.collapse_shape %g [[0, 1]] : memref<64x40xf32> into memref<2560xf32>
  %gf = memref.cast %gc : memref<2560xf32> to memref<?xf32>
  %wc = memref.collapse_shape %w [[0, 1]] : memref<64x40xf32> into memref<2560xf32>
  %wf = memref.cast %wc : memref<2560xf32> to memref<?xf32>
  %mc = memref.collapse_shape %m [[0, 1]] : memref<64x40xf32> into memref<2560xf32>
  %mf = memref.cast %mc : memref<2560xf32> to memref<?xf32>
  %sc = memref.collapse_shape %s [[0, 1]] : memref<64x40xf16> into memref<2560xf16>
  %sf = memref.cast %sc : memref<2560xf16> to memref<?xf16>
  mpcrt.launch @test count(%c1) grain(1) args(%gf, %out : memref<?xf32>, memref<i32>)
  // The copy of the weight is gathered while the next run of the entry begins, which waits where it writes it again.
  // CHECK: mpcrt.launch @test
  // CHECK-NEXT: mpcrt.wait_for_ranks outs(%arg3 : memref<64x40xf16>) {bucket = 1 : i64}
  // CHECK-NEXT: %[[BEGIN:.*]], %[[COUNT:.*]] = mpcrt.own_part of 2560
  // CHECK: memref.subview %{{.*}}[%[[BEGIN]]] [%[[COUNT]]] [1]
  // CHECK: mpcrt.launch @update count(%[[COUNT]]) grain(910)
  mpcrt.launch @update count(%n) grain(910) args(%gf, %wf, %mf, %sf : memref<?xf32>, memref<?xf32>, memref<?xf32>, memref<?xf16>)
  // CHECK-NEXT: mpcrt.all_gather outs(%arg3 : memref<64x40xf16>) {bucket = 1 : i64, ends_bucket}
  // CHECK-NEXT: return
  return
}

// -----

// Two copies that the next run reads in the other order, each in front of its reader: the one that is read first goes first. A
// stage of a custom loop, behind which other entries run, waits before it ends.
// REMARK: gathers{{.*}}2 arrays of 10240 bytes are gathered in 2 messages; 10240 bytes go while the next step begins
// REMARK: gathers{{.*}}2 arrays of 10240 bytes are gathered in 2 messages; 0 bytes go while the next step begins
mpc.variable @"w" : tensor<64x40xf32> role trainable layer("d") {sharded}
mpc.variable @"v" : tensor<64x40xf32> role trainable layer("e") {sharded}
mpc.variable @"w/shadow_f16" : tensor<64x40xf16> role shadow {autocast = false, shadow_of = @"w"}
mpc.variable @"v/shadow_f16" : tensor<64x40xf16> role shadow {autocast = false, shadow_of = @"v"}

func.func private @update(%w: memref<?xf32>, %s: memref<?xf16>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %old = memref.load %w[%i] : memref<?xf32>
    %new = arith.addf %old, %old : f32
    %half = arith.truncf %new : f32 to f16
    memref.store %new, %w[%i] : memref<?xf32>
    memref.store %half, %s[%i] : memref<?xf16>
  } {mpcrt.independent}
  return
}

// CHECK-LABEL: func.func @train_step
func.func @train_step(%w: memref<64x40xf32> {mpc.variable = @"w"}, %v: memref<64x40xf32> {mpc.variable = @"v"},
                      %s: memref<64x40xf16> {mpc.variable = @"w/shadow_f16"}, %t: memref<64x40xf16> {mpc.variable = @"v/shadow_f16"},
                      %a: memref<64x40xf16> {mpcrt.output = "a"}, %b: memref<64x40xf16> {mpcrt.output = "b"}, %batch: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %n = arith.constant 2560 : index
  // CHECK: mpcrt.wait_for_ranks outs(%arg3 : memref<64x40xf16>) {bucket = 0 : i64}
  // CHECK-NEXT: memref.copy %arg3, %arg4
  memref.copy %t, %a : memref<64x40xf16> to memref<64x40xf16>
  // CHECK: mpcrt.wait_for_ranks outs(%arg2 : memref<64x40xf16>) {bucket = 1 : i64}
  // CHECK-NEXT: memref.copy %arg2, %arg5
  memref.copy %s, %b : memref<64x40xf16> to memref<64x40xf16>
  %wc = memref.collapse_shape %w [[0, 1]] : memref<64x40xf32> into memref<2560xf32>
  %wf = memref.cast %wc : memref<2560xf32> to memref<?xf32>
  %vc = memref.collapse_shape %v [[0, 1]] : memref<64x40xf32> into memref<2560xf32>
  %vf = memref.cast %vc : memref<2560xf32> to memref<?xf32>
  %sc = memref.collapse_shape %s [[0, 1]] : memref<64x40xf16> into memref<2560xf16>
  %sf = memref.cast %sc : memref<2560xf16> to memref<?xf16>
  %tc = memref.collapse_shape %t [[0, 1]] : memref<64x40xf16> into memref<2560xf16>
  %tf = memref.cast %tc : memref<2560xf16> to memref<?xf16>
  // CHECK: mpcrt.launch_all
  mpcrt.launch_all {
    mpcrt.launch @update count(%n) grain(910) args(%wf, %sf : memref<?xf32>, memref<?xf16>)
    mpcrt.launch @update count(%n) grain(910) args(%vf, %tf : memref<?xf32>, memref<?xf16>)
  }
  // CHECK: mpcrt.all_gather outs(%arg3 : memref<64x40xf16>) {ends_bucket}
  // CHECK-NEXT: mpcrt.all_gather outs(%arg2 : memref<64x40xf16>) {bucket = 1 : i64, ends_bucket}
  // CHECK-NEXT: return
  return
}

// CHECK-LABEL: func.func @train_apply
func.func @train_apply(%w: memref<64x40xf32> {mpc.variable = @"w"}, %v: memref<64x40xf32> {mpc.variable = @"v"},
                       %s: memref<64x40xf16> {mpc.variable = @"w/shadow_f16"}, %t: memref<64x40xf16> {mpc.variable = @"v/shadow_f16"},
                       %batch: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_apply>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %n = arith.constant 2560 : index
  %wc = memref.collapse_shape %w [[0, 1]] : memref<64x40xf32> into memref<2560xf32>
  %wf = memref.cast %wc : memref<2560xf32> to memref<?xf32>
  %vc = memref.collapse_shape %v [[0, 1]] : memref<64x40xf32> into memref<2560xf32>
  %vf = memref.cast %vc : memref<2560xf32> to memref<?xf32>
  %sc = memref.collapse_shape %s [[0, 1]] : memref<64x40xf16> into memref<2560xf16>
  %sf = memref.cast %sc : memref<2560xf16> to memref<?xf16>
  %tc = memref.collapse_shape %t [[0, 1]] : memref<64x40xf16> into memref<2560xf16>
  %tf = memref.cast %tc : memref<2560xf16> to memref<?xf16>
  mpcrt.launch_all {
    mpcrt.launch @update count(%n) grain(910) args(%wf, %sf : memref<?xf32>, memref<?xf16>)
    mpcrt.launch @update count(%n) grain(910) args(%vf, %tf : memref<?xf32>, memref<?xf16>)
  }
  // CHECK: mpcrt.all_gather
  // CHECK-NEXT: mpcrt.all_gather
  // CHECK-NEXT: mpcrt.wait_for_ranks
  // CHECK-NEXT: mpcrt.wait_for_ranks
  // CHECK-NEXT: return
  return
}

// -----

// Something else reads the weight: it is gathered in front of that. What reads the gradient is no test, so that it is reduced whole.
// REMARK: shards{{.*}}1 variables are in parts, 1 are gathered after each update
// CHECK: mpc.variable @w
// CHECK-NOT: in_parts
// CHECK: mpc.variable @"optimizer/m" {{.*}}in_parts
mpc.variable @"w" : tensor<64x40xf32> role trainable layer("d") {sharded}
mpc.variable @"optimizer/m" : tensor<64x40xf32> role optimizer

func.func private @update(%g: memref<?xf32>, %w: memref<?xf32>, %m: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %dg = memref.load %g[%i] : memref<?xf32>
    %old = memref.load %w[%i] : memref<?xf32>
    %momentum = memref.load %m[%i] : memref<?xf32>
    %sum = arith.addf %momentum, %dg : f32
    %new = arith.subf %old, %sum : f32
    memref.store %new, %w[%i] : memref<?xf32>
    memref.store %sum, %m[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}

// CHECK-LABEL: func.func @train_step
func.func @train_step(%g0: memref<64x40xf32> {mpc.input = "g"}, %w: memref<64x40xf32> {mpc.variable = @"w"}, %m: memref<64x40xf32> {mpc.variable = @"optimizer/m"},
                      %out: memref<64x40xf32> {mpcrt.output = "loss"},
                      %batch: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 10240 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %n = arith.constant 2560 : index
  %g = mpcrt.view %arena[%batch] fixed(0) per_sample(0) : memref<?xi8> -> memref<64x40xf32>
  memref.copy %g0, %g : memref<64x40xf32> to memref<64x40xf32>
  // CHECK: mpcrt.all_reduce sum outs(%{{.*}} : memref<64x40xf32>) {{{.*}}ends_bucket}
  mpcrt.all_reduce sum outs(%g : memref<64x40xf32>) {ends_bucket}
  mpcrt.wait_for_ranks outs(%g : memref<64x40xf32>) {bucket = 0 : i64}
  %gc = memref.collapse_shape %g [[0, 1]] : memref<64x40xf32> into memref<2560xf32>
  %gf = memref.cast %gc : memref<2560xf32> to memref<?xf32>
  %wc = memref.collapse_shape %w [[0, 1]] : memref<64x40xf32> into memref<2560xf32>
  %wf = memref.cast %wc : memref<2560xf32> to memref<?xf32>
  %mc = memref.collapse_shape %m [[0, 1]] : memref<64x40xf32> into memref<2560xf32>
  %mf = memref.cast %mc : memref<2560xf32> to memref<?xf32>
  // CHECK: mpcrt.launch @update
  mpcrt.launch @update count(%n) grain(910) args(%gf, %wf, %mf : memref<?xf32>, memref<?xf32>, memref<?xf32>)
  // CHECK-NEXT: mpcrt.all_gather outs(%arg1 : memref<64x40xf32>) {bucket = 1 : i64, ends_bucket}
  // CHECK-NEXT: mpcrt.wait_for_ranks outs(%arg1 : memref<64x40xf32>) {bucket = 1 : i64}
  // CHECK-NEXT: memref.copy %arg1, %arg3
  memref.copy %w, %out : memref<64x40xf32> to memref<64x40xf32>
  return
}
