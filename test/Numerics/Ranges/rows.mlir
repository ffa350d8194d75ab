// RUN: mpc-opt %s --mpc-analyze-ranges="inputs=x:-4:4,b:-1:1" -verify-diagnostics -o /dev/null
// Rows behind products with constant weights are sums of what came in (decision 0145).

// expected-remark@+2 {{argument 'f32' in [-4, 4]}}
// expected-remark@+1 {{argument 'f32' in [-1, 1]}}
func.func @forward(%x: tensor<?x2xf32> {mpc.input = "x"}, %b: tensor<2xf32> {mpc.input = "b"}) -> tensor<?x2xf32> {
  // expected-remark@+1 {{constant}}
  %w = mpc.constant dense<[[1.0, 1.0, 0.5], [0.5, 0.5, -1.0]]> : tensor<2x3xf32>
  // expected-remark@+1 {{constant}}
  %v = mpc.constant dense<[[1.0, 0.5], [-1.0, 0.5], [0.25, -1.0]]> : tensor<3x2xf32>
  // expected-remark@+1 {{constant}}
  %i = mpc.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  // expected-remark@+1 {{contract 'f32' in [-6, 6]}}
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x2xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
  // The first two numbers are equal; by intervals alone it is 13.5.
  // expected-remark@+1 {{contract 'f32' in [-8.00001, 8.00001]}}
  %1 = mpc.contract %0, %v contracting [1] x [0] : (tensor<?x3xf32>, tensor<3x2xf32>) -> tensor<?x2xf32>
  // expected-remark@+1 {{add 'f32' in [-9.00001, 9.00001]}}
  %2 = mpc.add %1, %b : tensor<?x2xf32>, tensor<2xf32>
  // expected-remark@+1 {{relu 'f32' in [0, 9.00001]}}
  %3 = mpc.relu %2 : tensor<?x2xf32>
  // expected-remark@+1 {{contract 'f32' in [-4, 4]}}
  %4 = mpc.contract %x, %i contracting [1] x [0] : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  // The product is its own input.
  // expected-remark@+1 {{subtract 'f32' in [-1.66963e-06, 1.66963e-06]}}
  %5 = mpc.subtract %4, %x : tensor<?x2xf32>, tensor<?x2xf32>
  return %3 : tensor<?x2xf32>
}
