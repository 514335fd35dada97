"""``LPUState``: the state of an LPU that is held in memory, to go back to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..circuit.circuit import Circuit
from ..circuit.difference import first_difference
from ..errors import StateError
from ..plan.copies import Variants
from ..state.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class LPUState:
    """What decides how an LPU goes on from a step; ``lpu.state()`` makes it.

    Attributes
    ----------
    circuit : Circuit
        With the parameters, weights and fields of that moment.
    first : Circuit
        The circuit that the LPU was made of.
    snapshots : sequence of Snapshot
        Of each copy of a batch, or one.
    variants : Variants or None
        What differs between the copies.
    """

    circuit: Circuit
    first: Circuit
    snapshots: Sequence[Snapshot]
    variants: Variants | None

    @property
    def step(self) -> int:
        """Steps done."""
        return self.snapshots[0].step

    def __repr__(self) -> str:
        return f"<LPUState of {self.first.name} at step {self.step}>"

    def check(self, first: Circuit, dt: float, dtype: str, seed: int) -> None:
        """Raise StateError where an LPU is of another circuit, or of another dt, dtype or seed."""
        if first.digest != self.first.digest:
            digests = f"{self.first.digest[:12]} and {first.digest[:12]}"
            say = f"the first difference is: {first_difference(self.first, first)}"
            raise StateError(
                f"restore_state: the state is of another circuit than {first.name} (digests "
                f"{digests}): {say}; take the state of an LPU of this circuit"
            )
        one = self.snapshots[0]
        for name, was, here in (
            ("dt", one.dt, dt), ("dtype", one.dtype, dtype), ("seed", one.seed, seed),
        ):  # fmt: skip
            if was != here:
                say = f"{name} was {was!r}, and is {here!r} here"
                raise StateError(f"restore_state: {say}; make the LPU with the same {name}")
