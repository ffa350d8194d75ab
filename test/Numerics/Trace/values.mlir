// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-trace-numerics --remark-format=emitRemark --remarks-filter=mpc-numerics 2>%t.remarks -o %t.once --mlir-print-debuginfo
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %t.once --mpc-trace-numerics --mlir-print-debuginfo -o %t.twice && diff %t.once %t.twice
// Which values an entry reports, in which order and under which names.

// REMARK: traced-values{{.*}}values are reported{{.*}}values=7

mpc.variable @"dense/kernel" : tensor<8x4xf32> role trainable layer("dense")
mpc.variable @"metric/total" : tensor<f32> role metric

// The entry itself stays as it is.
// CHECK-LABEL: func.func @predict
// CHECK-NOT: mpc.trace
// CHECK-LABEL: func.func @trace_predict
// CHECK-SAME: mpc.entry = #mpc.entry_role<trace_predict>
func.func @predict(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x4xf32> {mpc.variable = @"dense/kernel"})
    -> (tensor<?x2x2xf32> {mpc.output = "out0"}) attributes {mpc.entry = #mpc.entry_role<predict>} {
  // Inputs and variables come first.
  // CHECK: mpc.trace forward 0 "input" of "x"(%[[X:.*]]) : tensor<?x8xf32>
  // CHECK: mpc.trace forward 1 "weight:kernel" of "dense"
  // A narrowing cast says what it rounded.
  // CHECK: %[[XH:.*]] = mpc.cast
  // CHECK: mpc.trace forward 2 "cast" of "dense"(%[[XH]] before %[[X]]) from [0] : tensor<?x8xf16>, tensor<?x8xf32>
  // CHECK: mpc.trace forward 3 "cast" of "dense"({{.*}} before {{.*}}) from [1]
  %0 = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xf16> loc("dense")
  %1 = mpc.cast %w : tensor<8x4xf32> to tensor<8x4xf16> loc("dense")
  // CHECK: mpc.trace forward 4 "contract" of "dense"({{.*}}) from [2, 3]
  %2 = mpc.contract %0, %1 contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x4xf16>) -> tensor<?x4xf16> loc("dense")
  // A value that is only moved is reported where it leaves its layer, a constant never. A widening cast rounds nothing.
  // CHECK: mpc.reshape
  // CHECK-NOT: mpc.trace
  // CHECK: mpc.transpose
  // CHECK: mpc.trace forward 5 "transpose" of "shape"({{.*}}) from [4]
  %3 = mpc.reshape %2 : tensor<?x4xf16> -> tensor<?x2x2xf16> loc("shape")
  %4 = mpc.transpose %3 {permutation = array<i64: 0, 2, 1>} : tensor<?x2x2xf16> -> tensor<?x2x2xf16> loc("shape")
  // CHECK: mpc.trace forward 6 "cast" of "out"({{[^ ]*}}) from [5]
  %5 = mpc.cast %4 : tensor<?x2x2xf16> to tensor<?x2x2xf32> loc("out")
  return %5 : tensor<?x2x2xf32>
}

// The twin has the same slots, and nothing narrow.
// CHECK-LABEL: func.func @twin_predict
// CHECK-NOT: f16
// CHECK-NOT: mpc.cast
// CHECK: mpc.trace forward 0 "input"
// CHECK: mpc.trace forward 2 "cast" of "dense"(%{{[^ ]*}}) from [0] : tensor<?x8xf32>
// CHECK: mpc.trace forward 4 "contract"
// CHECK-SAME: tensor<?x4xf32>
// CHECK: mpc.trace forward 6 "cast" of "out"
// CHECK-NOT: f16

// Each layer by itself: float32 comes first, then the layers with inputs of it. A layer that widens has no rounding of its own.
// CHECK-LABEL: func.func @apart_predict
// CHECK-SAME: attributes {mpc.entry = #mpc.entry_role<apart_predict>}
// CHECK: %[[WIDE:.*]] = mpc.contract {{.*}} -> tensor<?x4xf32>
// CHECK: %[[SHAPED:.*]] = mpc.transpose {{.*}} -> tensor<?x2x2xf32>
// CHECK: %[[INPUT:.*]] = mpc.cast %[[WIDE]] : tensor<?x4xf32> to tensor<?x4xf16>
// CHECK: mpc.trace forward 4 "contract" of "dense"({{.*}}) from [2, 3] : tensor<?x4xf16>
// CHECK: mpc.reshape %[[INPUT]]
// CHECK: mpc.trace forward 5 "transpose" of "shape"({{.*}}) from [4] : tensor<?x2x2xf16>
// CHECK: mpc.trace forward 6 "cast" of "out"(%[[SHAPED]]) from [5]
// CHECK: return %[[SHAPED]]
