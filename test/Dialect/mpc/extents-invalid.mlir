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
  // expected-error @below {{-1 elements from 0 on are outside extent 4}}
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
