// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// The address of a mask is at byte 56, and the flags say which extents it has (2: there is one, 4: of each sample, 16: of
// each target).
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 48 : i64
module {
// CHECK-LABEL: llvm.func @predict
// CHECK-DAG: %[[SIZE_64:.*]] = llvm.mlir.constant(64 : i32) : i32
// CHECK-DAG: %[[SIZE_104:.*]] = llvm.mlir.constant(104 : i32) : i32
// CHECK: llvm.store %[[SIZE_64]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[56]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK: llvm.store %[[SIZE_104]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[56]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
func.func @predict(%q: memref<?x3x2x8xf32> {mpc.input = "q"}, %m: memref<?x1x3x3xi1> {mpc.input = "m"},
                   %s: memref<1x1x1x3xi1> {mpc.input = "s"}, %out: memref<?x3x2x8xf32> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 640 : i64} {
  %l = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x2x3xf32>
  %g = mpcrt.view %arena[%n] fixed(0) per_sample(64) : memref<?xi8> -> memref<?x3x2x8xf32>
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(256) : memref<?xi8> -> memref<?x3x2x8xf32>
  %i = mpcrt.view %arena[%n] fixed(0) per_sample(448) : memref<?xi8> -> memref<?x3x2x8xf32>
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>) mask(%m : memref<?x1x3x3xi1>)
      outs(%out, %l : memref<?x3x2x8xf32>, memref<?x2x3xf32>) scale 0.5 {layer = "attention"}
  mpcrt.attend_gradient ins(%out of %out, %l, %q, %q, %q : memref<?x3x2x8xf32>, memref<?x2x3xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>)
      mask(%s : memref<1x1x1x3xi1>)
      outs(%g, %h, %i : memref<?x3x2x8xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>) scale 0.5 {layer = "attention"}
  return
}
}
