// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-watch-step | FileCheck %s
// RUN: mpc-opt %s --mpc-watch-step --convert-linalg-to-mpcrt=target=cuda --mpc-outline-host-code --mpc-verify-kernels | FileCheck %s --check-prefix=DEVICE
// Where products are padded, the numbers alone are reported. A kernel that updates several weights reads the
// gradient of each.

mpc.variable @"dense/kernel" : tensor<12x4xf32> role trainable layer("dense")
mpc.variable @"dense/bias" : tensor<4xf32> role trainable layer("dense")

func.func private @zeros(%y: memref<?x16xbf16>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  memref.store %zero, %y[%begin, %c0] : memref<?x16xbf16>
  return
}
func.func private @round(%x: memref<?x12xf32>, %y: memref<?x12xbf16, strided<[16, 1]>>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%begin, %c0] : memref<?x12xf32>
  %1 = arith.truncf %0 : f32 to bf16
  memref.store %1, %y[%begin, %c0] : memref<?x12xbf16, strided<[16, 1]>>
  return
}
func.func private @update(%g: memref<12x4xf32, strided<[8, 1]>>, %w: memref<12x4xf32>, %h: memref<4xf32>, %b: memref<4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  scf.for %i = %begin to %end step %end {
    %0 = memref.load %g[%i, %c0] : memref<12x4xf32, strided<[8, 1]>>
    memref.store %0, %w[%i, %c0] : memref<12x4xf32>
  }
  scf.for %i = %begin to %end step %end {
    %0 = memref.load %h[%i] : memref<4xf32>
    memref.store %0, %b[%i] : memref<4xf32>
  }
  return
}

// CHECK-LABEL: func.func @watched_step
// CHECK: mpcrt.launch @round
// CHECK-NEXT: %[[PART:.*]] = memref.subview %{{.*}}[0, 0] [%{{.*}}, 12] [1, 1] : memref<?x16xbf16> to memref<?x12xbf16, strided<[16, 1]>>
// CHECK-NEXT: %[[COPY:.*]] = mpcrt.view {{.*}} -> memref<?x12xbf16>
// CHECK-NEXT: memref.copy %[[PART]], %[[COPY]]
// CHECK-NEXT: mpcrt.trace forward 2 "kernel" of "dense"(%[[COPY]]) : memref<?x12xbf16>
// CHECK: mpcrt.contract
// CHECK: memref.copy %{{.*}}, %[[GRADIENT:.*]] : memref<12x4xf32, strided<[8, 1]>> to memref<12x4xf32>
// CHECK-NEXT: mpcrt.trace backward 3 "gradient:kernel" of "dense"(%[[GRADIENT]]) : memref<12x4xf32>
// CHECK: mpcrt.contract
// CHECK-NEXT: mpcrt.trace backward 4 "gradient:bias" of "dense"(%{{.*}}) : memref<4xf32>
// DEVICE-LABEL: func.func @watched_step
// DEVICE-NOT: memref.copy
// DEVICE-NOT: scf.for
func.func @train_step(%x: memref<?x12xf32> {mpc.input = "x"}, %w: memref<12x4xf32> {mpc.variable = @"dense/kernel"},
    %b: memref<4xf32> {mpc.variable = @"dense/bias"}, %dy: memref<?x8xbf16> {mpc.input = "dy"},
    %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 576 : i64, mpcrt.arena_per_sample = 32 : i64} {
  %c4 = arith.constant 4 : index
  %padded = mpcrt.view %arena[%n] fixed(576) per_sample(0) : memref<?xi8> -> memref<?x16xbf16>
  %g = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<16x8xf32>
  %h = mpcrt.view %arena[%n] fixed(512) per_sample(0) : memref<?xi8> -> memref<4xf32>
  %rows = mpcrt.view %arena[%n] fixed(528) per_sample(0) : memref<?xi8> -> memref<1x4xf32>
  mpcrt.launch @zeros count(%n) grain(1) args(%padded : memref<?x16xbf16>) loc("dense")
  %part = memref.subview %padded[0, 0] [%n, 12] [1, 1] : memref<?x16xbf16> to memref<?x12xbf16, strided<[16, 1]>>
  mpcrt.launch @round count(%n) grain(1) args(%x, %part : memref<?x12xf32>, memref<?x12xbf16, strided<[16, 1]>>) loc("dense")
  mpcrt.contract ins(%padded, %dy : memref<?x16xbf16>, memref<?x8xbf16>) outs(%g : memref<16x8xf32>) {layer = "dense/gradient", transpose_lhs} loc("dense/gradient")
  %gradient = memref.subview %g[0, 0] [12, 4] [1, 1] : memref<16x8xf32> to memref<12x4xf32, strided<[8, 1]>>
  %flat = memref.expand_shape %h [[0, 1]] output_shape [1, 4] : memref<4xf32> into memref<1x4xf32>
  %one = mpcrt.view %arena[%n] fixed(544) per_sample(0) : memref<?xi8> -> memref<1x1xf32>
  mpcrt.contract ins(%one, %rows : memref<1x1xf32>, memref<1x4xf32>) outs(%flat : memref<1x4xf32>) {layer = "dense/gradient"} loc("dense/gradient")
  mpcrt.launch @update count(%c4) grain(1) args(%gradient, %w, %h, %b : memref<12x4xf32, strided<[8, 1]>>, memref<12x4xf32>, memref<4xf32>, memref<4xf32>) loc("dense")
  return
}
