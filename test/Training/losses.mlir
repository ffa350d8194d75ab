// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loss and metrics of each config, by name and by Keras-serialised object, in float32.
// RUN: rm -rf %t && mkdir -p %t
// RUN: mpcc %s --loss=mse --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=MSE
// MSE: func.func @loss({{.*}}tensor<?x4xf32> {mpc.input = "out0"}{{.*}}tensor<?x4xf32> {mpc.target = "y0"}{{.*}}tensor<?xf32> {mpc.target = "sample_weight"}
// MSE: [[D:%.*]] = mpc.subtract %arg0, %arg1
// MSE: [[S:%.*]] = mpc.multiply [[D]], [[D]]
// MSE: [[M:%.*]] = mpc.reduce mean [[S]] {axes = array<i64: 1>}
// MSE: [[W:%.*]] = mpc.multiply [[M]], %arg2
// MSE: mpc.reduce mean [[W]] {axes = array<i64: 0>}

// RUN: mpcc %s --loss=mean_absolute_error --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=MAE
// MAE: [[D:%.*]] = mpc.subtract %arg0, %arg1
// MAE: [[A:%.*]] = mpc.abs [[D]]
// MAE: mpc.reduce mean [[A]] {axes = array<i64: 1>}

// Clipped as Keras clips, so that no logarithm is of 0.
// RUN: mpcc %s --loss=binary_crossentropy --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=BCE
// BCE: [[Z:%.*]], [[KNOWN:%.*]] = mpc.logits sigmoid %arg0
// BCE: mpc.softplus [[Z]]
// BCE: [[H:%.*]] = mpc.constant dense<0.99999988>
// BCE: mpc.minimum %arg0, [[H]]
// BCE: [[L:%.*]] = mpc.constant dense<1.000000e-07>
// BCE: mpc.maximum {{.*}}, [[L]]
// BCE-COUNT-2: mpc.log
// BCE: mpc.negate
// BCE: mpc.select [[KNOWN]]

// RUN: mpcc %s --loss=categorical_crossentropy --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=CCE
// CCE: [[Z:%.*]], [[KNOWN:%.*]] = mpc.logits softmax %arg0 {axis = 1 : i64}
// CCE: [[CE:%.*]] = mpc.softmax_cross_entropy [[Z]], %arg1
// CCE: [[S:%.*]] = mpc.reduce sum %arg0 {axes = array<i64: 1>, keep_dims}
// CCE: mpc.divide %arg0, [[S]]
// CCE: mpc.log
// CCE: mpc.reduce sum {{.*}} {axes = array<i64: 1>}
// CCE: mpc.select [[KNOWN]], [[CE]]

// Classes are integers below the number of classes; they never pass through floats.
// RUN: mpcc %s --loss=sparse_categorical_crossentropy --optimizer=sgd --metrics=accuracy --compile-to=import | FileCheck %s --check-prefix=SCE
// SCE: mpc.metric "loss"
// SCE: mpc.metric "accuracy" states([@"metric/accuracy/total", @"metric/accuracy/count"])
// SCE: func.func @loss({{.*}}tensor<?xi32> {mpc.index_limit = 4 : i64, mpc.target = "y0"}
// SCE: mpc.one_hot %arg1 : tensor<?xi32> -> tensor<?x4xf32>
// SCE: mpc.softmax_cross_entropy
// SCE: [[C:%.*]] = mpc.argmax %arg0 {axis = 1 : i64}
// SCE: mpc.compare eq %arg1, [[C]] : tensor<?xi32>, tensor<?xi32>

// Objects from JSON files: from_logits, label smoothing, reductions, an ignored class.
// RUN: echo '{"module": "keras.losses", "class_name": "CategoricalCrossentropy", "config": {"from_logits": true, "label_smoothing": 0.1, "reduction": "sum"}, "registered_name": null}' > %t/logits.json
// RUN: mpcc %s --loss=%t/logits.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=LOGITS
// LOGITS: [[K:%.*]] = mpc.constant dense<0.899999976>
// LOGITS: mpc.multiply %arg1, [[K]]
// LOGITS: mpc.constant dense<2.500000e-02>
// LOGITS: [[Z:%.*]], %{{.*}} = mpc.logits softmax %arg0
// LOGITS: mpc.softmax_cross_entropy [[Z]],
// LOGITS: mpc.reduce sum {{.*}} {axes = array<i64: 0>}
// RUN: echo '{"class_name": "SparseCategoricalCrossentropy", "config": {"ignore_class": 2}}' > %t/ignore.json
// RUN: mpcc %s --loss=%t/ignore.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=IGNORE
// IGNORE-NOT: mpc.index_limit
// IGNORE: mpc.compare ne %arg1
// RUN: echo '{"class_name": "BinaryCrossentropy", "config": {"from_logits": true}}' > %t/binary.json
// RUN: mpcc %s --loss=%t/binary.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=BINARY
// BINARY: [[Z:%.*]], %{{.*}} = mpc.logits sigmoid %arg0
// BINARY: mpc.softplus [[Z]]

// One number for each class.
// RUN: echo '{"class_name": "CategoricalFocalCrossentropy", "config": {"alpha": [0.125, 0.25, 0.375, 0.5]}}' > %t/focal.json
// RUN: mpcc %s --loss=%t/focal.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=FOCAL
// FOCAL: mpc.constant dense<[1.250000e-01, 2.500000e-01, 3.750000e-01, 5.000000e-01]> : tensor<4xf32>

// RUN: mpcc %s --loss=mse --optimizer=sgd --metrics=acc,rmse,top_k_categorical_accuracy --compile-to=import | FileCheck %s --check-prefix=METRICS
// METRICS: mpc.metric "loss"
// METRICS: mpc.metric "acc"
// METRICS: mpc.metric "rmse" {{.*}}{root}
// METRICS: mpc.metric "top_k_categorical_accuracy"
// RUN: echo '[{"class_name": "BinaryAccuracy", "config": {"name": "close", "threshold": 0.25}}, "mae"]' > %t/metrics.json
// RUN: mpcc %s --loss=mse --optimizer=sgd --metrics=%t/metrics.json --compile-to=import | FileCheck %s --check-prefix=LIST
// LIST: mpc.metric "close"
// LIST: mpc.metric "mae"
// LIST: mpc.constant dense<2.500000e-01>
// LIST: mpc.compare gt %arg0

// What is wrong in loss and metrics is said at once, without the module's text.
// RUN: %exits 1 mpcc %s --loss=hinge2 --optimizer=sgdd --metrics=mae,area --compile-to=import | FileCheck %s --check-prefix=BAD --implicit-check-not="see current operation"
// BAD-DAG: error: --loss=hinge2: loss[0]: loss 'hinge2' is not supported; use one of binary_crossentropy, binary_focal_crossentropy, categorical_crossentropy
// BAD-DAG: error: --metrics=mae,area: metrics: metric 'area' of output 'out0' is not supported
// BAD-DAG: error: --optimizer=sgdd: optimizer 'sgdd' is not supported; use one of adadelta, adafactor, adagrad, adam
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=sgd --metrics=area,sparse_categorical_accuracy --compile-to=import | FileCheck %s --check-prefix=METRIC
// METRIC: error: --metrics=area,sparse_categorical_accuracy: metrics: metric 'area' of output 'out0' is not supported; use one of accuracy, auc
// METRIC: error: --metrics=area,sparse_categorical_accuracy: metrics: metric 'sparse_categorical_accuracy' of output 'out0' needs class indices as targets
// RUN: %exits 1 mpcc %s --loss=circle --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=CIRCLE
// RUN: mpcc %s --loss=circle --optimizer=sgd --batch=5 --compile-to=import | FileCheck %s --check-prefix=PAIRS
// CIRCLE: error: {{.*}}loss 'circle' compares every pair of samples of a batch, whose size must be known; compile with --batch=N
// PAIRS: func.func @loss({{.*}}tensor<5xi32> {mpc.target = "y0"}
// PAIRS: mpc.contract %arg0, %arg0 contracting [1] x [1] : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x5xf32>
// RUN: echo '{"class_name": "BinaryCrossentropy", "config": {"axis": 2}}' > %t/axis.json
// RUN: %exits 1 mpcc %s --loss=%t/axis.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=AXIS
// AXIS: error: {{.*}}/axis.json: loss[0]: loss 'BinaryCrossentropy' has axis 2, but the output has 2 dimensions
// RUN: echo '{"class_name": "SparseCategoricalCrossentropy", "config": {"axis": 0}}' > %t/sparse.json
// RUN: %exits 1 mpcc %s --loss=%t/sparse.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=LAST
// LAST: error: {{.*}}/sparse.json: loss[0]: loss 'SparseCategoricalCrossentropy' has axis 0; Keras supports only the last one
// RUN: echo '{"class_name": "CategoricalGeneralizedCrossEntropy", "config": {"q": 1}}' > %t/exponent.json
// RUN: %exits 1 mpcc %s --loss=%t/exponent.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=EXPONENT
// EXPONENT: error: {{.*}}/exponent.json: loss[0]: loss 'CategoricalGeneralizedCrossEntropy' has q outside (0, 1)
// RUN: echo '{"class_name": "BinaryCrossentropy", "config": {"label_smoothing": 1.5}}' > %t/smoothing.json
// RUN: %exits 1 mpcc %s --loss=%t/smoothing.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=SMOOTHING
// SMOOTHING: error: {{.*}}/smoothing.json: loss[0]: loss 'BinaryCrossentropy' has label_smoothing outside [0, 1]
// RUN: echo '{"class_name": "CategoricalFocalCrossentropy", "config": {"alpha": [0.5, 0.5]}}' > %t/alpha.json
// RUN: %exits 1 mpcc %s --loss=%t/alpha.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=ALPHA
// ALPHA: error: {{.*}}/alpha.json: loss[0]: loss 'CategoricalFocalCrossentropy' has 2 numbers as alpha, but the output has 4 classes
// RUN: echo '{"class_name": "CategoricalFocalCrossentropy", "config": {"alpha": [[1], 1, 1, 1]}}' > %t/nested.json
// RUN: %exits 1 mpcc %s --loss=%t/nested.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=NESTED
// NESTED: error: {{.*}}/nested.json: loss[0]: loss 'CategoricalFocalCrossentropy' needs a number, or one for each class, as alpha
// RUN: echo '{"class_name": "BinaryFocalCrossentropy", "config": {"alpha": [0.5, 0.5]}}' > %t/list.json
// RUN: %exits 1 mpcc %s --loss=%t/list.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: {{.*}}/list.json: loss[0]: loss 'BinaryFocalCrossentropy' needs one number as alpha
// RUN: echo '{"class_name": "Huber", "config": {"delta": NaN}}' > %t/delta.json
// RUN: %exits 1 mpcc %s --loss=%t/delta.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=FINITE
// FINITE: error: {{.*}}/delta.json: loss[0]: loss 'Huber' needs finite numbers as delta
// RUN: echo '{"class_name": "BinaryCrossentropy", "config": {"from_logits": "yes"}}' > %t/logits.json
// RUN: %exits 1 mpcc %s --loss=%t/logits.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=TRUTH
// TRUTH: error: {{.*}}/logits.json: loss[0]: loss 'BinaryCrossentropy' needs true or false as from_logits
// RUN: echo '{"class_name": "Huber", "config": {"name": "huber", "dleta": 0.5, "axis": -1}}' > %t/dleta.json
// RUN: %exits 1 mpcc %s --loss=%t/dleta.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=DLETA
// DLETA: error: {{.*}}/dleta.json: loss[0]: loss 'Huber' has no argument axis, dleta; its arguments are delta{{$}}
// RUN: echo '{"class_name": "MeanSquaredError", "config": {"reduction": "sum", "dtype": "float32", "from_logits": true}}' > %t/square.json
// RUN: %exits 1 mpcc %s --loss=%t/square.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=SQUARE
// SQUARE: error: {{.*}}/square.json: loss[0]: loss 'MeanSquaredError' has no argument from_logits; it has none but a name and a dtype{{$}}
// RUN: %exits 1 mpcc %s --loss=%t/absent.json --optimizer=sgd | FileCheck %s --check-prefix=ABSENT
// ABSENT: error: --loss={{.*}}absent.json: no such file; give a Keras name or a JSON file with a serialised object
// RUN: echo '{"class_name": "MeanSquaredError", "config": {"reduction": "none"}}' > %t/none.json
// RUN: %exits 1 mpcc %s --loss=%t/none.json --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=NONE
// NONE: error: {{.*}}/none.json: loss[0]: reduction 'none' gives no scalar to train on
// RUN: %exits 1 mpcc %s --mode=train | FileCheck %s --check-prefix=TRAIN
// TRAIN: error: {{.*}}losses.mlir: --mode=train needs a loss and an optimizer
// RUN: %exits 1 mpcc %s --loss=mse --learning-rate=0.1 | FileCheck %s --check-prefix=RATE
// RATE: error: {{.*}}--learning-rate: the model names no optimizer; add --optimizer=NAME

mpc.variable @"dense/kernel" : tensor<8x4xf32> role trainable layer("dense")
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x4xf32> {mpc.variable = @"dense/kernel"}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
  %y = mpc.layer "dense" kind "Dense" inputs(%x) variables(%w) : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x8xf32>, %k: tensor<8x4xf32>):
    %0 = mpc.contract %a, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
    mpc.yield %0 : tensor<?x4xf32>
  }
  return %y : tensor<?x4xf32>
}

// Labels of CTC have as many places as there are steps; they never become floating numbers, and the
// recursion over the steps is a scan.
// RUN: not mpcc %s --loss=ctc --optimizer=sgd --compile-to=import 2>&1 | FileCheck %s --check-prefix=CTC-RANK
// CTC-RANK: loss 'ctc' needs logits of shape (batch, steps, classes), but the output has 2 dimensions
