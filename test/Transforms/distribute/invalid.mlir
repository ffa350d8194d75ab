// RUN: mpc-opt %s --mpc-distribute --split-input-file --verify-diagnostics

func.func @predict(%x: tensor<?x4xf32> {mpc.input = "x"}) -> tensor<?x4xf32> attributes {mpc.entry = #mpc.entry_role<predict>} {
  // expected-error @+1 {{mpc.softmax computes one value of all samples of a batch in a way that ranks cannot share; compile without --distributed}}
  %0 = mpc.softmax %x {axis = 0 : i64} : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @predict(%x: tensor<?x4xf32> {mpc.input = "x"}) -> tensor<4xi32> attributes {mpc.entry = #mpc.entry_role<predict>} {
  // expected-error @+1 {{mpc.argmax computes one value of all samples of a batch in a way that ranks cannot share}}
  %0 = mpc.argmax %x {axis = 0 : i64} : tensor<?x4xf32> -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @train_step(%x: tensor<?xf32>) -> tensor<f32> {
  // expected-error @+1 {{'mpc.all_reduce' op ranks reduce by sum, max or min, not mean}}
  %0 = "mpc.all_reduce"(%x) <{kind = #mpc<reduce_kind mean>}> : (tensor<?xf32>) -> tensor<?xf32>
  %1 = mpc.reduce sum %0 {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @train_step(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'mpc.all_reduce' op reduces what ranks have in one shape, not the samples of a batch}}
  %0 = mpc.all_reduce sum %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @train_step(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{'mpc.all_reduce' op goes in bfloat16, which sums of f32 alone may}}
  %0 = mpc.all_reduce sum %x {in_bfloat16} : tensor<4xi32>
  return %0 : tensor<4xi32>
}
