// RUN: mpc-opt %s --convert-mpc-to-linalg --mpc-fuse-linalg --mpc-rematerialize --mpc-verify-tensors --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --convert-mpc-to-linalg --mpc-fuse-linalg --mpc-rematerialize=work-per-byte=64 | FileCheck %s --check-prefix=MUCH
// RUN: mpc-opt %s --convert-mpc-to-linalg --mpc-fuse-linalg --mpc-rematerialize | mpc-opt --mpc-rematerialize | FileCheck %s

// Two results would be kept, where one argument is enough.
// CHECK-LABEL: func.func @kept
// CHECK-SAME: %[[X:arg0]]: tensor<?x8xf32>
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<?x8xf32>)
// CHECK: %[[P:.*]] = mpcrt.contract ins(%[[Y]],
// CHECK: linalg.generic {{.*}} ins(%[[P]], %[[X]] : tensor<?x8xf32>, tensor<?x8xf32>)
// CHECK-DAG: math.exp
// CHECK-DAG: math.sin
// CHECK: return
// REMARK: rematerialize{{.*}}computed again instead of kept: type=tensor<?x8xf32> layer=
func.func @kept(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> attributes {mpc.entry} {
  %a = mpc.exp %x : tensor<?x8xf32>
  %b = mpc.sin %x : tensor<?x8xf32>
  %y = mpc.multiply %a, %b : tensor<?x8xf32>, tensor<?x8xf32>
  %p = mpc.contract %y, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %q = mpc.multiply %p, %a : tensor<?x8xf32>, tensor<?x8xf32>
  %r = mpc.multiply %q, %b : tensor<?x8xf32>, tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// One for one saves nothing.
// CHECK-LABEL: func.func @one_for_one
// CHECK: %[[K:.*]]:2 = linalg.generic
// CHECK: mpcrt.contract
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[K]]#{{[01]}} : tensor<?x8xf32>, tensor<?x8xf32>)
// CHECK-NOT: math.exp
// CHECK: return
func.func @one_for_one(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> attributes {mpc.entry} {
  %a = mpc.exp %x : tensor<?x8xf32>
  %y = mpc.multiply %a, %x : tensor<?x8xf32>, tensor<?x8xf32>
  %p = mpc.contract %y, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %q = mpc.multiply %p, %a : tensor<?x8xf32>, tensor<?x8xf32>
  return %q : tensor<?x8xf32>
}

// What the later kernel reads anyway costs nothing.
// CHECK-LABEL: func.func @read_anyway
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%arg0
// CHECK: mpcrt.contract ins(%[[Y]],
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: return
func.func @read_anyway(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> attributes {mpc.entry} {
  %a = mpc.exp %x : tensor<?x8xf32>
  %y = mpc.multiply %a, %x : tensor<?x8xf32>, tensor<?x8xf32>
  %p = mpc.contract %y, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %q = mpc.multiply %p, %a : tensor<?x8xf32>, tensor<?x8xf32>
  %r = mpc.multiply %q, %x : tensor<?x8xf32>, tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// The argument is narrower than the result.
// CHECK-LABEL: func.func @wider
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%arg0
// CHECK: mpcrt.contract ins(%[[Y]],
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %arg0 : tensor<?x8xf32>, tensor<?x8xbf16>)
// CHECK: math.exp
// CHECK: return
func.func @wider(%x: tensor<?x8xbf16>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> attributes {mpc.entry} {
  %wide = mpc.cast %x : tensor<?x8xbf16> to tensor<?x8xf32>
  %a = mpc.exp %wide : tensor<?x8xf32>
  %y = mpc.negate %a : tensor<?x8xf32>
  %p = mpc.contract %y, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %q = mpc.multiply %p, %a : tensor<?x8xf32>, tensor<?x8xf32>
  return %q : tensor<?x8xf32>
}

// Somebody else reads one of the results: that one is stored all the same, and the other one is one for one.
// CHECK-LABEL: func.func @others
// CHECK: %[[K:.*]]:3 = linalg.generic
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[K]]#{{[012]}}, %[[K]]#{{[012]}} :
// CHECK-NOT: math.
// CHECK: return
func.func @others(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) attributes {mpc.entry} {
  %a = mpc.exp %x : tensor<?x8xf32>
  %b = mpc.sin %x : tensor<?x8xf32>
  %y = mpc.multiply %a, %b : tensor<?x8xf32>, tensor<?x8xf32>
  %p = mpc.contract %y, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %q = mpc.multiply %p, %a : tensor<?x8xf32>, tensor<?x8xf32>
  %r = mpc.multiply %q, %b : tensor<?x8xf32>, tensor<?x8xf32>
  return %r, %a : tensor<?x8xf32>, tensor<?x8xf32>
}

// Read in another order.
// CHECK-LABEL: func.func @turned
// CHECK: %{{.*}}:3 = linalg.generic
// CHECK: math.exp
// CHECK: mpcrt.contract
// CHECK-NOT: math.exp
// CHECK: return
func.func @turned(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x?xf32> attributes {mpc.entry} {
  %a = mpc.exp %x : tensor<?x8xf32>
  %b = mpc.sin %x : tensor<?x8xf32>
  %y = mpc.multiply %a, %b : tensor<?x8xf32>, tensor<?x8xf32>
  %p = mpc.contract %y, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %ta = mpc.transpose %a {permutation = array<i64: 1, 0>} : tensor<?x8xf32> -> tensor<8x?xf32>
  %tb = mpc.transpose %b {permutation = array<i64: 1, 0>} : tensor<?x8xf32> -> tensor<8x?xf32>
  %tp = mpc.transpose %p {permutation = array<i64: 1, 0>} : tensor<?x8xf32> -> tensor<8x?xf32>
  %q = mpc.multiply %tp, %ta : tensor<8x?xf32>, tensor<8x?xf32>
  %r = mpc.multiply %q, %tb : tensor<8x?xf32>, tensor<8x?xf32>
  return %r : tensor<8x?xf32>
}

// More work than the bytes are worth.
// MUCH-LABEL: func.func @long
// MUCH: mpcrt.contract
// MUCH: linalg.generic
// MUCH: math.erf
// MUCH: return
// CHECK-LABEL: func.func @long
// CHECK: %{{.*}}:3 = linalg.generic
// CHECK: mpcrt.contract
// CHECK-NOT: math.
// CHECK: return
func.func @long(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> attributes {mpc.entry} {
  %0 = mpc.exp %x : tensor<?x8xf32>
  %1 = mpc.sin %0 : tensor<?x8xf32>
  %2 = mpc.cos %1 : tensor<?x8xf32>
  %a = mpc.tanh %2 : tensor<?x8xf32>
  %b = mpc.erf %2 : tensor<?x8xf32>
  %y = mpc.multiply %a, %b : tensor<?x8xf32>, tensor<?x8xf32>
  %p = mpc.contract %y, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %q = mpc.multiply %p, %a : tensor<?x8xf32>, tensor<?x8xf32>
  %r = mpc.multiply %q, %b : tensor<?x8xf32>, tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// Random numbers are read.
// CHECK-LABEL: func.func @random
// CHECK: arith.mului_extended
// CHECK: mpcrt.contract
// CHECK-NOT: arith.mului_extended
// CHECK: return
func.func @random(%x: tensor<?x8xf32>, %seed: tensor<2xi64>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> attributes {mpc.entry} {
  %a = mpc.dropout %x, %seed {rate = 0.5 : f64, stream = 3 : i64} : tensor<?x8xf32>, tensor<2xi64>
  %b = mpc.exp %a : tensor<?x8xf32>
  %y = mpc.multiply %a, %b : tensor<?x8xf32>, tensor<?x8xf32>
  %p = mpc.contract %y, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %q = mpc.multiply %p, %a : tensor<?x8xf32>, tensor<?x8xf32>
  %r = mpc.multiply %q, %b : tensor<?x8xf32>, tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
