# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_memory.py RESULT.json...: the planned memory is the peak within 2 %, and the sum of its parts."""

import json
import sys

for path in sys.argv[1:]:
    with open(path) as file:
        result = json.load(file)
    planned, peak = result["bytes_planned"], result["bytes_peak"]
    assert planned == sum(result["plan"].values()), result
    assert abs(planned - peak) <= 0.02 * peak, f"{path}: {planned} bytes planned, {peak} at the peak: {result['plan']}"
