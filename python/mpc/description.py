# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model says of itself: layers, inputs, outputs, metrics, the summary."""

from __future__ import annotations

import functools
import math
import weakref
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence

from .errors import InvalidArgumentError, NotFoundError
from .evaluation import read_metrics
from .layer import Layer, layers_of
from .metric import Metric, as_keras_expects
from .summary import write_summary
from .tensor_spec import TensorSpec, spec_of
from .variable import Variable


class Description:
    """`Model` is one. Nothing here computes but the results of metrics."""

    manifest: dict[str, Any]
    input_names: list[str]
    output_names: list[str]
    _entries: Mapping[str, Any]
    _metrics: Sequence[Mapping[str, Any]]

    built = True
    if TYPE_CHECKING:

        @property
        def weights(self) -> list[Variable]: ...

    train_function = test_function = predict_function = None  # of Keras, where callbacks look at its graphs

    @functools.cached_property
    def layers(self) -> list[Layer]:
        """In the order of the computation, those of inner models too."""
        return layers_of(self.manifest, self.weights)

    def get_layer(self, name: Optional[str] = None, index: Optional[int] = None) -> Layer:
        if (name is None) == (index is None):
            raise InvalidArgumentError("get_layer: expected either a name or an index")
        if index is not None:
            return self.layers[index]
        for layer in self.layers:
            if name in (layer.path, layer.name):
                return layer
        raise NotFoundError(f"no layer {name!r}; the model has: {', '.join(layer.path for layer in self.layers)}")

    @property
    def inputs(self) -> list[TensorSpec]:
        return [spec_of(tensor, name) for tensor, name in zip(self._entries["predict"].inputs, self.input_names)]

    @property
    def outputs(self) -> list[TensorSpec]:
        entry = self._entries["predict"]
        outputs = [(i, tensor) for i, tensor in enumerate(entry.outputs) if i not in entry.extents]
        return [spec_of(tensor, name, entry.bounds.get(i, (None,))[0]) for (i, tensor), name in zip(outputs, self.output_names)]

    @property
    def input_shape(self) -> Any:
        shapes = [spec.shape for spec in self.inputs]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def output_shape(self) -> Any:
        shapes = [spec.shape for spec in self.outputs]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def metrics_names(self) -> list[str]:
        """Of what `evaluate` gives, in its order."""
        return [metric["name"] for metric in self._metrics]

    @property
    def metrics(self) -> list[Any]:
        """With the running `result()` of each."""
        self_or_none = weakref.ref(self)

        def reader(name: str) -> Callable[[], Any]:
            return lambda: read_metrics(self_or_none())[name]  # type: ignore[arg-type]

        return as_keras_expects([Metric(name, reader(name)) for name in self.metrics_names])

    def count_params(self) -> int:
        return sum(math.prod(variable.shape) for variable in self.weights)

    def summary(self, line_length: Optional[int] = None, print_fn: Optional[Callable[[str], Any]] = None) -> None:
        """Keras's table, with the dtypes that each layer computes and stores in."""
        write_summary(self, print_fn or print, line_length)  # type: ignore[arg-type]
