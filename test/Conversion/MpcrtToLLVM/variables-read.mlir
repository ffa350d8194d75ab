// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Entries say which variables their own code reads. One that is the right operand of contractions
// alone is not among them: the runtime may bring its value when the contraction comes.
module {
mpc.variable @w : tensor<8x4xf32> role trainable
mpc.variable @b : tensor<4xf32> role trainable
mpc.variable @flat : tensor<32xf32> role trainable

// A bias is read where it is; views of a right operand change nothing.
// CHECK-LABEL: llvm.func @predict
// CHECK-SAME: variables_read = [@b]
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.variable = @w}, %b: memref<4xf32> {mpc.variable = @b},
                   %flat: memref<32xf32> {mpc.variable = @flat}, %out: memref<?x4xf32> {mpcrt.output = "out0"}, %out1: memref<?x4xf32> {mpcrt.output = "out1"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) bias(%b : memref<4xf32>) outs(%out : memref<?x4xf32>) {layer = "dense"}
  %view = memref.expand_shape %flat [[0, 1]] output_shape [8, 4] : memref<32xf32> into memref<8x4xf32>
  mpcrt.contract ins(%x, %view : memref<?x8xf32>, memref<8x4xf32>) outs(%out1 : memref<?x4xf32>) {layer = "dense_1"}
  return
}

// A right operand that is copied elsewhere as well, too.
// CHECK-LABEL: llvm.func @evaluate
// CHECK-SAME: variables_read = [@w]
func.func @evaluate(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.variable = @w}, %out: memref<?x4xf32> {mpcrt.output = "out0"},
                    %copy: memref<8x4xf32> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
                    attributes {mpc.entry = #mpc.entry_role<evaluate>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%out : memref<?x4xf32>) {layer = "dense"}
  memref.copy %w, %copy : memref<8x4xf32> to memref<8x4xf32>
  return
}

// A left operand is read.
// CHECK-LABEL: llvm.func @gradients
// CHECK-SAME: variables_read = [@w]
func.func @gradients(%x: memref<4x4xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.variable = @w}, %out: memref<8x4xf32> {mpcrt.output = "out0"},
                     %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<gradients>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.contract ins(%w, %x : memref<8x4xf32>, memref<4x4xf32>) outs(%out : memref<8x4xf32>) {layer = "dense"}
  return
}
}
