// RUN: mpc-opt %s --mpc-buffers | FileCheck %s
// Libraries take dense operands. A slice along the first dimension is one, behind whole lines of caches; others are copied, in
// front of the loops that they do not change in.

mpc.variable @w : tensor<4x4xf32> role trainable
mpc.variable @wide : tensor<4x8xf32> role trainable
mpc.variable @lines : tensor<2x16xf32> role trainable
mpc.variable @shorter : tensor<2x4xf32> role trainable
mpc.variable @square : tensor<16x16xf32> role trainable

// CHECK-LABEL: func.func @whole_lines
// CHECK-NOT: memref.copy
// CHECK: mpcrt.contract {{.*}} bias({{.*}} : memref<16xf32, strided<[1], offset: 16>>)
func.func @whole_lines(%x: tensor<?x16xf32> {mpc.input = "x"}, %w: tensor<16x16xf32> {mpc.variable = @square}, %b: tensor<2x16xf32> {mpc.variable = @lines}) -> (tensor<?x16xf32> {mpc.output = "out0"}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %second = tensor.extract_slice %b[1, 0] [1, 16] [1, 1] : tensor<2x16xf32> to tensor<16xf32>
  %empty = tensor.empty(%n) : tensor<?x16xf32>
  %y = mpcrt.contract ins(%x, %w : tensor<?x16xf32>, tensor<16x16xf32>) bias(%second : tensor<16xf32>) outs(%empty : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// 16 bytes behind the start of a line.
// CHECK-LABEL: func.func @part_of_a_line
// CHECK: memref.copy {{.*}} : memref<4xf32, strided<[1], offset: 4>> to memref<4xf32>
// CHECK-NEXT: mpcrt.contract {{.*}} bias({{.*}} : memref<4xf32>)
func.func @part_of_a_line(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4x4xf32> {mpc.variable = @w}, %b: tensor<2x4xf32> {mpc.variable = @shorter}) -> (tensor<?x4xf32> {mpc.output = "out0"}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %second = tensor.extract_slice %b[1, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
  %empty = tensor.empty(%n) : tensor<?x4xf32>
  %y = mpcrt.contract ins(%x, %w : tensor<?x4xf32>, tensor<4x4xf32>) bias(%second : tensor<4xf32>) outs(%empty : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// A slice of columns has gaps.
// CHECK-LABEL: func.func @columns
// CHECK: memref.copy {{.*}} : memref<4x4xf32, strided<[8, 1]>> to memref<4x4xf32>
// CHECK-NEXT: mpcrt.contract
func.func @columns(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4x8xf32> {mpc.variable = @wide}) -> (tensor<?x4xf32> {mpc.output = "out0"}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %left = tensor.extract_slice %w[0, 0] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %empty = tensor.empty(%n) : tensor<?x4xf32>
  %y = mpcrt.contract ins(%x, %left : tensor<?x4xf32>, tensor<4x4xf32>) outs(%empty : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// What no step changes is copied once, so that threads may share the rows of the loop; what is of the step, in it.
// CHECK-LABEL: func.func @steps
// CHECK: memref.copy {{.*}} : memref<4xf32, strided<[1], offset: 4>> to memref<4xf32>
// CHECK-NEXT: mpcrt.parallel_rows
// CHECK: scf.for
// CHECK-NOT: to memref<4xf32>
// CHECK: memref.copy {{.*}} : memref<?x4xf32, strided<[20, 1], offset: ?>> to memref<?x4xf32>
// CHECK: mpcrt.contract
func.func @steps(%x: tensor<?x5x4xf32> {mpc.input = "x"}, %w: tensor<4x4xf32> {mpc.variable = @w}, %b: tensor<2x4xf32> {mpc.variable = @shorter}) -> (tensor<?x4xf32> {mpc.output = "out0"}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %n = tensor.dim %x, %c0 : tensor<?x5x4xf32>
  %second = tensor.extract_slice %b[1, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
  %empty = tensor.empty(%n) : tensor<?x4xf32>
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x4xf32>) -> tensor<?x4xf32>
  %last = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %start) -> (tensor<?x4xf32>) {
    %step = tensor.extract_slice %x[0, %i, 0] [%n, 1, 4] [1, 1, 1] : tensor<?x5x4xf32> to tensor<?x4xf32>
    %to = tensor.empty(%n) : tensor<?x4xf32>
    %y = mpcrt.contract ins(%step, %w : tensor<?x4xf32>, tensor<4x4xf32>) bias(%second : tensor<4xf32>) outs(%to : tensor<?x4xf32>) -> tensor<?x4xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x4xf32>) outs(%h : tensor<?x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %r = arith.addf %in, %out : f32
      linalg.yield %r : f32
    } -> tensor<?x4xf32>
    scf.yield %sum : tensor<?x4xf32>
  }
  return %last : tensor<?x4xf32>
}
