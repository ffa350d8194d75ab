// RUN: mpc-opt %s --mpc-fuse --mpc-verify-fusion --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-fuse | mpc-opt --mpc-fuse | FileCheck %s
// Bias and relu move into the contraction; where they cannot, a remark says why.

// CHECK-LABEL: func.func @dense
func.func @dense(%x: tensor<?x8xbf16>, %w: tensor<8x4xbf16>, %b: tensor<4xbf16>) -> tensor<?x4xbf16> attributes {mpc.entry} {
  // CHECK-NEXT: %[[Y:.*]] = mpc.contract %{{.*}}, %{{.*}} bias %{{.*}} contracting [1] x [0] {activation = #mpc<activation relu>}
  // CHECK-NEXT: return %[[Y]]
  // REMARK: bias-epilogue{{.*}}bias added by mpc.contract
  // REMARK: relu-epilogue{{.*}}relu applied by mpc.contract
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x4xbf16>) -> tensor<?x4xbf16>
  %1 = mpc.add %b, %0 : tensor<4xbf16>, tensor<?x4xbf16>
  %2 = mpc.relu %1 : tensor<?x4xbf16>
  return %2 : tensor<?x4xbf16>
}

// Another activation reads the sum.
// CHECK-LABEL: func.func @gelu
func.func @gelu(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> attributes {mpc.entry} {
  // CHECK: mpc.contract %{{.*}}, %{{.*}} bias %{{.*}} contracting [1] x [0] :
  // CHECK: mpc.erf
  // REMARK: bias-epilogue{{.*}}bias added by mpc.contract
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  %1 = mpc.add %0, %b : tensor<?x4xf32>, tensor<4xf32>
  %2 = mpc.erf %1 : tensor<?x4xf32>
  %3 = mpc.multiply %2, %1 : tensor<?x4xf32>, tensor<?x4xf32>
  return %3 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @product_is_read
func.func @product_is_read(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) attributes {mpc.entry} {
  // CHECK-NOT: bias
  // CHECK: mpc.add
  // REMARK: bias-epilogue{{.*}}addition not in the epilogue: {{.*}}the product has other uses
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  %1 = mpc.add %0, %b : tensor<?x4xf32>, tensor<4xf32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
}

// A residual is no bias.
// CHECK-LABEL: func.func @residual
func.func @residual(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> attributes {mpc.entry} {
  // CHECK: mpc.add
  // REMARK: bias-epilogue{{.*}}addition not in the epilogue: {{.*}}what is added is no vector along the last dimension
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %1 = mpc.add %0, %x : tensor<?x8xf32>, tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// The bias repeats along a part of the matrix's columns.
// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<?x8xf32>, %w: tensor<8x2x4xf32>, %b: tensor<4xf32>) -> tensor<?x2x4xf32> attributes {mpc.entry} {
  // CHECK: mpc.add
  // REMARK: bias-epilogue{{.*}}the last dimension is not the only free one of the right operand
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x2x4xf32>) -> tensor<?x2x4xf32>
  %1 = mpc.add %0, %b : tensor<?x2x4xf32>, tensor<4xf32>
  return %1 : tensor<?x2x4xf32>
}

// A bias of all of the matrix's columns, as the projections of attention have.
// CHECK-LABEL: func.func @heads_of_their_own
func.func @heads_of_their_own(%x: tensor<?x8xf32>, %w: tensor<8x2x4xf32>, %b: tensor<2x4xf32>) -> tensor<?x2x4xf32> attributes {mpc.entry} {
  // CHECK-NEXT: %[[Y:.*]] = mpc.contract %{{.*}}, %{{.*}} bias %{{.*}} contracting [1] x [0] {activation = #mpc<activation relu>} : (tensor<?x8xf32>, tensor<8x2x4xf32>, tensor<2x4xf32>) -> tensor<?x2x4xf32>
  // CHECK-NEXT: return %[[Y]]
  // REMARK: bias-epilogue{{.*}}bias added by mpc.contract
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x2x4xf32>) -> tensor<?x2x4xf32>
  %1 = mpc.add %0, %b : tensor<?x2x4xf32>, tensor<2x4xf32>
  %2 = mpc.relu %1 : tensor<?x2x4xf32>
  return %2 : tensor<?x2x4xf32>
}

// A part of the bias belongs to dimensions of the left operand.
// CHECK-LABEL: func.func @places
func.func @places(%x: tensor<?x3x8xf32>, %w: tensor<8x4xf32>, %b: tensor<3x4xf32>) -> tensor<?x3x4xf32> attributes {mpc.entry} {
  // CHECK: mpc.add
  // REMARK: bias-epilogue{{.*}}what is added is no vector along the last dimension
  %0 = mpc.contract %x, %w contracting [2] x [0] : (tensor<?x3x8xf32>, tensor<8x4xf32>) -> tensor<?x3x4xf32>
  %1 = mpc.add %0, %b : tensor<?x3x4xf32>, tensor<3x4xf32>
  return %1 : tensor<?x3x4xf32>
}

// CHECK-LABEL: func.func @sum_is_read
func.func @sum_is_read(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) attributes {mpc.entry} {
  // CHECK: mpc.contract %{{.*}}, %{{.*}} bias
  // CHECK-NEXT: mpc.relu
  // REMARK: relu-epilogue{{.*}}relu not in the epilogue: its operand has other uses
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  %1 = mpc.add %0, %b : tensor<?x4xf32>, tensor<4xf32>
  %2 = mpc.relu %1 : tensor<?x4xf32>
  return %1, %2 : tensor<?x4xf32>, tensor<?x4xf32>
}
