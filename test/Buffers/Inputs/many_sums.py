# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An entry with many outputs, each the sum of its input's rows: many_sums.py COUNT."""

import sys

outputs = range(int(sys.argv[1]))
arguments = ['%x: memref<?x10xf32> {mpc.input = "x"}', *(f'%out{i}: memref<?xf32> {{mpcrt.output = "out{i}"}}' for i in outputs), "%n: index {mpcrt.batch}"]
print(f"func.func @sums({', '.join(arguments)}) attributes {{mpc.entry}} {{")
for i in outputs:
    print(f"""  linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]}} ins(%x : memref<?x10xf32>) outs(%out{i} : memref<?xf32>) {{
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %i, %o : f32
    linalg.yield %0 : f32
  }}""")
print("  return\n}")
