// RUN: not mpc-opt %s --mpc-verify-import 2>&1 | FileCheck %s
// RUN: mpc-translate --import-keras %fixtures/train/cnn__mixed_float16/model.keras | mpc-opt --mpc-verify-import -o /dev/null
// RUN: mpc-translate --import-keras %fixtures/train/cnn__mixed_float16/model.keras | mpc-opt --mpc-to-import | FileCheck %s --check-prefix=PHASE
// PHASE: mpc.layer
#f32 = #mpc.precision<compute = f32, variable = f32, accumulate = f32, rule = "file">

// CHECK: error: op 'memref.global' does not belong to phase import; expected ops of mpc and func only
memref.global @kernel : memref<8xf32>

func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  // CHECK: error: layer "a" has a precision already; expected that of its policy, which the phase policy decides
  %0 = mpc.layer "a" kind "ReLU" inputs(%x) {precision = #f32} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  // CHECK: error: op 'arith.addf' does not belong to phase import
  %1 = arith.addf %0, %0 : tensor<?x8xf32>
  // CHECK: error: a layer of kind "ReLU" has no path; expected Keras's, by which policies find it
  %2 = mpc.layer "" kind "ReLU" inputs(%1) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  return %2 : tensor<?x8xf32>
}
