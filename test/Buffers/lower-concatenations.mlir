// RUN: mpc-opt %s --mpc-lower-concatenations | FileCheck %s
// RUN: mpc-opt %s --mpc-lower-concatenations | mpc-opt --mpc-lower-concatenations | FileCheck %s

#whole = affine_map<(d0, d1) -> (d0, d1)>

// A part of its own is computed in its place, an argument is copied.
// CHECK-LABEL: func.func @in_place
// CHECK: %[[C:.*]] = memref.alloc(%arg3) : memref<?x5xf32>
// CHECK: %[[A:.*]] = memref.subview %[[C]][0, 0] [%arg3, 2] [1, 1]
// CHECK: linalg.generic {{.*}} outs(%[[A]] : memref<?x2xf32, strided<[5, 1]>>)
// CHECK: %[[B:.*]] = memref.subview %[[C]][0, 2] [%arg3, 3] [1, 1]
// CHECK: memref.copy %arg1, %[[B]]
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK-NOT: mpcrt.concatenate
func.func @in_place(%x: memref<?x2xf32> {mpc.input = "x"}, %y: memref<?x3xf32> {mpc.input = "y"}, %out: memref<?x5xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc(%n) : memref<?x2xf32>
  linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x2xf32>) outs(%a : memref<?x2xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.tanh %i : f32
    linalg.yield %0 : f32
  }
  %c = memref.alloc(%n) : memref<?x5xf32>
  mpcrt.concatenate ins(%a, %y : memref<?x2xf32>, memref<?x3xf32>) outs(%c : memref<?x5xf32>) axis 1
  linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]} ins(%c : memref<?x5xf32>) outs(%out : memref<?x5xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  return
}

// Steps of a stack: parts in another shape, and the whole an output.
// CHECK-LABEL: func.func @steps
// CHECK-DAG: %[[S0:.*]] = memref.subview %arg1[0, 0, 0] [%arg2, 1, 2] [1, 1, 1]
// CHECK-DAG: %[[S1:.*]] = memref.subview %arg1[0, 1, 0] [%arg2, 1, 2] [1, 1, 1]
// CHECK-DAG: %[[A:.*]] = memref.collapse_shape %[[S0]] {{.*}} into memref<?x2xf32, strided<[4, 1]>>
// CHECK-DAG: %[[B:.*]] = memref.collapse_shape %[[S1]] {{.*}} into memref<?x2xf32, strided<[4, 1], offset: 2>>
// CHECK: linalg.generic {{.*}} outs(%[[A]] :
// CHECK: linalg.generic {{.*}} ins(%[[A]] : {{.*}} outs(%[[B]] :
// CHECK-NOT: memref.copy
// CHECK: return
func.func @steps(%x: memref<?x2xf32> {mpc.input = "x"}, %out: memref<?x2x2xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc(%n) : memref<?x2xf32>
  linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x2xf32>) outs(%a : memref<?x2xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.tanh %i : f32
    linalg.yield %0 : f32
  }
  %b = memref.alloc(%n) : memref<?x2xf32>
  linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]} ins(%a : memref<?x2xf32>) outs(%b : memref<?x2xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.sin %i : f32
    linalg.yield %0 : f32
  }
  %c = memref.expand_shape %a [[0], [1, 2]] output_shape [%n, 1, 2] : memref<?x2xf32> into memref<?x1x2xf32>
  %d = memref.expand_shape %b [[0], [1, 2]] output_shape [%n, 1, 2] : memref<?x2xf32> into memref<?x1x2xf32>
  mpcrt.concatenate ins(%c, %d : memref<?x1x2xf32>, memref<?x1x2xf32>) outs(%out : memref<?x2x2xf32>) axis 1
  return
}

// The same part twice: the second time it is copied.
// CHECK-LABEL: func.func @twice
// CHECK: %[[A:.*]] = memref.subview %arg0[0, 0] [2, 2] [1, 1]
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[A]] :
// CHECK: %[[B:.*]] = memref.subview %arg0[0, 2] [2, 2] [1, 1]
// CHECK: memref.copy %[[A]], %[[B]]
func.func @twice(%out: memref<2x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %one = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<2x2xf32>
  linalg.fill ins(%one : f32) outs(%a : memref<2x2xf32>)
  mpcrt.concatenate ins(%a, %a : memref<2x2xf32>, memref<2x2xf32>) outs(%out : memref<2x4xf32>) axis 1
  return
}

// What is written afterwards must not change the whole.
// CHECK-LABEL: func.func @part_written_after
// CHECK: %[[A:.*]] = memref.alloc() : memref<2x2xf32>
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[A]] :
// CHECK: memref.copy %[[A]]
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[A]] :
func.func @part_written_after(%y: memref<2x2xf32> {mpc.input = "y"}, %out: memref<2x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %a = memref.alloc() : memref<2x2xf32>
  linalg.fill ins(%one : f32) outs(%a : memref<2x2xf32>)
  mpcrt.concatenate ins(%a, %y : memref<2x2xf32>, memref<2x2xf32>) outs(%out : memref<2x4xf32>) axis 1
  linalg.fill ins(%two : f32) outs(%a : memref<2x2xf32>)
  return
}

// The whole changes, and then the part is read.
// CHECK-LABEL: func.func @whole_written_after
// CHECK: %[[A:.*]] = memref.alloc() : memref<2x2xf32>
// CHECK: memref.copy %[[A]]
// CHECK: linalg.fill
// CHECK: memref.copy %[[A]], %arg1
func.func @whole_written_after(%y: memref<2x2xf32> {mpc.input = "y"}, %other: memref<2x2xf32> {mpcrt.output = "out1"}, %out: memref<2x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %one = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<2x2xf32>
  linalg.fill ins(%one : f32) outs(%a : memref<2x2xf32>)
  mpcrt.concatenate ins(%a, %y : memref<2x2xf32>, memref<2x2xf32>) outs(%out : memref<2x4xf32>) axis 1
  linalg.fill ins(%one : f32) outs(%out : memref<2x4xf32>)
  memref.copy %a, %other : memref<2x2xf32> to memref<2x2xf32>
  return
}

// The whole is a variable whose old value the part is computed of.
// CHECK-LABEL: func.func @whole_read_before
// CHECK: %[[A:.*]] = memref.alloc() : memref<2x2xf32>
// CHECK: memref.copy %[[A]]
mpc.variable @state : tensor<2x4xf32> role non_trainable
func.func @whole_read_before(%y: memref<2x2xf32> {mpc.input = "y"}, %state: memref<2x4xf32> {mpc.variable = @state}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc() : memref<2x2xf32>
  %half = memref.subview %state[0, 2] [2, 2] [1, 1] : memref<2x4xf32> to memref<2x2xf32, strided<[4, 1], offset: 2>>
  memref.copy %half, %a : memref<2x2xf32, strided<[4, 1], offset: 2>> to memref<2x2xf32>
  mpcrt.concatenate ins(%a, %y : memref<2x2xf32>, memref<2x2xf32>) outs(%state : memref<2x4xf32>) axis 1
  return
}

// Libraries write dense results: along the first dimension the first part is one.
// CHECK-LABEL: func.func @products
// CHECK: mpcrt.contract {{.*}} outs(%{{.*}} : memref<2x4xf32>)
// CHECK: memref.copy
// CHECK: memref.copy
func.func @products(%x: memref<2x2xf32> {mpc.input = "x"}, %y: memref<2x4xf32> {mpc.input = "y"}, %out: memref<2x8xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc() : memref<2x4xf32>
  mpcrt.contract ins(%x, %y : memref<2x2xf32>, memref<2x4xf32>) outs(%a : memref<2x4xf32>)
  mpcrt.concatenate ins(%a, %y : memref<2x4xf32>, memref<2x4xf32>) outs(%out : memref<2x8xf32>) axis 1
  return
}

// In a loop the whole is the loop's own or it is copied to: what an iteration finds there, the last one has left.
// CHECK-LABEL: func.func @in_loop
// CHECK: scf.for
// CHECK: %[[A:.*]] = memref.alloc() : memref<2x2xf32>
// CHECK: memref.copy %[[A]]
func.func @in_loop(%y: memref<2x2xf32> {mpc.input = "y"}, %out: memref<2x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.alloc() : memref<2x2xf32>
    linalg.fill ins(%one : f32) outs(%a : memref<2x2xf32>)
    mpcrt.concatenate ins(%a, %y : memref<2x2xf32>, memref<2x2xf32>) outs(%out : memref<2x4xf32>) axis 1
  }
  return
}

// A concatenation of concatenations is one buffer.
// CHECK-LABEL: func.func @nested
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: return
func.func @nested(%out: memref<2x6xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %one = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<2x2xf32>
  linalg.fill ins(%one : f32) outs(%a : memref<2x2xf32>)
  %b = memref.alloc() : memref<2x2xf32>
  linalg.fill ins(%one : f32) outs(%b : memref<2x2xf32>)
  %c = memref.alloc() : memref<2x4xf32>
  mpcrt.concatenate ins(%a, %b : memref<2x2xf32>, memref<2x2xf32>) outs(%c : memref<2x4xf32>) axis 1
  %d = memref.alloc() : memref<2x2xf32>
  linalg.fill ins(%one : f32) outs(%d : memref<2x2xf32>)
  mpcrt.concatenate ins(%d, %c : memref<2x2xf32>, memref<2x4xf32>) outs(%out : memref<2x6xf32>) axis 1
  return
}
