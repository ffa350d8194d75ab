// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A model without variables: what goes in comes out.
func.func @forward(%x: tensor<?x2xf32> {mpc.input = "x"}) -> (tensor<?x2xf32> {mpc.output = "out0"}) {
  return %x : tensor<?x2xf32>
}
