# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""count_kernels.py ENTRY MODULE.mlir: which library calls and launches an entry makes in every call, in order.

What it prepares of its weights alone is not among them."""

import re
import sys

entry, path = sys.argv[1:]
with open(path, encoding="utf-8") as module:
    body = re.search(rf"^  func\.func @{entry}\(.*?^  }}", module.read(), re.MULTILINE | re.DOTALL).group(0)
kernels = [name for name in re.findall(r"^    mpcrt\.(\w+)", body, re.MULTILINE) if name not in ("view", "prepare")]
print(f"{len(kernels)} kernels: {' '.join(kernels)}")
