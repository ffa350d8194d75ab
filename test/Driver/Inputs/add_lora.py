# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""add_lora.py MODEL LAYER OUT: the archive as if LoRA had been enabled in its config alone."""

import json
import sys
import zipfile

model, wanted, out = sys.argv[1:]
with zipfile.ZipFile(model) as source, zipfile.ZipFile(out, "w") as target:
    for name in source.namelist():
        data = source.read(name)
        if name == "config.json":
            config = json.loads(data)
            (layer,) = [one for one in config["config"]["layers"] if one["config"]["name"] == wanted]
            layer["config"]["lora_rank"] = 2
            data = json.dumps(config).encode()
        target.writestr(name, data)
