// RUN: mpc-opt %s -split-input-file --mpc-lint -verify-diagnostics -o /dev/null
// lint-float-ids: ids that pass through floats of too few digits.

func.func @forward(%x: tensor<?x5xf16> {mpc.input = "x"}, %t: tensor<3000x8xf16>) -> tensor<?x5x8xf16> {
  %i = mpc.cast %x : tensor<?x5xf16> to tensor<?x5xi32>
  // expected-warning@+1 {{the ids of a table of 3000 rows come as f16, which is exact up to 2048; feed integers (an Input of dtype int32)}}
  %r = mpc.gather %t, %i {axis = 0 : i64} : tensor<3000x8xf16>, tensor<?x5xi32> -> tensor<?x5x8xf16>
  return %r : tensor<?x5x8xf16>
}

// -----

// bfloat16 has fewer digits yet; float32 and small tables have enough; integers are exact.
func.func @forward(%x: tensor<?x5xbf16> {mpc.input = "x"}, %y: tensor<?x5xf32> {mpc.input = "y"}, %z: tensor<?x5xi32> {mpc.input = "z"}, %t: tensor<300x8xf16>, %u: tensor<200x8xf16>, %l: tensor<70000x8xf16>) -> (tensor<?x5x8xf16>, tensor<?x5x8xf16>, tensor<?x5x8xf16>, tensor<?x5x8xf16>) {
  %i = mpc.cast %x : tensor<?x5xbf16> to tensor<?x5xi32>
  %j = mpc.cast %y : tensor<?x5xf32> to tensor<?x5xi32>
  // expected-warning@+1 {{the ids of a table of 300 rows come as bf16, which is exact up to 256}}
  %a = mpc.gather %t, %i {axis = 0 : i64} : tensor<300x8xf16>, tensor<?x5xi32> -> tensor<?x5x8xf16>
  %b = mpc.gather %u, %i {axis = 0 : i64} : tensor<200x8xf16>, tensor<?x5xi32> -> tensor<?x5x8xf16>
  %c = mpc.gather %l, %j {axis = 0 : i64} : tensor<70000x8xf16>, tensor<?x5xi32> -> tensor<?x5x8xf16>
  %d = mpc.gather %l, %z {axis = 0 : i64} : tensor<70000x8xf16>, tensor<?x5xi32> -> tensor<?x5x8xf16>
  return %a, %b, %c, %d : tensor<?x5x8xf16>, tensor<?x5x8xf16>, tensor<?x5x8xf16>, tensor<?x5x8xf16>
}
