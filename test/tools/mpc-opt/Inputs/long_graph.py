# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a graph of 500 ops of which three matter to reduce.test."""

print(
    'func.func @forward(%x: tensor<?x5xf32> {mpc.input = "x"}, %i: tensor<?xi32> {mpc.input = "i"})'
    ' -> (tensor<?x5xf32> {mpc.output = "out0"}) {'
)
value = "%x"
for number in range(249):
    print(f"  %a{number} = mpc.tanh {value} : tensor<?x5xf32>")
    value = f"%a{number}"
print("  %h = mpc.one_hot %i : tensor<?xi32> -> tensor<?x5xf32>")
print("  %r = mpc.reverse %h {axis = 1 : i64} : tensor<?x5xf32>")
print(f"  %s = mpc.add %r, {value} : tensor<?x5xf32>, tensor<?x5xf32>")
value = "%s"
for number in range(249, 497):
    print(f"  %a{number} = mpc.relu {value} : tensor<?x5xf32>")
    value = f"%a{number}"
print(f"  return {value} : tensor<?x5xf32>\n}}")
