# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The conformance cases of the wheel `onnx`: models in memory, with inputs and the outputs that ONNX expects."""

import dataclasses
import glob
import os
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

VERSION = "1.23.2"
# Inputs whose values decide the shapes of results, or are settings (the rate of Dropout), by op and position: a compiled
# model has static shapes, so that they are constants of the model that is compiled. Those of the other cases are inputs,
# as ONNX has them.
DECIDES_SHAPES = {
    "AffineGrid": [1], "BlackmanWindow": [0], "CenterCropPad": [1], "Col2Im": [1, 2], "ConstantOfShape": [0],
    "CumProd": [1], "CumSum": [1], "DFT": [1, 2], "Dropout": [1, 2], "Expand": [1], "HammingWindow": [0], "HannWindow": [0], "If": [0],
    "Loop": [0, 1], "MaxUnpool": [2], "MelWeightMatrix": [0, 1, 2, 3, 4], "OneHot": [1], "Pad": [1, 3],
    "Range": [0, 1, 2], "Reshape": [1], "Resize": [1, 2, 3], "STFT": [1, 3], "Slice": [1, 2, 3, 4], "Split": [1],
    "SplitToSequence": [1], "Squeeze": [1], "SequenceAt": [1], "SequenceErase": [1], "SequenceInsert": [2], "Tile": [1], "TopK": [1],
    "Trilu": [1], "Unsqueeze": [1], "Upsample": [1],
}  # fmt: skip
DECIDES_SHAPES.update({f"Reduce{kind}": [1] for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")})

# The number of parts is that of their sizes, which stay an input.
KEEPS_INPUTS = {"simple/test_sequence_model8"}

# Ops whose numbers nobody can foresee, if they are not those of inference: shapes and types are compared.
RANDOM = {"Bernoulli", "Dropout", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}

COUNTS = {"node": 1884, "pytorch-converted": 82, "pytorch-operator": 35, "simple": 23}


@dataclasses.dataclass
class Case:
    name: str  # with the kind in front: node/test_abs
    model: onnx.ModelProto
    inputs: dict  # values by the graph's names: arrays, lists (sequences), None (an empty optional)
    outputs: dict
    rtol: float
    atol: float

    @property
    def is_random(self):
        def trains(node):
            values = [numpy_helper.to_array(tensor) for tensor in self.model.graph.initializer if tensor.name in node.input[2:]]
            return any(map(bool, values))

        nodes = [node for node in self.model.graph.node if node.op_type in RANDOM]
        return any(node.op_type != "Dropout" or trains(node) for node in nodes)

    @property
    def opset(self):
        """The version of ONNX's own ops; 0 where the model has only others."""
        return next((each.version for each in self.model.opset_import if each.domain in ("", "ai.onnx")), 0)


def _value(stored):
    """NumPy's form of what a case holds."""
    if isinstance(stored, onnx.TensorProto):
        return numpy_helper.to_array(stored)
    if isinstance(stored, onnx.SequenceProto):
        return numpy_helper.to_list(stored)
    if isinstance(stored, onnx.OptionalProto):
        return numpy_helper.to_optional(stored)
    return stored if isinstance(stored, list) or stored is None else np.asarray(stored)


def _read(path, value_type):
    """A file of a case on disk, whose kind only the graph says."""
    kind = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(
        value_type.WhichOneof("value"), onnx.TensorProto)  # fmt: skip
    with open(path, "rb") as file:
        return _value(kind.FromString(file.read()))


def _files(folder, stem):
    paths = glob.glob(os.path.join(folder, "test_data_set_0", stem + "_*.pb"))
    return sorted(paths, key=lambda path: int(path.rsplit("_", 1)[1][:-3]))


def _fed(graph, count):
    """The graph's inputs that a case feeds. Old models have their initializers among the inputs."""
    initialized = {tensor.name for tensor in graph.initializer}
    free = [each for each in graph.input if each.name not in initialized]
    return free if len(free) == count else list(graph.input)


def _case(kind, test):
    if test.model is None:
        model = onnx.load(os.path.join(test.model_dir, "model.onnx"))
        given, expected = (_files(test.model_dir, stem) for stem in ("input", "output"))
        fed = _fed(model.graph, len(given))
        inputs = [_read(path, each.type) for path, each in zip(given, fed)]
        outputs = [_read(path, each.type) for path, each in zip(expected, model.graph.output)]
    else:
        model = test.model
        inputs, outputs = ([_value(each) for each in side] for side in test.data_sets[0])
        fed = _fed(model.graph, len(inputs))
    return Case(f"{kind}/{test.name}", model, dict(zip((each.name for each in fed), inputs)),
                dict(zip((each.name for each in model.graph.output), outputs)), test.rtol, test.atol)  # fmt: skip


def _deciding(case):
    """Names of the graph's inputs that decide shapes."""
    if case.name in KEEPS_INPUTS:
        return set()
    names = {name for node in case.model.graph.node for i, name in enumerate(node.input) if i in DECIDES_SHAPES.get(node.op_type, ())}
    return {name for name in names if isinstance(case.inputs.get(name), np.ndarray)}


def _fix_shapes(cases):
    """Moves inputs that decide shapes into the models. An expanded case has the inputs of the op that it expands."""
    names = {case.name: _deciding(case) for case in cases}
    for case in cases:
        for name in names[case.name] | names.get(case.name.split("_expanded")[0], set()):
            graph = case.model.graph
            graph.initializer.append(numpy_helper.from_array(case.inputs.pop(name), name))
            # Before IR version 4 an initializer is an input, too.
            if case.model.ir_version >= 4:
                graph.input.remove(next(each for each in graph.input if each.name == name))


def _leave_out_empty_optionals(case):
    """An optional input that is not given is one that the model makes: what it has decides what is compiled."""
    graph = case.model.graph
    for value in [each for each in graph.input if each.name in case.inputs and case.inputs[each.name] is None]:
        del case.inputs[value.name]
        graph.input.remove(value)
        graph.node.insert(0, onnx.helper.make_node("Optional", [], [value.name], type=value.type.optional_type.elem_type))


def load(kinds=tuple(COUNTS)):
    """All cases, by kind and name. Fewer than there were is an error, not a shorter test."""
    if onnx.__version__ != VERSION:
        raise SystemExit(f"error: onnx is {onnx.__version__}; expected {VERSION}")
    found = []
    with warnings.catch_warnings():
        # Infinities that cases make on purpose.
        warnings.simplefilter("ignore")
        for kind in kinds:
            cases = [_case(kind, test) for test in load_model_tests(kind=kind)]
            if len(cases) != COUNTS[kind]:
                raise SystemExit(f"error: onnx has {len(cases)} cases of {kind}; expected {COUNTS[kind]}")
            found += sorted(cases, key=lambda case: case.name)
    _fix_shapes(found)
    for case in found:
        _leave_out_empty_optionals(case)
    return found
