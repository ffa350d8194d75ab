// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several outputs: a loss, a weight and metrics for each, by list or by name; the outputs' masks.
// RUN: rm -rf %t && mkdir -p %t
// RUN: echo '{"a": "mse", "b": {"class_name": "SparseCategoricalCrossentropy", "config": {"from_logits": true}}}' > %t/names.json
// RUN: mpcc %s --loss=%t/names.json --optimizer=sgd --compile-to=import | FileCheck %s
// CHECK-DAG: mpc.metric "loss"
// CHECK-DAG: mpc.metric "a_loss"
// CHECK-DAG: mpc.metric "b_loss"
// CHECK-LABEL: func.func @loss
// CHECK-SAME: tensor<?x3xi1> {mpc.input = "mask0"}
// CHECK-SAME: tensor<?x3x4xf32> {mpc.target = "y0"}
// CHECK-SAME: tensor<?xi32> {mpc.index_limit = 5 : i64, mpc.target = "y1"}
// Weights for every element of each output's loss.
// CHECK-SAME: tensor<?x3xf32> {mpc.target = "sample_weight0"}
// CHECK-SAME: tensor<?xf32> {mpc.target = "sample_weight1"}
// The masked mean divides by the number of valid steps.
// CHECK: mpc.cast %{{.*}} : tensor<?x3xi1> to tensor<?x3xf32>
// CHECK: mpc.divide_no_nan

// One loss for all, and none for one.
// RUN: mpcc %s --loss=mse --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=ALL
// ALL: func.func @loss
// ALL-SAME: mpc.target = "y0"
// ALL-SAME: mpc.target = "y1"
// RUN: echo '["mse", null]' > %t/first.json
// RUN: mpcc %s --loss=%t/first.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=FIRST
// FIRST-NOT: "a_loss"
// FIRST: func.func @loss
// FIRST-SAME: mpc.target = "y0"
// FIRST-SAME: tensor<?x3xf32> {mpc.target = "sample_weight"}
// FIRST-NOT: mpc.target = "y1"
// FIRST: return

// The mask is no output of the model.
// RUN: mpcc %s --loss=mse --optimizer=sgd --compile-to=autodiff | FileCheck %s --check-prefix=PREDICT
// PREDICT-LABEL: func.func @predict
// PREDICT-SAME: -> (tensor<?x3x4xf32> {mpc.output = "out0"}, tensor<?x5xf32> {mpc.output = "out1"}) attributes

// RUN: echo '{"a": "mse", "c": "mse"}' > %t/wrong.json
// RUN: %exits 1 mpcc %s --loss=%t/wrong.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=WRONG
// WRONG: error: {{.*}}/wrong.json: loss: names 'c', which is no output; expected a, b
// WRONG: error: {{.*}}/wrong.json: loss: has no entry for output 'b'
// Keras trains without losses for some outputs where they are a dictionary.
// RUN: echo '{"b": "mse"}' > %t/second.json
// RUN: sed 's/^module attributes {/&mpc.output_dictionary, /' %s > %t/keys.mlir
// RUN: mpcc %t/keys.mlir --loss=%t/second.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=KEYS
// KEYS: func.func @loss
// KEYS-NOT: mpc.target = "y0"
// KEYS-SAME: mpc.target = "y1"
// RUN: echo '["mse"]' > %t/short.json
// RUN: %exits 1 mpcc %s --loss=%t/short.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=SHORT
// SHORT: error: {{.*}}/short.json: loss: lists 1 entries for 2 outputs; expected one for each of a, b, null where there is none

module attributes {mpc.output_names = ["a", "b"]} {
  mpc.variable @w : tensor<4xf32> role trainable
  func.func @forward(%x: tensor<?x3x4xf32> {mpc.input = "x"}, %z: tensor<?x5xf32> {mpc.input = "z"}, %m: tensor<?x3xi1> {mpc.input = "m"}, %w: tensor<4xf32> {mpc.variable = @w})
      -> (tensor<?x3x4xf32> {mpc.output = "out0"}, tensor<?x5xf32> {mpc.output = "out1"}, tensor<?x3xi1> {mpc.mask, mpc.output = "mask0"}) {
    %y = mpc.multiply %x, %w : tensor<?x3x4xf32>, tensor<4xf32>
    return %y, %z, %m : tensor<?x3x4xf32>, tensor<?x5xf32>, tensor<?x3xi1>
  }
}
