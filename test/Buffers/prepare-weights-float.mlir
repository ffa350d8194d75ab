// RUN: mpc-opt %s --mpc-prepare-weights=target=cpu | FileCheck %s
// A transposed filter of float32, as ONNX files have them, is not made in every prediction; what depends
// on an input is. The same of an evaluation is not kept on a CPU.

#turned = affine_map<(d0, d1) -> (d1, d0)>
#each = affine_map<(d0, d1) -> (d0, d1)>

module {
mpc.variable @w : tensor<4x3xf32> role trainable

// CHECK-LABEL: func.func @predict
// CHECK: mpcrt.prepare %[[MEMORY:.*]] bytes(256) {
// CHECK-NEXT: linalg.generic {{.*}} ins(%arg1 : memref<4x3xf32>)
// CHECK: } : memref<?xi8>
// CHECK: mpcrt.contract
func.func @predict(%x: memref<?x3xf32> {mpc.input = "x"}, %w: memref<4x3xf32> {mpc.variable = @w}, %out: memref<?x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry = #mpc.entry_role<predict>} {
  %t = memref.alloc() : memref<3x4xf32>
  linalg.generic {indexing_maps = [#turned, #each], iterator_types = ["parallel", "parallel"]} ins(%w : memref<4x3xf32>) outs(%t : memref<3x4xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  mpcrt.contract ins(%x, %t : memref<?x3xf32>, memref<3x4xf32>) outs(%out : memref<?x4xf32>)
  memref.dealloc %t : memref<3x4xf32>
  return
}

// CHECK-LABEL: func.func @evaluate
// CHECK-NOT: mpcrt.prepare
func.func @evaluate(%x: memref<?x3xf32> {mpc.input = "x"}, %w: memref<4x3xf32> {mpc.variable = @w}, %out: memref<?x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry = #mpc.entry_role<evaluate>} {
  %t = memref.alloc() : memref<3x4xf32>
  linalg.generic {indexing_maps = [#turned, #each], iterator_types = ["parallel", "parallel"]} ins(%w : memref<4x3xf32>) outs(%t : memref<3x4xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  mpcrt.contract ins(%x, %t : memref<?x3xf32>, memref<3x4xf32>) outs(%out : memref<?x4xf32>)
  memref.dealloc %t : memref<3x4xf32>
  return
}
}
