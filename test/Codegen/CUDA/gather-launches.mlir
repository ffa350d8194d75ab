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
// the product reads, the fourth one what it writes.
// CHECK-LABEL: func.func @entry
// CHECK: %[[C:[^ ]*]] = mpcrt.view {{.*}} fixed(256)
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%[[A:[^ ]*]] :
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%[[C]] :
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.contract
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%[[A]] :
// CHECK-NEXT: mpcrt.contract
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
