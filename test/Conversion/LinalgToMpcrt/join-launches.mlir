// RUN: mpc-opt %s --mpc-join-launches | FileCheck %s
// RUN: mpc-opt %s --mpc-join-launches --mpc-join-launches | FileCheck %s
// RUN: mpc-opt %s --mpc-join-launches --remarks-filter=mpc-kernels 2>&1 | FileCheck %s --check-prefix=REMARK

func.func private @double(%x: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<32xf32>
    %s = arith.addf %v, %v : f32
    memref.store %s, %x[%i] : memref<32xf32>
  } {mpcrt.independent}
  return
}
func.func private @copy(%x: memref<32xf32>, %y: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<32xf32>
    memref.store %v, %y[%i] : memref<32xf32>
  } {mpcrt.independent}
  return
}

// Over what the host does with other memory, with what their operands are computed from.
// CHECK-LABEL: func.func @independent
// REMARK: join-launches{{.*}}one fork for 3 launches, from double on
func.func @independent(%a: memref<32xf32>, %b: memref<32xf32>, %c: memref<32xf32>, %s: memref<f32>, %n: index) attributes {mpc.entry} {
  // CHECK: %[[TWO:.*]] = arith.addi
  // CHECK-NEXT: mpcrt.launch_all {
  // CHECK-NEXT: mpcrt.launch @double count(%{{.*}}) grain(8) args(%arg0
  // CHECK-NEXT: mpcrt.launch @double count(%[[TWO]]) grain(8) args(%arg1
  // CHECK-NEXT: mpcrt.launch @copy count(%{{.*}}) grain(8) args(%[[STACK:.*]], %arg2
  // CHECK-NEXT: }
  // CHECK-NEXT: memref.load %arg3
  // CHECK-NEXT: memref.store
  %stack = memref.alloca() : memref<32xf32>
  mpcrt.launch @double count(%n) grain(8) args(%a : memref<32xf32>)
  %v = memref.load %s[] : memref<f32>
  memref.store %v, %s[] : memref<f32>
  %two = arith.addi %n, %n : index
  mpcrt.launch @double count(%two) grain(8) args(%b : memref<32xf32>)
  mpcrt.launch @copy count(%n) grain(8) args(%stack, %c : memref<32xf32>, memref<32xf32>)
  return
}

// What the host stores for the second one does not depend on the first one.
// CHECK-LABEL: func.func @initialized
// REMARK: join-launches{{.*}}one fork for 2 launches, from double on
func.func @initialized(%a: memref<32xf32>, %b: memref<32xf32>, %n: index) attributes {mpc.entry} {
  // CHECK: memref.store {{.*}}, %arg0[%{{.*}}]
  // CHECK: memref.store {{.*}}, %arg1[%[[I:.*]]]
  // CHECK-NEXT: memref.store {{.*}}, %arg1[%[[I]]]
  // CHECK-NEXT: mpcrt.launch_all {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %a[%c0] : memref<32xf32>
  mpcrt.launch @double count(%n) grain(8) args(%a : memref<32xf32>)
  %one = arith.constant 1.0 : f32
  memref.store %zero, %b[%c0] : memref<32xf32>
  memref.store %one, %b[%c0] : memref<32xf32>
  mpcrt.launch @double count(%n) grain(8) args(%b : memref<32xf32>)
  return
}

// What is stored was loaded behind the first one.
// CHECK-LABEL: func.func @loaded
// CHECK-NOT: mpcrt.launch_all
func.func @loaded(%a: memref<32xf32>, %b: memref<32xf32>, %n: index) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  mpcrt.launch @double count(%n) grain(8) args(%a : memref<32xf32>)
  %v = memref.load %a[%c0] : memref<32xf32>
  memref.store %v, %b[%c0] : memref<32xf32>
  mpcrt.launch @double count(%n) grain(8) args(%b : memref<32xf32>)
  return
}

// One reads what the one before, or the host between, writes; a library call stands between.
// CHECK-LABEL: func.func @dependent
// CHECK-NOT: mpcrt.launch_all
func.func @dependent(%a: memref<32xf32>, %b: memref<32xf32>, %c: memref<32xf32>, %x: memref<4x8xf32>, %w: memref<8x4xf32>, %o: memref<4x4xf32>, %n: index) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  mpcrt.launch @double count(%n) grain(8) args(%a : memref<32xf32>)
  mpcrt.launch @copy count(%n) grain(8) args(%a, %b : memref<32xf32>, memref<32xf32>)
  memref.store %zero, %b[%c0] : memref<32xf32>
  mpcrt.launch @copy count(%n) grain(8) args(%b, %c : memref<32xf32>, memref<32xf32>)
  mpcrt.contract ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%o : memref<4x4xf32>)
  mpcrt.launch @double count(%n) grain(8) args(%a : memref<32xf32>)
  return
}
