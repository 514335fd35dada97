"""Spikes along stencils: the bits of connections that are stored one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sheets import DT, drawn, networks, sheet, with_masks

import neurodriver as nd
from neurodriver.circuit.stencils import Stencils
from neurodriver.errors import CircuitError


def run(one: nd.Circuit, steps: int = 400, **more: Any) -> tuple[int, list[bytes], list[str]]:
    recorder = nd.MemoryRecorder([("spike_state", None)])
    kick = nd.ArrayInput({"spike_state": (["a/7", "b/9", "c/3"], np.ones((steps, 3)))})
    more = {"dt": DT, "seed": 1, "inputs": [kick], "recorders": [recorder], **more}
    with nd.LPU(one, **more) as lpu:
        lpu.run(steps=steps)
        gathers = lpu.program.gathers.values()
        forms = [g.form + " exact" * ("exact" in g.arrays) for g in gathers]
        V = [np.asarray(lpu[name].get("V")).tobytes() for name in one.populations]
    spikes = recorder.recording["spike_state"]
    times = np.asarray(spikes.time).tobytes()
    return len(spikes.time), [times, *V], forms


@pytest.mark.parametrize(("period", "dtype"), [(True, "float32"), (False, "float64")])
def test_bits_of_stored_connections(period: bool, dtype: str) -> None:
    """At the borders units differ: a cell that few offsets reach has another one."""
    one, all_stored = networks(False, period), networks(True, period)
    spikes, bits, forms = run(one, dtype=dtype, threads=3)
    assert spikes > 2000
    assert forms.count("stencil") + forms.count("stencil exact") == 4 and "stencil exact" in forms
    assert not any("_columns" in vars(links) for links in drawn(one))
    for more in ({"threads": 1}, {"plans": False, "threads": 2}):
        found = run(all_stored, dtype=dtype, **more)
        assert found[:2] == (spikes, bits) and "stencil" not in found[2]
    assert one.edges == all_stored.edges


@pytest.mark.parametrize(("period", "dtype"), [(True, "float64"), (False, "float32")])
def test_masks_leave_out_cells(period: bool, dtype: str) -> None:
    """The bits of stored connections, with any threads, and over a checkpoint."""
    one, all_stored = with_masks(False, period), with_masks(True, period)
    spikes, bits, forms = run(one, dtype=dtype, threads=3)
    assert spikes > 2000 and one.edges == all_stored.edges
    assert forms.count("stencil") + forms.count("stencil exact") == 4 and "stencil exact" in forms
    assert not any("_columns" in vars(links) for links in drawn(one))
    for more in ({"threads": 1}, {"plans": False, "threads": 2}):
        found = run(all_stored, dtype=dtype, **more)
        assert found[:2] == (spikes, bits) and "stencil" not in found[2]


@pytest.mark.parametrize("period", [True, False])
def test_stencils_with_masks_list_the_connections(period: bool) -> None:
    """Partners, weights and delays of every cell; which of them have lost a partner."""
    for links in drawn(with_masks(False, period)):
        columns = links.expanded()
        first = {name: getattr(links.ends, name).start for name in ("source", "target")}
        weight, delay = (
            np.broadcast_to(c, (len(columns),)) for c in (columns.data["weight"], columns.delay)
        )
        for end, other in (("source", "target"), ("target", "source")):
            stencils = links.stencils(end)
            assert stencils is not None and stencils.edges == len(columns)
            cells, partners = (getattr(columns, name) - first[name] for name in (end, other))
            order = np.lexsort((partners, cells))
            every = np.arange(len(stencils.of))
            which, entry, found = stencils.lists(every)
            assert which.tolist() == cells[order].tolist()
            assert found.tolist() == partners[order].tolist()
            numbers = links.numbers(stencils)
            assert numbers[0][entry].tobytes() == weight[order].tobytes()
            assert numbers[1][entry].tobytes() == delay[order].tobytes()
            size = np.bincount(which, minlength=len(every))
            assert stencils.degree.tolist() == size.tolist()
            lost = size < np.diff(stencils.begin)[stencils.of]
            assert stencils.broken.tolist() == np.flatnonzero(lost).tolist()
            assert lost.any() == (stencils.cell is not None)


def rows_of(stencils: Stencils, cell: int) -> slice:
    return slice(*stencils.begin[stencils.of[cell] + np.arange(2)])


@pytest.mark.parametrize("period", [True, False])
def test_stencils_list_the_connections(period: bool) -> None:
    """Partners, weights and delays of each cell of both ends, in the order of the columns."""
    for links in drawn(networks(False, period)):
        columns = links.expanded()
        first = {name: getattr(links.ends, name).start for name in ("source", "target")}
        weight, delay = (
            np.broadcast_to(c, (len(columns),)) for c in (columns.data["weight"], columns.delay)
        )
        for end, other in (("source", "target"), ("target", "source")):
            stencils = links.stencils(end)
            assert stencils is not None and stencils.edges == len(columns)
            numbers = links.numbers(stencils)
            cells, partners = (getattr(columns, name) - first[name] for name in (end, other))
            order = np.lexsort((partners, cells))
            begin = np.searchsorted(cells[order], np.arange(len(stencils.of) + 1))
            for cell in range(0, len(stencils.of), 7):
                mine = order[begin[cell] : begin[cell + 1]]
                row = rows_of(stencils, cell)
                found = stencils.home[cell] + stencils.partner[row]
                assert found.tolist() == partners[mine].tolist()
                assert numbers[0][row].tobytes() == weight[mine].tobytes()
                assert numbers[1][row].tobytes() == delay[mine].tobytes()
            every = stencils.partners(np.arange(len(stencils.of)))
            assert every.tolist() == partners[order].tolist()


@pytest.mark.parametrize("make", [networks, with_masks])
@pytest.mark.parametrize("ways", [(False, True), (True, False)])
def test_a_run_goes_on_with_the_other_plan(
    tmp_path: Path, ways: tuple[bool, bool], make: Callable[[Any], nd.Circuit]
) -> None:
    """Spikes on their way go over from stencils to stored connections, and back."""
    whole = run(make(False), 300)
    kick = nd.ArrayInput({"spike_state": (["a/7", "b/9", "c/3"], np.ones((300, 3)))})
    with nd.LPU(make(ways[0]), dt=DT, seed=1, inputs=[kick]) as lpu:
        lpu.run(steps=157)
        lpu.save(tmp_path / "a.h5")
    with nd.LPU(make(ways[1]), dt=DT, seed=1, inputs=[kick]) as lpu:
        lpu.resume(tmp_path / "a.h5")
        lpu.run(steps=143)
        V = [np.asarray(lpu[name].get("V")).tobytes() for name in lpu.circuit.populations]
    assert V == whole[1][1:]


def test_spikes_within_a_step_are_stored() -> None:
    """What is drawn in place acts a step later at least."""
    a, b = sheet("a", True), sheet("b", True)
    link = nd.Projection(a, b, nd.Near(y=3, x=3), weight=1.0, name="p", stored=False)
    circuit = nd.Circuit([a, b], [link], order="listed")
    with pytest.raises(
        CircuitError, match=r"'p': stored=False .* from an earlier phase to a later"
    ):
        nd.LPU(circuit, DT)
