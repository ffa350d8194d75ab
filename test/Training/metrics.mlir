// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Metrics whose result is no mean: sums as states, and @metric_results, which becomes an entry.
// RUN: rm -rf %t && mkdir -p %t
// RUN: echo '[{"class_name": "Precision", "config": {"name": "precision", "thresholds": [0.25, 0.75]}}, {"class_name": "MeanIoU", "config": {"name": "iou", "num_classes": 3, "dtype": "int64"}}, "mae"]' > %t/metrics.json
// RUN: mpcc %s --loss=mse --optimizer=sgd --metrics=%t/metrics.json --compile-to=import | FileCheck %s
// CHECK-DAG: mpc.variable @"metric/precision/true_positives" : tensor<2xf32> role metric
// CHECK-DAG: mpc.variable @"metric/iou/total_confusion_matrix" : tensor<3x3xf64> role metric
// CHECK-DAG: mpc.metric "precision" states([@"metric/precision/true_positives", @"metric/precision/false_positives"]) {computed}
// CHECK-DAG: mpc.metric "mae" states([@"metric/mae/total", @"metric/mae/count"])
// CHECK-LABEL: func.func @loss
// CHECK: mpc.compare gt {{.*}} : tensor<?x4x1xf32>, tensor<2xf32>
// CHECK: mpc.contract {{.*}} contracting [0, 1] x [0, 1] : (tensor<?x4x3xf64>, tensor<?x4x3xf64>) -> tensor<3x3xf64>
// CHECK-LABEL: func.func @metric_results
// CHECK-SAME: tensor<2xf32> {mpc.variable = @"metric/precision/true_positives"}
// CHECK-SAME: -> (tensor<2xf32> {mpc.output = "precision"}, tensor<f32> {mpc.output = "iou"})
// CHECK: mpc.divide_no_nan

// RUN: mpcc %s --loss=mse --optimizer=sgd --metrics=%t/metrics.json --compile-to=autodiff | FileCheck %s --check-prefix=ENTRY
// ENTRY-LABEL: func.func @metric_results
// ENTRY-SAME: attributes {mpc.entry = #mpc.entry_role<metric_results>}

// What is not known or refused by Keras.
// RUN: echo '{"module": "keras", "class_name": "Wrong"}' > %t/object.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=sgd --metrics=%t/object.json --compile-to=import | FileCheck %s --check-prefix=WRONG
// WRONG: error: {{.*}}/object.json: metrics: metric 'Wrong' of output 'out0' is not supported
// RUN: echo '[{"class_name": "AUC", "config": {"curve": "XY"}}, {"class_name": "Recall", "config": {"thresholds": 2}}, {"class_name": "F1Score", "config": {"average": "mean"}}, {"class_name": "AUC", "config": {"name": "many", "num_thresholds": "many"}}]' > %t/refused.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=sgd --metrics=%t/refused.json --compile-to=import | FileCheck %s --check-prefix=REFUSED
// REFUSED: metric 'AUC' of output 'out0' needs curve ROC, PR or PRGAIN
// REFUSED: metric 'Recall' of output 'out0' has thresholds outside [0, 1]
// REFUSED: metric 'F1Score' of output 'out0' has average 'mean'
// REFUSED: metric 'AUC' of output 'out0' needs one number as num_thresholds
// RUN: echo '[{"class_name": "BinaryAccuracy", "config": {"treshold": 0.1, "dtype": "float32"}}, {"class_name": "Mean", "config": {"axis": 0}}, {"class_name": "MeanMetricWrapper", "config": {"fn": "binary_accuracy", "k": 2}}, {"class_name": "MeanSquaredError", "config": {"name": "own", "delta": 2}}]' > %t/names.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=sgd --metrics=%t/names.json --compile-to=import | FileCheck %s --check-prefix=NAMES
// NAMES: metric 'BinaryAccuracy' of output 'out0' has no argument treshold; its arguments are threshold
// NAMES: metric 'Mean' of output 'out0' has no argument axis; it has none but a name and a dtype
// NAMES: metric 'MeanMetricWrapper' of output 'out0' has no argument k; its arguments are threshold
// NAMES: metric 'MeanSquaredError' of output 'out0' has no argument delta; it has none but a name and a dtype

func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
  return %x : tensor<?x4xf32>
}
