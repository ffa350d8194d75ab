// RUN: mpc-opt %s '--mpc-share-host-loops=long-entry=4' --remarks-filter=mpc-kernels 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-share-host-loops | FileCheck %s --check-prefix=SHORT

// The only loop of a long entry is a function, too; that of a short one stays.
// REMARK: @host_loop_0 in place of 1 loop
// CHECK-LABEL: func.func private @host_loop_0(%{{.*}}: memref<16xf32>)
// CHECK: scf.for
// CHECK-LABEL: func.func @long(
// CHECK-NOT: scf.for
// CHECK: call @host_loop_0(
// CHECK-LABEL: func.func @short(
// CHECK: scf.for
// SHORT-NOT: @host_loop
mpc.variable @a : tensor<16xf32> role trainable
func.func @long(%a: memref<16xf32> {mpc.variable = @a}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %x = memref.load %a[%i] : memref<16xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%i] : memref<16xf32>
  }
  return
}

func.func @short(%a: memref<16xf32> {mpc.variable = @a}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    %x = memref.load %a[%i] : memref<16xf32>
    memref.store %x, %a[%i] : memref<16xf32>
  }
  return
}
