// RUN: mpc-opt %s --mpc-form-float8 --canonicalize --cse --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-form-float8 --canonicalize --cse --mpc-form-float8 --canonicalize --cse | FileCheck %s
// Products of a layer under QuantizedFloat8DTypePolicy, and what stays as it is.

// The scale is rounded to the type that computes, and multiplied in float32.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[X:.*]]: tensor<?x32xbf16>, %[[W:.*]]: tensor<32x48xbf16>, %[[S:.*]]: tensor<f32>, %[[T:.*]]: tensor<f32>
// CHECK: %[[SB:.*]] = mpc.cast %[[S]] : tensor<f32> to tensor<bf16>
// CHECK: mpc.divide %[[X]], %[[SB]]
// CHECK: mpc.maximum
// CHECK: mpc.minimum
// CHECK: %[[SF:.*]] = mpc.cast %[[SB]] : tensor<bf16> to tensor<f32>
// CHECK: %[[XQ:.*]] = mpc.cast %{{.*}} : tensor<?x32xbf16> to tensor<?x32xf8E4M3FN>
// CHECK: %[[TB:.*]] = mpc.cast %[[T]] : tensor<f32> to tensor<bf16>
// CHECK: %[[TF:.*]] = mpc.cast %[[TB]] : tensor<bf16> to tensor<f32>
// CHECK: %[[WQ:.*]] = mpc.cast %{{.*}} : tensor<32x48xbf16> to tensor<32x48xf8E4M3FN>
// CHECK: %[[SUM:.*]] = mpc.contract %[[XQ]], %[[WQ]] contracting [1] x [0] : (tensor<?x32xf8E4M3FN>, tensor<32x48xf8E4M3FN>) -> tensor<?x48xf32>
// CHECK: %[[A:.*]] = mpc.multiply %[[SUM]], %[[SF]]
// CHECK: %[[B:.*]] = mpc.multiply %[[A]], %[[TF]]
// CHECK: %[[Y:.*]] = mpc.cast %[[B]] : tensor<?x48xf32> to tensor<?x48xbf16>
// CHECK: return %[[Y]]
// REMARK: [Passed] float8{{.*}}multiplied in float8: f8E4M3FN x f8E4M3FN
func.func @forward(%x: tensor<?x32xbf16>, %w: tensor<32x48xbf16>, %s: tensor<f32>, %t: tensor<f32>, %h: tensor<4xf32>) -> tensor<?x48xbf16> attributes {mpc.entry} {
  %0 = mpc.float8_quantize %x scale %s history %h {format = f8E4M3FN} : tensor<?x32xbf16>, tensor<4xf32>
  %1 = mpc.float8_quantize %w scale %t history %h {format = f8E4M3FN} : tensor<32x48xbf16>, tensor<4xf32>
  %2 = mpc.contract %0, %1 contracting [1] x [0] : (tensor<?x32xbf16>, tensor<32x48xbf16>) -> tensor<?x48xbf16>
  return %2 : tensor<?x48xbf16>
}

// The gradients of a layer: the cotangent comes as elementary ops, and each tensor is made once.
// CHECK-LABEL: func.func @gradients
// CHECK-COUNT-2: to tensor<{{.*}}xf8E4M3FN>
// CHECK: to tensor<?x48xf8E5M2>
// CHECK-NOT: to tensor<{{.*}}f8
// CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [1] x [1] : (tensor<?x48xf8E5M2>, tensor<32x48xf8E4M3FN>) -> tensor<?x32xf32>
// CHECK-NOT: to tensor<{{.*}}f8
// CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [0] x [0] : (tensor<?x32xf8E4M3FN>, tensor<?x48xf8E5M2>) -> tensor<32x48xf32>
// CHECK-NOT: mpc.round_float8
// REMARK: multiplied in float8: f8E5M2 x f8E4M3FN
// REMARK: multiplied in float8: f8E4M3FN x f8E5M2
func.func @gradients(%x: tensor<?x32xf32>, %w: tensor<32x48xf32>, %dy: tensor<?x48xf32>, %s: tensor<f32>, %h: tensor<4xf32>) -> (tensor<?x32xf32>, tensor<32x48xf32>) attributes {mpc.entry = #mpc.entry_role<gradients>} {
  %0 = mpc.float8_quantize %x scale %s history %h {format = f8E4M3FN} : tensor<?x32xf32>, tensor<4xf32>
  %1 = mpc.float8_quantize %w scale %s history %h {format = f8E4M3FN} : tensor<32x48xf32>, tensor<4xf32>
  %2 = mpc.divide %dy, %s : tensor<?x48xf32>, tensor<f32>
  %3 = mpc.round_float8 %2 {format = f8E5M2} : tensor<?x48xf32>
  %4 = mpc.multiply %3, %s : tensor<?x48xf32>, tensor<f32>
  %5 = mpc.contract %4, %1 contracting [1] x [1] : (tensor<?x48xf32>, tensor<32x48xf32>) -> tensor<?x32xf32>
  %6 = mpc.contract %0, %4 contracting [0] x [0] : (tensor<?x32xf32>, tensor<?x48xf32>) -> tensor<32x48xf32>
  return %5, %6 : tensor<?x32xf32>, tensor<32x48xf32>
}

// CHECK-LABEL: func.func @others
// CHECK-NOT: to tensor<{{.*}}f8
// REMARK: [Missed] float8{{.*}}multiplied in f32: one of its operands is not rounded to float8
// REMARK: [Missed] float8{{.*}}multiplied in f32: no Tensor Core multiplies f8E5M2 with itself
// REMARK: [Missed] float8{{.*}}multiplied in f32: its sums have few terms
// REMARK: [Missed] float8{{.*}}multiplied in f64: sums of float64 are float64
// REMARK: [Missed] float8{{.*}}multiplied in f32: it has an epilogue
func.func @others(%x: tensor<?x32xf32>, %w: tensor<32x48xf32>, %v: tensor<8x48xf32>, %z: tensor<?x32xf64>, %y: tensor<32x48xf64>, %s: tensor<f32>, %h: tensor<4xf32>, %b: tensor<48xf32>)
    -> (tensor<?x48xf32>, tensor<?x48xf32>, tensor<32x48xf32>, tensor<?x48xf64>, tensor<?x48xf32>) attributes {mpc.entry} {
  %0 = mpc.float8_quantize %x scale %s history %h {format = f8E4M3FN} : tensor<?x32xf32>, tensor<4xf32>
  %1 = mpc.contract %0, %w contracting [1] x [0] : (tensor<?x32xf32>, tensor<32x48xf32>) -> tensor<?x48xf32>
  %2 = mpc.float8_quantize %x scale %s history %h {format = f8E5M2} : tensor<?x32xf32>, tensor<4xf32>
  %3 = mpc.float8_quantize %w scale %s history %h {format = f8E5M2} : tensor<32x48xf32>, tensor<4xf32>
  %4 = mpc.contract %2, %3 contracting [1] x [0] : (tensor<?x32xf32>, tensor<32x48xf32>) -> tensor<?x48xf32>
  %5 = mpc.float8_quantize %v scale %s history %h {format = f8E4M3FN} : tensor<8x48xf32>, tensor<4xf32>
  %6 = mpc.slice %3 {axis = 0 : i64, offset = 0 : i64, size = 8 : i64} : tensor<32x48xf32> -> tensor<8x48xf32>
  %7 = mpc.float8_quantize %6 scale %s history %h {format = f8E4M3FN} : tensor<8x48xf32>, tensor<4xf32>
  %8 = mpc.contract %7, %5 contracting [0] x [0] : (tensor<8x48xf32>, tensor<8x48xf32>) -> tensor<48x48xf32>
  %9 = mpc.slice %8 {axis = 0 : i64, offset = 0 : i64, size = 32 : i64} : tensor<48x48xf32> -> tensor<32x48xf32>
  %10 = mpc.float8_quantize %z scale %s history %h {format = f8E4M3FN} : tensor<?x32xf64>, tensor<4xf32>
  %14 = mpc.float8_quantize %y scale %s history %h {format = f8E4M3FN} : tensor<32x48xf64>, tensor<4xf32>
  %11 = mpc.contract %10, %14 contracting [1] x [0] : (tensor<?x32xf64>, tensor<32x48xf64>) -> tensor<?x48xf64>
  %12 = mpc.float8_quantize %w scale %s history %h {format = f8E4M3FN} : tensor<32x48xf32>, tensor<4xf32>
  %13 = mpc.contract %0, %12 bias %b contracting [1] x [0] : (tensor<?x32xf32>, tensor<32x48xf32>, tensor<48xf32>) -> tensor<?x48xf32>
  return %1, %4, %9, %11, %13 : tensor<?x48xf32>, tensor<?x48xf32>, tensor<32x48xf32>, tensor<?x48xf64>, tensor<?x48xf32>
}
