"""What inputs inject, in words: a checkpoint tells it, and a run that goes on compares it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ..errors import CircuitWarning
from ..inputs.base import Input


def injected_by(inputs: Sequence[Input]) -> str:
    """Return what inputs inject where, a line for each target."""
    return "\n".join(
        f"{type(one).__name__}: {variable} into {len(uids):,} components"
        for one in inputs
        for variable, uids in one.targets
    )


def compare_inputs(path: str, saved: str, here: str) -> None:
    """Warn where other inputs go on than those of the run that was saved."""
    if saved == here:
        return
    texts = [text.replace("\n", "; ") or "nothing" for text in (saved, here)]
    warnings.warn(
        f"{path}: when it was saved, inputs were: {texts[0]}; now they are: {texts[1]}; "
        f"give LPU.restore the same inputs",
        CircuitWarning,
        stacklevel=3,
    )
