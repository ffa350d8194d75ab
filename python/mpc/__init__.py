# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc: Keras models compiled to native libraries that predict and train in mixed precision.

    model = mpc.compile("model.keras", policy="mixed_bfloat16")
    history = model.fit(x, y, epochs=5, batch_size=128, validation_split=0.2)
    probabilities = model.predict(x)
    model.save("trained.keras")
"""

from . import callbacks, distribution, errors
from ._runtime import runtime_version
from .arrays import as_dlpack
from .callbacks import Callback, History
from .compiler import compile  # pylint: disable=redefined-builtin
from .errors import *  # noqa: F403
from .errors import __all__ as _error_names
from .layer import Layer
from .model import Gradients, Model, load
from .optimizer import Optimizer
from .tensor_spec import TensorSpec
from .variable import Variable

__version__ = runtime_version()
__all__ = ["Callback", "Gradients", "History", "Layer", "Model", "Optimizer", "TensorSpec", "Variable", "as_dlpack", "callbacks", "compile",
           "distribution", "errors", "load", "runtime_version", *_error_names]  # fmt: skip
