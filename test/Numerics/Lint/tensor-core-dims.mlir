// RUN: mpc-opt %s --mpc-lint=target=cuda:sm_90 -verify-diagnostics -o /dev/null
// RUN: sed /expected-/d %s | mpc-opt --mpc-lint -o /dev/null 2>&1 | FileCheck %s --check-prefix=CPU --allow-empty
// lint-tensor-core-dims: channels and filters that are no multiples of what Tensor Cores read.
// CPU-NOT: warning

func.func @forward(%x: tensor<?x8x8x3xbf16> {mpc.input = "x"}, %a: tensor<3x3x3x12xbf16>, %b: tensor<3x3x12x16xbf16>, %c: tensor<3x3x16x16xbf16>, %d: tensor<3x3x1x16xbf16>) -> tensor<?x8x8x16xbf16> {
  // expected-warning@+1 {{its 12 filters are no multiple of 8; make them multiples of 8}}
  %0 = mpc.convolution %x, %a strides [1, 1] padding [1, 1] x [1, 1] dilations [1, 1] : (tensor<?x8x8x3xbf16>, tensor<3x3x3x12xbf16>) -> tensor<?x8x8x12xbf16>
  // expected-warning@+1 {{its 12 channels are no multiple of 8}}
  %1 = mpc.convolution %0, %b strides [1, 1] padding [1, 1] x [1, 1] dilations [1, 1] : (tensor<?x8x8x12xbf16>, tensor<3x3x12x16xbf16>) -> tensor<?x8x8x16xbf16>
  %2 = mpc.convolution %1, %c strides [1, 1] padding [1, 1] x [1, 1] dilations [1, 1] : (tensor<?x8x8x16xbf16>, tensor<3x3x16x16xbf16>) -> tensor<?x8x8x16xbf16>
  %3 = mpc.convolution %2, %d strides [1, 1] padding [1, 1] x [1, 1] dilations [1, 1] groups 16 : (tensor<?x8x8x16xbf16>, tensor<3x3x1x16xbf16>) -> tensor<?x8x8x16xbf16>
  return %3 : tensor<?x8x8x16xbf16>
}
