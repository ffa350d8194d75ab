// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s
// Entries and kernels have the ABI of include/mpc-rt/executable.h; a failing call ends the entry.

// CHECK: module attributes {mpcrt.abi_version = 1 : i32, mpcrt.kernels = [@kernel_half], mpcrt.services_size = 32 : i64}
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_0()
module {
mpc.variable @first : tensor<4xf32> role trainable
mpc.variable @w : tensor<8x4xf32> role trainable

// float16 is integers in memory and arithmetic is float32. Of conversions code generation makes what each level has.
// CHECK-LABEL: llvm.func @kernel_half(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64)
// CHECK: llvm.load %{{.*}} {access_groups = [#{{.*}}]} : !llvm.ptr -> i16
// CHECK: llvm.fpext %{{.*}} : f16 to f32
// CHECK: llvm.fadd %{{.*}} : f32
// CHECK: llvm.fptrunc %{{.*}} : f32 to f16
// CHECK: llvm.br ^{{.*}} {loop_annotation = #
func.func private @kernel_half(%x: memref<?xf16>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %0 = memref.load %x[%i] : memref<?xf16>
    %1 = arith.addf %0, %0 : f16
    memref.store %1, %x[%i] : memref<?xf16>
  } {mpcrt.independent}
  return
}

// CHECK-LABEL: llvm.func @predict(%arg0: !llvm.ptr) -> i32 attributes {mpcrt.entry = {arena_fixed = 0 : i64, arena_per_sample = 8 : i64, inputs = [{name = "x", type = tensor<?x8xf32>}], outputs = [{name = "out0", type = tensor<?x4xf32>}], variables_read = []}}
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @mpcrt_contract_0
// CHECK: %[[CODE:.*]] = llvm.call %{{.*}}(%{{.*}}, %[[TABLE]], %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK: llvm.cond_br
// CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.variable = @w}, %out: memref<?x4xf32> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 8 : i64} {
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%out : memref<?x4xf32>) {layer = "dense"}
  %v = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?xf16>
  mpcrt.launch @kernel_half count(%n) grain(64) args(%v : memref<?xf16>)
  return
}
}
