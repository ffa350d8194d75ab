# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An entry whose gradients, chains of COUNT ops together, are reduced over ranks: chain.py COUNT [REDUCTIONS [arguments|values]].
Chains begin with arguments or, like the gradients of layers, with a value that others read, too."""
import sys

COUNT = int(sys.argv[1])
REDUCTIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
READS_VALUES = sys.argv[3:] == ["values"]
TYPE = "tensor<4xf32>"

print(f"mpc.variable @v : {TYPE} role trainable")
print(f'func.func @train_step(%x: {TYPE} {{mpc.input = "x"}}, %v: {TYPE} {{mpc.variable = @v}})'
      f" -> ({TYPE} {{mpc.updates = @v}}) attributes {{mpc.entry = #mpc.entry_role<train_step>}} {{")  # fmt: skip
source = "%x"
if READS_VALUES:
    print(f"%both = mpc.exp %x : {TYPE}\n%other = mpc.exp %both : {TYPE}")
    source = "%both"
sums = []
for r in range(REDUCTIONS):
    print(f"%c{r}_0 = mpc.negate {source} : {TYPE}")
    length = COUNT // REDUCTIONS
    for i in range(1, length):
        print(f"%c{r}_{i} = mpc.exp %c{r}_{i - 1} : {TYPE}")
    sums.append(f"%sum{r}")
    print(f"{sums[-1]} = mpc.all_reduce sum %c{r}_{length - 1} : {TYPE}")
total = "%other" if READS_VALUES else "%v"
for r, one in enumerate(sums):
    print(f"%total{r} = mpc.add {total}, {one} : {TYPE}, {TYPE}")
    total = f"%total{r}"
print(f"return {total} : {TYPE}\n}}")
