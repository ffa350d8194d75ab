// RUN: mpc-opt %s -split-input-file -verify-diagnostics
// Extents that IR may say, and no tensor has.

func.func @padded_beyond(%x: tensor<4xf32>) {
  // expected-error @below {{result #0 has more than 2^47 bytes: 'tensor<9223372036854775807xf32>'}}
  %0 = mpc.pad %x {axis = 0 : i64, low = 9223372036854775807 : i64, high = 9223372036854775807 : i64, value = 0.0 : f64} : tensor<4xf32> -> tensor<9223372036854775807xf32>
  return
}

// -----

// What would have come out of a sum of 64 bits.
func.func @padded_around(%x: tensor<4xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<9223372036854775807xf32>' are incompatible with return type(s) of operation 'tensor<2xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.pad %x {axis = 0 : i64, low = 9223372036854775807 : i64, high = 9223372036854775807 : i64, value = 0.0 : f64} : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @padded_by_less(%x: tensor<4xf32>) {
  // expected-error @below {{pads by 3 and -1; expected non-negative amounts}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.pad %x {axis = 0 : i64, low = 3 : i64, high = -1 : i64, value = 0.0 : f64} : tensor<4xf32> -> tensor<6xf32>
  return
}

// -----

func.func @padded_batch(%x: tensor<?xf32>) {
  // expected-error @below {{the axis must not be the batch}}
  %0 = mpc.pad %x {axis = 0 : i64, low = 0 : i64, high = 1 : i64, value = 0.0 : f64} : tensor<?xf32> -> tensor<?xf32>
  return
}

// -----

func.func @sliced_negatively(%x: tensor<4xf32>) {
  // expected-error @below {{size -1 is negative}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.slice %x {axis = 0 : i64, offset = 0 : i64, size = -1 : i64} : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @sliced_openly(%x: tensor<4xf32>) {
  // expected-error @below {{are outside extent 4}}
  %0 = mpc.slice %x {axis = 0 : i64, offset = 0 : i64, size = -9223372036854775808 : i64} : tensor<4xf32> -> tensor<?xf32>
  return
}

// -----

func.func @sliced_outside(%x: tensor<4xf32>) {
  // expected-error @below {{2 elements from 9223372036854775807 on are outside extent 4}}
  %0 = mpc.slice %x {axis = 0 : i64, offset = 9223372036854775807 : i64, size = 2 : i64} : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @joined_batches(%x: tensor<?xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{the axis must not be the batch}}
  %0 = mpc.concatenate %y, %x {axis = 0 : i64} : (tensor<4xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @joined_beyond(%x: tensor<9223372036854775807xi8>) {
  // expected-error @below {{operand #0 has more than 2^47 bytes}}
  %0 = mpc.concatenate %x, %x {axis = 0 : i64} : (tensor<9223372036854775807xi8>, tensor<9223372036854775807xi8>) -> tensor<9223372036854775807xi8>
  return
}

// -----

// The products of extents are 0 and 2^66.
func.func @no_elements(%x: tensor<0x4294967296x4294967296xf32>) {
  // expected-error @below {{operand #0 has more than 2^47 bytes}}
  %0 = mpc.reshape %x : tensor<0x4294967296x4294967296xf32> -> tensor<0xf32>
  return
}

// -----

func.func @unpacked(%x: tensor<4xi8>) {
  // expected-error @below {{the last dimension must hold 9223372036854775807 numbers, two per byte}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.unpack_int4 %x {extent = 9223372036854775807 : i64} : tensor<4xi8> -> tensor<8xi8>
  return
}

// -----

// expected-error @below {{argument #0 has more than 2^47 bytes}}
func.func @argument(%x: tensor<?x281474976710656xf32> {mpc.input = "x"}) {
  return
}

// -----

// expected-error @below {{has more than 2^47 bytes}}
mpc.variable @v : tensor<281474976710656xf32> role trainable

// -----

func.func @axis_twice(%x: tensor<?x2x3xf32>) {
  // expected-error @below {{axis 1 is given twice}}
  %0 = mpc.reduce mean %x {axes = array<i64: 1, 1>} : tensor<?x2x3xf32> -> tensor<?x3xf32>
  return
}

// -----

func.func @moments_twice(%x: tensor<?x4xf32>) {
  // expected-error @below {{axis 1 is given twice}}
  %0, %1 = mpc.moments %x {axes = array<i64: 1, 1>} : tensor<?x4xf32> -> tensor<?xf32>, tensor<?xf32>
  return
}

// -----

func.func @contracted_twice(%x: tensor<2x2xf32>, %w: tensor<2x3xf32>) {
  // expected-error @below {{left dimension 1 is given twice}}
  %0 = mpc.contract %x, %w contracting [1, 1] x [0, 0] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_contracted(%x: tensor<2x3xf32>, %w: tensor<2x2x3xf32>) {
  // expected-error @below {{left dimension 0 is given twice}}
  %0 = mpc.contract %x, %w batch [0] x [0] contracting [0] x [1] : (tensor<2x3xf32>, tensor<2x2x3xf32>) -> tensor<2x3x3xf32>
  return
}

// -----

func.func @pool_of_nothing(%x: tensor<1x0x1xf32>) {
  // expected-error @below {{dimension 1 of the input has no elements}}
  %0 = mpc.pool max %x window [2] strides [1] padding [1] x [1] : tensor<1x0x1xf32> -> tensor<1x1x1xf32>
  return
}

// -----

func.func @resource() {
  // expected-error @below {{must be dense}}
  %0 = mpc.constant dense_resource<r> : tensor<2xf32>
  return
}

// -----

func.func @exact_of_two() {
  // expected-error @below {{has an exact number, for which all elements are that number, rounded}}
  %0 = mpc.constant {exact = 0.3 : f64} dense<[1.0, 2.0]> : tensor<2xf32>
  return
}

// -----

func.func @not_exact() {
  // expected-error @below {{has elements that are not its exact number, rounded to 'f32'}}
  %0 = mpc.constant {exact = 0.3 : f64} dense<0.5> : tensor<f32>
  return
}
