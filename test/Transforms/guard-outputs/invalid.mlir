// RUN: mpc-opt %s --mpc-guard-outputs --split-input-file --verify-diagnostics
// expected-error @+1 {{@forward must have a body of one block}}
func.func @forward(%x: tensor<?x8xf16> {mpc.input = "x"}) -> (tensor<?x8xf16> {mpc.output = "out0"}) {
  %c = arith.constant true
  cf.cond_br %c, ^bb1(%x : tensor<?x8xf16>), ^bb2
^bb1(%y: tensor<?x8xf16>):
  return %y : tensor<?x8xf16>
^bb2:
  return %x : tensor<?x8xf16>
}
