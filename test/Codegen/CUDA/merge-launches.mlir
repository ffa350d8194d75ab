// RUN: mpc-opt %s --mpc-merge-launches --canonicalize --cse | FileCheck %s

func.func private @copy(%x: memref<?x8xf32>, %y: memref<?x8xf32, strided<[32, 1], offset: ?>>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %begin to %end step %c1 {
    %column = arith.remui %i, %c8 : index
    %row = arith.divui %i, %c8 : index
    %0 = memref.load %x[%row, %column] : memref<?x8xf32>
    memref.store %0, %y[%row, %column] : memref<?x8xf32, strided<[32, 1], offset: ?>>
  }
  return
}

func.func private @double(%x: memref<?x8xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %begin to %end step %c1 {
    %column = arith.remui %i, %c8 : index
    %row = arith.divui %i, %c8 : index
    %0 = memref.load %x[%row, %column] : memref<?x8xf32>
    %1 = arith.addf %0, %0 : f32
    memref.store %1, %x[%row, %column] : memref<?x8xf32>
  }
  return
}

// Reads an element that another iteration may have.
func.func private @mirror(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %begin to %end step %c1 {
    %column = arith.remui %i, %c8 : index
    %row = arith.divui %i, %c8 : index
    %other = arith.subi %c7, %column : index
    %0 = memref.load %x[%row, %other] : memref<?x8xf32>
    memref.store %0, %y[%row, %column] : memref<?x8xf32>
  }
  return
}

func.func private @fill(%x: memref<16xf32>, %y: memref<?x16xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %begin to %end step %c1 {
    %column = arith.remui %i, %c16 : index
    %row = arith.divui %i, %c16 : index
    %0 = memref.load %x[%column] : memref<16xf32>
    memref.store %0, %y[%row, %column] : memref<?x16xf32>
  }
  return
}

func.func private @gate(%a: memref<?x8xf32, strided<[16, 1]>>, %b: memref<?x8xf32, strided<[16, 1], offset: 8>>, %y: memref<?x8xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %begin to %end step %c1 {
    %column = arith.remui %i, %c8 : index
    %row = arith.divui %i, %c8 : index
    %0 = memref.load %a[%row, %column] : memref<?x8xf32, strided<[16, 1]>>
    %1 = memref.load %b[%row, %column] : memref<?x8xf32, strided<[16, 1], offset: 8>>
    %2 = arith.mulf %0, %1 : f32
    memref.store %2, %y[%row, %column] : memref<?x8xf32>
  }
  return
}

func.func private @split(%x: memref<?x8xf32>, %a: memref<?x8xf32, strided<[16, 1]>>, %b: memref<?x8xf32, strided<[16, 1], offset: 8>>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %begin to %end step %c1 {
    %column = arith.remui %i, %c8 : index
    %row = arith.divui %i, %c8 : index
    %0 = memref.load %x[%row, %column] : memref<?x8xf32>
    %1 = arith.negf %0 : f32
    memref.store %0, %a[%row, %column] : memref<?x8xf32, strided<[16, 1]>>
    memref.store %1, %b[%row, %column] : memref<?x8xf32, strided<[16, 1], offset: 8>>
  }
  return
}

func.func private @keep(%x: memref<?x16xf32>, %y: memref<?x16xf32, strided<[64, 1], offset: ?>>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %begin to %end step %c1 {
    %column = arith.remui %i, %c16 : index
    %row = arith.divui %i, %c16 : index
    %0 = memref.load %x[%row, %column] : memref<?x16xf32>
    memref.store %0, %y[%row, %column] : memref<?x16xf32, strided<[64, 1], offset: ?>>
  }
  return
}

// It copies what was doubled.
// CHECK-LABEL: func.func private @copy_merged
// CHECK: %[[SUM:[^ ]*]] = arith.addf
// CHECK-NEXT: memref.store %[[SUM]], %{{.*}} : memref<?x8xf32>
// CHECK-NEXT: memref.store %[[SUM]], %{{.*}} : memref<?x8xf32, strided<[32, 1], offset: ?>>
// The other way round it reads each element before the other one doubles it, and what is loaded comes before what is
// stored.
// CHECK-LABEL: func.func private @double_merged
// CHECK-SAME: (%[[X:.*]]: memref<?x8xf32>, %[[Y:.*]]: memref<?x8xf32, strided<[32, 1], offset: ?>>, %[[B:.*]]: index, %[[E:.*]]: index)
// CHECK: scf.for %{{.*}} = %[[B]] to %[[E]]
// CHECK: %[[OLD:[^ ]*]] = memref.load %[[X]]
// CHECK-NOT: memref.load
// CHECK: %[[SUM:[^ ]*]] = arith.addf
// CHECK-NEXT: memref.store %[[OLD]], %[[Y]]
// CHECK-NEXT: memref.store %[[SUM]], %[[X]]
// Each gate has its own columns of what is filled, and nobody fills the temporary.
// CHECK-LABEL: func.func private @gate_merged
// CHECK-SAME: (%[[V:.*]]: memref<16xf32>, %[[OUT:.*]]: memref<?x8xf32>, %{{.*}}: index, %{{.*}}: index)
// CHECK: %[[COLUMN:[^ ]*]] = arith.remui
// CHECK: memref.load %[[V]][%[[COLUMN]]]
// CHECK: %[[SECOND:[^ ]*]] = arith.addi %[[COLUMN]], %c8
// CHECK: memref.load %[[V]][%[[SECOND]]]
// CHECK: memref.store %{{.*}}, %[[OUT]]
// What both halves get is kept at once.
// CHECK-LABEL: func.func private @keep_merged
// CHECK: memref.store %[[HALF:[^,]*]], %{{.*}} : memref<?x8xf32, strided<[16, 1]>>
// CHECK: memref.store %[[HALF]], %{{.*}} : memref<?x16xf32, strided<[64, 1], offset: ?>>
// CHECK: memref.store %[[OTHER:[^,]*]], %{{.*}} : memref<?x8xf32, strided<[16, 1], offset: 8>>
// CHECK: memref.store %[[OTHER]], %{{.*}} : memref<?x16xf32, strided<[64, 1], offset: ?>>

// CHECK-LABEL: func.func @elements
// CHECK: scf.for
// CHECK: mpcrt.launch @double_merged count
// CHECK-NEXT: mpcrt.contract
// CHECK: mpcrt.launch @copy_merged count
// CHECK-NOT: mpcrt.launch
func.func @elements(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x8xf32> {mpc.input = "w"}, %kept: memref<?x4x8xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 256 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %count = arith.muli %n, %c8 : index
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x8xf32>
  %z = mpcrt.view %arena[%n] fixed(0) per_sample(32) : memref<?xi8> -> memref<?x8xf32>
  scf.for %t = %c0 to %c4 step %c1 {
    %at = memref.subview %kept[0, %t, 0] [%n, 1, 8] [1, 1, 1] : memref<?x4x8xf32> to memref<?x8xf32, strided<[32, 1], offset: ?>>
    mpcrt.launch @copy count(%count) grain(2) args(%h, %at : memref<?x8xf32>, memref<?x8xf32, strided<[32, 1], offset: ?>>)
    mpcrt.launch @double count(%count) grain(1) args(%h : memref<?x8xf32>)
    mpcrt.contract ins(%h, %w : memref<?x8xf32>, memref<8x8xf32>) outs(%z : memref<?x8xf32>)
    mpcrt.launch @double count(%count) grain(1) args(%z : memref<?x8xf32>)
    mpcrt.launch @copy count(%count) grain(1) args(%z, %at : memref<?x8xf32>, memref<?x8xf32, strided<[32, 1], offset: ?>>)
  }
  return
}

// CHECK-LABEL: func.func @slices
// CHECK: scf.for
// CHECK: mpcrt.launch @gate_merged count(%[[COUNT:.*]]) {{.*}} args(%{{.*}}, %{{.*}} :
// CHECK: mpcrt.contract
// CHECK: mpcrt.launch @keep_merged count(%[[COUNT]])
// CHECK-NOT: mpcrt.launch
func.func @slices(%v: memref<16xf32> {mpc.input = "v"}, %w: memref<8x8xf32> {mpc.input = "w"}, %kept: memref<?x4x16xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 256 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %count = arith.muli %n, %c8 : index
  %wide = arith.muli %n, %c16 : index
  %z = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x16xf32>
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(64) : memref<?xi8> -> memref<?x8xf32>
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(96) : memref<?xi8> -> memref<?x8xf32>
  %d = mpcrt.view %arena[%n] fixed(0) per_sample(128) : memref<?xi8> -> memref<?x16xf32>
  scf.for %t = %c0 to %c4 step %c1 {
    mpcrt.launch @fill count(%wide) grain(1) args(%v, %z : memref<16xf32>, memref<?x16xf32>)
    %a = memref.subview %z[0, 0] [%n, 8] [1, 1] : memref<?x16xf32> to memref<?x8xf32, strided<[16, 1]>>
    %b = memref.subview %z[0, 8] [%n, 8] [1, 1] : memref<?x16xf32> to memref<?x8xf32, strided<[16, 1], offset: 8>>
    mpcrt.launch @gate count(%count) grain(1) args(%a, %b, %h : memref<?x8xf32, strided<[16, 1]>>, memref<?x8xf32, strided<[16, 1], offset: 8>>, memref<?x8xf32>)
    mpcrt.contract ins(%h, %w : memref<?x8xf32>, memref<8x8xf32>) outs(%y : memref<?x8xf32>)
    %da = memref.subview %d[0, 0] [%n, 8] [1, 1] : memref<?x16xf32> to memref<?x8xf32, strided<[16, 1]>>
    %db = memref.subview %d[0, 8] [%n, 8] [1, 1] : memref<?x16xf32> to memref<?x8xf32, strided<[16, 1], offset: 8>>
    %at = memref.subview %kept[0, %t, 0] [%n, 1, 16] [1, 1, 1] : memref<?x4x16xf32> to memref<?x16xf32, strided<[64, 1], offset: ?>>
    mpcrt.launch @split count(%count) grain(1) args(%y, %da, %db : memref<?x8xf32>, memref<?x8xf32, strided<[16, 1]>>, memref<?x8xf32, strided<[16, 1], offset: 8>>)
    mpcrt.launch @keep count(%wide) grain(1) args(%d, %at : memref<?x16xf32>, memref<?x16xf32, strided<[64, 1], offset: ?>>)
  }
  return
}

// Apart stay: those of which one reads what another iteration wrote, a temporary that somebody else reads
// (here the product), halves of which one is missing, other counts, and what is in no loop.
// CHECK-LABEL: func.func @apart
// CHECK: mpcrt.launch @double count
// CHECK-NEXT: mpcrt.launch @double count
// CHECK: scf.for
// CHECK: mpcrt.launch @double count
// CHECK-NEXT: mpcrt.launch @mirror count
// CHECK-NEXT: mpcrt.contract
// CHECK: mpcrt.launch @fill count
// CHECK: mpcrt.launch @gate count
// CHECK: mpcrt.contract
// CHECK: mpcrt.launch @double count
// CHECK-NEXT: mpcrt.launch @double count
func.func @apart(%v: memref<16xf32> {mpc.input = "v"}, %w: memref<8x8xf32> {mpc.input = "w"}, %w16: memref<16x8xf32> {mpc.input = "w16"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 256 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %count = arith.muli %n, %c8 : index
  %wide = arith.muli %n, %c16 : index
  %z = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x16xf32>
  %h = mpcrt.view %arena[%n] fixed(0) per_sample(64) : memref<?xi8> -> memref<?x8xf32>
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(96) : memref<?xi8> -> memref<?x8xf32>
  mpcrt.launch @double count(%count) grain(1) args(%h : memref<?x8xf32>)
  mpcrt.launch @double count(%count) grain(1) args(%h : memref<?x8xf32>)
  scf.for %t = %c0 to %c4 step %c1 {
    mpcrt.launch @double count(%count) grain(1) args(%h : memref<?x8xf32>)
    mpcrt.launch @mirror count(%count) grain(1) args(%h, %y : memref<?x8xf32>, memref<?x8xf32>)
    mpcrt.contract ins(%y, %w : memref<?x8xf32>, memref<8x8xf32>) outs(%h : memref<?x8xf32>)
    mpcrt.launch @fill count(%wide) grain(1) args(%v, %z : memref<16xf32>, memref<?x16xf32>)
    %a = memref.subview %z[0, 0] [%n, 8] [1, 1] : memref<?x16xf32> to memref<?x8xf32, strided<[16, 1]>>
    %b = memref.subview %z[0, 8] [%n, 8] [1, 1] : memref<?x16xf32> to memref<?x8xf32, strided<[16, 1], offset: 8>>
    mpcrt.launch @gate count(%count) grain(1) args(%a, %b, %y : memref<?x8xf32, strided<[16, 1]>>, memref<?x8xf32, strided<[16, 1], offset: 8>>, memref<?x8xf32>)
    mpcrt.contract ins(%z, %w16 : memref<?x16xf32>, memref<16x8xf32>) outs(%h : memref<?x8xf32>)
    mpcrt.launch @double count(%n) grain(1) args(%h : memref<?x8xf32>)
    mpcrt.launch @double count(%count) grain(1) args(%y : memref<?x8xf32>)
  }
  return
}
