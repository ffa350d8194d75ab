// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-watch-step | FileCheck %s
// RUN: mpc-opt %s --mpc-watch-step --mpc-watch-step | FileCheck %s
// RUN: mpc-opt %s --mpc-watch-step --mpc-verify-kernels | FileCheck %s
// RUN: mpc-opt %s --mpc-watch-step --remarks-filter=mpc-numerics 2>&1 | FileCheck %s --check-prefix=REMARK
// A step of one layer: its result is narrow, its gradient is consumed by the update.

mpc.variable @"dense/kernel" : tensor<8x4xf32> role trainable layer("dense")
mpc.variable @"optimizer/sgd/dense_kernel_momentum" : tensor<8x4xf32> role optimizer

func.func private @relu(%x: memref<?xbf16>, %y: memref<?xbf16>, %n: index, %begin: index, %end: index) attributes {mpcrt.kernel} {
  scf.for %i = %begin to %end step %n {
    %0 = memref.load %x[%i] : memref<?xbf16>
    memref.store %0, %y[%i] : memref<?xbf16>
  }
  return
}
func.func private @update(%g: memref<32xf32>, %w: memref<8x4xf32>, %m: memref<8x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %0 = memref.load %g[%begin] : memref<32xf32>
  memref.store %0, %w[%begin, %begin] : memref<8x4xf32>
  memref.store %0, %m[%begin, %begin] : memref<8x4xf32>
  return
}

// REMARK: remark: [Passed] watched-values {{.*}}Category:mpc-numerics{{.*}}Function=watched_step{{.*}}values=7

// CHECK-LABEL: func.func @train_step
// CHECK-SAME: mpcrt.arena_fixed = 64 : i64, mpcrt.arena_per_sample = 16 : i64
// CHECK-NOT: mpcrt.trace
// CHECK: consumed
// CHECK-LABEL: func.func @watched_step
// The gradient has room behind the fixed part, the old weights behind that.
// CHECK-SAME: mpc.entry = #mpc.entry_role<watched_step>, mpcrt.arena_fixed = 320 : i64, mpcrt.arena_per_sample = 16 : i64
// CHECK: mpcrt.trace forward 0 "input" of "x"
// CHECK: mpcrt.view %{{.*}} fixed(64) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
// CHECK: mpcrt.view %{{.*}} fixed(320) per_sample(0) : memref<?xi8> -> memref<?x4xbf16>
// CHECK: mpcrt.contract {{.*}} {layer = "dense"}
// CHECK-NEXT: mpcrt.trace forward 1 "contract" of "dense"
// CHECK: mpcrt.launch @relu
// CHECK-NEXT: mpcrt.trace forward 2 "output:out0" of "activation"
// The old weights are copied right before they change.
// CHECK: %[[OLD:.*]] = mpcrt.view %{{.*}} fixed(192) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
// CHECK-NEXT: memref.copy %[[W:.*]], %[[OLD]]
// CHECK-NEXT: mpcrt.interleave result(0) {
// CHECK: mpcrt.launch @update
// CHECK: mpcrt.trace backward 3 "gradient:kernel" of "dense"(%{{.*}}) : memref<8x4xf32>
// CHECK-NEXT: mpcrt.trace optimizer 4 "updated:kernel" of "dense"(%[[W]]) : memref<8x4xf32>
// CHECK-NEXT: mpcrt.trace optimizer 5 "update:kernel" of "dense"(%[[W]] before %[[OLD]]) change : memref<8x4xf32>, memref<8x4xf32>
// CHECK-NEXT: mpcrt.trace optimizer 6 "slot" of "optimizer/sgd/dense_kernel_momentum"
func.func @train_step(%x: memref<?x8xf32> {mpc.input = "x"}, %dy: memref<?x4xf32> {mpc.target = "y0"},
    %w: memref<8x4xf32> {mpc.variable = @"dense/kernel"}, %m: memref<8x4xf32> {mpc.variable = @"optimizer/sgd/dense_kernel_momentum"},
    %out: memref<?x4xbf16> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 64 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) {unstored} : memref<?xi8> -> memref<8x4xf32>
  %y = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<?x4xbf16>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %elements = memref.collapse_shape %y [[0, 1]] : memref<?x4xbf16> into memref<?xbf16>
  %outputs = memref.collapse_shape %out [[0, 1]] : memref<?x4xbf16> into memref<?xbf16>
  %c32 = arith.constant 32 : index
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%y : memref<?x4xbf16>) {layer = "dense"} loc("dense")
  mpcrt.launch @relu count(%n) grain(1) args(%elements, %outputs, %n : memref<?xbf16>, memref<?xbf16>, index) loc("activation")
  mpcrt.interleave result(0) consumed {
    mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense/gradient", transpose_lhs} loc("dense/gradient")
    mpcrt.launch @update count(%c32) grain(1000) args(%flat, %w, %m : memref<32xf32>, memref<8x4xf32>, memref<8x4xf32>)
  }
  return
}
