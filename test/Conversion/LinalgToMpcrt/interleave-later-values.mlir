// RUN: mpc-opt %s --mpc-interleave-launches | FileCheck %s
// RUN: mpc-opt %s --mpc-interleave-launches --mpc-interleave-launches | FileCheck %s
// A result is consumed although its memory holds another value later, unless that is read first.

func.func private @copy(%x: memref<?xf32>, %y: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %y[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}

// Two products have the same memory, one after the other.
// CHECK-LABEL: func.func @two_products
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK: mpcrt.interleave result(0) consumed {
func.func @two_products(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %y: memref<?x4xf32> {mpcrt.output = "out0"}, %z: memref<?x4xf32> {mpcrt.output = "out1"},
                        %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %sums = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xf32>
  %flat = memref.collapse_shape %sums [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %first = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %second = memref.collapse_shape %z [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%sums : memref<?x4xf32>) {layer = "first"}
  mpcrt.launch @copy count(%count) grain(1000) args(%flat, %first : memref<?xf32>, memref<?xf32>)
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%sums : memref<?x4xf32>) {layer = "second"}
  mpcrt.launch @copy count(%count) grain(1000) args(%flat, %second : memref<?xf32>, memref<?xf32>)
  return
}

// A second launch reads the sums of the first product; what comes then does not matter.
// CHECK-LABEL: func.func @read_before
// CHECK: mpcrt.interleave result(0) {
// CHECK: mpcrt.interleave result(0) consumed {
func.func @read_before(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %y: memref<?x4xf32> {mpcrt.output = "out0"}, %z: memref<?x4xf32> {mpcrt.output = "out1"},
                       %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %sums = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xf32>
  %flat = memref.collapse_shape %sums [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %first = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %second = memref.collapse_shape %z [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%sums : memref<?x4xf32>) {layer = "first"}
  mpcrt.launch @copy count(%count) grain(1000) args(%flat, %first : memref<?xf32>, memref<?xf32>)
  mpcrt.launch @copy count(%count) grain(1000) args(%flat, %second : memref<?xf32>, memref<?xf32>)
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%sums : memref<?x4xf32>) {layer = "second"}
  mpcrt.launch @copy count(%count) grain(1000) args(%flat, %second : memref<?xf32>, memref<?xf32>)
  return
}

// A product that adds to what is there reads it.
// CHECK-LABEL: func.func @added_to
// CHECK: mpcrt.interleave result(0) {
func.func @added_to(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %y: memref<?x4xf32> {mpcrt.output = "out0"}, %z: memref<?x4xf32> {mpcrt.output = "out1"},
                    %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  %sums = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xf32>
  %flat = memref.collapse_shape %sums [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %first = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %second = memref.collapse_shape %z [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%sums : memref<?x4xf32>) {layer = "first"}
  mpcrt.launch @copy count(%count) grain(1000) args(%flat, %first : memref<?xf32>, memref<?xf32>)
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%sums : memref<?x4xf32>) {accumulate, layer = "second"}
  mpcrt.launch @copy count(%count) grain(1000) args(%flat, %second : memref<?xf32>, memref<?xf32>)
  return
}
