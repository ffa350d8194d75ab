// RUN: mpc-opt %s -split-input-file -verify-diagnostics

func.func @range(%x: tensor<?x8xf32>, %s: tensor<2xi64>) -> tensor<?x8xf32> {
  // expected-error @below {{low must not be above high}}
  %u = mpc.uniform_noise like %x, %s {low = 0.5 : f64, high = 0.25 : f64, stream = 3 : i64} : tensor<?x8xf32>, tensor<2xi64>
  return %u : tensor<?x8xf32>
}

// -----

func.func @no_number(%x: tensor<?x8xf32>, %s: tensor<2xi64>) -> tensor<?x8xf32> {
  // expected-error @below {{low must not be above high}}
  %u = mpc.uniform_noise like %x, %s {low = 0x7FF8000000000000 : f64, high = 0.25 : f64, stream = 3 : i64} : tensor<?x8xf32>, tensor<2xi64>
  return %u : tensor<?x8xf32>
}
