# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Picks the fixture cases whose layers, losses, optimizers and metrics mpc has.

supported.json names what is there; a later layer joins by adding its name. What a case uses is
read from its model file, not from its description, because operations (keras.ops) appear only
there.
"""

import glob
import json
import os
import re
import zipfile

KINDS = ["forward", "gradient", "train", "loss_scale", "losses", "metrics", "policy_map", "quantized"]

# An optimizer's config has one of these when an option is not used.
UNUSED_OPTION = {None, False, 0.0}
# Options whose value changes the optimizer only together with another one.
DEPENDENT_OPTIONS = {"ema_momentum", "ema_overwrite_frequency"}
# Every optimizer has these; they need no support of their own.
COMMON_OPTIONS = {
    "name", "learning_rate", "inner_optimizer", "initial_scale", "dynamic_growth_steps",
    "epsilon", "rho", "beta_1", "beta_2", "momentum", "nesterov", "centered", "loss_scale_factor",
}  # fmt: skip


class Case:
    def __init__(self, folder):
        self.folder = folder
        self.kind = os.path.basename(os.path.dirname(folder))
        self.name = os.path.basename(folder)
        self.identifier = f"{self.kind}/{self.name}"
        with open(os.path.join(folder, "case.json")) as handle:
            self.description = json.load(handle)

    def path(self, name):
        return os.path.join(self.folder, name)

    def needs(self):
        """Set of (category of supported.json, name) that the case uses."""
        found = set()
        model = self.path("model.keras")
        if os.path.exists(model):
            with zipfile.ZipFile(model) as archive:
                collect(json.loads(archive.read("config.json")), found)
        if self.kind == "losses":
            found.add(("losses", self.description["loss"]["class_name"]))
        if self.kind == "metrics":
            found.add(("metrics", self.description["metric"]["class_name"]))
        collect(self.description.get("optimizer"), found)
        if self.kind in ("gradient", "train", "loss_scale"):
            losses = self.description.get("loss")
            for loss in losses if isinstance(losses, list) else [losses]:
                collect(loss, found)
                if isinstance(loss, str):
                    found.add(("losses", camel_case(loss)))
                elif isinstance(loss, dict) and loss.get("class_name") == "function":
                    found.add(("losses", camel_case(loss["config"])))
        return found


def camel_case(name):
    """Keras's class name of a function name: mean_squared_error -> MeanSquaredError."""
    return "".join(word.capitalize() for word in name.split("_"))


def collect(value, found):
    """Adds what a Keras-serialised value names."""
    if isinstance(value, list):
        for item in value:
            collect(item, found)
    if not isinstance(value, dict):
        return
    module, name = value.get("module"), value.get("class_name")
    if isinstance(module, str) and isinstance(name, str):
        config = value.get("config")
        if module.startswith("keras.src.ops"):
            found.add(("operations", name))
        elif module in ("keras", "keras.src.models.functional", "keras.src.models.sequential"):
            if name != "DTypePolicy":
                found.add(("layers", name))
        elif re.fullmatch(r"keras\.optimizers\.(src|schedules).*|keras\.schedules", module):
            found.add(("schedules", name))
        elif module == "keras.optimizers":
            found.add(("optimizers", name))
            collect_optimizer_options(config, found)
        else:
            category = module.rsplit(".", 1)[-1]
            known = ("layers", "losses", "metrics", "regularizers", "constraints", "initializers",
                     "dtype_policies")
            if category in known and category not in ("initializers", "dtype_policies"):
                found.add((category, name))
    if "compile_config" in value:
        for metric in value["compile_config"].get("metrics") or []:
            if isinstance(metric, str):
                found.add(("metrics", camel_case(metric)))
    for item in value.values():
        collect(item, found)


def collect_optimizer_options(config, found):
    for option, setting in (config or {}).items():
        if option in COMMON_OPTIONS or option in DEPENDENT_OPTIONS:
            continue
        if isinstance(setting, (dict, list)) or setting not in UNUSED_OPTION:
            found.add(("optimizer_options", option))


def load_supported(path):
    with open(path) as handle:
        return json.load(handle)


def select(fixtures, supported, kinds):
    """Returns (cases to run, {missing name: number of cases that wait for it})."""
    chosen, waiting = [], {}
    for kind in kinds:
        for folder in sorted(glob.glob(os.path.join(fixtures, kind, "*", ""))):
            case = Case(folder.rstrip("/"))
            if case.identifier in supported["excluded"]:
                continue
            lacking = sorted(
                f"{category}:{name}"
                for category, name in case.needs()
                if name not in supported.get(category, [])
            )
            if lacking:
                key = f"{kind} " + lacking[0]
                waiting[key] = waiting.get(key, 0) + 1
            else:
                chosen.append(case)
    return chosen, waiting
