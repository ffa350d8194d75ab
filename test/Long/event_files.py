#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TensorBoard reads what `mpc-run train --tensorboard` writes: metrics of epochs, and the exponents of
`--numerics`, which are those of the reports."""

import json
import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test"), os.path.join(ROOT, "test", "Numerics")]

import numpy  # noqa: E402
from tensorboard import data_compat, dataclass_compat  # noqa: E402
from tensorboard.backend.event_processing import event_accumulator, event_file_loader  # noqa: E402
from tensorboard.util import tensor_util  # noqa: E402

import models  # noqa: E402
import named_tests  # noqa: E402
from tools import Tools  # noqa: E402


class EventFiles:
    def __init__(self, tools):
        self.tools = tools
        shutil.rmtree(tools.work, ignore_errors=True)
        os.makedirs(tools.work)
        models.write(tools.path("conv.json"), models.family("conv"))
        x, y = models.data_of("conv", 64, seed=4)
        numpy.savez(tools.path("d.npz"), x=x, y0=y)
        self.log, self.reports = tools.path("log"), tools.path("reports")
        library = tools.compile(tools.path("conv.json"), "conv", "--policy=mixed_bfloat16", "--optimizer=adam")
        tools.call("mpc-run", "train", library, "--data", tools.path("d.npz"), "--epochs", 2, "--batch-size", 16,
                   "--validation-split", 0.25, "--tensorboard", self.log, "--numerics", self.reports,
                   "--numerics-every", 2, "--json-log", tools.path("epochs.jsonl"))  # fmt: skip

    def read(self, part):
        accumulator = event_accumulator.EventAccumulator(os.path.join(self.log, part), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
        accumulator.Reload()
        return accumulator

    def test_scalars(self):
        with open(self.tools.path("epochs.jsonl")) as handle:
            epochs = [json.loads(line) for line in handle]
        for part, prefix in (("train", ""), ("validation", "val_")):
            scalars = self.read(part).Scalars("epoch_loss")
            assert [event.step for event in scalars] == [0, 1]
            assert [event.value for event in scalars] == [numpy.float32(epoch[prefix + "loss"]) for epoch in epochs]

    def test_histograms(self):
        """By tag, step and bucket: the exponents of the reports, each element once."""
        accumulator = self.read("numerics")
        tags = accumulator.Tags()["histograms"]
        reports = sorted(os.listdir(self.reports))
        assert len(reports) == 3, reports  # 6 steps
        checked = 0
        for name in reports:
            step = int(name[5:-5])
            with open(os.path.join(self.reports, name)) as handle:
                values = json.load(handle)["values"]
            taken = {}
            for value in values:
                tag = f"exponents/{value['direction']}/{value['layer']}/{value['op']}"
                taken[tag] = taken.get(tag, 0) + 1
                tag += f"_{taken[tag]}" if taken[tag] > 1 else ""
                if not value["exponents"]:
                    continue
                assert tag in tags, tag
                (histogram,) = [event.histogram_value for event in accumulator.Histograms(tag) if event.step == step]
                counts = {int(limit) - 1: int(count) for limit, count in zip(histogram.bucket_limit, histogram.bucket) if count}
                assert counts == {int(e): count for e, count in value["exponents"].items()}, tag
                assert histogram.num == sum(value["exponents"].values())
                assert (histogram.min, histogram.max) == (min(counts), max(counts) + 1)
                assert list(histogram.bucket_limit) == sorted(set(histogram.bucket_limit)), tag
                checked += 1
        assert checked > 60, checked
        return f"{checked} histograms"

    def test_shown(self):
        """The form that TensorBoard's pages draw: buckets from left to right."""
        folder = os.path.join(self.log, "numerics")
        (name,) = os.listdir(folder)
        metadata, shown = {}, 0
        for event in event_file_loader.LegacyEventFileLoader(os.path.join(folder, name)).Load():
            event = data_compat.migrate_event(event)
            for migrated in dataclass_compat.migrate_event(event, metadata):
                for value in migrated.summary.value:
                    buckets = tensor_util.make_ndarray(value.tensor)
                    assert buckets.ndim == 2 and buckets.shape[1] == 3
                    assert (buckets[:, 0] <= buckets[:, 1]).all() and buckets[:, 2].sum() > 0
                    shown += 1
        assert shown > 60, shown
        return f"{shown} histograms"


def main():
    tools = Tools(sys.argv[1], sys.argv[2])
    return named_tests.run(named_tests.methods(EventFiles(tools)))


if __name__ == "__main__":
    sys.exit(main())
