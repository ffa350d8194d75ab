# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""open_length.py MODEL OUT: the archive as if its Input left the first extent behind the batch open."""

import json
import sys
import zipfile

model, out = sys.argv[1:]
with zipfile.ZipFile(model) as source, zipfile.ZipFile(out, "w") as target:
    for name in source.namelist():
        data = source.read(name)
        if name == "config.json":
            config = json.loads(data)
            (layer,) = [one for one in config["config"]["layers"] if one["class_name"] == "InputLayer"]
            layer["config"]["batch_shape"][1] = None
            data = json.dumps(config).encode()
        target.writestr(name, data)
