// RUN: mpc-opt %s --mpc-guard-outputs --split-input-file --verify-diagnostics
// expected-error @+1 {{@forward must have a body of one block}}
func.func @forward(%x: tensor<?x8xf16> {mpc.input = "x"}) -> (tensor<?x8xf16> {mpc.output = "out0"}) {
  return %x : tensor<?x8xf16>
^bb1(%y: tensor<?x8xf16>): // which nothing branches to
  return %y : tensor<?x8xf16>
}
