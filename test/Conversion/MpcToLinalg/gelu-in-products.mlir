// RUN: mpc-opt %s --canonicalize '--convert-mpc-to-linalg=gelu' --canonicalize --cse --mpc-verify-tensors --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A forward pass alone keeps nothing.
// CHECK-LABEL: func.func @predict
// CHECK: %[[Y:.*]] = mpcrt.contract ins(%{{.*}}) bias(%{{.*}}) outs(%{{.*}}) gelu {{.*}}-> tensor<?x200xf16>
// CHECK-NOT: math.exp
// CHECK: return %[[Y]]
// REMARK: [Passed] gelu{{.*}}gelu applied by the contraction that gives its argument"
func.func @predict(%x: tensor<?x8xf16>, %w: tensor<8x200xf16>, %b: tensor<200xf16>) -> tensor<?x200xf16> attributes {mpc.entry = #mpc.entry_role<predict>} {
  %z = mpc.contract %x, %w bias %b contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x200xf16>, tensor<200xf16>) -> tensor<?x200xf16>
  %y = mpc.gelu %z : tensor<?x200xf16>
  return %y : tensor<?x200xf16>
}

// The derivative reads the argument, which the first contraction keeps, in the second one.
// CHECK-LABEL: func.func @dense
// CHECK: %[[Y:.*]]:2 = mpcrt.contract ins(%{{.*}}) bias(%{{.*}}) outs(%{{.*}}) gelu kept(%{{.*}} : tensor<?x200xbf16>) {{.*}}-> tensor<?x200xbf16>, tensor<?x200xbf16>
// CHECK: %[[D:.*]] = mpcrt.contract ins(%{{.*}}) gelu_at(%[[Y]]#1 : tensor<?x200xbf16>) outs({{.*}}) {{.*}}transpose_rhs} -> tensor<?x200xbf16>
// CHECK: mpcrt.contract ins(%[[Y]]#0, %{{.*}}) {{.*}}transpose_lhs
// CHECK-NOT: math.exp
// CHECK: return %[[D]],
// REMARK: [Passed] gelu{{.*}}gelu applied by the contraction that gives its argument, which is kept
// REMARK: [Passed] gelu{{.*}}derivative of gelu applied by the contraction that writes the cotangent
func.func @dense(%x: tensor<?x8xbf16>, %w: tensor<8x200xbf16>, %b: tensor<200xbf16>, %v: tensor<200x4xbf16>, %dz: tensor<?x4xbf16>)
    -> (tensor<?x200xbf16>, tensor<200x4xbf16>) attributes {mpc.entry} {
  %z = mpc.contract %x, %w bias %b contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x200xbf16>, tensor<200xbf16>) -> tensor<?x200xbf16>
  %y = mpc.gelu %z : tensor<?x200xbf16>
  %dy = mpc.contract %dz, %v contracting [1] x [1] : (tensor<?x4xbf16>, tensor<200x4xbf16>) -> tensor<?x200xbf16>
  %d = mpc.gelu_gradient %dy, %z : tensor<?x200xbf16>
  %dv = mpc.contract %y, %dz contracting [0] x [0] : (tensor<?x200xbf16>, tensor<?x4xbf16>) -> tensor<200x4xbf16>
  return %d, %dv : tensor<?x200xbf16>, tensor<200x4xbf16>
}

// Through the shapes of a layer on sequences.
// CHECK-LABEL: func.func @sequences
// CHECK: %[[Y:.*]]:2 = mpcrt.contract {{.*}} gelu kept(%{{.*}} : tensor<?x64xf16>)
// CHECK: mpcrt.contract {{.*}} gelu_at(%[[Y]]#1 : tensor<?x64xf16>)
// CHECK-NOT: math.exp
// REMARK: [Passed] gelu{{.*}}which is kept
// REMARK: [Passed] gelu{{.*}}derivative of gelu applied
func.func @sequences(%x: tensor<?x5x8xf16>, %w: tensor<8x64xf16>, %v: tensor<64x4xf16>, %dz: tensor<?x5x4xf16>)
    -> (tensor<?x5x64xf16>, tensor<?x5x64xf16>) attributes {mpc.entry} {
  %z = mpc.contract %x, %w contracting [2] x [0] : (tensor<?x5x8xf16>, tensor<8x64xf16>) -> tensor<?x5x64xf16>
  %y = mpc.gelu %z : tensor<?x5x64xf16>
  %dy = mpc.contract %dz, %v contracting [2] x [1] : (tensor<?x5x4xf16>, tensor<64x4xf16>) -> tensor<?x5x64xf16>
  %d = mpc.gelu_gradient %dy, %z : tensor<?x5x64xf16>
  return %y, %d : tensor<?x5x64xf16>, tensor<?x5x64xf16>
}

// An argument that is kept from another entry.
// CHECK-LABEL: func.func @backward
// CHECK: mpcrt.contract {{.*}} gelu_at(%{{.*}} : tensor<?x64xf16>)
// CHECK-NOT: math.exp
// REMARK: [Passed] gelu{{.*}}derivative of gelu applied
func.func @backward(%z: tensor<?x64xf16>, %v: tensor<64x4xf16>, %dz: tensor<?x4xf16>) -> tensor<?x64xf16> attributes {mpc.entry} {
  %dy = mpc.contract %dz, %v contracting [1] x [1] : (tensor<?x4xf16>, tensor<64x4xf16>) -> tensor<?x64xf16>
  %d = mpc.gelu_gradient %dy, %z : tensor<?x64xf16>
  return %d : tensor<?x64xf16>
}

// Of padded products, whose rows have parts: places of sequences, units.
// CHECK-LABEL: func.func @padded
// CHECK: %[[Y:.*]]:2 = mpcrt.contract {{.*}} gelu kept(%{{.*}} : tensor<?x64xf16>)
// CHECK: mpcrt.contract {{.*}} gelu_at(%[[Y]]#1 : tensor<?x64xf16>)
// CHECK-NOT: math.exp
// REMARK: [Passed] gelu{{.*}}which is kept
// REMARK: [Passed] gelu{{.*}}derivative of gelu applied
func.func @padded(%x: tensor<?x8x8xf16>, %w: tensor<8x64xf16>, %v: tensor<64x4xf16>, %dz: tensor<?x8x4xf16>)
    -> (tensor<?x5x60xf16>, tensor<?x5x60xf16>) attributes {mpc.entry} {
  %0 = mpc.contract %x, %w contracting [2] x [0] : (tensor<?x8x8xf16>, tensor<8x64xf16>) -> tensor<?x8x64xf16>
  %1 = mpc.slice %0 {axis = 1 : i64, offset = 0 : i64, size = 5 : i64} : tensor<?x8x64xf16> -> tensor<?x5x64xf16>
  %z = mpc.slice %1 {axis = 2 : i64, offset = 0 : i64, size = 60 : i64} : tensor<?x5x64xf16> -> tensor<?x5x60xf16>
  %y = mpc.gelu %z : tensor<?x5x60xf16>
  %2 = mpc.contract %dz, %v contracting [2] x [1] : (tensor<?x8x4xf16>, tensor<64x4xf16>) -> tensor<?x8x64xf16>
  %3 = mpc.slice %2 {axis = 1 : i64, offset = 0 : i64, size = 5 : i64} : tensor<?x8x64xf16> -> tensor<?x5x64xf16>
  %dy = mpc.slice %3 {axis = 2 : i64, offset = 0 : i64, size = 60 : i64} : tensor<?x5x64xf16> -> tensor<?x5x60xf16>
  %d = mpc.gelu_gradient %dy, %z : tensor<?x5x60xf16>
  return %y, %d : tensor<?x5x60xf16>, tensor<?x5x60xf16>
}

// Other parts of the argument than of the cotangent.
// CHECK-LABEL: func.func @other_part
// CHECK: mpcrt.contract
// CHECK-NOT: gelu_at
// REMARK: [Missed] gelu{{.*}}derivative of gelu not in a contraction: gelu's argument is not there as such a matrix
func.func @other_part(%z: tensor<?x64xf16>, %v: tensor<64x4xf16>, %dz: tensor<?x4xf16>) -> tensor<?x60xf16> attributes {mpc.entry} {
  %0 = mpc.contract %dz, %v contracting [1] x [1] : (tensor<?x4xf16>, tensor<64x4xf16>) -> tensor<?x64xf16>
  %dy = mpc.slice %0 {axis = 1 : i64, offset = 0 : i64, size = 60 : i64} : tensor<?x64xf16> -> tensor<?x60xf16>
  %1 = mpc.slice %z {axis = 1 : i64, offset = 4 : i64, size = 60 : i64} : tensor<?x64xf16> -> tensor<?x60xf16>
  %d = mpc.gelu_gradient %dy, %1 : tensor<?x60xf16>
  return %d : tensor<?x60xf16>
}

// What stays a kernel, each for its reason.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: gelu
func.func @kept(%x: tensor<?x8xf16>, %w: tensor<8x64xf16>, %dz: tensor<?x8xf16>, %ready: tensor<?x64xf16>)
    -> (tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>) attributes {mpc.entry} {
  // REMARK: [Missed] gelu{{.*}}gelu not in a contraction: its argument is not what a contraction writes
  %y0 = mpc.gelu %ready : tensor<?x64xf16>
  // REMARK: [Missed] gelu{{.*}}gelu not in a contraction: the contraction applies an activation
  %z1 = mpc.contract %x, %w contracting [1] x [0] {activation = #mpc<activation relu>} : (tensor<?x8xf16>, tensor<8x64xf16>) -> tensor<?x64xf16>
  %y1 = mpc.gelu %z1 : tensor<?x64xf16>
  // REMARK: [Missed] gelu{{.*}}derivative of gelu not in a contraction: the cotangent is not what a contraction writes
  %d2 = mpc.gelu_gradient %ready, %z1 : tensor<?x64xf16>
  // REMARK: [Missed] gelu{{.*}}derivative of gelu not in a contraction: the cotangent has other uses
  %g3 = mpc.contract %dz, %w contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x64xf16>) -> tensor<?x64xf16>
  %d3 = mpc.gelu_gradient %g3, %z1 : tensor<?x64xf16>
  // REMARK: [Missed] gelu{{.*}}derivative of gelu not in a contraction: gelu's argument is not there as such a matrix
  %g4 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x64xf16>) -> tensor<?x64xf16>
  %late = mpc.add %g3, %ready : tensor<?x64xf16>, tensor<?x64xf16>
  %d4 = mpc.gelu_gradient %g4, %late : tensor<?x64xf16>
  return %y0, %y1, %d2, %g3, %d3, %d4, %late : tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>
}
