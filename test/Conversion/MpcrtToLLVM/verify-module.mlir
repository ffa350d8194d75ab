// RUN: not mpc-opt %s --mpc-verify-module 2>&1 | FileCheck %s
// RUN: mpc-translate --import-keras %fixtures/train/mlp__mixed_bfloat16/model.keras | mpc-opt --mpc-to-module --mpc-verify-module -o /dev/null
mpc.variable @"dense/kernel" : tensor<8xf32> role trainable

llvm.func @whole(%x: f32) -> f32 {
  llvm.return %x : f32
}

// CHECK-NOT: mpc.variable
// CHECK-NOT: llvm.
// CHECK: error: op 'func.func' is left after the phase module; expected the LLVM dialect and declarations of mpc
func.func private @outside()

llvm.func @mixed(%x: f32) -> f32 {
  // CHECK: error: op 'arith.addf' is left after the phase module
  %0 = arith.addf %x, %x : f32
  llvm.return %0 : f32
}
