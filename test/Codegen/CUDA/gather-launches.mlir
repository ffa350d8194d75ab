// RUN: mpc-opt %s --mpc-gather-launches | FileCheck %s

func.func private @fill(%x: memref<4x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  scf.for %i = %begin to %end step %end {
    memref.store %zero, %x[%i, %c0] : memref<4x4xf32>
  }
  return
}

// The second fill goes up: the product touches other places of the arena. The third one writes what
// the product before it reads and goes down; the fourth one writes what all of them write.
// CHECK-LABEL: func.func @entry
// CHECK: %[[C:[^ ]*]] = mpcrt.view {{.*}} fixed(256)
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%[[A:[^ ]*]] :
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%[[C]] :
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%[[A]] :
// CHECK-NEXT: mpcrt.launch @fill
func.func @entry(%w: memref<4x4xf32> {mpc.input = "w"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  %a = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  %b = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  mpcrt.launch @fill count(%c4) grain(1) args(%a : memref<4x4xf32>)
  mpcrt.contract ins(%a, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>)
  %c = mpcrt.view %arena[%n] fixed(256) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  mpcrt.launch @fill count(%c4) grain(1) args(%c : memref<4x4xf32>)
  mpcrt.contract ins(%a, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>)
  mpcrt.launch @fill count(%c4) grain(1) args(%a : memref<4x4xf32>)
  mpcrt.contract ins(%w, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>)
  mpcrt.launch @fill count(%c4) grain(1) args(%b : memref<4x4xf32>)
  return
}

// Of three between two products the first one goes down, because the product above writes its place,
// and the second one up. With one that both products need all stay.
// CHECK-LABEL: func.func @both_ways
// CHECK: mpcrt.launch @fill {{.*}} args(%[[FIRST:[^ ]*]] :
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%[[UP:[^ ]*]] :
// CHECK-NEXT: mpcrt.contract ins(%[[FIRST]], %arg0 {{.*}}) outs(%[[DOWN:[^ ]*]] :
// CHECK-NEXT: mpcrt.contract ins(%arg0, %arg0 {{.*}}) outs(%[[LAST:[^ ]*]] :
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%[[DOWN]] :
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%[[LAST]] :
func.func @both_ways(%w: memref<4x4xf32> {mpc.input = "w"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  %a = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  %b = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  %c = mpcrt.view %arena[%n] fixed(128) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  %d = mpcrt.view %arena[%n] fixed(192) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  mpcrt.launch @fill count(%c4) grain(1) args(%a : memref<4x4xf32>)
  mpcrt.contract ins(%a, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>)
  mpcrt.launch @fill count(%c4) grain(1) args(%b : memref<4x4xf32>)
  mpcrt.launch @fill count(%c4) grain(1) args(%d : memref<4x4xf32>)
  mpcrt.contract ins(%w, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>)
  mpcrt.launch @fill count(%c4) grain(1) args(%c : memref<4x4xf32>)
  return
}

// CHECK-LABEL: func.func @apart
// CHECK: mpcrt.launch
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.launch
// CHECK-NEXT: mpcrt.launch
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.launch
func.func @apart(%w: memref<4x4xf32> {mpc.input = "w"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 512 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  %a = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  %b = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  %c = mpcrt.view %arena[%n] fixed(128) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  %d = mpcrt.view %arena[%n] fixed(192) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  mpcrt.launch @fill count(%c4) grain(1) args(%a : memref<4x4xf32>)
  mpcrt.contract ins(%a, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>)
  mpcrt.launch @fill count(%c4) grain(1) args(%d : memref<4x4xf32>)
  mpcrt.launch @fill count(%c4) grain(1) args(%b : memref<4x4xf32>)
  mpcrt.contract ins(%b, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>)
  mpcrt.launch @fill count(%c4) grain(1) args(%c : memref<4x4xf32>)
  return
}
