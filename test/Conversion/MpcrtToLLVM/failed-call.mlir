// RUN: not mpc-opt %s --convert-mpcrt-to-llvm 2>&1 | FileCheck %s
// A call that cannot be lowered, behind one that was: what the first one reads of the frame stays
// with it.
// CHECK: error: 'mpcrt.contract' op has an extent that is neither fixed nor a multiple of the batch
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %y: memref<?x4xf32> {mpcrt.output = "out0"}, %batch: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 1024 : i64} {
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%y : memref<?x4xf32>)
  %c1 = arith.constant 1 : index
  %more = arith.addi %batch, %c1 : index
  %a = memref.reinterpret_cast %x to offset: [0], sizes: [%more, 8], strides: [8, 1] : memref<?x8xf32> to memref<?x8xf32>
  %b = memref.reinterpret_cast %y to offset: [0], sizes: [%more, 4], strides: [4, 1] : memref<?x4xf32> to memref<?x4xf32>
  mpcrt.contract ins(%a, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%b : memref<?x4xf32>)
  return
}
