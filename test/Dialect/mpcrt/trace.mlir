// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --split-input-file --verify-diagnostics | mpc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @forms
func.func @forms(%x: memref<?x8xf16>, %t: tensor<?x8xf32>, %n: memref<?x8xf8E5M2>) {
  // CHECK: mpcrt.trace forward 3 "add" of "dense"(%{{.*}}) from [2] : memref<?x8xf16>
  mpcrt.trace forward 3 "add" of "dense" (%x) from [2] : memref<?x8xf16>
  // CHECK: mpcrt.trace backward 4 "add" of "dense"(%{{.*}}) scaled : tensor<?x8xf32>
  mpcrt.trace backward 4 "add" of "dense" (%t) scaled : tensor<?x8xf32>
  // CHECK: mpcrt.trace optimizer 5 "update:kernel" of "dense"(%{{.*}} before %{{.*}}) change : memref<?x8xf16>, memref<?x8xf16>
  mpcrt.trace optimizer 5 "update:kernel" of "dense" (%x before %x) change : memref<?x8xf16>, memref<?x8xf16>
  // CHECK: mpcrt.trace backward 6 "round_float8" of "dense"(%{{.*}} before %{{.*}}) float8 f8E5M2 : memref<?x8xf16>, memref<?x8xf16>
  mpcrt.trace backward 6 "round_float8" of "dense" (%x before %x) float8 f8E5M2 : memref<?x8xf16>, memref<?x8xf16>
  // CHECK: mpcrt.trace backward 7 "round_float8" of "dense"(%{{.*}} before %{{.*}}) : memref<?x8xf8E5M2>, memref<?x8xf16>
  mpcrt.trace backward 7 "round_float8" of "dense" (%n before %x) : memref<?x8xf8E5M2>, memref<?x8xf16>
  return
}

// -----

func.func @change_of_nothing(%x: memref<?x8xf16>) {
  // expected-error @below {{reports a change, but not from a value of its type}}
  mpcrt.trace optimizer 3 "update:kernel" of "dense" (%x) change : memref<?x8xf16>
  return
}

// -----

func.func @change_of_type(%x: memref<?x8xf16>, %y: memref<?x8xf32>) {
  // expected-error @below {{reports a change, but not from a value of its type}}
  mpcrt.trace optimizer 3 "update:kernel" of "dense" (%x before %y) change : memref<?x8xf16>, memref<?x8xf32>
  return
}

// -----

func.func @mixed(%x: memref<?x8xf16>, %t: tensor<?x8xf32>) {
  // expected-error @below {{mixes tensors and memrefs}}
  mpcrt.trace forward 3 "cast" of "dense" (%x before %t) : memref<?x8xf16>, tensor<?x8xf32>
  return
}

// -----

func.func @strided(%x: memref<4x8xf16, strided<[16, 1]>>) {
  // expected-error @below {{operands must be dense and row-major}}
  mpcrt.trace forward 3 "cast" of "dense" (%x) : memref<4x8xf16, strided<[16, 1]>>
  return
}

// -----

func.func @source(%x: memref<4x8xf16>) {
  // expected-error @below {{has source 3; expected slots before its own, 3}}
  mpcrt.trace forward 3 "cast" of "dense" (%x) from [3] : memref<4x8xf16>
  return
}
