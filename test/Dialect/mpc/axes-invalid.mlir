// RUN: mpc-opt %s -split-input-file -verify-diagnostics
// Axes, permutations and index lists that name no dimension. Verifiers look dimensions up: they find
// out before they do.

func.func @pad_below(%x: tensor<?x8xf32>) {
  // expected-error @below {{axis -1 is out of range for rank 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.pad %x {axis = -1 : i64, low = 0 : i64, high = 1 : i64, value = 0.0 : f64} : tensor<?x8xf32> -> tensor<?x9xf32>
  return
}

// -----

func.func @pad_above(%x: tensor<?x8xf32>) {
  // expected-error @below {{axis 4611686018427387904 is out of range for rank 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.pad %x {axis = 4611686018427387904 : i64, low = 0 : i64, high = 1 : i64, value = 0.0 : f64} : tensor<?x8xf32> -> tensor<?x9xf32>
  return
}

// -----

func.func @slice_below(%x: tensor<?x8xf32>) {
  // expected-error @below {{axis -1 is out of range for rank 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.slice %x {axis = -1 : i64, offset = 0 : i64, size = 1 : i64} : tensor<?x8xf32> -> tensor<?x1xf32>
  return
}

// -----

func.func @slice_of_scalar(%x: tensor<f32>) {
  // expected-error @below {{axis 0 is out of range for rank 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.slice %x {axis = 0 : i64, offset = 0 : i64, size = 1 : i64} : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @concatenate_below(%x: tensor<?x8xf32>) {
  // expected-error @below {{axis -1 is out of range for rank 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.concatenate %x, %x {axis = -1 : i64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @concatenate_ranks(%x: tensor<?x8xf32>, %y: tensor<?xf32>) {
  // expected-error @below {{operands must have one rank}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.concatenate %x, %y {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @concatenate_rank_of_result(%x: tensor<?x8xf32>) {
  // expected-error @below {{are incompatible with return type(s)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.concatenate %x, %x {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @transpose_below(%x: tensor<?x8xf32>) {
  // expected-error @below {{permutation must name each of 2 dimensions once}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.transpose %x {permutation = array<i64: 0, -1>} : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @transpose_twice(%x: tensor<?x8xf32>) {
  // expected-error @below {{permutation must name each of 2 dimensions once}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.transpose %x {permutation = array<i64: 0, 1, 1>} : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @reduce_below(%x: tensor<?x8xf32>) {
  // expected-error @below {{-1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.reduce sum %x {axes = array<i64: -1>} : tensor<?x8xf32> -> tensor<?xf32>
  return
}

// -----

func.func @moments_above(%x: tensor<?x8xf32>) {
  // expected-error @below {{9}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1 = mpc.moments %x {axes = array<i64: 9>} : tensor<?x8xf32> -> tensor<?xf32>, tensor<?xf32>
  return
}

// -----

func.func @argmax_below(%x: tensor<?x8xf32>) {
  // expected-error @below {{axis -1 is out of range for rank 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.argmax %x {axis = -1 : i64} : tensor<?x8xf32> -> tensor<?xi32>
  return
}

// -----

func.func @softmax_below(%x: tensor<?x8xf32>) {
  // expected-error @below {{axis -1 is out of range for rank 2}}
  %0 = mpc.softmax %x {axis = -1 : i64} : tensor<?x8xf32>
  return
}

// -----

func.func @log_softmax_above(%x: tensor<?x8xf32>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %0 = mpc.log_softmax %x {axis = 2 : i64} : tensor<?x8xf32>
  return
}

// -----

func.func @logits_below(%x: tensor<?x8xf32>) {
  // expected-error @below {{axis -1 is out of range for rank 2}}
  %0, %1 = mpc.logits softmax %x {axis = -1 : i64} : tensor<?x8xf32>
  return
}

// -----

func.func @logits_without(%x: tensor<?x8xf32>) {
  // expected-error @below {{of softmax need an axis, those of sigmoid have none}}
  %0, %1 = mpc.logits softmax %x : tensor<?x8xf32>
  return
}

// -----

func.func @reverse_below(%x: tensor<?x8xf32>) {
  // expected-error @below {{axis -1 is the batch or outside of 'tensor<?x8xf32>'}}
  %0 = mpc.reverse %x {axis = -1 : i64} : tensor<?x8xf32>
  return
}

// -----

func.func @gather_below(%x: tensor<4x8xf32>, %i: tensor<?xi32>) {
  // expected-error @below {{axis -1 is out of range for rank 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = mpc.gather %x, %i {axis = -1 : i64} : tensor<4x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  return
}

// -----

func.func @scatter_above(%x: tensor<4x8xf32>, %dy: tensor<?x8xf32>, %i: tensor<?xi32>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %0 = mpc.scatter_add %i, %dy like %x {axis = 2 : i64} : tensor<?xi32>, tensor<?x8xf32>, tensor<4x8xf32>
  return
}

// -----

func.func @scatter_batches(%x: tensor<4x8xf32>, %dy: tensor<?x8xf32>, %i: tensor<?xi32>) {
  // expected-error @below {{batch_dims must be dimensions before the axis}}
  %0 = mpc.scatter_add %i, %dy like %x {axis = 0 : i64, batch_dims = -1 : i64} : tensor<?xi32>, tensor<?x8xf32>, tensor<4x8xf32>
  return
}

// -----

func.func @resample_below(%x: tensor<?x2x8xf32>) {
  // expected-error @below {{axis}}
  %0 = mpc.resample %x axes [-1] taps [1] indices [0, 0, 1, 1] : tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----

func.func @contract_below(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{contracting dimension out of range: -1 x 0}}
  %0 = mpc.contract %x, %w contracting [-1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return
}
