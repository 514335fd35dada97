"""Whether a circuit fits into memory, before anything of its size is made."""

from __future__ import annotations

import numpy as np

from ..circuit.circuit import Circuit
from ..errors import CircuitError
from ..system import free_memory


def check_room(circuit: Circuit, dtype: str) -> None:
    """Raise CircuitError where the values of all components alone do not fit into free memory.

    Parameters
    ----------
    circuit : Circuit
    dtype : {"float64", "float32"}
    """
    size = np.dtype(dtype).itemsize
    groups = [group for group in circuit.groups if not group.is_port]
    need = [g.count * size * len({*g.model.states, *g.model.updates}) for g in groups]
    room = free_memory()
    if sum(need) <= room:
        return
    most, worst = max(need), groups[need.index(max(need))]
    gib = 2.0**30
    part = f"{worst.count:,} {worst.name} need {most / gib:,.1f} GiB"
    wanted = f"states and variables need at least {sum(need) / gib:,.1f} GiB"
    fix = "take fewer cells" + (", or dtype='float32'" if size > 4 else "")
    say = f"{wanted}, {room / gib:,.1f} GiB of memory are free; {part}: {fix}"
    raise CircuitError(f"{circuit.name}: {say}")
