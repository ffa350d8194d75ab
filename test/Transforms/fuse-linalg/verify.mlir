// RUN: not mpc-opt %s --mpc-verify-tensors 2>&1 | FileCheck %s
// All errors of the phase are reported together.

func.func @predict(%x: tensor<?xf32>, %u: tensor<?xui8>, %m: memref<f32>) -> tensor<?xui8> attributes {mpc.entry = #mpc.entry_role<predict>} {
  // CHECK: error: op 'mpc.sqrt' does not belong to phase tensors; expected linalg, tensor, arith, math, func, scf.for and library calls of mpcrt only
  %0 = mpc.sqrt %x : tensor<?xf32>
  // CHECK: error: op 'memref.load' does not belong to phase tensors
  %1 = memref.load %m[] : memref<f32>
  // CHECK: error: has type 'tensor<?xui8>'; expected signless integers
  return %u : tensor<?xui8>
}
