// RUN: mpc-opt %s --convert-mpc-to-linalg | %run-tensors | FileCheck %s
// Integers to bfloat16 round once: 2^24 + 2^16 + 1 is above the midpoint of two bfloat16 numbers, but
// float32 holds only the midpoint. The same for 64 bits and float64.

func.func private @printMemrefF32(tensor<*xf32>)

func.func @casts(%i: tensor<2xi32>, %l: tensor<3xi64>) -> (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) attributes {mpc.entry} {
  %u = mpc.constant dense<[200, 255]> : tensor<2xui8>
  %0 = mpc.cast %i : tensor<2xi32> to tensor<2xbf16>
  %1 = mpc.cast %0 : tensor<2xbf16> to tensor<2xf32>
  %2 = mpc.cast %l : tensor<3xi64> to tensor<3xbf16>
  %3 = mpc.cast %2 : tensor<3xbf16> to tensor<3xf32>
  %4 = mpc.cast %u : tensor<2xui8> to tensor<2xf32>
  return %1, %3, %4 : tensor<2xf32>, tensor<3xf32>, tensor<2xf32>
}

func.func @main() {
  %i = arith.constant dense<[16842753, -16842752]> : tensor<2xi32>
  %l = arith.constant dense<[4629700416936869889, -4629700416936869889, 5]> : tensor<3xi64>
  %0:3 = func.call @casts(%i, %l) : (tensor<2xi32>, tensor<3xi64>) -> (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>)
  // CHECK: [1.69083e+07, -1.67772e+07]
  %u0 = tensor.cast %0#0 : tensor<2xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u0) : (tensor<*xf32>) -> ()
  // CHECK: [4.64771e+18, -4.64771e+18, 5]
  %u1 = tensor.cast %0#1 : tensor<3xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u1) : (tensor<*xf32>) -> ()
  // CHECK: [200, 255]
  %u2 = tensor.cast %0#2 : tensor<2xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u2) : (tensor<*xf32>) -> ()
  return
}
