// A body of three blocks, of which two return.

func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %c = arith.constant true
  cf.cond_br %c, ^bb1(%x : tensor<?x8xf32>), ^bb2
^bb1(%y: tensor<?x8xf32>):
  return %y : tensor<?x8xf32>
^bb2:
  return %x : tensor<?x8xf32>
}
