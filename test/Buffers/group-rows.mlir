// RUN: mpc-opt %s --mpc-group-rows --remark-format=emitRemark --remarks-filter=mpc-kernels 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-group-rows | mpc-opt --mpc-group-rows | FileCheck %s

#whole = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#vector = affine_map<(d0) -> (d0)>

// A row's maximum and what uses it: one group, with the maximum as a temporary of it.
// REMARK: rows{{.*}}local=1, ops=3
// CHECK-LABEL: func.func @normalize
// CHECK: mpcrt.rows loops(1) {
// CHECK: %[[MAX:.*]] = memref.alloca(%{{.*}}) : memref<?xf32>
// CHECK: linalg.generic {{.*}} outs(%[[MAX]] : memref<?xf32>)
// CHECK: linalg.generic {{.*}} ins(%arg0 : memref<?x10xf32>) outs(%[[MAX]] : memref<?xf32>)
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[MAX]] : memref<?x10xf32>, memref<?xf32>) outs(%arg1 : memref<?x10xf32>)
// CHECK: }
func.func @normalize(%x: memref<?x10xf32> {mpc.input = "x"}, %out: memref<?x10xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %low = arith.constant 0xFF800000 : f32
  %max = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%low : f32) outs(%max : memref<?xf32>)
  linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x10xf32>) outs(%max : memref<?xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.maximumf %i, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]} ins(%x, %max : memref<?x10xf32>, memref<?xf32>) outs(%out : memref<?x10xf32>) {
  ^bb0(%i: f32, %m: f32, %o: f32):
    %0 = arith.subf %i, %m : f32
    linalg.yield %0 : f32
  }
  return
}

// What an op outside reads stays a buffer, and ops between that touch something else do not matter.
// REMARK: rows{{.*}}local=0, ops=2
// CHECK-LABEL: func.func @observed
// CHECK: %[[SUM:.*]] = memref.alloc(
// CHECK: linalg.generic {{.*}} outs(%arg3 : memref<4xf32>)
// CHECK: mpcrt.rows
// CHECK: mpcrt.contract
func.func @observed(%x: memref<?x10xf32> {mpc.input = "x"}, %w: memref<10x4xf32> {mpc.input = "w"}, %out: memref<?x4xf32> {mpcrt.output = "out0"}, %other: memref<4xf32> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %zero = arith.constant 0.0 : f32
  %scaled = memref.alloc(%n) : memref<?x10xf32>
  %sum = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<?xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%other : memref<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x10xf32>) outs(%sum : memref<?xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  }
  mpcrt.contract ins(%x, %w : memref<?x10xf32>, memref<10x4xf32>) outs(%out : memref<?x4xf32>)
  linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%sum : memref<?xf32>) outs(%sum : memref<?xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %i : f32
    linalg.yield %0 : f32
  }
  return
}

// What needs the rows' results but not the other way round comes after the group: the sum over all
// rows. A view that only adds a dimension of one element has the rows of what it shows.
// REMARK: rows{{.*}}ops=4
// CHECK-LABEL: func.func @summed_between
// CHECK: mpcrt.rows loops(1) {
// CHECK-COUNT-4: linalg.{{fill|generic}}
// CHECK: linalg.generic {{.*}} ins(%arg2 : memref<?xf32>) outs(%arg3 : memref<f32>)
// CHECK: return
func.func @summed_between(%x: memref<?x10xf32> {mpc.input = "x"}, %out: memref<?x10xf32> {mpcrt.output = "out0"}, %sum: memref<?xf32> {mpcrt.output = "out1"}, %all: memref<f32> {mpcrt.output = "out2"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %zero = arith.constant 0.0 : f32
  %half = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<?xf32>)
  linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x10xf32>) outs(%sum : memref<?xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#vector, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%sum : memref<?xf32>) outs(%all : memref<f32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%sum : memref<?xf32>) outs(%half : memref<?xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %i : f32
    linalg.yield %0 : f32
  }
  %column = memref.expand_shape %half [[0, 1]] output_shape [%n, 1] : memref<?xf32> into memref<?x1xf32>
  linalg.generic {indexing_maps = [#whole, affine_map<(d0, d1) -> (d0, 0)>, #whole], iterator_types = ["parallel", "parallel"]} ins(%x, %column : memref<?x10xf32>, memref<?x1xf32>) outs(%out : memref<?x10xf32>) {
  ^bb0(%i: f32, %h: f32, %o: f32):
    %0 = arith.mulf %i, %h : f32
    linalg.yield %0 : f32
  }
  return
}

// What comes later and needs the sum over all rows ends the group.
// REMARK-NOT: rows{{.*}}ops=
// CHECK-LABEL: func.func @needs_sum
// CHECK-NOT: mpcrt.rows
func.func @needs_sum(%x: memref<?x10xf32> {mpc.input = "x"}, %out: memref<?x10xf32> {mpcrt.output = "out0"}, %sum: memref<?xf32> {mpcrt.output = "out1"}, %all: memref<f32> {mpcrt.output = "out2"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x10xf32>) outs(%sum : memref<?xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#vector, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%sum : memref<?xf32>) outs(%all : memref<f32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#whole, affine_map<(d0, d1) -> ()>, #whole], iterator_types = ["parallel", "parallel"]} ins(%x, %all : memref<?x10xf32>, memref<f32>) outs(%out : memref<?x10xf32>) {
  ^bb0(%i: f32, %a: f32, %o: f32):
    %0 = arith.mulf %i, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// No group: elementwise ops alone; sums down columns; a row that depends on another row; a library
// call between.
// REMARK-NOT: rows{{.*}}ops=
// CHECK-LABEL: func.func @apart
// CHECK-NOT: mpcrt.rows
func.func @apart(%x: memref<?x10xf32> {mpc.input = "x"}, %s: memref<10x10xf32> {mpc.input = "s"}, %out: memref<?x10xf32> {mpcrt.output = "out0"}, %sum: memref<10xf32> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x10xf32>) outs(%out : memref<?x10xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]} ins(%out : memref<?x10xf32>) outs(%out : memref<?x10xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x10xf32>) outs(%sum : memref<10xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%sum : memref<10xf32>) outs(%sum : memref<10xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  mpcrt.contract ins(%s, %s : memref<10x10xf32>, memref<10x10xf32>) outs(%s : memref<10x10xf32>)
  // Row i reads column i.
  linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]} ins(%s : memref<10x10xf32>) outs(%sum : memref<10xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, #whole], iterator_types = ["parallel", "parallel"]} ins(%sum : memref<10xf32>) outs(%s : memref<10x10xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  return
}

#cube = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#line = affine_map<(d0, d1, d2) -> (d0, d1)>
#column = affine_map<(d0, d1, d2) -> (d0, d2)>

// All loops of the fill count rows, of 256 elements, though it has no other.
// REMARK: rows{{.*}}local=1, ops=3
// CHECK-LABEL: func.func @each_place
// CHECK: mpcrt.rows loops(2) {
// CHECK: memref.alloca(%{{.*}}) : memref<?x128xf32>
// CHECK-COUNT-3: linalg.generic
func.func @each_place(%x: memref<?x128x256xf32> {mpc.input = "x"}, %out: memref<?x128x256xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %low = arith.constant 0xFF800000 : f32
  %max = memref.alloc(%n) : memref<?x128xf32>
  linalg.fill ins(%low : f32) outs(%max : memref<?x128xf32>)
  linalg.generic {indexing_maps = [#cube, #line], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : memref<?x128x256xf32>) outs(%max : memref<?x128xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.maximumf %i, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#cube, #line, #cube], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %max : memref<?x128x256xf32>, memref<?x128xf32>) outs(%out : memref<?x128x256xf32>) {
  ^bb0(%i: f32, %m: f32, %o: f32):
    %0 = arith.subf %i, %m : f32
    linalg.yield %0 : f32
  }
  return
}

// The sum over places would make rows of 128 x 256 elements, too long for two temporaries to stay in a
// block: a group of its own reads the differences again.
// REMARK: rows{{.*}}local=3, ops=5
// REMARK: rows{{.*}}local=0, ops=2
// CHECK-LABEL: func.func @too_long
// CHECK: %[[LAST:.*]] = memref.alloc(%{{.*}}) : memref<?x128x256xf32>
// CHECK: mpcrt.rows loops(2) {
// CHECK-COUNT-5: linalg.generic
// CHECK: mpcrt.rows loops(1) {
// CHECK: linalg.generic
// CHECK: linalg.generic {{.*}} ins(%[[LAST]] : memref<?x128x256xf32>) outs(%arg1 : memref<?x256xf32>)
func.func @too_long(%x: memref<?x128x256xf32> {mpc.input = "x"}, %out: memref<?x256xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %max = memref.alloc(%n) : memref<?x128xf32>
  %first = memref.alloc(%n) : memref<?x128x256xf32>
  %second = memref.alloc(%n) : memref<?x128x256xf32>
  %last = memref.alloc(%n) : memref<?x128x256xf32>
  linalg.fill ins(%low : f32) outs(%max : memref<?x128xf32>)
  linalg.generic {indexing_maps = [#cube, #line], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : memref<?x128x256xf32>) outs(%max : memref<?x128xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.maximumf %i, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#cube, #line, #cube], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %max : memref<?x128x256xf32>, memref<?x128xf32>) outs(%first : memref<?x128x256xf32>) {
  ^bb0(%i: f32, %m: f32, %o: f32):
    %0 = arith.subf %i, %m : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#cube, #cube], iterator_types = ["parallel", "parallel", "parallel"]} ins(%first : memref<?x128x256xf32>) outs(%second : memref<?x128x256xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#cube, #cube, #cube], iterator_types = ["parallel", "parallel", "parallel"]} ins(%first, %second : memref<?x128x256xf32>, memref<?x128x256xf32>) outs(%last : memref<?x128x256xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  }
  linalg.fill ins(%zero : f32) outs(%out : memref<?x256xf32>)
  linalg.generic {indexing_maps = [#cube, #column], iterator_types = ["parallel", "reduction", "parallel"]} ins(%last : memref<?x128x256xf32>) outs(%out : memref<?x256xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  }
  return
}

// One temporary of as many bytes as the sum reads: together they stay, in rows of a sample.
// REMARK: rows{{.*}}ops=5
// CHECK-LABEL: func.func @as_long
// CHECK: mpcrt.rows loops(1) {
// CHECK-COUNT-5: linalg.generic
// CHECK-NOT: mpcrt.rows
// CHECK: return
func.func @as_long(%x: memref<?x128x256xf32> {mpc.input = "x"}, %out: memref<?x256xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %max = memref.alloc(%n) : memref<?x128xf32>
  %last = memref.alloc(%n) : memref<?x128x256xf32>
  linalg.fill ins(%low : f32) outs(%max : memref<?x128xf32>)
  linalg.generic {indexing_maps = [#cube, #line], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : memref<?x128x256xf32>) outs(%max : memref<?x128xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.maximumf %i, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#cube, #line, #cube], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %max : memref<?x128x256xf32>, memref<?x128xf32>) outs(%last : memref<?x128x256xf32>) {
  ^bb0(%i: f32, %m: f32, %o: f32):
    %0 = arith.subf %i, %m : f32
    linalg.yield %0 : f32
  }
  linalg.fill ins(%zero : f32) outs(%out : memref<?x256xf32>)
  linalg.generic {indexing_maps = [#cube, #column], iterator_types = ["parallel", "reduction", "parallel"]} ins(%last : memref<?x128x256xf32>) outs(%out : memref<?x256xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  }
  return
}
