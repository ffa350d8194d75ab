// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Sums that are rounded to the type of the result are a flag (64).
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 32 : i64
module {
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_0(
// CHECK: llvm.mlir.constant([112 : i32, 0 : i32, 1 : i32, 1 : i32, 1 : i32, 1 : i32, 65 : i32,
// CHECK-LABEL: llvm.func @gradients
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK-NOT: llvm.call
func.func @gradients(%x: memref<?x8xbf16> {mpc.input = "x"}, %dy: memref<?x4xbf16> {mpc.input = "dy"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<gradients>, mpcrt.arena_fixed = 128 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xbf16>
  %db = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<4xbf16>
  mpcrt.contract ins(%x, %dy : memref<?x8xbf16>, memref<?x4xbf16>) outs(%dw : memref<8x4xbf16>) sums(%db : memref<4xbf16>) {layer = "dense", transpose_lhs}
  return
}
}
