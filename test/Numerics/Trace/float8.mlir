// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-trace-numerics | FileCheck %s
// RUN: mpc-opt %s --mpc-trace-numerics | FileCheck %s --check-prefix=TWIN
// The numbers that a float8 layer multiplies are reported as such, with what they were before they were rounded. The twin rounds nothing.

mpc.variable @"dense/scale" : tensor<f32> role non_trainable layer("dense")
mpc.variable @"dense/history" : tensor<4xf32> role non_trainable layer("dense")

// CHECK-LABEL: func.func @trace_predict
// CHECK: %[[Q:.*]] = mpc.float8_quantize %[[X:.*]] scale %[[S:.*]] history
// CHECK-NEXT: mpc.trace forward [[N:[0-9]+]] "float8_quantize" of "dense"(%[[Q]]) from [{{.*}}] : tensor<?x8xf32>
// CHECK: %[[D:.*]] = mpc.divide %[[X]], %[[S]]
// CHECK: mpc.maximum %[[D]]
// CHECK: %[[C:.*]] = mpc.minimum
// CHECK: %[[R:.*]] = mpc.round_float8 %[[C]] {format = f8E4M3FN}
// CHECK-NEXT: mpc.trace forward {{[0-9]+}} "round_float8" of "dense"(%[[R]] before %[[C]]) from [{{.*}}] float8 f8E4M3FN : tensor<?x8xf32>, tensor<?x8xf32>
// CHECK: %[[E:.*]] = mpc.round_float8 %[[Q]] {format = f8E5M2}
// CHECK-NEXT: mpc.trace forward {{[0-9]+}} "round_float8" of "out"(%[[E]] before %[[Q]]) from [[[N]]] float8 f8E5M2
// TWIN-LABEL: func.func @twin_predict
// TWIN-NOT: float8_quantize %
// TWIN-NOT: mpc.round_float8
// TWIN: mpc.trace forward {{[0-9]+}} "float8_quantize" of "dense"(%[[X:.*]]) from
// TWIN: mpc.trace forward {{[0-9]+}} "round_float8" of "dense"(%{{[^ ]*}}) from [{{.*}}] : tensor<?x8xf32>
// TWIN: mpc.trace forward {{[0-9]+}} "round_float8" of "out"(%[[X]]) from
// TWIN: return %[[X]]
// TWIN-LABEL: func.func @apart_predict
// TWIN: mpc.float8_quantize
func.func @predict(%x: tensor<?x8xf32> {mpc.input = "x"}, %s: tensor<f32> {mpc.variable = @"dense/scale"},
    %h: tensor<4xf32> {mpc.variable = @"dense/history"}) -> (tensor<?x8xf32> {mpc.output = "out0"})
    attributes {mpc.entry = #mpc.entry_role<predict>} {
  %q = mpc.float8_quantize %x scale %s history %h {format = f8E4M3FN} : tensor<?x8xf32>, tensor<4xf32> loc("dense")
  %r = mpc.round_float8 %q {format = f8E5M2} : tensor<?x8xf32> loc("out")
  return %r : tensor<?x8xf32>
}
