// RUN: not mpc-opt %s --mpc-raise-slices 2>&1 | FileCheck %s
// IR of a later phase is refused.

// CHECK: error: {{.*}}mpc-raise-slices
func.func @tensors(%a: tensor<4xf32>) -> tensor<4xf32> attributes {mpc.entry} {
  %0 = linalg.exp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
