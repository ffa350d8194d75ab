// RUN: mpc-opt %s --mpc-parallelize-rows --remark-format=emitRemark --remarks-filter=mpc-kernels 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-parallelize-rows > %t.once
// RUN: mpc-opt %t.once --mpc-parallelize-rows | diff %t.once -

#whole = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#swapped = affine_map<(d0, d1) -> (d1, d0)>
#vector = affine_map<(d0) -> (d0)>

// The state of a row, its step of a stack, a product with weights: all by rows.
// REMARK: Passed{{.*}}parallel-rows{{.*}}threads share the rows of the loop
// CHECK-LABEL: func.func @scan
// CHECK: mpcrt.parallel_rows count(%arg4) {
// CHECK-NEXT: scf.for
// CHECK: mpcrt.contract
// CHECK: linalg.generic
// CHECK: linalg.yield
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @scan(%x: memref<?x5x4xf32> {mpc.input = "x"}, %w: memref<4x4xf32> {mpc.input = "w"}, %b: memref<4xf32> {mpc.input = "b"}, %out: memref<?x5x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %h = memref.alloc(%n) : memref<?x4xf32>
  %z = memref.alloc(%n) : memref<?x4xf32>
  scf.for %i = %c0 to %c5 step %c1 {
    %t = arith.subi %c4, %i : index
    %now = memref.subview %x[0, %t, 0] [%n, 1, 4] [1, 1, 1] : memref<?x5x4xf32> to memref<?x4xf32, strided<[20, 1], offset: ?>>
    %stack = memref.subview %out[0, %t, 0] [%n, 1, 4] [1, 1, 1] : memref<?x5x4xf32> to memref<?x4xf32, strided<[20, 1], offset: ?>>
    memref.copy %h, %stack : memref<?x4xf32> to memref<?x4xf32, strided<[20, 1], offset: ?>>
    mpcrt.contract ins(%h, %w : memref<?x4xf32>, memref<4x4xf32>) bias(%b : memref<4xf32>) outs(%z : memref<?x4xf32>)
    linalg.generic {indexing_maps = [#whole, #whole, #column, #whole], iterator_types = ["parallel", "parallel"]} ins(%now, %z, %b : memref<?x4xf32, strided<[20, 1], offset: ?>>, memref<?x4xf32>, memref<4xf32>) outs(%h : memref<?x4xf32>) {
    ^bb0(%a: f32, %c: f32, %d: f32, %o: f32):
      %0 = arith.addf %a, %c : f32
      %1 = arith.addf %0, %d : f32
      linalg.yield %1 : f32
    }
  }
  return
}

// A sum over the batch in each step.
// REMARK: Missed{{.*}}parallel-rows{{.*}}linalg.generic mixes rows of a buffer that the loop writes
// CHECK-LABEL: func.func @statistics
// CHECK-NOT: mpcrt.parallel_rows
func.func @statistics(%x: memref<?x4xf32> {mpc.input = "x"}, %mean: memref<4xf32> {mpcrt.output = "out0"}, %out: memref<?x4xf32> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  scf.for %t = %c0 to %c5 step %c1 {
    linalg.generic {indexing_maps = [#whole, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<?x4xf32>) outs(%mean : memref<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %a, %o : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel"]} ins(%x, %mean : memref<?x4xf32>, memref<4xf32>) outs(%out : memref<?x4xf32>) {
    ^bb0(%a: f32, %m: f32, %o: f32):
      %0 = arith.subf %a, %m : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// A custom loop writes a buffer by rows and reads it in another order in the next step.
// REMARK: Missed{{.*}}parallel-rows{{.*}}linalg.generic mixes rows of a buffer that the loop writes
// CHECK-LABEL: func.func @shared
// CHECK-NOT: mpcrt.parallel_rows
func.func @shared(%a: memref<4x4xf32> {mpc.input = "a"}, %out: memref<4x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %other = memref.alloc() : memref<4x4xf32>
  scf.for %t = %c0 to %c5 step %c1 {
    linalg.generic {indexing_maps = [#swapped, #whole], iterator_types = ["parallel", "parallel"]} ins(%out : memref<4x4xf32>) outs(%other : memref<4x4xf32>) {
    ^bb0(%i: f32, %o: f32):
      linalg.yield %i : f32
    }
    linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]} ins(%other, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
    ^bb0(%i: f32, %j: f32, %o: f32):
      %0 = arith.addf %i, %j : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// What the body of an op reads by itself may be any row.
// REMARK: Missed{{.*}}parallel-rows{{.*}}linalg.generic mixes rows of a buffer that the loop writes
// CHECK-LABEL: func.func @gathers
// CHECK-NOT: mpcrt.parallel_rows
func.func @gathers(%from: memref<?xi64> {mpc.input = "from"}, %out: memref<?xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  scf.for %t = %c0 to %c5 step %c1 {
    linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%from : memref<?xi64>) outs(%out : memref<?xf32>) {
    ^bb0(%i: i64, %o: f32):
      %place = arith.index_cast %i : i64 to index
      %0 = memref.load %out[%place] : memref<?xf32>
      linalg.yield %0 : f32
    }
  }
  return
}

// Weights of one step, and weights that a step writes.
// REMARK: Missed{{.*}}parallel-rows{{.*}}mpcrt.contract has another right operand or bias in each step
// REMARK: Missed{{.*}}parallel-rows{{.*}}mpcrt.contract mixes rows of a buffer that the loop writes
// CHECK-LABEL: func.func @weights
// CHECK-NOT: mpcrt.parallel_rows
func.func @weights(%x: memref<?x4xf32> {mpc.input = "x"}, %w: memref<4x4xf32> {mpc.input = "w"}, %v: memref<4x4xf32> {mpcrt.output = "out1"}, %out: memref<?x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  scf.for %t = %c0 to %c5 step %c1 {
    %now = memref.alloc() : memref<4x4xf32>
    mpcrt.contract ins(%x, %now : memref<?x4xf32>, memref<4x4xf32>) outs(%out : memref<?x4xf32>)
  }
  scf.for %t = %c0 to %c5 step %c1 {
    mpcrt.contract ins(%x, %v : memref<?x4xf32>, memref<4x4xf32>) outs(%out : memref<?x4xf32>)
    memref.copy %w, %v : memref<4x4xf32> to memref<4x4xf32>
  }
  return
}

// The first dimension of a view of several steps is no row.
// REMARK: Missed{{.*}}parallel-rows{{.*}}linalg.generic mixes rows of a buffer that the loop writes
// CHECK-LABEL: func.func @merged
// CHECK-NOT: mpcrt.parallel_rows
func.func @merged(%x: memref<?x5x4xf32> {mpc.input = "x"}, %out: memref<?x5x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %flat = memref.collapse_shape %out [[0, 1], [2]] : memref<?x5x4xf32> into memref<?x4xf32>
  %part = memref.subview %flat[0, 0] [%n, 4] [1, 1] : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1]>>
  scf.for %t = %c0 to %c5 step %c1 {
    linalg.generic {indexing_maps = [#whole], iterator_types = ["parallel", "parallel"]} outs(%part : memref<?x4xf32, strided<[4, 1]>>) {
    ^bb0(%o: f32):
      %0 = arith.addf %o, %o : f32
      linalg.yield %0 : f32
    }
  }
  return
}
