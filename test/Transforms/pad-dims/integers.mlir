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

// A convolution becomes a product of its windows, with the border in front of and behind them; a CPU's stays.
// CHECK-LABEL: func.func @convolution
// CPU-LABEL: func.func @convolution
func.func @convolution(%x: tensor<?x32x16xi8>, %w: tensor<3x16x16xi8>) -> tensor<?x16x16xi32> attributes {mpc.entry} {
  // CPU: mpc.convolution
  // CHECK: %[[P:.*]] = mpc.pad %arg0 {axis = 1 : i64, high = 1 : i64, low = 1 : i64, value = 0.000000e+00 : f64}
  // CHECK: %[[B:.*]] = mpc.constant dense<{{.*}}> : tensor<1x34x1xi8>
  // CHECK: %[[I:.*]] = mpc.add %[[P]], %[[B]]
  // CHECK-COUNT-3: mpc.resample %[[I]]
  // CHECK: %[[T:.*]] = mpc.concatenate
  // CHECK: mpc.contract %[[T]], %{{.*}} contracting [2] x [1] : (tensor<?x16x48xi8>, tensor<16x48xi8>) -> tensor<?x16x16xi32>
  %0 = mpc.convolution %x, %w strides [2] padding [1] x [1] dilations [1] border 5 : (tensor<?x32x16xi8>, tensor<3x16x16xi8>) -> tensor<?x16x16xi32>
  return %0 : tensor<?x16x16xi32>
}

// A filter for each channel stays a convolution; a GPU's is in float32, which holds its sums.
// CHECK-LABEL: func.func @depthwise
// CPU-LABEL: func.func @depthwise
func.func @depthwise(%x: tensor<?x32x16xi8>, %w: tensor<3x1x16xi8>) -> tensor<?x32x16xi32> attributes {mpc.entry} {
  // CPU: mpc.convolution {{.*}} : (tensor<?x32x16xi8>, tensor<3x1x16xi8>) -> tensor<?x32x16xi32>
  // CHECK: %[[I:.*]] = mpc.add
  // CHECK-DAG: %[[X:.*]] = mpc.cast %[[I]] : tensor<?x34x16xi8> to tensor<?x34x16xf32>
  // CHECK-DAG: %[[W:.*]] = mpc.cast %arg1 : tensor<3x1x16xi8> to tensor<3x1x16xf32>
  // CHECK: %[[Y:.*]] = mpc.convolution %[[X]], %[[W]] strides [1] padding [0] x [0] dilations [1] groups 16
  // CHECK: mpc.cast %[[Y]] : tensor<?x32x16xf32> to tensor<?x32x16xi32>
  %0 = mpc.convolution %x, %w strides [1] padding [1] x [1] dilations [1] groups 16 border -7 : (tensor<?x32x16xi8>, tensor<3x1x16xi8>) -> tensor<?x32x16xi32>
  return %0 : tensor<?x32x16xi32>
}
