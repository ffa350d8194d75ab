// RUN: mpc-opt %s -split-input-file -verify-diagnostics

func.func @types(%x: tensor<?x8x4xf32>, %w: tensor<3x4x6xbf16>) {
  // expected-error @below {{element types differ: 'f32', 'bf16', 'f32'; insert mpc.cast}}
  %y = mpc.convolution %x, %w strides [1] padding [0] x [0] dilations [1] : (tensor<?x8x4xf32>, tensor<3x4x6xbf16>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @rank(%x: tensor<?x4xf32>, %w: tensor<4x6xf32>) {
  // expected-error @below {{must have one rank from 3 to 5}}
  %y = mpc.convolution %x, %w strides [] padding [] x [] dilations [] : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @numbers(%x: tensor<?x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{needs 1 strides, paddings and dilations}}
  %y = mpc.convolution %x, %w strides [1, 1] padding [0] x [0] dilations [1] : (tensor<?x8x4xf32>, tensor<3x4x6xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?x?x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{only the batch may be dynamic}}
  %y = mpc.convolution %x, %w strides [1] padding [0] x [0] dilations [1] : (tensor<?x?x4xf32>, tensor<3x4x6xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @batch(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{batches differ}}
  %y = mpc.convolution %x, %w strides [1] padding [0] x [0] dilations [1] : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<3x6x6xf32>
  return
}

// -----

func.func @groups(%x: tensor<?x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{a filter of shape [3, 4, 6] in 2 groups does not map 4 channels to 6}}
  %y = mpc.convolution %x, %w strides [1] padding [0] x [0] dilations [1] groups 2 : (tensor<?x8x4xf32>, tensor<3x4x6xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @stride(%x: tensor<?x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{strides, dilations and kernel extents must be positive, paddings not negative (dimension 0)}}
  %y = mpc.convolution %x, %w strides [0] padding [0] x [0] dilations [1] : (tensor<?x8x4xf32>, tensor<3x4x6xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @large(%x: tensor<?x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{window of dimension 0 is too large}}
  %y = mpc.convolution %x, %w strides [1] padding [4294967296] x [0] dilations [1] : (tensor<?x8x4xf32>, tensor<3x4x6xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @places(%x: tensor<?x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{spatial dimension 0 has 6 pixels, but 7 are given}}
  %y = mpc.convolution %x, %w strides [1] padding [0] x [0] dilations [1] : (tensor<?x8x4xf32>, tensor<3x4x6xf32>) -> tensor<?x7x6xf32>
  return
}

// -----

func.func @bias(%x: tensor<?x8x4xf32>, %w: tensor<3x4x6xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{bias must be a vector as long as the last result dimension}}
  %y = mpc.convolution %x, %w bias %b strides [1] padding [0] x [0] dilations [1] : (tensor<?x8x4xf32>, tensor<3x4x6xf32>, tensor<4xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @kind(%x: tensor<?x8x4xf32>) {
  // expected-error @below {{pools by max or mean}}
  %y = mpc.pool sum %x window [2] strides [2] padding [0] x [0] : tensor<?x8x4xf32> -> tensor<?x4x4xf32>
  return
}

// -----

func.func @channels(%x: tensor<?x8x4xf32>) {
  // expected-error @below {{batches or channels differ}}
  %y = mpc.pool max %x window [2] strides [2] padding [0] x [0] : tensor<?x8x4xf32> -> tensor<?x4x3xf32>
  return
}

// -----

func.func @pool_padding(%x: tensor<?x8x4xf32>) {
  // expected-error @below {{padding of dimension 0 must be smaller than the window}}
  %y = mpc.pool max %x window [2] strides [2] padding [2] x [0] : tensor<?x8x4xf32> -> tensor<?x5x4xf32>
  return
}

// -----

func.func @pool_places(%x: tensor<?x8x4xf32>) {
  // expected-error @below {{spatial dimension 0 has 4 pixels, but 5 are given}}
  %y = mpc.pool max %x window [2] strides [2] padding [0] x [0] : tensor<?x8x4xf32> -> tensor<?x5x4xf32>
  return
}

// -----

func.func @no_input(%dy: tensor<?x4x4xf32>) {
  // expected-error @below {{max needs the pool's input, mean takes none}}
  %dx = mpc.pool_gradient max %dy window [2] strides [2] padding [0] x [0] : (tensor<?x4x4xf32>) -> tensor<?x8x4xf32>
  return
}

// -----

func.func @short_table(%x: tensor<?x8x4xf32>) {
  // expected-error @below {{the table of axis 1 is too short}}
  %y = mpc.resample %x axes [1] taps [1] indices [0] : tensor<?x8x4xf32> -> tensor<?x2x4xf32>
  return
}

// -----

func.func @outside(%x: tensor<?x8x4xf32>) {
  // expected-error @below {{index 8 is outside extent 8 of axis 1}}
  %y = mpc.resample %x axes [1] taps [1] indices [0, 8] : tensor<?x8x4xf32> -> tensor<?x2x4xf32>
  return
}

// -----

func.func @batch_axis(%x: tensor<2x8x4xf32>) {
  // expected-error @below {{an axis must not be the batch}}
  %y = mpc.resample %x axes [0] taps [1] indices [0, 1] : tensor<2x8x4xf32> -> tensor<2x8x4xf32>
  return
}

// -----

func.func @more_weights(%x: tensor<?x8x4xf32>) {
  // expected-error @below {{needs one weight for each index}}
  %y = mpc.resample %x axes [1] taps [1] indices [0, 7] weights dense<[1.0]> : tensor<1xf64> : tensor<?x8x4xf32> -> tensor<?x2x4xf32>
  return
}

// -----

func.func @integers(%x: tensor<?x8x4xi32>) {
  // expected-error @below {{sums floating elements only}}
  %y = mpc.resample %x axes [1] taps [2] indices [0, 7] : tensor<?x8x4xi32> -> tensor<?x1x4xi32>
  return
}

// -----

func.func @integer_sums(%x: tensor<?x8x4xi8>, %w: tensor<3x4x6xi8>) {
  // expected-error @below {{of i8 gives i32, without bias or activation; got 'tensor<?x6x6xf32>'}}
  %y = mpc.convolution %x, %w strides [1] padding [0] x [0] dilations [1] : (tensor<?x8x4xi8>, tensor<3x4x6xi8>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @integer_groups(%x: tensor<?x8x4xi8>, %w: tensor<3x2x6xi8>) {
  // expected-error @below {{of i8 has one group, or for each channel one filter of one or two dimensions and at most 514 elements; got 2 groups of filters [3, 2, 6]}}
  %y = mpc.convolution %x, %w strides [1] padding [0] x [0] dilations [1] groups 2 : (tensor<?x8x4xi8>, tensor<3x2x6xi8>) -> tensor<?x6x6xi32>
  return
}

// -----

func.func @integer_activation(%x: tensor<?x8x4xi8>, %w: tensor<3x4x6xi8>) {
  // expected-error @below {{of i8 gives i32, without bias or activation}}
  %y = mpc.convolution %x, %w strides [1] padding [0] x [0] dilations [1] {activation = #mpc<activation relu>} : (tensor<?x8x4xi8>, tensor<3x4x6xi8>) -> tensor<?x6x6xi32>
  return
}

// -----

func.func @border_of_floats(%x: tensor<?x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has the border 3; expected a number of 8 bits, of floating images 0}}
  %y = mpc.convolution %x, %w strides [1] padding [1] x [1] dilations [1] border 3 : (tensor<?x8x4xf32>, tensor<3x4x6xf32>) -> tensor<?x8x6xf32>
  return
}

// -----

func.func @large_border(%x: tensor<?x8x4xi8>, %w: tensor<3x4x6xi8>) {
  // expected-error @below {{has the border -129; expected a number of 8 bits}}
  %y = mpc.convolution %x, %w strides [1] padding [1] x [1] dilations [1] border -129 : (tensor<?x8x4xi8>, tensor<3x4x6xi8>) -> tensor<?x8x6xi32>
  return
}

// -----

func.func @mixed_integers(%x: tensor<?x8x4xi8>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{element types differ}}
  %y = mpc.convolution %x, %w strides [1] padding [0] x [0] dilations [1] : (tensor<?x8x4xi8>, tensor<3x4x6xf32>) -> tensor<?x6x6xi32>
  return
}
