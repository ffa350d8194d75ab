// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --convert-mpcrt-to-llvm --mpc-verify-module | FileCheck %s
// A trace is a call of the service with a constant descriptor: what it names, its size, its sources.

// CHECK: module attributes
// CHECK-SAME: mpcrt.services_size = 88 : i64
// CHECK-DAG: llvm.mlir.global internal constant @mpcrt_trace_0_layer("dense\00")
// CHECK-DAG: llvm.mlir.global internal constant @mpcrt_trace_0_op("cast\00")
// CHECK-DAG: llvm.mlir.global internal constant @mpcrt_trace_0()
// CHECK-LABEL: llvm.func @trace_predict
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @mpcrt_trace_0
// CHECK: llvm.call %{{.*}}(%{{.*}}, %[[TABLE]], %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
func.func @trace_predict(%x: memref<?x8xf32> {mpc.input = "x"}, %b: index {mpcrt.batch}, %a: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<trace_predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %a[%b] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x8xf16>
  mpcrt.trace forward 1 "cast" of "dense" (%y before %x) from [0] : memref<?x8xf16>, memref<?x8xf32>
  return
}
