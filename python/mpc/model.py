# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models in Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Collection, Mapping, Optional, Sequence, Union

import numpy as np

from . import _runtime, copying, structure, training
from .arrays import DeviceArray, bits, numpy_dtype
from .bounded import cut
from .callbacks import Callback, ForwardProgressBar, History
from .class_weights import ClassWeights
from .description import Description
from .distribution import DataParallel
from .errors import FailedPreconditionError, InvalidArgumentError
from .evaluation import evaluate, held_data, read_metrics
from .feeding import entry_for, targets_of, whole_batch
from .hooks import Hooks, level_of
from .prediction import predict
from .state import PathLike, Source, State, check_range
from .streams import is_stream, name_of
from .texts import restore_texts


class TemporaryFolder:
    """A folder that goes when nobody holds the object any more, without the warning that Python's own
    class gives then."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="mpc-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


@dataclass
class Gradients:
    """`variables`: by path, unscaled; `inputs`: of floating inputs, by name."""

    loss: float
    variables: dict[str, np.ndarray]
    inputs: dict[str, np.ndarray]
    outputs: list[np.ndarray]


class Entry:
    def __init__(self, index: int, table: Mapping[str, Any]) -> None:
        self.index, self.name = index, table["name"]
        self.inputs: list[Mapping[str, Any]] = table["inputs"]
        self.outputs: list[Mapping[str, Any]] = table["outputs"]
        self.output_forms = [(tensor["shape"], numpy_dtype(tensor["dtype"])) for tensor in self.outputs]
        fixed = [tensor["shape"][0] for tensor in self.inputs if tensor["shape"] and tensor["shape"][0] is not None]
        self.fixed_batch: Optional[int] = fixed[0] if fixed else None
        # By output: the axis whose extent values say, and the output that has the extent.
        self.bounds: dict[int, tuple[int, int]] = {output: (axis, extent) for output, axis, extent in table["bounds"]}
        self.extents = {extent for _, extent in self.bounds.values()}
        self.gives_rows = not self.bounds and all(shape and shape[0] in (None, self.fixed_batch) for shape, _ in self.output_forms)  # in each output


class Model(State, Description):
    """A compiled model with its variables. One thread runs it at a time, others wait; for parallel
    predictions load it once per thread (weights are mapped, and shared)."""

    def __init__(self, path: PathLike, *, device: str = "cpu", threads: int = 0, seed: Optional[int] = None, source: Optional[Source] = None,
                 holder: Any = None, load_initial: bool = True) -> None:  # fmt: skip
        check_range("threads", threads, 1 << 32)
        # As `mpc-run train --seed`: with a seed every epoch of fit takes the rows in one order.
        self._repeats_order, seed = seed is not None, seed or 0
        check_range("seed", seed, 1 << 64)
        self._source, self._holder, self._device, self._threads = source, holder, device, threads
        self._model = _runtime.Model(os.fspath(path))
        self._context = _runtime.Context(self._model, device, threads, seed, load_initial)
        table = self._model.describe()
        self.name: str = table["name"]
        self.path: str = table["path"]
        self.policy: str = table["policy"]
        self.manifest: dict[str, Any] = json.loads(table["manifest"])
        self._entries: dict[str, Entry] = {entry["name"]: Entry(i, entry) for i, entry in enumerate(table["entries"])}
        self._of_shapes: dict[str, list[Entry]] = {}
        self._metrics: list[Mapping[str, Any]] = table["metrics"]
        self._make_variables(table["variables"])
        predicts = self._entries["predict"]
        self.input_names: list[str] = [tensor["name"] for tensor in predicts.inputs]
        outputs = self.manifest.get("outputs", [])
        self.output_names: list[str] = [
            (outputs[i].get("alias") if i < len(outputs) else None) or tensor["name"]
            for i, tensor in enumerate(predicts.outputs)
            if i not in predicts.extents
        ]
        self.output_structure = structure.check(self.manifest.get("output_structure"), len(self.output_names))
        self.seed = seed
        self.history: Optional[History] = None
        self.stop_training = self.stop_evaluating = self.stop_predicting = False
        self._initial_epoch: Optional[int] = None  # where a callback that restores training says to go on
        self._passes = 0  # over the data, in all calls of fit
        self.distribution: Optional[DataParallel] = None

    def distribute(self, distribution: Optional[DataParallel]) -> None:
        """From now on `fit`, `evaluate` and `train_on_batch` compute with the ranks of a job, all of which make the same calls with
        the same data: each takes its part of the rows of a batch. The model has to be compiled with `--distributed`. None ends it."""
        if distribution is None:
            self._context.set_ranks(None, 0)
        else:
            self._context.set_ranks(distribution._communicator, distribution.deterministic_ranks)
        self.distribution = distribution

    def gather_variables(self, keep: bool = True) -> None:
        """Makes the variables of a model whole that was compiled with `--shard=optimizer`, before they are read or saved: all ranks
        call it. On ranks that `keep` them they stay whole until the next step. `fit` does it for callbacks at the ends of epochs."""
        self._context.gather_variables(keep)

    def __repr__(self) -> str:
        return f"<mpc.Model {self.name}, policy {self.policy}, inputs {self.input_names}, outputs {self.output_names}>"

    def __reduce__(self) -> Any:
        """Copies (`copy.deepcopy`) and pickles have the library, its state and its source, and go on alone."""
        return copying.restore, (copying.contents_of(self),)

    # ---- Calls of the library ------------------------------------------------------------------------

    def _entry(self, name: str) -> Entry:
        if name not in self._entries:
            raise FailedPreconditionError(f"{self.path}: has no '{name}'; expected a model that was compiled with a loss and an optimizer; "
                                          "compile it with loss=... and optimizer=...")  # fmt: skip
        return self._entries[name]

    def _entries_of_shapes(self, name: str) -> list[Entry]:
        """The entry of that name, and those that compute the same for other shapes of the inputs."""
        if name not in self._of_shapes:  # asked for with each batch
            others = re.compile(re.escape(name) + r"_shape_\d+")
            self._of_shapes[name] = [self._entry(name), *(entry for other, entry in self._entries.items() if others.fullmatch(other))]
        return self._of_shapes[name]

    def _outputs(self, entry: Entry, rows: int) -> list[np.ndarray]:
        return [np.empty([rows if extent is None else extent for extent in shape], dtype) for shape, dtype in entry.output_forms]

    def _run(self, entry: Entry, inputs: Sequence[Any], outputs: Sequence[Any], rows: int) -> None:
        if self.distribution is not None:
            inputs, outputs, rows = self.distribution.own(entry, inputs, outputs, rows)
        self._context.run(entry.index, list(inputs), [output.tensor if isinstance(output, DeviceArray) else bits(output) for output in outputs], rows)

    def _hooks(self, callbacks: Any, verbose: Union[int, str]) -> Callable[[Optional[int]], Hooks]:
        """Callbacks of a call that does not train, given the number of its batches."""
        level = level_of(verbose)
        bar = [ForwardProgressBar(level)] if level else []
        return lambda steps: Hooks(self, callbacks, bar, {"epochs": 1, "steps": steps, "verbose": level})

    # ---- Running -------------------------------------------------------------------------------------

    def predict(self, x: Any, batch_size: Optional[int] = None, verbose: Union[int, str] = 0, steps: Optional[int] = None,
                callbacks: Union[Callback, Sequence[Callback], None] = None, *, dlpack: bool = False, out: Any = None) -> Any:  # fmt: skip
        """The outputs for all rows, or for the batches that `x` gives: an array, a list of them or, as
        in Keras, the dictionary that the model was made with. `dlpack`: objects with `__dlpack__`
        (for bfloat16 outputs, which NumPy does not export) instead of NumPy arrays. `out`: what to
        write them into, one for each output: NumPy arrays, or tensors of the model's GPU."""
        return predict(self, x, batch_size, steps, dlpack, out, self._hooks(callbacks, verbose))

    def __call__(self, x: Any, training: bool = False) -> Any:
        """The outputs of inference, as `predict_on_batch` gives them."""
        if training:
            raise FailedPreconditionError("training=True: the library computes outputs of training with gradients only; expected training=False; "
                                          "use gradients(x, y).outputs")  # fmt: skip
        return self.predict_on_batch(x)

    def evaluate(self, x: Any, y: Any = None, batch_size: Optional[int] = None, verbose: Union[int, str] = 0, sample_weight: Any = None,
                 steps: Optional[int] = None, callbacks: Union[Callback, Sequence[Callback], None] = None, return_dict: bool = False) -> Any:  # fmt: skip
        """Loss and metrics over all rows or batches, in Keras's forms."""
        entry = self._entry("evaluate")
        data = held_data(self, entry, x, y, sample_weight, batch_size, steps, "x", "steps")
        logs = evaluate(self, entry, data, self._hooks(callbacks, verbose)(data.steps))
        if logs is None:
            raise InvalidArgumentError(f"{data.source.name} gave no batches; expected at least one")
        return self._results(logs, return_dict)

    def _results(self, logs: dict[str, Any], return_dict: bool) -> Any:
        if return_dict:
            return dict(sorted(logs.items()))  # the order of Keras's
        values = [logs[name] for name in self.metrics_names]
        return values[0] if len(values) == 1 else values

    def gradients(self, x: Any, y: Any = None, *, sample_weight: Any = None) -> Gradients:
        """Of the loss, in training mode, over all rows as one batch; nothing is updated but what the
        forward pass changes (moving statistics, random states)."""
        named = dict(zip((tensor["name"] for tensor in self._entry("gradients").outputs), self._on_batch("gradients", x, y, sample_weight)))

        def select(prefix: str) -> dict[str, np.ndarray]:
            return {name[len(prefix) :]: value for name, value in named.items() if name.startswith(prefix)}

        return Gradients(float(named["loss"]), select("grad:"), select("gradx:"), [named[f"out{i}"] for i in range(len(self.output_names))])

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: Optional[int] = None,
        epochs: int = 1,
        verbose: Union[int, str] = "auto",
        callbacks: Union[Callback, Sequence[Callback], None] = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Optional[Mapping[int, float]] = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: Optional[int] = None,
        validation_steps: Optional[int] = None,
        validation_batch_size: Optional[int] = None,
        validation_freq: Union[int, Collection[int]] = 1,
    ) -> History:
        """Trains as Keras's `fit` does; of arrays the same rows and bytes as `mpc-run train` with this seed. `x` may give batches
        (x, y) or (x, y, sample_weight): a tf.data.Dataset, a torch DataLoader, a keras.utils.PyDataset, a generator, or anything
        else that can be iterated."""
        return training.fit(self, x, y, sample_weight, verbose=verbose, callbacks=callbacks, batch_size=batch_size, epochs=epochs,
                            validation_split=validation_split, validation_data=validation_data, shuffle=shuffle, class_weight=class_weight,
                            initial_epoch=initial_epoch, steps_per_epoch=steps_per_epoch, validation_steps=validation_steps,
                            validation_batch_size=validation_batch_size, validation_freq=validation_freq)  # fmt: skip

    def _on_batch(self, name: str, x: Any, y: Any, sample_weight: Any) -> list[np.ndarray]:
        """The outputs of the entry for all rows at once."""
        if is_stream(x):
            raise InvalidArgumentError(f"x is a {name_of(x)}; expected the arrays of one batch")
        entry = entry_for(self, name, x)
        batch = whole_batch(self, entry, x, y, sample_weight)
        outputs = self._outputs(entry, batch.rows)
        self._run(entry, batch.inputs, outputs, batch.rows)
        return cut(entry, outputs) if entry.bounds else outputs

    def train_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Optional[Mapping[int, float]] = None,
                       return_dict: bool = False) -> Any:  # fmt: skip
        """One step of the optimizer; loss and metrics of this batch alone, as in Keras 3."""
        if class_weight is not None:
            if sample_weight is not None:
                raise InvalidArgumentError("sample_weight and class_weight are both given; expected one of them")
            sample_weight = ClassWeights(class_weight, targets_of(self, self._entry("train_step"))).weigh(y, None)
        self._context.reset_metrics()
        self._on_batch("train_step", x, y, sample_weight)
        return self._results(read_metrics(self), return_dict)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False) -> Any:
        """Loss and metrics of this batch alone."""
        self._context.reset_metrics()
        self._on_batch("evaluate", x, y, sample_weight)
        return self._results(read_metrics(self), return_dict)

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for all rows, computed at once."""
        outputs = self._on_batch("predict", x, None, None)
        return structure.pack(restore_texts(self._entry("predict"), outputs), self.output_structure)

    def compile(self, *_: Any, **__: Any) -> None:
        """As a method of Keras's; here it can only say where optimizer, loss and metrics are given."""
        raise FailedPreconditionError(f"{self.name}: optimizer, loss and metrics are compiled into the library; expected them before; "
                                      "use mpc.compile(model, optimizer=..., loss=..., metrics=...)")  # fmt: skip

    def reset_metrics(self) -> None:
        self._context.reset_metrics()

    def workspace_bytes(self, rows: int, entry: str = "predict") -> int:
        """Scratch memory of a call with that many rows."""
        return self._model.workspace_bytes(self._entry(entry).index, rows)


def load(path: PathLike, *, device: str = "cpu", threads: int = 0, seed: Optional[int] = None) -> Model:
    """A compiled model: the folder that mpcc wrote, libNAME.so, or an archive. `threads`: 0 = all."""
    return Model(path, device=device, threads=threads, seed=seed)
