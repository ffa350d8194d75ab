# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Callbacks of `Model.fit`, `evaluate` and `predict`, with Keras's hooks and names. Keras's own work, too."""

from .averages import SwapEMAWeights
from .callback import Callback, History, LambdaCallback
from .checkpoint import BackupAndRestore, ModelCheckpoint
from .learning_rate import LearningRateScheduler, ReduceLROnPlateau
from .logs import CSVLogger, TensorBoard
from .progress import ForwardProgressBar, ProgressBar
from .stopping import EarlyStopping, TerminateOnNaN

__all__ = ["BackupAndRestore", "CSVLogger", "Callback", "EarlyStopping", "ForwardProgressBar", "History", "LambdaCallback",
           "LearningRateScheduler", "ModelCheckpoint", "ProgressBar", "ReduceLROnPlateau", "SwapEMAWeights", "TensorBoard", "TerminateOnNaN"]  # fmt: skip
