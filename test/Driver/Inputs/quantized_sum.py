# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pair of integers for quantized_sum.txtpb, and whether its results have ONNX's roundings: IN.npz [OUT.npz]"""

import sys

import numpy as np

single = np.float32
a, b = (grid.copy() for grid in np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(-128, 128).astype(np.int8)))
if len(sys.argv) == 2:
    np.savez(sys.argv[1], a=a, b=b)
    sys.exit()
lhs, rhs, scale = (a.astype(single) - 130) * single(0.05), (b.astype(single) - 5) * single(0.03), single(0.07)
outputs = np.load(sys.argv[2])
wrong = 0
for name, exact in (("out0", lhs + rhs), ("out1", lhs * rhs)):
    wrong += np.count_nonzero(outputs[name] != np.clip(np.rint(exact / scale) + single(130), 0, 255).astype(np.uint8))
print(f"{wrong} of {2 * a.size} integers are not ONNX's")
