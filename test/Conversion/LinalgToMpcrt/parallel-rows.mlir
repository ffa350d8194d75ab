// RUN: mpc-opt %s --convert-linalg-to-mpcrt --mpc-verify-kernels | FileCheck %s
// What threads share by rows is launched over rows, whatever else would be faster.

// A few elements, long sums of few rows, dense copies: elsewhere loops of the host, partial sums,
// and a memory copy.
// CHECK-LABEL: func.func @steps
// CHECK: mpcrt.parallel_rows
// CHECK-NEXT: scf.for
// CHECK-NOT: scf.for
// CHECK-NOT: memref.copy
// CHECK: mpcrt.launch @kernel_steps count(
// CHECK-NOT: scf.for
// CHECK-NOT: memref.copy
// CHECK: mpcrt.launch @kernel_steps_1 count(
// CHECK-NOT: scf.for
// CHECK-NOT: memref.copy
// CHECK: mpcrt.launch @kernel_steps_2 count(
func.func @steps(%x: memref<20000x8xf32> {mpc.input = "x"}, %few: memref<8xf32> {mpcrt.output = "out0"}, %sum: memref<8xf32> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  mpcrt.parallel_rows count(%c8) {
    scf.for %t = %c0 to %c5 step %c1 {
      linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%few : memref<8xf32>) {
      ^bb0(%o: f32):
        %0 = arith.addf %o, %o : f32
        linalg.yield %0 : f32
      }
      linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<20000x8xf32>) outs(%sum : memref<8xf32>) {
      ^bb0(%i: f32, %o: f32):
        %0 = arith.addf %i, %o fastmath<reassoc> : f32
        linalg.yield %0 : f32
      }
      memref.copy %sum, %few : memref<8xf32> to memref<8xf32>
    }
  }
  return
}
