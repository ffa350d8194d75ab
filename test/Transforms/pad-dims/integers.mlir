// RUN: mpc-opt %s --mpc-pad-dims=target=cuda:sm_90 --mpc-verify-fusion --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-pad-dims=target=cuda:sm_90 | mpc-opt --mpc-pad-dims=target=cuda:sm_90 | FileCheck %s
// RUN: mpc-opt %s --mpc-pad-dims | FileCheck %s --check-prefix=CPU
// CPU-NOT: mpc.transpose

// Rows with rows, in multiples of 16 bytes.
// CHECK-LABEL: func.func @dense
func.func @dense(%x: tensor<?x12xi8>, %w: tensor<12x10xi8>) -> tensor<?x10xi32> attributes {mpc.entry} {
  // CHECK-DAG: mpc.transpose %{{.*}} {permutation = array<i64: 1, 0>} : tensor<12x10xi8> -> tensor<10x12xi8>
  // CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [1] x [1] : (tensor<?x16xi8>, tensor<16x16xi8>) -> tensor<?x16xi32>
  // CHECK: mpc.slice %{{.*}} {axis = 1 : i64, offset = 0 : i64, size = 10 : i64}
  // REMARK: padded{{.*}}contracted dimension{{.*}}from=12{{.*}}to=16
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x12xi8>, tensor<12x10xi8>) -> tensor<?x10xi32>
  return %0 : tensor<?x10xi32>
}

// Several dimensions of each kind.
// CHECK-LABEL: func.func @einsum
func.func @einsum(%x: tensor<?x4x3x16xi8>, %w: tensor<16x3x8x5xi8>) -> tensor<?x4x8x5xi32> attributes {mpc.entry} {
  // CHECK: mpc.transpose %{{.*}} {permutation = array<i64: 2, 3, 1, 0>} : tensor<16x3x8x5xi8> -> tensor<8x5x3x16xi8>
  // CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [2, 3] x [2, 3] : (tensor<?x16x3x16xi8>, tensor<8x16x3x16xi8>) -> tensor<?x16x8x16xi32>
  %0 = mpc.contract %x, %w contracting [2, 3] x [1, 0] : (tensor<?x4x3x16xi8>, tensor<16x3x8x5xi8>) -> tensor<?x4x8x5xi32>
  return %0 : tensor<?x4x8x5xi32>
}
