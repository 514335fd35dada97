"""Texts that loop over connections on a GPU: the bits of the CPU, of states and of synapses."""

from __future__ import annotations

import numpy as np
import pytest
from connection_names import NAMES, potentials
from looped import DT, circuit, measured

import neurodriver as nd


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits_of_the_cpu(dtype: str, executor: str) -> None:
    found = []
    for more in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor}):
        with nd.LPU(circuit(), DT, dtype=dtype, **more) as lpu:
            for reward, steps in ((0.003, 25), (-0.002, 20)):
                lpu.set("reward", reward)
                lpu.advance(steps)
            values = [np.array(lpu["cells"].get(name)) for name in ("V", "post", "seen")]
            for name in ("spike_state -> exc", "spike_state -> exc (2)"):
                links = lpu.connections[name]
                values += [np.array(links.get(one)) for one in ("w", "trace")]
            found.append(values)
    assert all(len(np.unique(one)) > 5 for one in found[0])
    for mine, other in zip(*found, strict=True):
        assert mine.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sizes_of_the_populations_of_sources(dtype: str, executor: str) -> None:
    found = []
    for more in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor}):
        with nd.LPU(measured(), 1e-3, dtype=dtype, **more) as lpu:
            lpu.advance(2)
            found.append([np.array(lpu["b"].get(name)) for name in ("n", "rows", "after")])
    assert len(np.unique(found[0][2])) > 1
    for mine, other in zip(*found, strict=True):
        assert mine.tobytes() == other.tobytes()


@pytest.mark.parametrize("loop", [False, True], ids=["sum", "loop"])
@pytest.mark.parametrize("name", NAMES)
def test_names_of_connection_variables(name: str, loop: bool) -> None:
    wanted = potentials("w", loop, backend="cpu")
    assert np.array_equal(potentials(name, loop, backend="cuda"), wanted)
