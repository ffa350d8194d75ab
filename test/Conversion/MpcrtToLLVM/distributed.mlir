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
