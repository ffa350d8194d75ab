// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-shard-updates --verify-diagnostics

// A norm reads all that the first launch makes.
// expected-error @+2 {{--shard=optimizer: no update of a variable can be shared by ranks; the optimizer reads the whole of what it updates; leave the option out}}
// expected-warning @+1 {{'w': every rank updates all of it}}
mpc.variable @"w" : tensor<2560xf32> role trainable layer("d") {sharded}

func.func private @direction(%g: memref<?xf32>, %w: memref<?xf32>, %u: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %dg = memref.load %g[%i] : memref<?xf32>
    %old = memref.load %w[%i] : memref<?xf32>
    %new = arith.addf %old, %dg : f32
    memref.store %new, %u[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}
func.func private @norm(%u: memref<?xf32>, %w: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %v = memref.load %u[%c0] : memref<?xf32>
  memref.store %v, %w[%c0] : memref<?xf32>
  return
}

func.func @train_step(%g: memref<2560xf32> {mpc.input = "g"}, %w: memref<2560xf32> {mpc.variable = @"w"}, %batch: index {mpcrt.batch},
                      %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 10240 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %n = arith.constant 2560 : index
  %u = mpcrt.view %arena[%batch] fixed(0) per_sample(0) : memref<?xi8> -> memref<2560xf32>
  %gf = memref.cast %g : memref<2560xf32> to memref<?xf32>
  %wf = memref.cast %w : memref<2560xf32> to memref<?xf32>
  %uf = memref.cast %u : memref<2560xf32> to memref<?xf32>
  mpcrt.launch @direction count(%n) grain(910) args(%gf, %wf, %uf : memref<?xf32>, memref<?xf32>, memref<?xf32>)
  mpcrt.launch @norm count(%n) grain(910) args(%uf, %wf : memref<?xf32>, memref<?xf32>)
  return
}
