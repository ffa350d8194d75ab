// RUN: mpc-opt %s --mpc-pad-dims=target=cuda:sm_90 --mpc-verify-fusion --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-pad-dims=target=cuda:sm_90 | mpc-opt --mpc-pad-dims=target=cuda:sm_90 | FileCheck %s

// Multiples of 16 bytes; the driver brings the operands into the order that it needs.
// CHECK-LABEL: func.func @dense
func.func @dense(%x: tensor<?x12xf8E4M3FN>, %w: tensor<12x10xf8E4M3FN>) -> tensor<?x10xf32> attributes {mpc.entry} {
  // CHECK-NOT: mpc.transpose
  // CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [1] x [0] : (tensor<?x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<?x16xf32>
  // CHECK: mpc.slice %{{.*}} {axis = 1 : i64, offset = 0 : i64, size = 10 : i64}
  // REMARK: padded{{.*}}contracted dimension{{.*}}from=12{{.*}}to=16
  // REMARK: padded{{.*}}free dimension of the right operand{{.*}}from=10{{.*}}to=16
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x12xf8E4M3FN>, tensor<12x10xf8E4M3FN>) -> tensor<?x10xf32>
  return %0 : tensor<?x10xf32>
}

// Places of samples stay: any number of rows will do, and sums over samples are filled up by the driver.
// CHECK-LABEL: func.func @places
func.func @places(%x: tensor<?x5x16xf8E4M3FN>, %w: tensor<16x32xf8E4M3FN>, %dy: tensor<?x5x32xf8E5M2>) -> (tensor<?x5x32xf32>, tensor<16x32xf32>) attributes {mpc.entry} {
  // CHECK-NOT: mpc.pad
  // CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [2] x [0] : (tensor<?x5x16xf8E4M3FN>, tensor<16x32xf8E4M3FN>) -> tensor<?x5x32xf32>
  // CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [0, 1] x [0, 1] : (tensor<?x5x16xf8E4M3FN>, tensor<?x5x32xf8E5M2>) -> tensor<16x32xf32>
  %0 = mpc.contract %x, %w contracting [2] x [0] : (tensor<?x5x16xf8E4M3FN>, tensor<16x32xf8E4M3FN>) -> tensor<?x5x32xf32>
  %1 = mpc.contract %x, %dy contracting [0, 1] x [0, 1] : (tensor<?x5x16xf8E4M3FN>, tensor<?x5x32xf8E5M2>) -> tensor<16x32xf32>
  return %0, %1 : tensor<?x5x32xf32>, tensor<16x32xf32>
}
