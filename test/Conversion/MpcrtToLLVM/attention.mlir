// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Attention and its derivative are services of version 12 of the ABI: the descriptor, what is read, what
// is written, the batch.
// CHECK: module attributes {mpcrt.abi_version = 12 : i32
module {
// CHECK-LABEL: llvm.func @predict
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
// CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
func.func @predict(%q: memref<?x3x2x8xf32> {mpc.input = "q"}, %out: memref<?x3x2x8xf32> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 640 : i64} {
  %l = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x2x3xf32>
  %g = mpcrt.view %arena[%n] fixed(0) per_sample(64) : memref<?xi8> -> memref<?x3x2x8xf32>
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(256) : memref<?xi8> -> memref<?x3x2x8xf32>
  %i = mpcrt.view %arena[%n] fixed(0) per_sample(448) : memref<?xi8> -> memref<?x3x2x8xf32>
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>)
      outs(%out, %l : memref<?x3x2x8xf32>, memref<?x2x3xf32>) scale 0.5 {causal, layer = "attention"}
  mpcrt.attend_gradient ins(%out of %out, %l, %q, %q, %q : memref<?x3x2x8xf32>, memref<?x2x3xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>)
      outs(%g, %h, %i : memref<?x3x2x8xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>) scale 0.5 {layer = "attention"}
  return
}
}
