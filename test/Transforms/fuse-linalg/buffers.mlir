// RUN: mpc-opt %s --mpc-fuse-input-casts --mpc-fuse-column-sums --mpc-fuse-relu-masks --mpc-fuse-gelu | FileCheck %s
// The fusions are of tensors: ops on buffers stay.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @cast
// CHECK: linalg.generic
// CHECK: arith.truncf
func.func @cast(%x: memref<?x8xf32> {mpc.input = "x"}, %y: memref<?x8xbf16>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x8xf32>) outs(%y : memref<?x8xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t : bf16
  }
  return
}
