// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc.scan and mpc.reverse: round trip, folds, verifiers.
// RUN: mpc-opt %s --split-input-file --verify-diagnostics -canonicalize | FileCheck %s

// The second stack and the unread capture go; the first stays.
// CHECK-LABEL: func.func @running_sum
// CHECK: %[[S:.*]]:2 = mpc.scan inits(%arg0) scanned(%arg1) {steps = 4 : i64} : (tensor<?x8xf32>, tensor<?x4x8xf32>) -> (tensor<?x8xf32>, tensor<?x4x8xf32>) {
// CHECK-NEXT: ^bb0(%[[C:.*]]: tensor<?x8xf32>, %[[X:.*]]: tensor<?x8xf32>):
// CHECK-NEXT: %[[N:.*]] = mpc.add %[[C]], %[[X]]
// CHECK-NEXT: mpc.yield %[[N]], %[[N]]
// CHECK: return %[[S]]#0, %[[S]]#1
func.func @running_sum(%init: tensor<?x8xf32>, %x: tensor<?x4x8xf32>, %w: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x4x8xf32>) {
  %last, %sums, %unread = mpc.scan inits(%init) scanned(%x) captures(%w) {steps = 4 : i64}
      : (tensor<?x8xf32>, tensor<?x4x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x4x8xf32>, tensor<?x4x8xf32>) {
  ^bb0(%sum: tensor<?x8xf32>, %slice: tensor<?x8xf32>, %c: tensor<8xf32>):
    %next = mpc.add %sum, %slice : tensor<?x8xf32>, tensor<?x8xf32>
    %twice = mpc.add %next, %next : tensor<?x8xf32>, tensor<?x8xf32>
    mpc.yield %next, %next, %twice : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
  }
  return %last, %sums : tensor<?x8xf32>, tensor<?x4x8xf32>
}

// -----

// A carried value that no step changes is a capture; one that nothing needs goes, with what computed it.
// CHECK-LABEL: func.func @idle
// CHECK: %[[S:.*]] = mpc.scan inits(%arg0) captures(%arg1) {steps = 4 : i64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
// CHECK-NEXT: ^bb0(%[[C:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[N:.*]] = mpc.multiply %[[C]], %[[W]]
// CHECK-NEXT: mpc.yield %[[N]]
// CHECK: return %[[S]], %arg1
func.func @idle(%init: tensor<?x8xf32>, %w: tensor<8xf32>, %state: tensor<2xi64>) -> (tensor<?x8xf32>, tensor<8xf32>) {
  %last, %same, %unread = mpc.scan inits(%init, %w, %state) {steps = 4 : i64}
      : (tensor<?x8xf32>, tensor<8xf32>, tensor<2xi64>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<2xi64>) {
  ^bb0(%c: tensor<?x8xf32>, %v: tensor<8xf32>, %s: tensor<2xi64>):
    %next = mpc.multiply %c, %v : tensor<?x8xf32>, tensor<8xf32>
    %advanced = mpc.random_step %s : tensor<2xi64>
    mpc.yield %next, %v, %advanced : tensor<?x8xf32>, tensor<8xf32>, tensor<2xi64>
  }
  return %last, %same : tensor<?x8xf32>, tensor<8xf32>
}

// -----

// A value that only another carried value needs stays.
// CHECK-LABEL: func.func @chained
// CHECK: mpc.scan inits(%arg0, %arg1)
func.func @chained(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %last, %other = mpc.scan inits(%a, %b) {steps = 4 : i64}
      : (tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  ^bb0(%c: tensor<?x8xf32>, %d: tensor<?x8xf32>):
    %next = mpc.add %c, %d : tensor<?x8xf32>, tensor<?x8xf32>
    %twice = mpc.add %d, %d : tensor<?x8xf32>, tensor<?x8xf32>
    mpc.yield %next, %twice : tensor<?x8xf32>, tensor<?x8xf32>
  }
  return %last : tensor<?x8xf32>
}

// -----

// Reversing twice is nothing.
// CHECK-LABEL: func.func @reverse_twice
// CHECK-NEXT: return %arg0
func.func @reverse_twice(%x: tensor<?x4x8xf32>) -> tensor<?x4x8xf32> {
  %r = mpc.reverse %x {axis = 1 : i64} : tensor<?x4x8xf32>
  %s = mpc.reverse %r {axis = 1 : i64} : tensor<?x4x8xf32>
  return %s : tensor<?x4x8xf32>
}

// -----

func.func @batch(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{axis 0 is the batch}}
  %r = mpc.reverse %x {axis = 0 : i64} : tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// -----

func.func @steps(%x: tensor<?x4x8xf32>) {
  // expected-error @+1 {{whose dimension 1 is not its 3 steps}}
  mpc.scan scanned(%x) {steps = 3 : i64} : (tensor<?x4x8xf32>) -> () {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield
  }
  return
}

// -----

func.func @none(%x: tensor<?x4x8xf32>) {
  // expected-error @+1 {{at least one step}}
  mpc.scan scanned(%x) {steps = 0 : i64} : (tensor<?x4x8xf32>) -> () {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield
  }
  return
}

// -----

func.func @slice(%x: tensor<?x4x8xf32>) {
  // expected-error @+1 {{body takes the slice of scanned tensor 0 as 'tensor<?x4x8xf32>', but it is 'tensor<?x8xf32>'}}
  mpc.scan scanned(%x) {steps = 4 : i64} : (tensor<?x4x8xf32>) -> () {
  ^bb0(%a: tensor<?x4x8xf32>):
    mpc.yield
  }
  return
}

// -----

func.func @carried(%i: tensor<?x8xf32>, %x: tensor<?x4x8xi1>) -> tensor<?x8xf32> {
  // expected-error @+1 {{carries value 0 as 'tensor<?x8xf32>', but yields 'tensor<?x8xi1>'}}
  %r = mpc.scan inits(%i) scanned(%x) {steps = 4 : i64} : (tensor<?x8xf32>, tensor<?x4x8xi1>) -> tensor<?x8xf32> {
  ^bb0(%c: tensor<?x8xf32>, %a: tensor<?x8xi1>):
    mpc.yield %a : tensor<?x8xi1>
  }
  return %r : tensor<?x8xf32>
}

// -----

func.func @stacked(%x: tensor<?x4x8xf32>) -> tensor<?x8x4xf32> {
  // expected-error @+1 {{stacks outputs of type 'tensor<?x8xf32>' into 'tensor<?x8x4xf32>'}}
  %r = mpc.scan scanned(%x) {steps = 4 : i64} : (tensor<?x4x8xf32>) -> tensor<?x8x4xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  return %r : tensor<?x8x4xf32>
}

// -----

func.func @every_step(%x: tensor<?x4x8xf32>) -> tensor<?x4x8xf32> {
  // expected-error @+1 {{unknown attribute "mpc.every_step"}}
  %r = mpc.relu %x {mpc.every_step} : tensor<?x4x8xf32>
  return %r : tensor<?x4x8xf32>
}

// -----

func.func @every_step_of(%x: tensor<?x4x8xf32>, %b: tensor<8xf32>) -> tensor<?x4x8xf32> {
  // expected-error @+1 {{attribute 'every_step' failed to satisfy constraint: unit attribute}}
  %r = mpc.add %x, %b {every_step = 4 : i64} : tensor<?x4x8xf32>, tensor<8xf32>
  return %r : tensor<?x4x8xf32>
}
