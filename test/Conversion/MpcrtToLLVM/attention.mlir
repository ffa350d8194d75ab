// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Attention and its derivative are one service; the derivative is a flag (128) and has its fields at the bytes 72 to 96.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 48 : i64
module {
// CHECK-LABEL: llvm.func @predict
// CHECK-DAG: %[[SIZE_56:.*]] = llvm.mlir.constant(56 : i32) : i32
// CHECK-DAG: %[[SIZE_104:.*]] = llvm.mlir.constant(104 : i32) : i32
// CHECK: llvm.store %[[SIZE_56]], %{{.*}} : i32, !llvm.ptr
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK: llvm.store %[[SIZE_104]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[72]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[80]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[88]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[96]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK-NOT: llvm.call
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
