// RUN: mpc-opt %s --mpc-pad-dims=target=cuda --split-input-file --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: mpc-opt %s --mpc-pad-dims=target=cuda --mpc-pad-dims=target=cuda --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-pad-dims='target=cuda widen-share=0' --split-input-file | FileCheck %s --check-prefix=NEVER
// RUN: mpc-opt %s --mpc-pad-dims=multiple=8 --split-input-file | FileCheck %s --check-prefix=NEVER
// What is padded anyway goes on to rows of 128 bytes where that adds at most a sixteenth.

// A vocabulary: 47 more of 50257.
// CHECK-LABEL: @widened
// CHECK: mpc.contract {{.*}} -> tensor<?x50304xbf16>
// CHECK: mpc.slice {{.*}} size = 50257
// REMARK: padded{{.*}}make it a multiple of 64 (rows of 128 bytes), of 8 at least{{.*}}from=50257{{.*}}to=50304
// NEVER-LABEL: @widened
// NEVER: mpc.contract {{.*}} -> tensor<?x50264xbf16>
func.func @widened(%x: tensor<?x768xbf16>, %w: tensor<768x50257xbf16>) -> tensor<?x50257xbf16> attributes {mpc.entry} {
  %y = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x768xbf16>, tensor<768x50257xbf16>) -> tensor<?x50257xbf16>
  return %y : tensor<?x50257xbf16>
}

// -----

// 54 more of 10 would be work for nothing; of 300 it is 20, more than a sixteenth.
// CHECK-LABEL: @few
// CHECK: mpc.contract {{.*}} (tensor<?x304xbf16>, tensor<304x16xbf16>) -> tensor<?x16xbf16>
func.func @few(%x: tensor<?x300xbf16>, %w: tensor<300x10xbf16>) -> tensor<?x10xbf16> attributes {mpc.entry} {
  %y = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x300xbf16>, tensor<300x10xbf16>) -> tensor<?x10xbf16>
  return %y : tensor<?x10xbf16>
}

// -----

// What needs no padding gets none: 1000 is read in vectors, and a copy of it would cost more.
// CHECK-LABEL: @multiple_already
// CHECK-NOT: mpc.pad
// CHECK: mpc.contract {{.*}} -> tensor<?x1000xbf16>
// CHECK-NOT: mpc.slice
func.func @multiple_already(%x: tensor<?x768xbf16>, %w: tensor<768x1000xbf16>) -> tensor<?x1000xbf16> attributes {mpc.entry} {
  %y = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x768xbf16>, tensor<768x1000xbf16>) -> tensor<?x1000xbf16>
  return %y : tensor<?x1000xbf16>
}

// -----

// The contracted dimension is a row of the left operand; both sides get the same.
// CHECK-LABEL: @contracted
// CHECK: mpc.contract {{.*}} (tensor<?x1024xf16>, tensor<1024x64xf16>) -> tensor<?x64xf16>
func.func @contracted(%x: tensor<?x1001xf16>, %w: tensor<1001x64xf16>) -> tensor<?x64xf16> attributes {mpc.entry} {
  %y = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x1001xf16>, tensor<1001x64xf16>) -> tensor<?x64xf16>
  return %y : tensor<?x64xf16>
}

// -----

// Lines of bytes have 128; vectors of 16 would make 4016 of 4001.
// CHECK-LABEL: @bytes
// CHECK: mpc.contract {{.*}} -> tensor<?x4096xi32>
func.func @bytes(%x: tensor<?x64xi8>, %w: tensor<64x4001xi8>) -> tensor<?x4001xi32> attributes {mpc.entry} {
  %y = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x64xi8>, tensor<64x4001xi8>) -> tensor<?x4001xi32>
  return %y : tensor<?x4001xi32>
}
