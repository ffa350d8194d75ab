// RUN: mpc-opt %s --mpc-join-launches | FileCheck %s
// Parts of the arena are independent of each other where they have no byte in common for any batch.

func.func private @double(%x: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<32xf32>
    %s = arith.addf %v, %v : f32
    memref.store %s, %x[%i] : memref<32xf32>
  } {mpcrt.independent}
  return
}
func.func private @clear(%x: memref<?x32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %begin to %end step %c1 {
    memref.store %zero, %x[%i, %c0] : memref<?x32xf32>
  } {mpcrt.independent}
  return
}

// CHECK-LABEL: func.func @parts
func.func @parts(%n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry} {
  // CHECK: mpcrt.launch_all {
  // CHECK-NEXT: mpcrt.launch @double {{.*}}args(%[[THIRD:.*]] :
  // CHECK-NEXT: mpcrt.launch @double {{.*}}args(%[[FIRST:.*]] :
  // CHECK-NEXT: mpcrt.launch @double {{.*}}args(%[[SECOND:.*]] :
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %third = mpcrt.view %arena[%n] fixed(256) per_sample(0) : memref<?xi8> -> memref<32xf32>
  %first = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<32xf32>
  %second = mpcrt.view %arena[%n] fixed(128) per_sample(0) : memref<?xi8> -> memref<32xf32>
  mpcrt.launch @double count(%n) grain(8) args(%third : memref<32xf32>)
  mpcrt.launch @double count(%n) grain(8) args(%first : memref<32xf32>)
  mpcrt.launch @double count(%n) grain(8) args(%second : memref<32xf32>)
  return
}

// The second one begins within the first one, and the third one ends in it.
// CHECK-LABEL: func.func @overlapping
// CHECK-NOT: mpcrt.launch_all
// CHECK: return
func.func @overlapping(%n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry} {
  %first = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<32xf32>
  %second = mpcrt.view %arena[%n] fixed(128) per_sample(0) : memref<?xi8> -> memref<32xf32>
  mpcrt.launch @double count(%n) grain(8) args(%first : memref<32xf32>)
  mpcrt.launch @double count(%n) grain(8) args(%second : memref<32xf32>)
  mpcrt.launch @double count(%n) grain(8) args(%first : memref<32xf32>)
  return
}

// A row of a sample each: from two samples on they reach the last part, and the batch moves the one
// behind them out of their way.
// CHECK-LABEL: func.func @rows
func.func @rows(%n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry} {
  // CHECK: mpcrt.launch_all {
  // CHECK-NEXT: mpcrt.launch @clear
  // CHECK-NEXT: mpcrt.launch @double {{.*}}args(%[[BEFORE:.*]] :
  // CHECK-NEXT: mpcrt.launch @double {{.*}}args(%[[BEHIND:.*]] :
  // CHECK-NEXT: }
  // CHECK-NEXT: mpcrt.launch @double
  // CHECK-NEXT: return
  %rows = mpcrt.view %arena[%n] fixed(128) per_sample(0) : memref<?xi8> -> memref<?x32xf32>
  %before = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<32xf32>
  %behind = mpcrt.view %arena[%n] fixed(384) per_sample(128) : memref<?xi8> -> memref<32xf32>
  %within = mpcrt.view %arena[%n] fixed(256) per_sample(0) : memref<?xi8> -> memref<32xf32>
  mpcrt.launch @clear count(%n) grain(8) args(%rows : memref<?x32xf32>)
  mpcrt.launch @double count(%n) grain(8) args(%before : memref<32xf32>)
  mpcrt.launch @double count(%n) grain(8) args(%behind : memref<32xf32>)
  mpcrt.launch @double count(%n) grain(8) args(%within : memref<32xf32>)
  return
}
