// RUN: mpc-opt %s -split-input-file -verify-diagnostics
// Extents that IR may say, and no tensor has.

func.func @padded_beyond(%x: tensor<4xf32>) {
  // expected-error@+2 {{the extent along axis 0 is negative, open or too large}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = mpc.pad %x {axis = 0 : i64, low = 9223372036854775807 : i64, high = 0 : i64, value = 0.0 : f64} : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @padded_batch(%x: tensor<?xf32>) {
  // expected-error@+1 {{pads a static dimension by non-negative amounts}}
  %0 = mpc.pad %x {axis = 0 : i64, low = 0 : i64, high = 1 : i64, value = 0.0 : f64} : tensor<?xf32> -> tensor<?xf32>
  return
}

// -----

func.func @sliced_negatively(%x: tensor<4xf32>) {
  // expected-error@+1 {{elements 0 to -1 are outside extent 4}}
  %0 = mpc.slice %x {axis = 0 : i64, offset = 0 : i64, size = -1 : i64} : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @sliced_outside(%x: tensor<4xf32>) {
  // expected-error @below {{are outside extent 4}}
  %0 = mpc.slice %x {axis = 0 : i64, offset = 3 : i64, size = 2 : i64} : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @joined_batches(%x: tensor<?xf32>) {
  // expected-error@+1 {{the axis must not be the batch}}
  %0 = mpc.concatenate %x, %x {axis = 0 : i64} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}
