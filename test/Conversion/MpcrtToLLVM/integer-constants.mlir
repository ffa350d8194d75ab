// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// A constant of integers on the right of products has a number behind those of the variables, the same for both: its
// packed copy stays. A floating one has none. It is the word before the last.
// CHECK-LABEL: constant @mpcrt_contract_2()
// CHECK: llvm.mlir.constant([112 : i32,{{.*}}, -1 : i32, 0 : i32]) : !llvm.struct
// CHECK-LABEL: constant @mpcrt_contract_1()
// CHECK: llvm.mlir.constant([112 : i32,{{.*}}, 1 : i32, 0 : i32]) : !llvm.struct
// CHECK-LABEL: constant @mpcrt_contract_0()
// CHECK: llvm.mlir.constant([112 : i32,{{.*}}, 1 : i32, 0 : i32]) : !llvm.struct
module {
mpc.variable @v : tensor<4x3xi8> role non_trainable
memref.global "private" constant @integers : memref<4x3xi8> = dense<1>
memref.global "private" constant @floats : memref<4x3xf32> = dense<1.0>
func.func @predict(%x: memref<?x4xi8> {mpc.input = "x"}, %y: memref<?x4xf32> {mpc.input = "y"}, %v: memref<4x3xi8> {mpc.variable = @v},
                   %a: memref<?x3xi32> {mpcrt.output = "out0"}, %b: memref<?x3xi32> {mpcrt.output = "out1"}, %c: memref<?x3xf32> {mpcrt.output = "out2"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %integers = memref.get_global @integers : memref<4x3xi8>
  %floats = memref.get_global @floats : memref<4x3xf32>
  mpcrt.contract ins(%x, %integers : memref<?x4xi8>, memref<4x3xi8>) outs(%a : memref<?x3xi32>) {layer = "first"}
  mpcrt.contract ins(%x, %integers : memref<?x4xi8>, memref<4x3xi8>) outs(%b : memref<?x3xi32>) {layer = "second"}
  mpcrt.contract ins(%y, %floats : memref<?x4xf32>, memref<4x3xf32>) outs(%c : memref<?x3xf32>) {layer = "third"}
  return
}
}
