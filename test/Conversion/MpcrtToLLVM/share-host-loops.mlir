// RUN: mpc-opt %s --mpc-share-host-loops | FileCheck %s
// RUN: mpc-opt %s --mpc-share-host-loops --mpc-share-host-loops | FileCheck %s
// RUN: mpc-opt %s --mpc-share-host-loops --remarks-filter=mpc-kernels 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: mpc-opt %s --mpc-share-host-loops --convert-mpcrt-to-llvm | FileCheck %s --check-prefix=LLVM

// REMARK: share-host-loops
// REMARK-SAME: @host_loop_0 in place of 3 loops

// What is computed from buffers and numbers of outside is a function of those; constants are in it.
// CHECK: func.func private @host_loop_0(%[[FROM:.*]]: memref<16xf32>, %{{.*}}: f32, %[[TO:.*]]: memref<16xf32>)
// CHECK-DAG: %[[END:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[SCALE:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[END]]
// CHECK: memref.load %[[FROM]][%[[I]]]
// CHECK: memref.store %{{.*}}, %[[TO]][%[[I]]]
// LLVM: llvm.func internal @host_loop_0(%{{.*}}: !llvm.ptr, %{{.*}}: f32, %{{.*}}: !llvm.ptr) attributes {no_inline}
module {
mpc.variable @a : tensor<16xf32> role trainable
mpc.variable @b : tensor<16xf32> role trainable
mpc.variable @c : tensor<16xf32> role trainable
mpc.variable @d : tensor<8xf32> role trainable

// CHECK-LABEL: func.func @first(
// CHECK-SAME: %[[A:.*]]: memref<16xf32> {mpc.variable = @a}, %[[B:.*]]: memref<16xf32> {mpc.variable = @b}
// CHECK: %[[K:.*]] = memref.load
// CHECK: call @host_loop_0(%[[A]], %[[K]], %[[B]]) : (memref<16xf32>, f32, memref<16xf32>) -> ()
// One buffer for two of the first loop's is the same code.
// CHECK: call @host_loop_0(%[[B]], %[[K]], %[[B]])
// LLVM-LABEL: llvm.func @first
// LLVM: llvm.call @host_loop_0(%{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, f32, !llvm.ptr) -> ()
func.func @first(%a: memref<16xf32> {mpc.variable = @a}, %b: memref<16xf32> {mpc.variable = @b}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %two = arith.constant 2.0 : f32
  %k = memref.load %a[%c0] : memref<16xf32>
  scf.for %i = %c0 to %c16 step %c1 {
    %x = memref.load %a[%i] : memref<16xf32>
    %scaled = arith.mulf %x, %two : f32
    %sum = arith.addf %scaled, %k : f32
    memref.store %sum, %b[%i] : memref<16xf32>
  }
  scf.for %i = %c0 to %c16 step %c1 {
    %x = memref.load %b[%i] : memref<16xf32>
    %scaled = arith.mulf %x, %two : f32
    %sum = arith.addf %scaled, %k : f32
    memref.store %sum, %b[%i] : memref<16xf32>
  }
  return
}

// A number is the loop's result.
// CHECK: func.func private @host_loop_1(%[[START:.*]]: f32, %[[FROM:.*]]: memref<16xf32>) -> f32
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[START]])
// CHECK: return %[[SUM]] : f32
// CHECK-NOT: host_loop_2
// LLVM: llvm.func internal @host_loop_1(%{{.*}}: f32, %{{.*}}: !llvm.ptr) -> f32 attributes {no_inline}
// LLVM: llvm.return %{{.*}} : f32
// CHECK-LABEL: func.func @second(
// LLVM-LABEL: llvm.func @second
// CHECK-SAME: %[[A:.*]]: memref<16xf32> {mpc.variable = @a}, %[[C:.*]]: memref<16xf32> {mpc.variable = @c}
// CHECK: call @host_loop_0(%[[A]], %{{.*}}, %[[C]])
// Another constant, another bound and another type of a buffer stay.
// CHECK: scf.for
// CHECK: arith.mulf %{{.*}}, %cst_0
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref<8xf32>
// CHECK: %[[FIRST:.*]] = call @host_loop_1(%{{.*}}, %[[A]]) : (f32, memref<16xf32>) -> f32
// CHECK: %[[SECOND:.*]] = call @host_loop_1(%[[FIRST]], %[[C]])
// CHECK: memref.store %[[SECOND]], %[[C]]
// LLVM: %[[FIRST:.*]] = llvm.call @host_loop_1(%{{.*}}, %{{.*}}) : (f32, !llvm.ptr) -> f32
// LLVM: llvm.call @host_loop_1(%[[FIRST]], %{{.*}})
func.func @second(%a: memref<16xf32> {mpc.variable = @a}, %c: memref<16xf32> {mpc.variable = @c}, %d: memref<8xf32> {mpc.variable = @d},
                  %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %k = memref.load %c[%c0] : memref<16xf32>
  scf.for %i = %c0 to %c16 step %c1 {
    %x = memref.load %a[%i] : memref<16xf32>
    %scaled = arith.mulf %x, %two : f32
    %sum = arith.addf %scaled, %k : f32
    memref.store %sum, %c[%i] : memref<16xf32>
  }
  scf.for %i = %c0 to %c16 step %c1 {
    %x = memref.load %a[%i] : memref<16xf32>
    %scaled = arith.mulf %x, %three : f32
    %sum = arith.addf %scaled, %k : f32
    memref.store %sum, %c[%i] : memref<16xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %a[%i] : memref<16xf32>
    %scaled = arith.mulf %x, %two : f32
    %sum = arith.addf %scaled, %k : f32
    memref.store %sum, %c[%i] : memref<16xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %a[%i] : memref<16xf32>
    %scaled = arith.mulf %x, %two : f32
    %sum = arith.addf %scaled, %k : f32
    memref.store %sum, %d[%i] : memref<8xf32>
  }
  %first = scf.for %i = %c0 to %c16 step %c1 iter_args(%carried = %k) -> f32 {
    %x = memref.load %a[%i] : memref<16xf32>
    %sum = arith.addf %x, %carried : f32
    scf.yield %sum : f32
  }
  %second = scf.for %i = %c0 to %c16 step %c1 iter_args(%carried = %first) -> f32 {
    %x = memref.load %c[%i] : memref<16xf32>
    %sum = arith.addf %x, %carried : f32
    scf.yield %sum : f32
  }
  memref.store %second, %c[%c0] : memref<16xf32>
  return
}

// Two numbers have no one register.
// CHECK-LABEL: func.func @two(
// CHECK-COUNT-2: %{{.*}}:2 = scf.for
func.func @two(%a: memref<16xf32> {mpc.variable = @a}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %k = memref.load %a[%c0] : memref<16xf32>
  %first:2 = scf.for %i = %c0 to %c16 step %c1 iter_args(%s = %k, %p = %k) -> (f32, f32) {
    %x = memref.load %a[%i] : memref<16xf32>
    %sum = arith.addf %s, %x : f32
    %product = arith.mulf %p, %x : f32
    scf.yield %sum, %product : f32, f32
  }
  %second:2 = scf.for %i = %c0 to %c16 step %c1 iter_args(%s = %first#1, %p = %first#0) -> (f32, f32) {
    %x = memref.load %a[%i] : memref<16xf32>
    %sum = arith.addf %s, %x : f32
    %product = arith.mulf %p, %x : f32
    scf.yield %sum, %product : f32, f32
  }
  memref.store %second#0, %a[%c0] : memref<16xf32>
  memref.store %second#1, %a[%c1] : memref<16xf32>
  return
}

// One value of the first loop has to be one of the other: these two are not equal.
// CHECK-LABEL: func.func @third(
// CHECK-COUNT-2: scf.for
func.func @third(%a: memref<16xf32> {mpc.variable = @a}, %b: memref<16xf32> {mpc.variable = @b}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %x = memref.load %a[%i] : memref<16xf32>
    memref.store %x, %a[%i] : memref<16xf32>
  }
  scf.for %i = %c0 to %c16 step %c1 {
    %x = memref.load %a[%i] : memref<16xf32>
    memref.store %x, %b[%i] : memref<16xf32>
  }
  return
}
}
