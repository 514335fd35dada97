"""What a circuit needs of memory, what an LPU consists of, and who leads to a cell."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from layered import Indexing, filtered
from looped import Measuring

import neurodriver as nd
from neurodriver.__main__ import main
from neurodriver.errors import CircuitWarning
from neurodriver.model.page import usable_names


def chain(stored: object = "auto") -> nd.Circuit:
    """Return three sheets, each of which reads windows of the one before it."""
    y = nd.Axis.span(12, 0, 1)
    cell = {"bias": 0.0, "time_constant": 10.0}
    a = nd.Population("GradedNeuron", name="a", axes={"y": y}, **cell)
    b = nd.Population("GradedNeuron", name="b", axes={"y": a.y.windows(3)}, **cell)
    c = nd.Population("GradedNeuron", name="c", axes={"y": b.y.windows(4, step=2)}, **cell)
    links = [
        nd.Projection(a, b, nd.Near(y=3), stored=stored),
        nd.Projection(b, c, nd.Near(y=4), stored=stored),
    ]
    return nd.Circuit([a, b, c], links)


@pytest.mark.parametrize("stored", ["auto", False])
def test_connections_are_followed_through_populations(stored: object) -> None:
    circuit = chain(stored)
    nearest, next_one = circuit.trace("c/1", ["b", "a"])
    assert nearest.tolist() == ["b/2", "b/3", "b/4", "b/5"]
    assert next_one.tolist() == [f"a/{i}" for i in range(2, 8)]
    (none,) = circuit.trace("a/0", ["b"])
    assert len(none) == 0
    columns = circuit.changed(connections=[one.expanded() for one in circuit.connections])
    for mine, other in zip(
        *(one.trace("c/3", ["b", "a"]) for one in (circuit, columns)), strict=True
    ):
        assert np.array_equal(mine, other) and len(mine) > 3


def test_traces_of_many_cells_are_those_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = chain()
    few = circuit.trace("c/2", ["b", "a"])
    monkeypatch.setattr("neurodriver.circuit.neighbours.FEW", 2)
    for mine, other in zip(few, circuit.trace("c/2", ["b", "a"]), strict=True):
        assert np.array_equal(mine, other)


def test_what_texts_read_is_told() -> None:
    """It is no connection, so that tables without an entry do not mean that there is no input."""

    class Seen(nd.NDComponent):
        axes, updates = ("y",), {"val": "1"}

    class Seeing(Seen):
        sources, update = {"image": nd.Source("val")}, "val = image.val[here.y];"

    image = nd.Population(Seen, name="image", axes={"y": 5})
    circuit = nd.Circuit([image, nd.Population(Seeing, name="eye", axes={"y": 5}, image=image)])
    for ask in (
        lambda: circuit.inputs_of("eye/3"),
        lambda: circuit.outputs_of("image/3"),
        lambda: circuit.trace("eye/3", ["image"]),
    ):
        with pytest.warns(CircuitWarning, match=r"'eye' reads 'image' \(source 'im") as caught:
            ask()
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not len(circuit.inputs_of("image/3")["uid"])


def test_bad_traces() -> None:
    with pytest.raises(nd.CircuitError, match=r"no component 'c/99'"):
        chain().trace("c/99", ["b"])
    with pytest.raises(nd.CircuitError, match="no population 'bb'; there are a, b, c"):
        chain().trace("c/1", ["bb"])


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_memory_is_that_of_the_arrays(backend: str) -> None:
    """Larger circuits, types and delays need more; connections that are not stored need less."""
    needed = filtered().memory(backend)
    assert needed.total == sum(needed.values()) and needed.backend == backend
    assert [*needed.values()] == sorted(needed.values(), reverse=True)
    assert "connections into 'g' of cells (Filtered)" in needed
    assert 920 <= needed["fields of cells (Filtered)"] and "fields of cells" in repr(needed)
    single = filtered().memory(backend, dtype="float32")
    assert single["rows of 'out'"] * 2 == needed["rows of 'out'"]
    assert f"{needed.total:,} bytes" in needed._repr_html_()
    cells = nd.Population("LeakyIAFDelta", 5000, name="c", resting_potential=-65,
                          reset_potential=-65, threshold=-50, time_constant=10)  # fmt: skip
    link = nd.Projection(cells, cells, nd.FixedInDegree(100), delay=1e-3)
    spiking = nd.Circuit([cells], [link]).memory(backend, dt=1e-4)
    assert 5e5 * 2 < max(spiking.values()) < 5e5 * 17
    assert nd.Circuit([cells]).memory(backend).total < spiking.total * 1.2


def test_memory_of_no_backend() -> None:
    with pytest.raises(nd.NeurodriverError, match=r"no backend 'cud' \(did you mean 'cuda'\?\)"):
        chain().memory("cud")


def test_what_an_lpu_consists_of() -> None:
    with nd.LPU(filtered(), 1e-3, threads=2) as lpu:
        said = lpu.describe()
        assert (said.backend, said.dtype, said.facts["threads"]) == ("cpu", "float64", 2)
        (scene, cells) = said.kernels
        assert (scene.components, scene.sums) == (108, ())
        (total,) = cells.sums
        assert (total.access, total.connections, total.plan) == ("g", 1680, "lattice")
        assert said.memory.total >= total.bytes > 0
        assert "g: 1,680 connections, lattice" in repr(said) and "lattice" in said._repr_html_()
    with nd.LPU(filtered(), 1e-3, batch=3) as lpu:
        assert lpu.describe().facts["copies"] == 3 and lpu.describe().memory == said.memory


@pytest.mark.parametrize("drawn", [True, False])
def test_what_parts_consist_of(drawn: bool) -> None:
    cells = nd.Population("LeakyIAFDelta", 50, name="c", resting_potential=-65, threshold=-50,
                          reset_potential=-65, time_constant=10)  # fmt: skip
    link = nd.Projection(cells, cells, nd.FixedInDegree(10), delay=5e-4)
    circuit = nd.Circuit([cells], [link])
    (links,) = circuit.connections
    if not drawn:
        ends, data = (links.source, links.target), {"weight": links.data["weight"]}
        links = nd.Connections("spike_state", "spike_state", *ends, 5e-4, data)
        circuit = circuit.with_parts(circuit.groups, [links])
    of = np.arange(50) % 3
    with nd.LPU(circuit, 1e-4, parts=of) as lpu:
        said = lpu.describe()
    for one in said.parts:
        into = of[links.target] == one.part
        across = into & (of[links.source] != one.part)
        assert (one.components, one.window) == (np.sum(of == one.part), 5)
        assert one.connections == into.sum()
        sums = one.consists.kernels[0].sums
        assert one.connections == sum(total.connections for total in sums)
        assert one.crossing == across.sum() > 0
        assert one.imports == len(np.unique(links.source[across]))
        line = f"{one.crossing:,} connections from {one.imports:,} components of other parts"
        assert line in repr(said) and f"{one.consists.memory.total:,}" in repr(said)
    assert "<td>" in said._repr_html_()


def test_names_that_texts_may_use(capsys: pytest.CaptureFixture[str]) -> None:
    lines = "\n".join(usable_names(Indexing))
    for said in ("source: src.val[...]", "field: w[k, l]", "here.val[y, x], here.y", "field: v[0]",
                 "updated variable [1], read and written", "atan2", "least_int"):  # fmt: skip
        assert said in lines
    assert "s.source.y_size" in "\n".join(usable_names(Measuring))
    assert main(["models", "LeakyIAF", "--names"]) == 0
    said = capsys.readouterr().out
    assert "update:" in said and "parameter [mV]" in said and "functions:" in said
