// RUN: mpc-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{constraint axes must ascend and name dimensions of 'tensor<8x4xf32>'}}
mpc.variable @a : tensor<8x4xf32> role trainable {constraint = #mpc.constraint<unit_norm axes = [2]>}

// -----

// expected-error @below {{constraint axes must ascend and name dimensions of 'tensor<8x4xf32>'}}
mpc.variable @a : tensor<8x4xf32> role trainable {constraint = #mpc.constraint<unit_norm axes = [1, 0]>}

// -----

// expected-error @below {{only variables of layers have a constraint}}
mpc.variable @a : tensor<4xf32> role metric {constraint = #mpc.constraint<non_negative>}

// -----

// expected-error @below {{axes belong to every constraint on a norm and to no other}}
mpc.variable @a : tensor<4xf32> role trainable {constraint = #mpc.constraint<non_negative axes = [0]>}

// -----

// expected-error @below {{max belongs to max_norm and min_max_norm and to no other}}
mpc.variable @a : tensor<4xf32> role trainable {constraint = #mpc.constraint<max_norm axes = [0]>}

// -----

// expected-error @below {{min and rate belong to min_max_norm and to no other}}
mpc.variable @a : tensor<4xf32> role trainable {constraint = #mpc.constraint<max_norm axes = [0] max = 1.0 rate = 1.0>}

// -----

// expected-error @below {{factors must be finite in float32 and not negative, got -1.000000e+00 : f64}}
mpc.variable @a : tensor<4x2xf32> role trainable {regularizer = #mpc.regularizer<l1 = 0.0, l2 = 0.0, orthogonal_columns = -1.0>}

// -----

// expected-error @below {{factors must be finite in float32 and not negative, got 1.000000e+300 : f64}}
mpc.variable @a : tensor<4x2xf32> role trainable {regularizer = #mpc.regularizer<l1 = 1.0e300, l2 = 0.0>}
