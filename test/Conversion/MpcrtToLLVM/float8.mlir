// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Contractions of float8 name the formats (32: e4m3, 33: e5m2) and float32.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 32 : i64
module {
// CHECK-LABEL: llvm.mlir.global internal constant @mpcrt_contract_0()
// CHECK: llvm.mlir.constant([112 : i32, 0 : i32, 33 : i32, 32 : i32, 0 : i32, 0 : i32, 0 : i32,
// CHECK-LABEL: llvm.func @predict
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %out: memref<?x4xf32> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 64 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %a = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<?x8xf8E5M2>
  %w = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf8E4M3FN>
  mpcrt.contract ins(%a, %w : memref<?x8xf8E5M2>, memref<8x4xf8E4M3FN>) outs(%out : memref<?x4xf32>) {layer = "dense"}
  return
}
}
