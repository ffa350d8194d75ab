// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: not mpc-opt %s --mpc-trace-numerics 2>&1 | FileCheck %s
// CHECK: error: op 'arith.addf' does not belong to phase scaling, of which mpc-trace-numerics takes IR
func.func @predict(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  return %0 : f32
}
