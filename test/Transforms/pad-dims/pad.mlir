// RUN: mpc-opt %s --mpc-pad-dims=multiple=8 --mpc-verify-fusion --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-pad-dims=target=cuda:sm_90 | FileCheck %s
// RUN: mpc-opt %s --mpc-pad-dims=multiple=8 | mpc-opt --mpc-pad-dims=multiple=8 | FileCheck %s
// RUN: mpc-opt %s --mpc-pad-dims --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.cpu | FileCheck %s --check-prefix=CPU
// RUN: FileCheck %s --check-prefix=CPUREMARK < %t.cpu
// RUN: not mpc-opt %s --mpc-pad-dims=multiple=-1 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: multiple=-1: expected a positive number, or 0
// CPU-NOT: mpc.pad
// CPUREMARK: not-padded{{.*}}a CPU gains nothing from it

// CHECK-LABEL: func.func @head
func.func @head(%x: tensor<?x12xbf16>, %w: tensor<12x10xbf16>, %b: tensor<10xbf16>) -> tensor<?x10xbf16> attributes {mpc.entry} {
  // CHECK-DAG: %[[X:.*]] = mpc.pad %{{.*}} {axis = 1 : i64, high = 4 : i64, low = 0 : i64, value = 0.000000e+00 : f64} : tensor<?x12xbf16> -> tensor<?x16xbf16>
  // CHECK-DAG: mpc.pad %{{.*}} : tensor<12x10xbf16> -> tensor<16x10xbf16>
  // CHECK-DAG: mpc.pad %{{.*}} : tensor<16x10xbf16> -> tensor<16x16xbf16>
  // CHECK-DAG: %[[B:.*]] = mpc.pad %{{.*}} : tensor<10xbf16> -> tensor<16xbf16>
  // CHECK: %[[Y:.*]] = mpc.contract %[[X]], %{{.*}} bias %[[B]] contracting [1] x [0] : (tensor<?x16xbf16>, tensor<16x16xbf16>, tensor<16xbf16>) -> tensor<?x16xbf16>
  // CHECK: mpc.slice %[[Y]] {axis = 1 : i64, offset = 0 : i64, size = 10 : i64}
  // REMARK: padded{{.*}}contracted dimension{{.*}}from=12{{.*}}to=16
  // REMARK: not-padded{{.*}}free dimension of the left operand{{.*}} is the batch
  // REMARK: padded{{.*}}free dimension of the right operand{{.*}}from=10{{.*}}to=16
  %0 = mpc.contract %x, %w bias %b contracting [1] x [0] : (tensor<?x12xbf16>, tensor<12x10xbf16>, tensor<10xbf16>) -> tensor<?x10xbf16>
  return %0 : tensor<?x10xbf16>
}

// Heads and their width: the width is padded, of the bias, too.
// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<?x16xbf16>, %w: tensor<16x2x10xbf16>, %b: tensor<2x10xbf16>) -> tensor<?x2x10xbf16> attributes {mpc.entry} {
  // CHECK: %[[B:.*]] = mpc.pad %{{.*}} {axis = 1 : i64, high = 6 : i64, low = 0 : i64, value = 0.000000e+00 : f64} : tensor<2x10xbf16> -> tensor<2x16xbf16>
  // CHECK: %[[Y:.*]] = mpc.contract %{{.*}}, %{{.*}} bias %[[B]] contracting [1] x [0] : (tensor<?x16xbf16>, tensor<16x2x16xbf16>, tensor<2x16xbf16>) -> tensor<?x2x16xbf16>
  // CHECK: mpc.slice %[[Y]] {axis = 2 : i64, offset = 0 : i64, size = 10 : i64}
  %0 = mpc.contract %x, %w bias %b contracting [1] x [0] : (tensor<?x16xbf16>, tensor<16x2x10xbf16>, tensor<2x10xbf16>) -> tensor<?x2x10xbf16>
  return %0 : tensor<?x2x10xbf16>
}

// CHECK-LABEL: func.func @single
func.func @single(%x: tensor<?x12xf32>, %w: tensor<12x10xf32>) -> tensor<?x10xf32> attributes {mpc.entry} {
  // CHECK-NOT: mpc.pad
  // REMARK: not-padded{{.*}}only 16-bit and 8-bit operands gain from it
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x12xf32>, tensor<12x10xf32>) -> tensor<?x10xf32>
  return %0 : tensor<?x10xf32>
}

// The weights' gradient: both results' dimensions are padded, the contracted batch is not.
// CHECK-LABEL: func.func @gradient
func.func @gradient(%x: tensor<?x12xf16>, %g: tensor<?x10xf16>) -> tensor<12x10xf16> attributes {mpc.entry} {
  // CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [0] x [0] : (tensor<?x16xf16>, tensor<?x16xf16>) -> tensor<16x16xf16>
  // CHECK: mpc.slice %{{.*}} {axis = 0 : i64, offset = 0 : i64, size = 12 : i64}
  // CHECK: mpc.slice %{{.*}} {axis = 1 : i64, offset = 0 : i64, size = 10 : i64}
  // REMARK: not-padded{{.*}}contracted dimension{{.*}} is the batch
  %0 = mpc.contract %x, %g contracting [0] x [0] : (tensor<?x12xf16>, tensor<?x10xf16>) -> tensor<12x10xf16>
  return %0 : tensor<12x10xf16>
}

// Multiples stay.
// CHECK-LABEL: func.func @aligned
func.func @aligned(%x: tensor<?x16xbf16>, %w: tensor<16x8xbf16>) -> tensor<?x8xbf16> attributes {mpc.entry} {
  // CHECK-NOT: mpc.pad
  // CHECK-NOT: mpc.slice
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x16xbf16>, tensor<16x8xbf16>) -> tensor<?x8xbf16>
  return %0 : tensor<?x8xbf16>
}

// A bias of all free dimensions of the right operand follows each of them.
// CHECK-LABEL: func.func @bias_of_heads
func.func @bias_of_heads(%x: tensor<?x16xbf16>, %w: tensor<16x3x5xbf16>, %b: tensor<3x5xbf16>) -> tensor<?x3x5xbf16> attributes {mpc.entry} {
  // CHECK: mpc.contract %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<?x16xbf16>, tensor<16x3x8xbf16>, tensor<3x8xbf16>) -> tensor<?x3x8xbf16>
  %0 = mpc.contract %x, %w bias %b contracting [1] x [0] : (tensor<?x16xbf16>, tensor<16x3x5xbf16>, tensor<3x5xbf16>) -> tensor<?x3x5xbf16>
  return %0 : tensor<?x3x5xbf16>
}

// Also where the bias has a dimension of the left operand.
// CHECK-LABEL: func.func @bias_of_rows
func.func @bias_of_rows(%x: tensor<2x3x16xbf16>, %w: tensor<16x5xbf16>, %b: tensor<3x5xbf16>) -> tensor<2x3x5xbf16> attributes {mpc.entry} {
  // CHECK: mpc.contract %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<2x8x16xbf16>, tensor<16x8xbf16>, tensor<8x8xbf16>) -> tensor<2x8x8xbf16>
  %0 = mpc.contract %x, %w bias %b contracting [2] x [0] : (tensor<2x3x16xbf16>, tensor<16x5xbf16>, tensor<3x5xbf16>) -> tensor<2x3x5xbf16>
  return %0 : tensor<2x3x5xbf16>
}
