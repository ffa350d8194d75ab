// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// RUN: mpc-opt %s --canonicalize --cse | FileCheck %s --check-prefix=KEPT
// Reports read back, and nothing takes them away: not even the second of two equal ones.

// CHECK-LABEL: func.func @forms
// KEPT-LABEL: func.func @forms
func.func @forms(%x: tensor<?x8xf32>) {
  // KEPT: mpc.cast
  %y = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xf16>
  // CHECK: mpc.trace forward 0 "input" of "x"(%{{.*}}) : tensor<?x8xf32>
  // KEPT: mpc.trace forward 0
  mpc.trace forward 0 "input" of "x" (%x) : tensor<?x8xf32>
  // CHECK: mpc.trace forward 1 "cast" of "dense"(%{{.*}} before %{{.*}}) from [0] : tensor<?x8xf16>, tensor<?x8xf32>
  // KEPT: mpc.trace forward 1
  // KEPT: mpc.trace forward 1
  mpc.trace forward 1 "cast" of "dense" (%y before %x) from [0] : tensor<?x8xf16>, tensor<?x8xf32>
  mpc.trace forward 1 "cast" of "dense" (%y before %x) from [0] : tensor<?x8xf16>, tensor<?x8xf32>
  // CHECK: mpc.trace backward 2 "scaled_gradient:kernel" of "dense"(%{{.*}}) from [0, 1] scaled : tensor<?x8xf32>
  mpc.trace backward 2 "scaled_gradient:kernel" of "dense" (%x) from [0, 1] scaled : tensor<?x8xf32>
  // CHECK: mpc.trace optimizer 3
  mpc.trace optimizer 3 "update:kernel" of "dense" (%x) : tensor<?x8xf32>
  // CHECK: mpc.trace forward 4 "round_float8" of "dense"(%{{.*}} before %{{.*}}) from [0] float8 f8E4M3FN : tensor<?x8xf32>, tensor<?x8xf32>
  mpc.trace forward 4 "round_float8" of "dense" (%x before %x) from [0] float8 f8E4M3FN : tensor<?x8xf32>, tensor<?x8xf32>
  return
}
