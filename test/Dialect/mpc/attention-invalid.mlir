// RUN: mpc-opt %s -split-input-file -verify-diagnostics

func.func @types(%q: tensor<?x3x2x8xf16>, %k: tensor<?x4x2x8xbf16>) {
  // expected-error @below {{element types differ: 'f16', 'bf16', 'f16'; insert mpc.cast}}
  %y, %l = mpc.attention %q, %k, %q {scale = 1.0 : f64} : tensor<?x3x2x8xf16>, tensor<?x4x2x8xbf16>, tensor<?x3x2x8xf16>
  return
}

// -----

func.func @rank(%q: tensor<?x3x8xf16>) {
  // expected-error @below {{must be [batch, length, heads, width]}}
  %y, %l = mpc.attention %q, %q, %q {scale = 1.0 : f64} : tensor<?x3x8xf16>, tensor<?x3x8xf16>, tensor<?x3x8xf16>
  return
}

// -----

func.func @heads(%q: tensor<?x3x2x8xf16>, %k: tensor<?x3x1x8xf16>) {
  // expected-error @below {{disagree in batch, heads, width or sources}}
  %y, %l = mpc.attention %q, %k, %k {scale = 1.0 : f64} : tensor<?x3x2x8xf16>, tensor<?x3x1x8xf16>, tensor<?x3x1x8xf16>
  return
}

// -----

func.func @log_sums(%q: tensor<?x3x2x8xf16>, %l: tensor<?x3x2xf32>) {
  // expected-error @below {{log_sums is 'tensor<?x3x2xf32>'; mpc.attention gives 'tensor<?x2x3xf32>'}}
  %dq, %dk, %dv = mpc.attention_gradient %q of %q, %l, %q, %q, %q {scale = 1.0 : f64} : tensor<?x3x2x8xf16>, tensor<?x3x2xf32>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return
}

// -----

func.func @causal_and_masked(%q: tensor<?x3x2x8xf16>, %m: tensor<1x1x3x3xi1>) {
  // expected-error @below {{is causal and has a mask; expected a mask that says both}}
  %y, %l = mpc.attention %q, %q, %q mask(%m : tensor<1x1x3x3xi1>) {causal, scale = 1.0 : f64} : tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return
}

// -----

func.func @mask_of_targets(%q: tensor<?x3x2x8xf16>, %m: tensor<?x1x3x1xi1>) {
  // expected-error @below {{has a mask 'tensor<?x1x3x1xi1>'; expected [batch, heads, targets, sources] with extents of 1 but for the last}}
  %y, %l = mpc.attention %q, %q, %q mask(%m : tensor<?x1x3x1xi1>) {scale = 1.0 : f64} : tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return
}

// -----

func.func @mask_of_other_heads(%q: tensor<?x3x2x8xf16>, %l: tensor<?x2x3xf32>, %m: tensor<?x4x3x3xi1>) {
  // expected-error @below {{has a mask 'tensor<?x4x3x3xi1>'}}
  %dq, %dk, %dv = mpc.attention_gradient %q of %q, %l, %q, %q, %q mask(%m : tensor<?x4x3x3xi1>) {scale = 1.0 : f64} : tensor<?x3x2x8xf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return
}

// -----

func.func @dropout_without_rate(%q: tensor<?x3x2x8xf16>, %s: tensor<2xi64>) {
  // expected-error @below {{has a part of a dropout; expected a state, 'rate' and 'stream'}}
  %y, %l = mpc.attention %q, %q, %q dropout(%s : tensor<2xi64>) {scale = 1.0 : f64, stream = 0 : i64} : tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return
}

// -----

func.func @dropout_without_state(%q: tensor<?x3x2x8xf16>, %l: tensor<?x2x3xf32>) {
  // expected-error @below {{has a part of a dropout}}
  %dq, %dk, %dv = mpc.attention_gradient %q of %q, %l, %q, %q, %q {rate = 0.5 : f64, scale = 1.0 : f64, stream = 0 : i64} : tensor<?x3x2x8xf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return
}

// -----

func.func @dropout_of_all(%q: tensor<?x3x2x8xf16>, %s: tensor<2xi64>) {
  // expected-error @below {{rate must be in [0, 1), got 1.0}}
  %y, %l = mpc.attention %q, %q, %q dropout(%s : tensor<2xi64>) {rate = 1.0 : f64, scale = 1.0 : f64, stream = 0 : i64} : tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return
}

// -----

func.func @hides_nothing(%q: tensor<?x3x2x8xf16>) {
  // expected-error @below {{has a 'hidden_score' and hides nothing; expected a mask or 'causal'}}
  %y, %l = mpc.attention %q, %q, %q {hidden_score = -1.0e9 : f64, scale = 1.0 : f64} : tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return
}

// -----

func.func @infinite_hidden_score(%q: tensor<?x3x2x8xf16>, %l: tensor<?x2x3xf32>) {
  // expected-error @below {{has a 'hidden_score' that is not finite}}
  %dq, %dk, %dv = mpc.attention_gradient %q of %q, %l, %q, %q, %q {causal, hidden_score = 0xFFF0000000000000 : f64, scale = 1.0 : f64} : tensor<?x3x2x8xf16>, tensor<?x2x3xf32>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>, tensor<?x3x2x8xf16>
  return
}
