// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loss makes float32 of an output of integers; metrics of one, and outputs without a batch, are refused.
// RUN: rm -rf %t && mkdir -p %t
// RUN: echo '["mse", null]' > %t/loss.json
// RUN: mpcc %s --loss=%t/loss.json --optimizer=sgd --compile-to=import | FileCheck %s
// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[OUTPUT:[a-z0-9]+]]: tensor<?x4xi32> {mpc.input = "out0"}
// CHECK-SAME: tensor<?x4xf32> {mpc.target = "y0"}
// CHECK: mpc.cast %[[OUTPUT]] : tensor<?x4xi32> to tensor<?x4xf32>

// RUN: echo '[["mae"], null]' > %t/metrics.json
// RUN: %exits 1 mpcc %s --loss=%t/loss.json --metrics=%t/metrics.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=METRIC
// METRIC: error: {{.*}}/metrics.json: metrics[0]: output 'out0' has type 'tensor<?x4xi32>'; a metric needs a floating output; leave out the metrics of this one
// RUN: echo '[null, "mse"]' > %t/scalar.json
// RUN: %exits 1 mpcc %s --loss=%t/scalar.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=BATCH
// BATCH: error: {{.*}}/scalar.json: loss[1]: output 'out1' has type 'tensor<f32>'; a loss or metric needs a batch dimension; compile the model for predictions only with --mode=infer

func.func @forward(%x: tensor<?x4xi32> {mpc.input = "x"}, %s: tensor<f32> {mpc.input = "s"}) -> (tensor<?x4xi32> {mpc.output = "out0"}, tensor<f32> {mpc.output = "out1"}) {
  return %x, %s : tensor<?x4xi32>, tensor<f32>
}
