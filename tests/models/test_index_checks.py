"""Under ``debug`` each index that a text computes is checked; without it such a read gives 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from layered import CIRCUITS, INDICES, indexing

import neurodriver as nd
from neurodriver.errors import LPUExecutionError


def failure(circuit: nd.Circuit, **how: Any) -> str:
    """Return what ends a run of two steps."""
    with nd.LPU(circuit, 1e-3, debug=True, **how) as lpu:
        with pytest.raises(LPUExecutionError) as caught:
            lpu.advance(2)
        assert caught.value.step == 1
    return str(caught.value)


@pytest.mark.parametrize("name", INDICES)
def test_the_message_names_cell_line_index_and_range(name: str) -> None:
    bad, said = INDICES[name]
    for how in ({"threads": 1}, {"threads": 3}, {"dtype": "float32"}, {"plans": False}):
        wanted = f"c/9, step 1: Indexing.update, {said}"
        assert wanted in failure(indexing(**{name: bad}), **how)


def test_the_first_cell_is_named() -> None:
    """The lowest number in the first step, whatever the threads; the first fault of its text."""
    circuit = indexing(up=1.0, k=3.0)
    assert "c/9, step 1: Indexing.update, line 4" in failure(circuit, threads=3)


def test_indices_in_range_say_nothing() -> None:
    """The last ones of each range; closed axes begin again; the bits are those without it."""
    circuit, found = indexing(up=-2.0, ago=3, cell=11, k=2, at=3, row=2, each=4), []
    for debug in (False, True):
        with nd.LPU(circuit, 1e-3, debug=debug) as lpu:
            lpu.advance(3)
            found.append(np.array(lpu["c"].get("val")))
    assert found[0].tobytes() == found[1].tobytes() and len(np.unique(found[0])) > 3


def test_bits_of_windows_and_loops() -> None:
    circuit, found = CIRCUITS["windows"](), []
    for debug in (False, True):
        with nd.LPU(circuit, 1e-3, debug=debug) as lpu:
            lpu.advance(2)
            found += [np.array(lpu["cells"].get(name)) for name in "abcd"]
    assert all(a.tobytes() == b.tobytes() for a, b in zip(found[:4], found[4:], strict=True))


def test_without_debug_a_read_out_of_range_gives_0() -> None:
    found = []
    for bad in ({}, {"up": 1.0}, {"each": 5.0}):
        with nd.LPU(indexing(**bad), 1e-3) as lpu:
            lpu.advance(1)
            found.append(float(lpu["c"].get("val")[2, 1]))
    assert found[0] - found[1] == 9.0  # image[2, 1]
    assert found[0] - found[2] == 5.0  # the closed axis has begun again, the other one ends


def test_signs_of_formats_in_a_text() -> None:
    """A text with % in an index; an index in a loop and in a term."""

    class Wheel(nd.NDComponent):
        axes, updates, fields = ("x",), {"val": "1"}, {"w": nd.Field(size=3, default=2.0)}
        terms = {"first": "w[here.x % 5]"}
        update = "for (int i = 0; i < 3; ++i) val += first + w[i % 4];"

    cells = nd.Population(Wheel, name="c", axes={"x": 5})
    said = failure(nd.Circuit([cells]))
    assert "c/3, step 1: Wheel.terms['first'], line 1: w[here.x % 5]: here.x % 5 is 3" in said
