// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @shape(%x: tensor<?x8xf32>, %y: tensor<?x4xf16>) {
  // expected-error @below {{has a value before the cast of another shape}}
  mpc.trace forward 0 "cast" of "dense" (%y before %x) : tensor<?x4xf16>, tensor<?x8xf32>
  return
}

// -----

func.func @no_narrowing(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) {
  // expected-error @below {{has a value before the cast that is no wider than the one after it}}
  mpc.trace forward 0 "cast" of "dense" (%y before %x) : tensor<?x8xf32>, tensor<?x8xf32>
  return
}

// -----

func.func @later_source(%x: tensor<?x8xf32>) {
  // expected-error @below {{has source 2; expected slots before its own, 2}}
  mpc.trace forward 2 "add" of "dense" (%x) from [0, 2] : tensor<?x8xf32>
  return
}

// -----

func.func @negative_source(%x: tensor<?x8xf32>) {
  // expected-error @below {{has source -1; expected slots before its own, 2}}
  mpc.trace forward 2 "add" of "dense" (%x) from [-1] : tensor<?x8xf32>
  return
}

// -----

func.func @many_sources(%x: tensor<?x8xf32>) {
  // expected-error @below {{names 7 sources; at most 6 expected}}
  mpc.trace forward 9 "add" of "dense" (%x) from [0, 1, 2, 3, 4, 5, 6] : tensor<?x8xf32>
  return
}

// -----

func.func @negative_slot(%x: tensor<?x8xf32>) {
  // expected-error @below {{attribute 'slot' failed to satisfy constraint}}
  mpc.trace forward -1 "add" of "dense" (%x) : tensor<?x8xf32>
  return
}

// -----

func.func @integers(%x: tensor<?x8xi32>) {
  // expected-error @below {{operand #0 must be ranked tensor}}
  mpc.trace forward 0 "input" of "x" (%x) : tensor<?x8xi32>
  return
}

// -----

func.func @no_float8(%x: tensor<?x8xf32>) {
  // expected-error @below {{has a format that is no float8}}
  mpc.trace forward 0 "round_float8" of "dense" (%x before %x) float8 f16 : tensor<?x8xf32>, tensor<?x8xf32>
  return
}

// -----

func.func @rounded_from_another_type(%x: tensor<?x8xf32>, %y: tensor<?x8xf16>) {
  // expected-error @below {{has a value before it was rounded to float8 of another type}}
  mpc.trace forward 0 "round_float8" of "dense" (%y before %x) float8 f8E5M2 : tensor<?x8xf16>, tensor<?x8xf32>
  return
}
