// RUN: mpc-opt %s --mpc-plan-memory=target=cuda | FileCheck %s
// RUN: mpc-opt %s --mpc-plan-memory | FileCheck %s --check-prefix=CPU
// On a GPU small temporaries share nothing, so that launches which touch them have no order. Those of more
// than 8192 bytes, and those that the batch counts, share as on a CPU.

// CHECK-LABEL: func.func @small
// CHECK-SAME: mpcrt.arena_fixed = 24640 : i64, mpcrt.arena_per_sample = 64 : i64
// CPU-LABEL: func.func @small
// CPU-SAME: mpcrt.arena_fixed = 8256 : i64, mpcrt.arena_per_sample = 64 : i64
func.func @small(%x: memref<2048xf32> {mpc.input = "x"}, %y: memref<2049xf32> {mpc.input = "y"}, %z: memref<?x16xf32> {mpc.input = "z"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  %a = memref.alloc() : memref<2048xf32>
  memref.copy %x, %a : memref<2048xf32> to memref<2048xf32>
  memref.copy %a, %x : memref<2048xf32> to memref<2048xf32>
  %b = memref.alloc() : memref<2048xf32>
  memref.copy %x, %b : memref<2048xf32> to memref<2048xf32>
  memref.copy %b, %x : memref<2048xf32> to memref<2048xf32>
  %c = memref.alloc() : memref<2049xf32>
  memref.copy %y, %c : memref<2049xf32> to memref<2049xf32>
  memref.copy %c, %y : memref<2049xf32> to memref<2049xf32>
  %d = memref.alloc() : memref<2049xf32>
  memref.copy %y, %d : memref<2049xf32> to memref<2049xf32>
  memref.copy %d, %y : memref<2049xf32> to memref<2049xf32>
  %e = memref.alloc(%n) : memref<?x16xf32>
  memref.copy %z, %e : memref<?x16xf32> to memref<?x16xf32>
  memref.copy %e, %z : memref<?x16xf32> to memref<?x16xf32>
  %f = memref.alloc(%n) : memref<?x16xf32>
  memref.copy %z, %f : memref<?x16xf32> to memref<?x16xf32>
  memref.copy %f, %z : memref<?x16xf32> to memref<?x16xf32>
  return
}
