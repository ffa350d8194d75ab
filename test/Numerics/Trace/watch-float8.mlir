// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-watch-step | FileCheck %s
// RUN: mpc-opt %s --mpc-watch-step --mpc-verify-kernels | FileCheck %s
// RUN: mpc-opt %s --mpc-watch-step --remarks-filter=mpc-numerics 2>&1 | FileCheck %s --check-prefix=REMARK
// Numbers of float8 stay in their kernels: copies of these store them, and what they were rounded from.

// The step keeps its kernels; what is stored beside the same place has the shape of the result.
// CHECK-LABEL: func.func private @quantize(
// CHECK-NOT: memref.store {{.*}}f8E4M3FN
// CHECK-LABEL: func.func private @quantize_watched(
// CHECK-SAME: %[[R:[a-z0-9]+]]: memref<?x8xf32>, %[[B:[a-z0-9]+]]: memref<?x8xf32>, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index)
// CHECK: %[[X:.*]] = arith.extf
// CHECK: %[[N:.*]] = arith.select {{.*}} {mpc.rounds_to = f8E4M3FN} : f32
// CHECK: memref.store %[[N]], %[[R]][%[[I:.*]], %[[J:.*]]] : memref<?x8xf32>
// CHECK: memref.store %[[X]], %[[B]][%[[I]], %[[J]]] : memref<?x8xf32>
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : memref<?x8xbf16, strided<[16, 1]>>
func.func private @quantize(%x: memref<?x8xbf16>, %y: memref<?x8xbf16, strided<[16, 1]>>, %n: index, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %begin to %end step %c1 {
    %row = arith.divui %i, %c8 : index
    %column = arith.remui %i, %c8 : index
    %0 = memref.load %x[%row, %column] : memref<?x8xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.cmpf uno, %1, %1 : f32
    %3 = arith.mulf %1, %1 : f32
    %4 = arith.select %2, %1, %3 {mpc.rounds_to = f8E4M3FN} : f32 loc("dense")
    %5 = arith.truncf %4 : f32 to bf16
    memref.store %5, %y[%row, %column] : memref<?x8xbf16, strided<[16, 1]>>
  }
  return
}
// On a GPU they have a type of their own.
// CHECK-LABEL: func.func private @narrow_watched(
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<?xf8E5M2>
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<?xf32>
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<?xf8E5M2>
func.func private @narrow(%x: memref<?xf32>, %y: memref<?xf8E5M2>, %n: index, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %0 = memref.load %x[%begin] : memref<?xf32>
  %1 = arith.truncf %0 : f32 to f8E5M2 loc("dense/gradient")
  memref.store %1, %y[%begin] : memref<?xf8E5M2>
  return
}
// Their sum alone leaves this one.
func.func private @sum(%x: memref<?xf32>, %y: memref<1xf32>, %n: index, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%begin] : memref<?xf32>
  %1 = arith.cmpf uno, %0, %0 : f32
  %2 = arith.select %1, %0, %0 {mpc.rounds_to = f8E5M2} : f32 loc("dense/gradient")
  %3 = memref.load %y[%c0] : memref<1xf32>
  %4 = arith.addf %2, %3 : f32
  memref.store %4, %y[%c0] : memref<1xf32>
  return
}

// REMARK: [Missed] watched-values {{.*}}Function=watched_step{{.*}}numbers of float8 are not seen: they do not leave their loop

// CHECK-LABEL: func.func @train_step
// CHECK-SAME: mpcrt.arena_fixed = 256 : i64, mpcrt.arena_per_sample = 64 : i64
// CHECK-NOT: mpcrt.trace
// CHECK-NOT: _watched
// CHECK-LABEL: func.func @watched_step
// CHECK-SAME: mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 128 : i64
// CHECK: %[[ROUNDED:.*]] = mpcrt.view %{{.*}} fixed(512) per_sample(64) : memref<?xi8> -> memref<?x8xf32>
// CHECK: %[[BEFORE:.*]] = mpcrt.view %{{.*}} fixed(512) per_sample(96) : memref<?xi8> -> memref<?x8xf32>
// CHECK: mpcrt.launch @quantize_watched count(%{{.*}}) grain(1) args(%{{.*}}, %{{.*}}, %{{.*}}, %[[ROUNDED]], %[[BEFORE]] :
// CHECK-NEXT: mpcrt.trace forward 1 "round_float8" of "dense"(%[[ROUNDED]] before %[[BEFORE]]) float8 f8E4M3FN : memref<?x8xf32>, memref<?x8xf32>
// The same place again.
// CHECK: mpcrt.view %{{.*}} fixed(512) per_sample(64) {extent = 8 : i64} : memref<?xi8> -> memref<?xf8E5M2>
// CHECK: mpcrt.launch @narrow_watched
// CHECK-NEXT: mpcrt.trace backward 2 "round_float8" of "dense"(%{{.*}} before %{{.*}}) : memref<?xf8E5M2>, memref<?xf32>
// CHECK: mpcrt.launch @sum count
// Another layer launches the kernel of the first one, on a matrix of a known size.
// CHECK: %[[CAST:.*]] = memref.cast %[[OTHER:.*]] : memref<4x8xf32> to memref<?x8xf32>
// CHECK: mpcrt.launch @quantize_watched count(%{{.*}}) grain(1) args(%{{.*}}, %{{.*}}, %{{.*}}, %[[CAST]], %{{.*}} :
// CHECK-NEXT: mpcrt.trace backward {{[0-9]+}} "round_float8" of "other"(%[[OTHER]] before %{{.*}}) float8 f8E4M3FN : memref<4x8xf32>, memref<4x8xf32>
// A loop of the step itself stores them, too.
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[ROUNDED2:.*]][%{{.*}}] : memref<4xf32>
// CHECK: memref.store %{{.*}}, %[[BEFORE2:.*]][%{{.*}}] : memref<4xf32>
// CHECK: mpcrt.trace forward {{[0-9]+}} "round_float8" of "small"(%[[ROUNDED2]] before %[[BEFORE2]]) float8 f8E5M2 : memref<4xf32>, memref<4xf32>
func.func @train_step(%x: memref<?x8xbf16> {mpc.input = "x"}, %g: memref<?x8xf32> {mpcrt.output = "g"},
    %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 256 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %c8 = arith.constant 8 : index
  %elements = arith.muli %n, %c8 : index
  %padded = mpcrt.view %arena[%n] fixed(256) per_sample(0) : memref<?xi8> -> memref<?x16xbf16>
  %q = memref.subview %padded[0, 0] [%n, 8] [1, 1] : memref<?x16xbf16> to memref<?x8xbf16, strided<[16, 1]>>
  mpcrt.launch @quantize count(%elements) grain(1) args(%x, %q, %n : memref<?x8xbf16>, memref<?x8xbf16, strided<[16, 1]>>, index) loc("dense")
  %narrow = mpcrt.view %arena[%n] fixed(256) per_sample(32) {extent = 8 : i64} : memref<?xi8> -> memref<?xf8E5M2>
  %flat = memref.collapse_shape %g [[0, 1]] : memref<?x8xf32> into memref<?xf32>
  mpcrt.launch @narrow count(%elements) grain(1) args(%flat, %narrow, %n : memref<?xf32>, memref<?xf8E5M2>, index) loc("dense/gradient")
  %sum = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<1xf32>
  mpcrt.launch @sum count(%elements) grain(1) args(%flat, %sum, %n : memref<?xf32>, memref<1xf32>, index) loc("dense/gradient")
  %w = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<4x8xbf16>
  %w16 = mpcrt.view %arena[%n] fixed(128) per_sample(0) : memref<?xi8> -> memref<4x16xbf16>
  %part = memref.subview %w16[0, 0] [4, 8] [1, 1] : memref<4x16xbf16> to memref<4x8xbf16, strided<[16, 1]>>
  %any = memref.cast %w : memref<4x8xbf16> to memref<?x8xbf16>
  %anyPart = memref.cast %part : memref<4x8xbf16, strided<[16, 1]>> to memref<?x8xbf16, strided<[16, 1]>>
  %c32 = arith.constant 32 : index
  mpcrt.launch @quantize count(%c32) grain(1) args(%any, %anyPart, %n : memref<?x8xbf16>, memref<?x8xbf16, strided<[16, 1]>>, index) loc("other/gradient")
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %small = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<4xf32>
  %result = mpcrt.view %arena[%n] fixed(16) per_sample(0) : memref<?xi8> -> memref<4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %0 = memref.load %small[%i] : memref<4xf32>
    %1 = arith.cmpf uno, %0, %0 : f32
    %2 = arith.select %1, %0, %0 {mpc.rounds_to = f8E5M2} : f32 loc("small")
    memref.store %2, %result[%i] : memref<4xf32>
  } loc("small")
  return
}
