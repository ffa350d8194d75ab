// RUN: not mpc-opt %s --mpc-lint 2>&1 | FileCheck %s
// CHECK: error: {{.*}}op 'arith.addf' does not belong to phase casts, of which mpc-lint takes IR
func.func @forward(%a: f32) -> f32 {
  %0 = arith.addf %a, %a : f32
  return %0 : f32
}
