// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// gelu and its derivative are a service of version 17 of the ABI: the descriptor, operands and bias, where the
// derivative is taken, the result, what is kept, the batch.
// CHECK: module attributes {mpcrt.abi_version = 17 : i32
module {
// CHECK-LABEL: llvm.func @predict
// CHECK: %[[NONE:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
// CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
func.func @predict(%x: memref<?x8xf16> {mpc.input = "x"}, %out: memref<?x8xf16> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 128 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %w = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x8xf16>
  %y = mpcrt.view %arena[%n] fixed(128) per_sample(0) : memref<?xi8> -> memref<?x8xf16>
  %z = mpcrt.view %arena[%n] fixed(128) per_sample(32) : memref<?xi8> -> memref<?x8xf16>
  mpcrt.contract ins(%x, %w : memref<?x8xf16>, memref<8x8xf16>) outs(%y : memref<?x8xf16>) gelu kept(%z : memref<?x8xf16>) {layer = "dense"}
  mpcrt.contract ins(%y, %w : memref<?x8xf16>, memref<8x8xf16>) gelu_at(%z : memref<?x8xf16>) outs(%out : memref<?x8xf16>) {layer = "dense"}
  return
}
}
