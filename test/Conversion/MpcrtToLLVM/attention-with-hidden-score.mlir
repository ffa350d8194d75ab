// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// A score of the sources that do not count is in the descriptor (33: causal, and there is one).
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 48 : i64
module {
// CHECK: llvm.mlir.global internal constant @mpcrt_attention_0
// CHECK-DAG: llvm.mlir.constant([104 : i32, 0 : i32, 0 : i32, 33 : i32,
// CHECK-DAG: llvm.mlir.constant([-4481700220488384512, 0])
// CHECK-LABEL: llvm.func @predict
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
func.func @predict(%q: memref<?x3x2x8xf32> {mpc.input = "q"}, %out: memref<?x3x2x8xf32> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %l = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x2x3xf32>
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf32>, memref<?x3x2x8xf32>, memref<?x3x2x8xf32>)
      outs(%out, %l : memref<?x3x2x8xf32>, memref<?x2x3xf32>) scale 0.5 {causal, hidden_score = -1.0e9 : f64, layer = "attention"}
  return
}
}
