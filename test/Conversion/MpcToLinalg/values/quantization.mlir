// RUN: mpc-opt %s --convert-mpc-to-linalg | %run-tensors | FileCheck %s
// What lowered ops of quantized layers compute: ties to even, subnormals and limits of float8, signs of
// packed int4.

func.func private @printMemrefF32(tensor<*xf32>)
func.func private @printMemrefI32(tensor<*xi32>)

func.func @values(%x: tensor<10xf32>, %p: tensor<2x3xi8>) -> (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<2x5xi32>, tensor<2x5xi32>) attributes {mpc.entry} {
  %r = mpc.round %x : tensor<10xf32>
  %a = mpc.round_float8 %x {format = f8E4M3FN} : tensor<10xf32>
  %b = mpc.round_float8 %x {format = f8E5M2} : tensor<10xf32>
  %u = mpc.unpack_int4 %p {extent = 5 : i64} : tensor<2x3xi8> -> tensor<2x5xi8>
  %i = mpc.cast %u : tensor<2x5xi8> to tensor<2x5xi32>
  %w = mpc.cast %p : tensor<2x3xi8> to tensor<2x3xui8>
  %v = mpc.unpack_int4 %w {extent = 5 : i64} : tensor<2x3xui8> -> tensor<2x5xui8>
  %j = mpc.cast %v : tensor<2x5xui8> to tensor<2x5xi32>
  return %r, %a, %b, %i, %j : tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<2x5xi32>, tensor<2x5xi32>
}

func.func @main() {
  %x = arith.constant dense<[0.5, 1.5, -2.5, 464.0, 464.1, 61440.0, 0.0009765625, 0.0029296875, -17.0, 0x7FC00000]> : tensor<10xf32>
  // 0xC7 0x21 0x08, 0x5F 0xF0 0x93
  %p = arith.constant dense<[[-57, 33, 8], [95, -16, -109]]> : tensor<2x3xi8>
  %0:5 = func.call @values(%x, %p) : (tensor<10xf32>, tensor<2x3xi8>) -> (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<2x5xi32>, tensor<2x5xi32>)
  // CHECK: [0, 2, -2, 464, 464, 61440, 0, 0, -17, nan]
  %u0 = tensor.cast %0#0 : tensor<10xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u0) : (tensor<*xf32>) -> ()
  // CHECK: [0.5, 1.5, -2.5, 448, nan, nan, 0, 0.00390625, -16, nan]
  %u1 = tensor.cast %0#1 : tensor<10xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u1) : (tensor<*xf32>) -> ()
  // CHECK: [0.5, 1.5, -2.5, 448, 448, inf, 0.000976562, 0.00292969, -16, nan]
  %u2 = tensor.cast %0#2 : tensor<10xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u2) : (tensor<*xf32>) -> ()
  // CHECK: [7, -4, 1, 2, -8]
  // CHECK: [-1, 5, 0, -1, 3]
  %u3 = tensor.cast %0#3 : tensor<2x5xi32> to tensor<*xi32>
  func.call @printMemrefI32(%u3) : (tensor<*xi32>) -> ()
  // CHECK: [7, 12, 1, 2, 8]
  // CHECK: [15, 5, 0, 15, 3]
  %u4 = tensor.cast %0#4 : tensor<2x5xi32> to tensor<*xi32>
  func.call @printMemrefI32(%u4) : (tensor<*xi32>) -> ()
  return
}
