// RUN: mpc-opt %s --mpc-group-rows=target=cuda | FileCheck %s
// RUN: mpc-opt %s --mpc-group-rows=target=cuda --mpc-group-rows=target=cuda | FileCheck %s
// On a GPU a thread or a warp takes a row: rows are as short as what is summed in them.

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1)>
#sample = affine_map<(d0, d1, d2) -> (d0, d2)>
#rows = affine_map<(d0, d1) -> (d0, d1)>

// An elementwise op over the rows comes first: all of its loops count them.
// CHECK-LABEL: func.func @means_first(
// CHECK: mpcrt.rows loops(2) {
// CHECK-COUNT-2: linalg.generic
// CHECK: linalg.yield
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @means_first(%mean: memref<?x128xf32> {mpc.input = "x"}, %x: memref<?x128x256xf32> {mpc.input = "y"}, %out: memref<?x128xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%mean : memref<?x128xf32>) outs(%out : memref<?x128xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.negf %i : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : memref<?x128x256xf32>) outs(%out : memref<?x128xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// An elementwise op over what is summed comes first: its last loop is inside of a row.
// CHECK-LABEL: func.func @elements_first(
// CHECK: mpcrt.rows loops(2) {
// CHECK-COUNT-2: linalg.generic
// CHECK: linalg.yield
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @elements_first(%x: memref<?x128x256xf32> {mpc.input = "x"}, %y: memref<?x128x256xf32> {mpc.input = "y"}, %out: memref<?x128xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry} {
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<?x128x256xf32>) outs(%y : memref<?x128x256xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.negf %i : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%y : memref<?x128x256xf32>) outs(%out : memref<?x128xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// A sum between the loops of its result has a thread for each column: no row of a sample.
// CHECK-LABEL: func.func @mean_over_places(
// CHECK-NOT: mpcrt.rows
// CHECK: return
func.func @mean_over_places(%x: memref<?x128x256xf32> {mpc.input = "x"}, %out: memref<?x256xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#rows], iterator_types = ["parallel", "parallel"]} outs(%out : memref<?x256xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#all, #sample], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : memref<?x128x256xf32>) outs(%out : memref<?x256xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// What has much more to do in a row than was summed does not join: one thread would do all of it.
// CHECK-LABEL: func.func @broadcast(
// CHECK: mpcrt.rows loops(1) {
// CHECK-COUNT-2: linalg.generic
// CHECK: linalg.yield
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: linalg.generic
// CHECK: return
func.func @broadcast(%x: memref<?x16xf32> {mpc.input = "x"}, %sum: memref<?xf32> {mpcrt.output = "out0"}, %y: memref<?x128x256xf32> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%sum : memref<?xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#rows, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x16xf32>) outs(%sum : memref<?xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%sum : memref<?xf32>) outs(%y : memref<?x128x256xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  return
}

// A matrix is padded: its kernel fills the rows, and computes their first columns, of which another row has none.
// CHECK-LABEL: func.func @padded(
// CHECK: mpcrt.rows loops(1) {
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: mpcrt.rows
// CHECK: return
func.func @padded(%x: memref<?x10xf32> {mpc.input = "x"}, %sum: memref<?xf32> {mpcrt.output = "out0"}, %out: memref<?x16xf32> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#rows, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x10xf32>) outs(%sum : memref<?xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, #rows], iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%out : memref<?x16xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  %some = memref.subview %out[0, 0] [%n, 10] [1, 1] : memref<?x16xf32> to memref<?x10xf32, strided<[16, 1]>>
  linalg.generic {indexing_maps = [#rows, affine_map<(d0, d1) -> (d0)>, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : memref<?x10xf32>, memref<?xf32>) outs(%some : memref<?x10xf32, strided<[16, 1]>>) {
  ^bb0(%i: f32, %s: f32, %o: f32):
    %0 = arith.divf %i, %s : f32
    linalg.yield %0 : f32
  }
  return
}

// Rows of what begins at another row are not those of the whole.
// CHECK-LABEL: func.func @shifted(
// CHECK: mpcrt.rows loops(1) {
// CHECK-COUNT-2: linalg.generic
// CHECK: linalg.yield
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK: linalg.generic
// CHECK: return
func.func @shifted(%x: memref<?x10xf32> {mpc.input = "x"}, %sum: memref<?xf32> {mpcrt.output = "out0"}, %out: memref<?x16xf32> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#rows, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x10xf32>) outs(%sum : memref<?xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, #rows], iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%out : memref<?x16xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  %some = memref.subview %out[0, 2] [%n, 10] [1, 1] : memref<?x16xf32> to memref<?x10xf32, strided<[16, 1], offset: 2>>
  linalg.generic {indexing_maps = [#rows, affine_map<(d0, d1) -> (d0)>, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : memref<?x10xf32>, memref<?xf32>) outs(%some : memref<?x10xf32, strided<[16, 1], offset: 2>>) {
  ^bb0(%i: f32, %s: f32, %o: f32):
    %0 = arith.divf %i, %s : f32
    linalg.yield %0 : f32
  }
  return
}
