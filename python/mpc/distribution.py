# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes of an MPI job that train one model: `mpirun -np 4 python train.py`.

    distribution = mpc.distribution.DataParallel()
    model = mpc.compile("model.keras", options=["--distributed"])
    model.distribute(distribution)
    model.fit(x, y, batch_size=1024)   # of all ranks together
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Optional, Sequence

from . import _runtime
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .model import Entry

# Entries that compute with the rows of all ranks; predictions stay row by row.
_SHARED = ("train_step", "evaluate")
# Callbacks that write files or print: one rank's are enough.
_WRITERS = ("CSVLogger", "ForwardProgressBar", "ModelCheckpoint", "ProgressBar", "TensorBoard")


def _address_of(communicator: Any) -> int:
    """Of the MPI_Comm in a communicator of mpi4py."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(communicator, mpi.Comm):
        raise InvalidArgumentError(f"communicator is a {type(communicator).__name__}; expected one of mpi4py, or none for all ranks of the job")
    return int(mpi._addressof(communicator))


class DataParallel:
    """Each rank takes its part of the rows of every batch; losses, metrics and gradients are those of all rows. Without a launcher
    there is one rank. `communicator`: whose ranks these are (mpi4py's); all of the job by default. `deterministic_ranks`: a power of
    two that the number of ranks divides; all such numbers of ranks then leave the same bytes. `timeout`: how many seconds a rank
    waits for another one; 300 by default."""

    def __init__(self, communicator: Any = None, *, deterministic_ranks: int = 0, timeout: Optional[float] = None) -> None:
        address = 0 if communicator is None else _address_of(communicator)
        self._communicator = _runtime.Communicator(float(timeout or 0), address)
        self.deterministic_ranks = deterministic_ranks

    @property
    def rank(self) -> int:
        return int(self._communicator.rank)

    @property
    def size(self) -> int:
        return int(self._communicator.size)

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that prints and writes."""
        return self.rank == 0

    def __repr__(self) -> str:
        return f"<mpc.distribution.DataParallel rank {self.rank} of {self.size}, {self._communicator.driver}>"

    def barrier(self) -> None:
        """Returns when every rank has called it."""
        self._communicator.barrier()

    def rows(self, count: int) -> slice:
        """Which of so many rows this rank takes."""
        first, own = _runtime.part_rows(count, self.rank, self.size)
        return slice(first, first + own)

    def runs(self, callback: Any) -> bool:
        """Whether this rank has the callback: files are written once."""
        return self.is_first or type(callback).__name__ not in _WRITERS

    def own(self, entry: "Entry", inputs: Sequence[Any], outputs: Sequence[Any], rows: int) -> tuple[list[Any], list[Any], int]:
        """The part of a call that is this rank's."""
        if entry.name not in _SHARED or self.size == 1:
            return list(inputs), list(outputs), rows
        taken = self.rows(rows)

        def part(values: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
            has_rows = [bool(tensor["shape"]) and tensor["shape"][0] is None for tensor in tensors]
            return [value[taken] if mine else value for value, mine in zip(values, has_rows)]

        return part(inputs, entry.inputs), part(outputs, entry.outputs), taken.stop - taken.start
