// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// With dropout they are services of version 21: the address of a mask or null, that of what is kept and its scale
// stand before the batch.
// CHECK: module attributes {mpcrt.abi_version = 21 : i32
module {
// CHECK-LABEL: llvm.func @predict
// CHECK: %[[S:.*]] = llvm.mlir.constant(2.000000e+00 : f64) : f64
// CHECK: %[[N:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[N]], %{{.*}}, %[[S]], %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, f64, i64) -> i32
// CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, f64, i64) -> i32
func.func @predict(%q: memref<?x3x2x8xf32> {mpc.input = "q"}, %m: memref<?x2x3x3xi1> {mpc.input = "m"},
                   %s: memref<1x1x1x3xi1> {mpc.input = "s"}, %out: memref<?x3x2x8xf32> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 640 : i64} {
  %l = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x2x3xf32>
  %g = mpcrt.view %arena[%n] fixed(0) per_sample(64) : memref<?xi8> -> memref<?x3x2x8xf32>
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(256) : memref<?xi8> -> memref<?x3x2x8xf32>
  %i = mpcrt.view %arena[%n] fixed(0) per_sample(448) : memref<?xi8> -> memref<?x3x2x8xf32>
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>) kept(%m : memref<?x2x3x3xi1>)
      outs(%out, %l : memref<?x3x2x8xf32>, memref<?x2x3xf32>) scale 0.5 {keep_scale = 2.0 : f64, layer = "attention"}
  mpcrt.attend_gradient ins(%out of %out, %l, %q, %q, %q : memref<?x3x2x8xf32>, memref<?x2x3xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>)
      mask(%s : memref<1x1x1x3xi1>) kept(%m : memref<?x2x3x3xi1>)
      outs(%g, %h, %i : memref<?x3x2x8xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>) scale 0.5 {keep_scale = 2.0 : f64, layer = "attention"}
  return
}
}
