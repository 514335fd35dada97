"""Classes of models as the old library has them, with all that its base classes gave them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from old_style import OldAlpha, RawAlpha
from support import ALPHA, assert_same_bits, build, node, simulate

from neurodriver import ArrayInput
from neurodriver.model.component import NDComponent


class OneLoop(OldAlpha):
    """AlphaSynapse whose text has a loop only where a step has several sub-steps."""

    def get_update_template(self) -> str:
        text = super().get_update_template()
        loop = "for (int j = 0; j < steps; ++j) {"
        assert loop in text
        return text if self.internal_steps > 1 else text.replace(loop, "int j = 0; {")


@pytest.mark.parametrize("dt", [1e-4, 2.5e-4, 3e-4])
def test_sub_steps_are_known_to_a_class(dt: float) -> None:
    """``internal_steps`` and ``internal_dt`` are those of the kernel, from ``__init__`` on."""
    seen: list[tuple[int, float]] = []

    class Told(OneLoop):
        """Keeps what it knows."""

        def __init__(self, params_dict: Any, access_buffers: Any, dt: float) -> None:
            super().__init__(params_dict, access_buffers, dt)
            seen.append((self.internal_steps, self.internal_dt))

    spikes = np.zeros((60, 1))
    spikes[[3, 20, 21]] = 1
    data = [
        simulate(
            build({"n": node(cls.__name__, ALPHA)}, models=[cls]), dt, 60,
            ArrayInput({"spike_state": (["n"], spikes)}), [("g", None)],
        )
        for cls in (Told, OldAlpha)
    ]  # fmt: skip
    assert data[0]["g"].max() > 0
    assert_same_bits(*data)
    steps = {1e-4: 1, 2.5e-4: 3, 3e-4: 3}[dt]
    assert seen == [(steps, dt / steps)]


def test_sub_steps_of_a_class_without_a_kernel() -> None:
    """They follow from ``maximum_dt_allowed``, and a class may set its own."""
    seen: list[Any] = []

    class Own(RawAlpha):
        """Has sub-steps of half a step."""

        @property
        def maximum_dt_allowed(self) -> float:
            return self.dt / 2

        def pre_run(self, update_pointers: Any) -> None:
            super().pre_run(update_pointers)
            seen.append((self.internal_steps, self.internal_dt))

    class Set(Own):
        """Sets them."""

        def __init__(self, params_dict: Any, access_buffers: Any, dt: float) -> None:
            super().__init__(params_dict, access_buffers, dt)
            self.internal_steps, self.internal_dt = 7, 0.5

    def run(cls: type[NDComponent]) -> None:
        circuit = build({"n": node(cls.__name__, ALPHA)}, models=[cls])
        simulate(circuit, 1e-4, 2, record=[("g", None)], backend="cpu")

    run(Own)
    run(Set)
    assert seen == [(2, 5e-5), (7, 0.5)]
