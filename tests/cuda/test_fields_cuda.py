"""Texts that read other cells and fields on a GPU: the bits of the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from layered import CIRCUITS, FIELD_WEIGHTS, FILTERS, INDICES, banked, filtered, indexing

import neurodriver as nd
from neurodriver.backends.cuda import schedule
from neurodriver.codegen.generate import Task
from neurodriver.codegen.simt.shape import Shape
from neurodriver.errors import LPUExecutionError


def streamed(own: int, units: Sequence[Task], *_: Any) -> schedule.LaunchPlan:
    """Return a plan whose threads have so many cells side by side."""
    cells = tuple(own if unit.side else 1 for unit in units)
    return schedule.LaunchPlan("grid", 4, Shape(256, 1, False), cells)


@pytest.mark.parametrize("own", [1, 4])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CIRCUITS)
def test_bits_of_the_cpu(
    name: str, dtype: str, own: int, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after fields are set; threads with one cell, and with several side by side."""
    if own > 1:
        monkeypatch.setattr(schedule, "choose", partial(streamed, own))
    circuit = CIRCUITS[name]()
    found = []
    for more in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor}):
        with nd.LPU(circuit, dt=1e-3, dtype=dtype, **more) as lpu:
            values = []
            for _ in range(2):
                lpu.advance(3)
                for group in circuit.groups:
                    cells = lpu[group.layer.population]
                    values += [np.array(cells.get(v)) for v in group.model.updates]
                    for field, rule in group.model.fields.items():
                        if not rule.constant:
                            cells.set(field, 2 * np.asarray(cells.get(field)))
                            values.append(np.array(cells.get(field)))
            found.append(values)
    assert sum(len(np.unique(one)) > 2 for one in found[0]) > 2
    for mine, other in zip(*found, strict=True):
        assert mine.tobytes() == other.tobytes()


@pytest.mark.parametrize("own", [1, 4])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_lists_of_arrays(
    dtype: str, own: int, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if own > 1:
        monkeypatch.setattr(schedule, "choose", partial(streamed, own))
    found = []
    for more in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor}):
        with nd.LPU(banked(), 1e-3, dtype=dtype, **more) as lpu:
            values = []
            for change in ({"array": 1, "dx": 0}, {"array": 2}):
                lpu.advance(2)
                values += [np.array(lpu["cells"].get(name)) for name in ("val", "sizes")]
                lpu.set("bank", 0.375, at=change)
                values += [np.array(one) for one in lpu["cells"].get("banks")]
            lpu.advance(1)
            found.append([*values, np.array(lpu["cells"].val)])
    assert len(np.unique(found[0][-1])) > 100
    for mine, other in zip(*found, strict=True):
        assert mine.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", INDICES)
def test_checks_of_indices(name: str, executor: str) -> None:
    """Under ``debug`` the message of the CPU; without it the same bits."""
    bad, said = INDICES[name]
    with nd.LPU(
        indexing(**{name: bad}), 1e-3, debug=True, backend="cuda", executor=executor
    ) as lpu:
        with pytest.raises(LPUExecutionError) as caught:
            lpu.advance(2)
    assert f"c/9, step 1: Indexing.update, {said}" in str(caught.value)
    found = []
    if name == "at":
        return  # no read of another cell: what an array of a text has beyond its end is not said
    for more in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor}):
        with nd.LPU(indexing(**{name: bad}), 1e-3, **more) as lpu:
            lpu.advance(3)
            found.append(np.array(lpu["c"].get("val")).tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", FIELD_WEIGHTS)
def test_weights_by_fields(name: str, dtype: str, executor: str) -> None:
    """Before and after the field is set."""
    found = []
    for more in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor}):
        with nd.LPU(filtered(**FIELD_WEIGHTS[name]), 1e-3, dtype=dtype, **more) as lpu:
            values = []
            for factor in (1, -3):
                lpu["cells"].set("filters", factor * FILTERS)
                lpu.run(2)
                values.append(np.array(lpu["cells"].out))
            found.append(values)
    assert len(np.unique(found[0][1])) > 50
    for mine, other in zip(*found, strict=True):
        assert mine.tobytes() == other.tobytes()


def test_what_an_lpu_consists_of() -> None:
    """The registers of a thread are known, and the memory is what was said before."""
    circuit = filtered()
    with nd.LPU(circuit, 1e-3, backend="cuda") as lpu:
        said = lpu.describe()
    assert said.backend == "cuda" and 16 <= said.facts["registers of a thread"] <= 255
    parts = dict(said.memory.parts)
    assert said.facts["blocks"] >= 1 and parts.pop("numbers of the run", 0) < 1000
    assert parts == circuit.memory("cuda").parts
