// RUN: mpc-opt %s -o %t.plain
// RUN: mpc-opt %s --mpc-lint --mpc-lint -o %t.linted 2>&1 | FileCheck %s
// RUN: cmp %t.plain %t.linted
// The IR stays as it is, and the second run says the same.
// CHECK-COUNT-2: warning: {{.*}}the output "out0" is bf16
func.func @forward(%x: tensor<?x4xbf16> {mpc.input = "x"}) -> (tensor<?x4xbf16> {mpc.output = "out0"}) {
  %y = mpc.relu %x : tensor<?x4xbf16>
  return %y : tensor<?x4xbf16>
}
