// RUN: mpc-opt %s --mpc-pad-dims=target=cuda:sm_90 --remark-format=emitRemark --remarks-filter=mpc-fusion 2>&1 >/dev/null | FileCheck %s
// Each dimension by the name that users have for it, with the layer and the guide's advice.

mpc.variable @"dense/kernel" : tensor<28x18xf32> role trainable layer("dense")
mpc.variable @"lstm/kernel" : tensor<32x68xf32> role trainable layer("lstm")
mpc.variable @"lstm/recurrent_kernel" : tensor<17x68xf32> role trainable layer("lstm")
mpc.variable @"embedding/embeddings" : tensor<30x20xf32> role trainable layer("embedding")
mpc.variable @"conv/kernel" : tensor<3x3x3x9xf32> role trainable layer("conv")

// CHECK-DAG: not-padded{{.*}}channels ('conv') is 3: products of a convolution's columns take it as it is; make it a multiple of 8
// CHECK-DAG: not-padded{{.*}}filters ('conv') is 9: products of a convolution's columns take it as it is; make it a multiple of 8
func.func @convolution(%x: tensor<?x8x8x3xf16>, %w: tensor<3x3x3x9xf16>) -> tensor<?x6x6x9xf16> attributes {mpc.entry} {
  %0 = mpc.convolution %x, %w strides [1, 1] padding [0, 0] x [0, 0] dilations [1, 1] : (tensor<?x8x8x3xf16>, tensor<3x3x3x9xf16>) -> tensor<?x6x6x9xf16> loc("conv")
  return %0 : tensor<?x6x6x9xf16>
}

// CHECK-DAG: not-padded{{.*}}width of the table's rows (width of 'embedding') is 20: rows are copied, not multiplied; make it a multiple of 8
// CHECK-DAG: padded{{.*}}free dimension of the right operand (vocabulary of 'embedding'); make it a multiple of 8{{.*}}from=30{{.*}}to=32
// CHECK-DAG: padded{{.*}}contracted dimension (width of 'embedding'); make it a multiple of 8{{.*}}from=20{{.*}}to=24
func.func @embedding(%ids: tensor<?xi32>, %table: tensor<30x20xf16>) -> tensor<?x30xf16> attributes {mpc.entry} {
  %0 = mpc.gather %table, %ids {axis = 0 : i64} : tensor<30x20xf16>, tensor<?xi32> -> tensor<?x20xf16> loc("embedding")
  %1 = mpc.contract %0, %table contracting [1] x [1] : (tensor<?x20xf16>, tensor<30x20xf16>) -> tensor<?x30xf16> loc("embedding")
  return %1 : tensor<?x30xf16>
}

// CHECK-DAG: padded{{.*}}contracted dimension (input features of 'dense'); make it a multiple of 8{{.*}}from=28{{.*}}to=32
// CHECK-DAG: not-padded{{.*}}free dimension of the left operand is the batch, known at run time only; make it a multiple of 8
// CHECK-DAG: padded{{.*}}free dimension of the right operand (units of 'dense'); make it a multiple of 8{{.*}}from=18{{.*}}to=24
func.func @dense(%x: tensor<?x28xbf16>, %w: tensor<28x18xbf16>) -> tensor<?x18xbf16> attributes {mpc.entry} {
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x28xbf16>, tensor<28x18xbf16>) -> tensor<?x18xbf16> loc("dense")
  return %0 : tensor<?x18xbf16>
}

// The input's gradient: the units are contracted.
// CHECK-DAG: padded{{.*}}contracted dimension (units of 'dense'); make it a multiple of 8{{.*}}from=18{{.*}}to=24
func.func @gradient(%g: tensor<?x18xbf16>, %w: tensor<28x18xbf16>) -> tensor<?x28xbf16> attributes {mpc.entry} {
  %0 = mpc.contract %g, %w contracting [1] x [1] : (tensor<?x18xbf16>, tensor<28x18xbf16>) -> tensor<?x28xbf16> loc("dense")
  return %0 : tensor<?x28xbf16>
}

// CHECK-DAG: padded{{.*}}contracted dimension (units of 'lstm'); make it a multiple of 8{{.*}}from=17{{.*}}to=24
// CHECK-DAG: padded{{.*}}free dimension of the right operand (gates of the units of 'lstm'); make it a multiple of 8{{.*}}from=68{{.*}}to=72
// CHECK-DAG: not-padded{{.*}}contracted dimension (input features of 'lstm') is 32, a multiple of 8 already
func.func @lstm(%x: tensor<?x32xf16>, %k: tensor<32x68xf16>, %h: tensor<?x17xf16>, %w: tensor<17x68xf16>) -> (tensor<?x68xf16>, tensor<?x68xf16>) attributes {mpc.entry} {
  %0 = mpc.contract %h, %w contracting [1] x [0] : (tensor<?x17xf16>, tensor<17x68xf16>) -> tensor<?x68xf16> loc("lstm")
  %1 = mpc.contract %x, %k contracting [1] x [0] : (tensor<?x32xf16>, tensor<32x68xf16>) -> tensor<?x68xf16> loc("lstm")
  return %0, %1 : tensor<?x68xf16>, tensor<?x68xf16>
}

// CHECK-DAG: not-padded{{.*}}no dimension padded: sums of so few terms are a kernel, not a product of the library
func.func @short(%x: tensor<?x12xbf16>, %w: tensor<12x10xbf16>) -> tensor<?x10xbf16> attributes {mpc.entry} {
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x12xbf16>, tensor<12x10xbf16>) -> tensor<?x10xbf16> loc("short")
  return %0 : tensor<?x10xbf16>
}

// CHECK-DAG: not-padded{{.*}}samples and heads, of which each is a product of its own ('attention')
// CHECK-DAG: padded{{.*}}contracted dimension ('attention'); make it a multiple of 8{{.*}}from=6{{.*}}to=8
func.func @heads(%q: tensor<?x2x8x6xf16>, %k: tensor<?x2x8x6xf16>) -> tensor<?x2x8x8xf16> attributes {mpc.entry} {
  %0 = mpc.contract %q, %k batch [0, 1] x [0, 1] contracting [3] x [3] : (tensor<?x2x8x6xf16>, tensor<?x2x8x6xf16>) -> tensor<?x2x8x8xf16> loc("attention")
  return %0 : tensor<?x2x8x8xf16>
}
