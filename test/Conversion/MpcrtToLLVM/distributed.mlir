// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --convert-mpcrt-to-llvm --mpc-verify-module --split-input-file | FileCheck %s
// A module whose entries reduce over ranks says so; the table of the library has it as a flag.

// CHECK: module attributes {mpcrt.abi_version = {{.*}}mpcrt.distributed
// CHECK-LABEL: llvm.func @predict
func.func @predict(%x: memref<8xf32> {mpcrt.output = "out0"}, %b: index {mpcrt.batch}, %a: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  mpcrt.all_reduce sum outs(%x : memref<8xf32>) {ends_bucket}
  mpcrt.wait_for_ranks outs(%x : memref<8xf32>) {bucket = 0 : i64}
  return
}

// -----

// CHECK: module attributes {
// CHECK-NOT: mpcrt.distributed
// CHECK-LABEL: llvm.func @predict
func.func @predict(%x: memref<8xf32> {mpcrt.output = "out0"}, %b: index {mpcrt.batch}, %a: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  return
}

// -----

// Parts: the service says what the rank owns, and a launch begins there. The flags: bucket ends (1), to parts (2), gathers (4), always (8).
// CHECK: llvm.func @train_step
// CHECK: llvm.getelementptr
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i64, !llvm.ptr) -> i32
func.func private @k(%x: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @train_step(%x: memref<2560xf32> {mpcrt.output = "out0"}, %b: index {mpcrt.batch}, %a: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  mpcrt.reduce_scatter sum outs(%x : memref<2560xf32>) {ends_bucket}
  mpcrt.wait_for_ranks outs(%x : memref<2560xf32>) {bucket = 0 : i64}
  %begin, %count = mpcrt.own_part of 2560
  %own = memref.subview %x[%begin] [%count] [1] : memref<2560xf32> to memref<?xf32, strided<[1], offset: ?>>
  %flat = memref.cast %own : memref<?xf32, strided<[1], offset: ?>> to memref<?xf32>
  mpcrt.launch @k count(%count) grain(64) args(%flat : memref<?xf32>)
  mpcrt.all_gather outs(%x : memref<2560xf32>) {bucket = 1 : i64, ends_bucket}
  mpcrt.wait_for_ranks outs(%x : memref<2560xf32>) {bucket = 1 : i64}
  return
}
