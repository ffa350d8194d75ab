func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}) -> tensor<?x4xf16> {
  %c = mpc.cast %x : tensor<?x4xf32> to tensor<?x4xf16>
  %s = mpc.multiply %c, %c : tensor<?x4xf16>, tensor<?x4xf16>
  %t = mpc.tanh %s : tensor<?x4xf16>
  return %t : tensor<?x4xf16>
}
