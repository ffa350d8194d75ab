// RUN: not mpc-opt %s --mpc-distribute=gradient-dtype=bfloat16 2>&1 | FileCheck %s
// RUN: not mpc-opt %s --mpc-distribute=gradient-dtype=float8 2>&1 | FileCheck %s --check-prefix=NAME

// CHECK: error: --gradient-dtype=bfloat16: no gradient goes between ranks in float32; leave the option out
// NAME: error: gradient-dtype is float8; expected float32 or bfloat16
func.func @evaluate(%l: tensor<?xf32> {mpc.input = "x"}) -> tensor<f32> attributes {mpc.entry = #mpc.entry_role<evaluate>} {
  %0 = mpc.reduce sum %l {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
