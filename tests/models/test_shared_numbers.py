"""Constants of a text that are equal for all components: once a step, with the same bits."""

from __future__ import annotations

import numpy as np

import neurodriver as nd
from neurodriver.codegen.generate import generate


class Paced(nd.NDComponent):
    """Its pace follows from the step; a constant within a block hides one of the same name."""

    updates = ("V",)
    params = {"tau": nd.Parameter("ms", default=5.0), "w": nd.Parameter("1", default=1.0)}
    states = {"V": nd.State("mV", 0.0)}
    update = """
        const real odd = step % 2 == 1 ? 1 : 0.25;
        const real decay = odd / tau;
        const real own = w * odd;
        if (V > 1.5) { const real odd = 7; V -= odd * 0.125; }
        V = V - V * decay + own * decay;
    """


def test_constants_of_a_step() -> None:
    """What reads parameters of all and the step stands before the loop; values are NumPy's."""
    w = np.linspace(0, 12, 50)
    circuit = nd.Circuit.from_arrays([(Paced, 50, {"w": w}, None)])
    expected, seen = np.zeros(50), False
    with nd.LPU(circuit, dt=1e-3, threads=1) as lpu:
        (task,) = generate(lpu.program).tasks
        head, loop = task.kernel.text.split("for (long long nd_t", 1)
        assert "const real decay = " in head and "const real decay = " not in loop
        assert "const real own = " in loop and "const real odd = 7" in loop
        for step in range(31):
            odd = 1.0 if step % 2 else 0.25
            decay = odd / 5.0
            seen |= bool((expected > 1.5).any())
            expected = np.where(expected > 1.5, expected - 7 * 0.125, expected)
            expected = expected - expected * decay + w * odd * decay
            lpu.advance(1)
            assert np.array_equal(lpu.get("V"), expected)
    assert seen
