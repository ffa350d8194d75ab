// RUN: mpc-opt %s --convert-mpcrt-to-llvm --mlir-print-elementsattrs-with-hex-if-larger=-1 | FileCheck %s

// Eight calls or more, with nothing between them that does something, are a table. A step of it is the number of its
// words and its shape, and the service; a word is a table and an index, and what is added, fixed and per sample.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 32 : i64
// The function that goes through tables, once.
// CHECK: llvm.func internal @mpcrt_run_calls(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr, %arg3: !llvm.ptr, %arg4: i64, %arg5: i64) -> i32 attributes {no_inline}
// CHECK: llvm.switch
// CHECK-NOT: llvm.func internal @mpcrt_run_calls
// A copy (shape 3) has three words: output 0, input 0, and 32 bytes a sample. A product (shape 0, the service at byte
// 24) has the descriptor, the place of its struct, and that: 48 bytes, the batch, input 0, variable 0, no bias, output 1.
// CHECK: llvm.mlir.global internal constant @mpcrt_calls_0(dense<[12884901891, 0, 8589934592, 0, 0, 4294967296, 0, 0, 0, 0, 32,
// CHECK-SAME: 34359738368, 24, 25769803776, 0, 0, 2, 16, 0, 0, 48, 0, 0, 0, 1, 4294967296, 0, 0, 12884901888, 0, 0, 0, 0, 0, 8589934593, 0, 0,
// A launch (shape 1, byte 8) of kernel 0: the place of its arguments, 4 iterations a sample, and the grain. The arguments
// are output 1, the arena, local 0, which is the address of a number that the entry computes, and the place of the batch.
// CHECK-SAME: 38654705665, 8, 17179869184, 0, 0, 2, 32, 0, 0, 0, 4, 0, 100, 0, 8589934593, 0, 0, 1, 128, 0, 21474836480, 0, 0, 2, 64, 0, 0, 0, 1,
// CHECK: llvm.mlir.global internal constant @mpcrt_calls_0_symbols()
// CHECK-DAG: llvm.mlir.addressof @mpcrt_contract_0
// CHECK-DAG: llvm.mlir.addressof @loop_of_array
module {
mpc.variable @w : tensor<8x4xf32> role trainable
func.func private @kernel(%a: memref<?xf32>, %b: memref<?xf32>, %by: f32, %n: index, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func private @loop(%a: memref<?xf32>, %n: index) {
  return
}
// The first failure ends the entry.
// CHECK-LABEL: llvm.func @predict(
// CHECK: llvm.fadd
// CHECK: llvm.call @mpcrt_run_calls(%arg0, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
// CHECK: llvm.cond_br
// CHECK-NOT: llvm.call
// A loop of the host takes its arguments from an array there.
// CHECK-LABEL: llvm.func internal @loop_of_array(%arg0: !llvm.ptr)
// CHECK: llvm.call @loop(%{{.*}}, %{{.*}}) : (!llvm.ptr, i64) -> ()
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %by: memref<f32> {mpc.input = "by"}, %w: memref<8x4xf32> {mpc.variable = @w},
                   %same: memref<?x8xf32> {mpcrt.output = "out0"}, %out: memref<?x4xf32> {mpcrt.output = "out1"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 128 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %flat = memref.collapse_shape %out [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %a = mpcrt.view %arena[%n] fixed(128) per_sample(0) : memref<?xi8> -> memref<?xf32>
  %first = memref.load %by[] : memref<f32>
  %twice = arith.addf %first, %first : f32
  memref.copy %x, %same : memref<?x8xf32> to memref<?x8xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%out : memref<?x4xf32>) {layer = "dense"}
  mpcrt.launch @kernel count(%count) grain(100) args(%flat, %a, %twice, %n : memref<?xf32>, memref<?xf32>, f32, index)
  mpcrt.launch_all {
    mpcrt.launch @kernel count(%count) grain(100) args(%flat, %a, %twice, %n : memref<?xf32>, memref<?xf32>, f32, index)
    mpcrt.launch @kernel count(%c4) grain(100) args(%a, %flat, %twice, %n : memref<?xf32>, memref<?xf32>, f32, index)
  }
  mpcrt.interleave result(0) replaced {
    mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%out : memref<?x4xf32>) {layer = "dense"}
    mpcrt.launch @kernel count(%count) grain(1000) args(%flat, %a, %twice, %n : memref<?xf32>, memref<?xf32>, f32, index)
  }
  func.call @loop(%a, %n) : (memref<?xf32>, index) -> ()
  func.call @loop(%flat, %c4) : (memref<?xf32>, index) -> ()
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%out : memref<?x4xf32>) {layer = "dense"}
  mpcrt.launch @kernel count(%count) grain(100) args(%flat, %a, %twice, %n : memref<?xf32>, memref<?xf32>, f32, index)
  return
}
}
