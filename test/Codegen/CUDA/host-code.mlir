// RUN: mpc-opt %s --mpc-outline-host-code --split-input-file --verify-diagnostics | FileCheck %s
// Entries keep addresses and calls: whatever loads or stores is a kernel.

func.func private @k(%x: memref<4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}

// A value of the first run that the second one reads goes through the arena, which grows by it; the
// array on the stack moves there, too.
// CHECK-LABEL: func.func private @kernel_two_runs_scalars_0
// CHECK: memref.load
// CHECK: memref.store
// CHECK-LABEL: func.func private @kernel_two_runs_scalars_1
// CHECK: memref.load
// CHECK: memref.store
// CHECK-LABEL: func.func @two_runs
// CHECK-SAME: mpcrt.arena_fixed = 256 : i64
// CHECK-DAG: mpcrt.view %{{.*}} fixed(0) per_sample(0) {{.*}} -> memref<4xf32>
// CHECK-DAG: mpcrt.view %{{.*}} fixed(64) per_sample(0) {{.*}} -> memref<f32>
// CHECK-DAG: mpcrt.view %{{.*}} fixed(128) per_sample(0) {{.*}} -> memref<f32>
// CHECK-NOT: memref.load
// CHECK: mpcrt.launch @kernel_two_runs_scalars_0
// CHECK-NEXT: mpcrt.launch @k count
// CHECK: mpcrt.launch @kernel_two_runs_scalars_1
// CHECK-NOT: memref.store
// CHECK: return
func.func @two_runs(%x: memref<f32> {mpc.input = "x"}, %out: memref<f32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 128 : i64, mpcrt.arena_per_sample = 4 : i64} {
  %stack = memref.alloca() : memref<4xf32>
  %c1 = arith.constant 1 : index
  %view = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<f32>
  %0 = memref.load %x[] : memref<f32>
  %1 = arith.addf %0, %0 : f32
  memref.store %1, %view[] : memref<f32>
  mpcrt.launch @k count(%c1) grain(1) args(%stack : memref<4xf32>)
  %2 = arith.mulf %1, %1 : f32
  memref.store %2, %out[] : memref<f32>
  return
}

// -----

func.func private @k(%x: f32, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}

func.func @waits(%x: memref<f32> {mpc.input = "x"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{touches a buffer; a step on CUDA may not wait for what the device computes}}
  %0 = memref.load %x[] : memref<f32>
  mpcrt.launch @k count(%c1) grain(1) args(%0 : f32)
  return
}
