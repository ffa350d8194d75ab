// RUN: mpc-opt %s --mpc-bufferize | FileCheck %s
// RUN: mpc-opt %s --mpc-bufferize --mlir-disable-threading | FileCheck %s
// RUN: mpc-opt %s --mpc-bufferize | mpc-opt --mpc-bufferize | FileCheck %s

#vector = affine_map<(d0) -> (d0)>

// Constants are globals of the module, one for equal ones of different functions.
// CHECK: memref.global "private" constant @[[C:.*]] : memref<4xf32> = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK-NOT: memref.global

// A value that nobody needs any more is overwritten.
// CHECK-LABEL: func.func @alone
// CHECK-SAME: (%[[X:.*]]: memref<4xf32>)
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<4xf32>) outs(%[[X]] : memref<4xf32>)
func.func @alone(%buffer: memref<4xf32>) {
  %x = bufferization.to_tensor %buffer restrict writable : memref<4xf32> to tensor<4xf32>
  %a = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.negf %i : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  bufferization.materialize_in_destination %a in restrict writable %buffer : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// CHECK-LABEL: func.func @constant
// CHECK: memref.get_global @[[C]] : memref<4xf32>
func.func @constant(%buffer: memref<4xf32>) {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  bufferization.materialize_in_destination %c in restrict writable %buffer : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// CHECK-LABEL: func.func @another
// CHECK: memref.get_global @[[C]] : memref<4xf32>
func.func @another(%buffer: memref<4xf32>) {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  bufferization.materialize_in_destination %c in restrict writable %buffer : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// CHECK-LABEL: func.func private @declared
func.func private @declared(memref<4xf32>)
