# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""own_objects.py MODEL OUT LAYER.KEY=CLASS …: the archive with objects of the model's author in its config."""

import json
import sys
import zipfile

model, out, *objects = sys.argv[1:]
with zipfile.ZipFile(model) as source, zipfile.ZipFile(out, "w") as target:
    for name in source.namelist():
        data = source.read(name)
        if name == "config.json":
            config = json.loads(data)
            layers = {layer["config"]["name"]: layer["config"] for layer in config["config"]["layers"]}
            for text in objects:
                place, own = text.split("=")
                layer, key = place.split(".")
                layers[layer][key] = {"module": "own", "class_name": own, "config": {}, "registered_name": own}
            data = json.dumps(config).encode()
        target.writestr(name, data)
